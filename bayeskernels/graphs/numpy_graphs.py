"""Graphs of PyTensor as functions of arrays, without waiting for a compiler."""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors, toposort
from pytensor.scalar.basic import AND, Clip, le
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.random.type import RandomType

__all__ = ["WITHOUT_COMPILER", "fixed_value", "is_random", "numpy_function"]

#: PyTensor's mode for graphs that are evaluated a few hundred times.
WITHOUT_COMPILER = Mode(linker="py", optimizer="fast_compile")


def is_random(*graphs):
    """Whether any of the graphs depends on a random variable."""
    return any(isinstance(variable.type, RandomType) for variable in ancestors(graphs))


def fixed_value(value):
    """Value of a number, an array or a graph as an array; None where it is random or unknown.

    Examples
    --------
    >>> fixed_value(2.0 * pt.as_tensor([1.0, 2.0])).tolist(), fixed_value(pt.scalar())
    ([2.0, 4.0], None)
    """
    if value is None or not isinstance(value, pt.Variable):
        return None if value is None else np.asarray(value)
    if isinstance(value, Constant):
        return np.asarray(value.data)
    if isinstance(value, SharedVariable):
        return np.asarray(value.get_value())
    is_unknown = any(
        v.owner is None and not isinstance(v, Constant | SharedVariable) for v in ancestors([value])
    )
    return None if is_unknown or is_random(value) else np.asarray(numpy_function([], value)())


def numpy_function(inputs, values):
    """Compile a graph, or a list of them, to NumPy calls in double precision, without fusion.

    There is nothing to wait for, where numba takes half a minute the first time it meets a kernel.
    Clipping, which is in every stationary kernel, has no NumPy function in PyTensor's table and
    would be called number by number; minimum and maximum have.

    Examples
    --------
    >>> logp = pm.logp(pm.Beta.dist(2e4, 8e4), 0.2)
    >>> round(float(numpy_function([], logp)()), 6)  # 5.840228 by logp.eval()
    5.753811
    """
    graphs = _in_double(values if isinstance(values, list) else [values])
    simpler = {v: less for v in ancestors(graphs) if (less := _without_clip(v)) is not None}
    graphs = graph_replace(graphs, simpler, strict=False)
    outputs = graphs if isinstance(values, list) else graphs[0]
    return pytensor.function(inputs, outputs, mode=WITHOUT_COMPILER, on_unused_input="ignore")


def _in_double(graphs):
    """Graphs whose elementwise functions are evaluated in double precision.

    PyTensor keeps a Python number in the smallest type that holds it, so that the log-gamma
    function of 20000.0 has seven digits, of which the constant of a density loses all but one.
    """
    doubled = {}
    for node in toposort(graphs):
        inputs = [doubled.get(v, v) for v in node.inputs]
        if isinstance(node.op, Elemwise):
            if any(v.dtype == "float32" for v in node.outputs):
                inputs = [v.astype("float64") for v in inputs]
        elif not isinstance(node.op, DimShuffle):
            # Others may insist on the types that they were made for.
            inputs = [
                v if v is old or v.dtype == old.dtype else v.astype(old.dtype)
                for v, old in zip(inputs, node.inputs, strict=True)
            ]
        if any(v is not old for v, old in zip(inputs, node.inputs, strict=True)):
            made = node.clone_with_new_inputs(inputs, strict=False)
            doubled.update(zip(node.outputs, made.outputs, strict=True))
    return [doubled.get(v, v) for v in graphs]


def _without_clip(variable):
    """What stands for a clipped value, or for the mask of its gradient; None for all others."""
    if variable.owner is None or not isinstance(variable.owner.op, Elemwise):
        return None
    inputs = variable.owner.inputs
    operation = variable.owner.op.scalar_op
    if isinstance(operation, Clip):
        x, lower, upper = inputs
        return pt.maximum(x if _is_infinite(upper) else pt.minimum(x, upper), lower)
    if isinstance(operation, AND) and len(inputs) == 2:
        inside = inputs[1].owner
        if inside is not None and getattr(inside.op, "scalar_op", None) == le:
            # Squared distances are clipped to [0, inf]: they are all below the upper bound.
            return inputs[0] if _is_infinite(inside.inputs[1]) else None
    return None


def _is_infinite(bound):
    """Whether a bound is none, however its constant was broadcast."""
    while bound.owner is not None and isinstance(bound.owner.op, DimShuffle):
        [bound] = bound.owner.inputs
    return isinstance(bound, Constant) and bool(np.all(bound.data == np.inf))
