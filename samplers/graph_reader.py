"""Values of a model's graphs at a point, for step methods."""

import pickle
from functools import partial

import cloudpickle
import pytensor
from pymc.pytensorf import compile as compile_graph
from pytensor.graph.traversal import ancestors

from bayeskernels.specification.bound import present_value

__all__ = ["GraphReader"]


class GraphReader:
    """Turns graphs of random variables into functions of a point; constants cost nothing.

    Parameters
    ----------
    model : pm.Model
    compile_kwargs : dict
        Passed on where a graph has to be compiled.
    """

    def __init__(self, model, compile_kwargs):
        self.model = model
        self.compile_kwargs = compile_kwargs

    def now(self, graph):
        """Present value of a graph without free variables."""
        return self(graph)({})

    def __call__(self, graph):
        """Function of a point, with the names of the variables it needs as ``names``."""
        [on_values] = self.model.replace_rvs_by_values([graph])
        used = set(ancestors([on_values]))
        inputs = [value for value in self.model.value_vars if value in used]
        if not inputs:
            return _PointFunction((), partial(present_value, on_values))
        with _exact_arithmetic():
            function = compile_graph(inputs, on_values, **self.compile_kwargs)
        return _CompiledFunction(tuple(value.name for value in inputs), function)


def _exact_arithmetic():
    """Draws must not depend on how LLVM rounds (:mod:`bayeskernels.samplers.compiled`)."""
    return pytensor.config.change_flags(numba__fastmath=False)


class _PointFunction:
    def __init__(self, names, function):
        self.names = names
        self.function = function

    def __call__(self, point):
        return self.function(*(point[name] for name in self.names))


class _CompiledFunction(_PointFunction):
    """Compiled again in a process that it is sent to, with the same arithmetic."""

    def __getstate__(self):
        return self.names, cloudpickle.dumps(self.function)

    def __setstate__(self, state):
        self.names, function = state
        with _exact_arithmetic():
            self.function = pickle.loads(function)
