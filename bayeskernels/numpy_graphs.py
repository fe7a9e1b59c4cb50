"""Graphs of PyTensor as functions of arrays, without waiting for a compiler."""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
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
    >>> import pytensor.tensor as pt
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
    """Compile a graph, or a list of them, to NumPy calls without fusion.

    There is nothing to wait for, where numba takes half a minute the first time it meets a kernel.
    Clipping, which is in every stationary kernel, has no NumPy function in PyTensor's table and
    would be called number by number; minimum and maximum have.
    """
    variables = list(ancestors(values if isinstance(values, list) else [values]))
    simpler = {v: without for v in variables if (without := _without_clip(v)) is not None}
    values = graph_replace(values, simpler, strict=False)
    return pytensor.function(inputs, values, mode=WITHOUT_COMPILER, on_unused_input="ignore")


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
