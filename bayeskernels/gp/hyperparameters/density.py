"""Log posterior of the hyperparameters of a Gaussian process."""

from functools import cached_property

import numpy as np
import pymc as pm
from pytensor import grad

from bayeskernels.gp.hyperparameters.evidence import EvidenceFunction
from bayeskernels.kernels.argument import WITHOUT_COMPILER, numpy_function
from bayeskernels.specification.process import targets_of

__all__ = ["HyperparameterDensity"]


class HyperparameterDensity:
    """Log posterior of all free variables of a process, unnormalised, and its gradient.

    It has the attributes by which PyMC's Hamiltonian samplers call the function that a model
    compiles, and takes that function's place. Its part that depends on the data is the attribute
    ``evidence``, an :class:`EvidenceFunction` of the same model.
    """

    dtype = "float64"
    _raveled_inputs = True

    def __init__(self, model):
        self.model = model
        self._extra_vars_shared = {}
        self._pytensor_function = self
        self.evidence = EvidenceFunction(model)
        discrete = [v.name for v in model.discrete_value_vars]
        if discrete:
            raise TypeError(f"NUTS needs continuous variables; {', '.join(discrete)} is discrete.")
        values = model.value_vars
        self._start = {v.name: np.asarray(model.initial_point()[v.name]) for v in values}
        sizes = [part.size for part in self._start.values()]
        ends = np.cumsum(sizes)
        places = {v: np.arange(e - n, e) for v, n, e in zip(values, sizes, ends, strict=True)}
        chosen = [model.rvs_to_values[v] for v in self.evidence.variables]
        self._places = np.concatenate([places[v] for v in chosen])
        self._splits, self._shapes = ends[:-1], [part.shape for part in self._start.values()]

    def __call__(self, x):
        """Log density and gradient at an unconstrained point, all value variables in a row."""
        value, gradient = self.evidence(x[self._places])
        rest, *parts = self._rest_with_gradients(*self._split(x))
        total = np.concatenate([np.ravel(part) for part in parts])
        total[self._places] += gradient
        return np.asarray(value + rest), total

    def value(self, x):
        """Log density alone, which is cheaper."""
        return self.evidence.value(x[self._places]) + float(self._rest(*self._split(x)))

    def initial_point(self, hyperparameters=None):
        """The model's initial point, with other values of what the evidence depends on if given."""
        x = np.concatenate([part.ravel() for part in self._start.values()]).astype(float)
        if hyperparameters is not None:
            x[self._places] = hyperparameters
        return x

    def prior_draws(self, size, seed):
        """Unconstrained points from the prior; None where one cannot draw from it (``pm.Flat``)."""
        graphs = [_unconstrained(v, self.model.rvs_to_transforms[v]) for v in self.model.free_RVs]
        try:
            parts = pm.draw(graphs, draws=size, random_seed=seed, mode=WITHOUT_COMPILER)
        except NotImplementedError:
            return None
        return np.column_stack([np.reshape(part, (size, -1)) for part in parts])

    def constrained(self, x):
        """Values of the random variables, by name."""
        names = [v.name for v in self.model.free_RVs]
        return dict(zip(names, self._constrain(*self._split(x)), strict=True))

    def _split(self, x):
        parts = np.split(x, self._splits)
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]

    @cached_property
    def _others(self):
        model, targets = self.model, targets_of(self.model)
        terms = (*model.basic_RVs, *model.potentials)
        return model.logp(vars=[v for v in terms if v is not targets])

    @cached_property
    def _rest(self):
        return numpy_function(self.model.value_vars, self._others)

    @cached_property
    def _rest_with_gradients(self):
        values = self.model.value_vars
        gradients = grad(self._others, values, disconnected_inputs="ignore")
        return numpy_function(values, [self._others, *gradients])

    @cached_property
    def _constrain(self):
        graphs = self.model.replace_rvs_by_values(self.model.free_RVs)
        return numpy_function(self.model.value_vars, graphs)


def _unconstrained(variable, transform):
    return variable if transform is None else transform.forward(variable, *variable.owner.inputs)
