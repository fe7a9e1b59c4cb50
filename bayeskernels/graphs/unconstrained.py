"""The posterior density of a PyMC model as a function of one unconstrained vector.

PyMC transforms every bounded variable to one that may be any number; its log density there includes
the Jacobian terms of the transforms, so that it still integrates to the evidence, up to constants
that are added here (:mod:`bayeskernels.graphs.prior_mass`). All of these variables are one vector
x, as optimisers and quadrature rules want it. Functions are compiled to NumPy calls in a second or
two; the few hundred evaluations that are needed would not earn back the minute that numba takes.
"""

from functools import cached_property

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from arviz_base import dict_to_dataset
from pymc.backends.arviz import coords_and_dims_for_inferencedata
from pymc.logprob.utils import CheckParameterValue, ParameterValueError
from pymc.pytensorf import join_nonshared_inputs
from pytensor.gradient import grad, jacobian
from pytensor.graph.replace import clone_replace, graph_replace, vectorize_graph
from pytensor.graph.traversal import ancestors
from scipy.special import logit

from bayeskernels.graphs.prior_mass import UnknownMass, is_angle, log_missing_constant
from bayeskernels.kernels.argument import numpy_function

__all__ = ["UnconstrainedDensity", "as_model"]

#: Points that are evaluated at once.
BLOCK = 2**14

#: Errors that numbers cause, rather than mistakes in a model; and how many blocks may fail by them.
_FAILURES = (ArithmeticError, AssertionError, ParameterValueError, np.linalg.LinAlgError)
MAX_FAILURES = 2**12


def as_model(model, what):
    """A model, or the one in context, for a tool that is called ``what``."""
    if model is None:
        model = pm.Model.get_context(error_if_none=False)
    if not isinstance(model, pm.Model):
        raise TypeError(f"{what} needs a pm.Model, got {type(model).__name__}.")
    return model


class UnconstrainedDensity:
    """Log joint density of a model's variables and its data, at an unconstrained vector.

    Parameters
    ----------
    model : pm.Model
        All of its free variables must be continuous, and it must have some.
    what : str
        The tool, for errors.
    centres : dict, optional
        An angle for each variable with a circular transform, by the name of its value variable.
        PyMC's density of such a variable is the same in each period and has no integral; with a
        centre c it is taken from c - pi to c + pi, as a function of a logit. Without centres it
        stays periodic, which is good for looking at a mode.

    Attributes
    ----------
    unknown_mass : str
        Why the density does not integrate to the evidence; empty if it does.
    """

    def __init__(self, model, *, what, centres=None):
        discrete = [v.name for v in model.discrete_value_vars]
        if discrete:
            raise TypeError(
                f"{what} is for continuous variables; {', '.join(discrete)} "
                f"{'is' if len(discrete) == 1 else 'are'} discrete and has no density around a "
                "mode. Sum over it in the model, or use pm.sample."
            )
        if not model.value_vars:
            raise ValueError(
                f"The model has no free variables: there is nothing for {what} to approximate. Its "
                "log evidence is model.compile_logp()({})."
            )
        self.model = model
        self.centres = centres or {}
        self.start = {v.name: value for v, value in self._start_values(model)}
        self.start |= {name: np.zeros_like(angle) for name, angle in self.centres.items()}
        self.shapes = [np.shape(self.start[v.name]) for v in model.value_vars]
        self.dimension = int(sum(np.prod(shape, dtype=int) for shape in self.shapes))
        try:
            constant, self.unknown_mass = log_missing_constant(model), ""
        except UnknownMass as error:
            constant, self.unknown_mass = 0.0, str(error)
        self._inputs = [
            v.type(name=v.name) if v.name in self.centres else v for v in model.value_vars
        ]
        [logp] = self._at_logits([_without_checks(model.logp())])
        for v in self._inputs:
            if v.name in self.centres:  # the slope of the angle as a function of its logit
                slope = np.log(2.0 * np.pi) - pt.softplus(v) - pt.softplus(-v)
                logp += slope.sum()
        [self._logp], self._x = join_nonshared_inputs(self.start, [logp + constant], self._inputs)

    @staticmethod
    def angles(model):
        """Names of the value variables whose density is periodic."""
        return [
            v.name
            for v in model.value_vars
            if is_angle(model.rvs_to_transforms[model.values_to_rvs[v]])
        ]

    def _at_logits(self, graphs):
        """Graphs of value variables, with logits in the place of angles."""
        angles = {
            angle: self.centres[v.name] + 2.0 * np.pi * (pt.sigmoid(v) - 0.5)
            for angle, v in zip(self.model.value_vars, self._inputs, strict=True)
            if v.name in self.centres
        }
        return clone_replace(graphs, angles) if angles else graphs

    def logits(self, name, angles):
        """Coordinates of x that stand for angles; others are returned as they are."""
        if name not in self.centres:
            return angles
        return logit(np.mod(angles - self.centres[name] + np.pi, 2.0 * np.pi) / (2.0 * np.pi))

    @staticmethod
    def _start_values(model):
        point = model.initial_point()
        return [(v, point[v.name]) for v in model.value_vars]

    @property
    def names(self):
        """Name of each coordinate of x: that of PyMC's value variable, numbered where needed."""
        names = []
        for v, shape in zip(self.model.value_vars, self.shapes, strict=True):
            names += [f"{v.name}{list(index) if index else ''}" for index in np.ndindex(shape)]
        return names

    def join(self, point):
        """One vector of a dict of unconstrained values; what is missing stays at the start."""
        unknown = set(point) - set(self.start)
        if unknown:
            raise ValueError(
                f"start has values of {sorted(unknown)}; the unconstrained variables are "
                f"{sorted(self.start)}."
            )
        values = []
        for name, shape in zip(self.start, self.shapes, strict=True):
            value = np.asarray(point.get(name, self.start[name]), dtype=np.float64)
            if value.shape != shape:
                raise ValueError(f"start[{name!r}] must have the shape {shape}, got {value.shape}.")
            values.append(value.ravel())
        return np.concatenate(values)

    def split(self, x):
        """Unconstrained values by name: the inverse of :meth:`join`."""
        sizes = [int(np.prod(shape, dtype=int)) for shape in self.shapes]
        parts = np.split(np.asarray(x), np.cumsum(sizes)[:-1])
        return {
            name: part.reshape(shape)
            for name, part, shape in zip(self.start, parts, self.shapes, strict=True)
        }

    def derivatives(self, x):
        """Log density, its gradient and its Hessian, by automatic differentiation."""
        value, gradient, hessian = self._derivatives(np.asarray(x, dtype=np.float64))
        return float(value), gradient, 0.5 * (hessian + hessian.T)

    def value_and_gradient(self, x):
        """Log density and its gradient."""
        value, gradient = self._value_and_gradient(np.asarray(x, dtype=np.float64))
        return float(value), gradient

    def values(self, points):
        """Log density at many points, an array of shape (n, d); -inf where there is none."""
        values = self.values_or_nan(points)
        return np.where(np.isnan(values), -np.inf, values)

    def values_or_nan(self, points):
        """Log density at many points, NaN where it cannot be evaluated.

        Raises
        ------
        ValueError
            If too many points fail for them to be found one by one.
        """
        points = np.asarray(points, dtype=np.float64)
        values, failures = np.empty(len(points)), 0
        waiting = [slice(k, k + BLOCK) for k in range(0, len(points), BLOCK)]
        while waiting:
            part = waiting.pop()
            try:
                values[part] = self._values(points[part])
            except _FAILURES as error:
                failures += 1
                if failures > MAX_FAILURES:
                    raise ValueError(
                        f"The log density cannot be evaluated at many points: {error}"
                    ) from error
                first, last, _ = part.indices(len(points))
                middle = (first + last) // 2
                # One point fails a whole block: halves are tried until it is alone.
                if first == middle:
                    values[first] = np.nan
                else:
                    waiting += [slice(first, middle), slice(middle, last)]
        return values

    def constrain(self, points):
        """Variables and deterministics at points (n, d): a dict of arrays of shape (n, ...)."""
        points = np.asarray(points, dtype=np.float64)
        parts = [self._constrain(points[k : k + BLOCK]) for k in range(0, len(points), BLOCK)]
        values = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return dict(zip([v.name for v in self.model.unobserved_RVs], values, strict=True))

    def as_draws(self, points, **attributes):
        """Points as one chain of the group ``posterior``, which says that it is no Markov chain."""
        coords, dims = coords_and_dims_for_inferencedata(self.model)
        arrays = {name: values[None] for name, values in self.constrain(points).items()}
        posterior = dict_to_dataset(
            arrays, coords=coords, dims=dims, attrs=attributes | {"is_mcmc": 0}
        )
        return xr.DataTree.from_dict({"posterior": posterior})

    @cached_property
    def _gradient(self):
        # A model of flat variables only has a log density that does not depend on them.
        return grad(self._logp, self._x, disconnected_inputs="ignore")

    @cached_property
    def _value_and_gradient(self):
        return numpy_function([self._x], [self._logp, self._gradient])

    @cached_property
    def _derivatives(self):
        hessian = jacobian(self._gradient, self._x, disconnected_inputs="ignore", vectorize=True)
        return numpy_function([self._x], [self._logp, self._gradient, hessian])

    @cached_property
    def _values(self):
        points = pt.matrix("points")
        values = vectorize_graph(self._logp, {self._x: points})
        return numpy_function([points], values)

    @cached_property
    def _constrain(self):
        model = self.model
        graphs = self._at_logits(model.replace_rvs_by_values(model.unobserved_RVs))
        graphs, x = join_nonshared_inputs(self.start, graphs, self._inputs)
        points = pt.matrix("points")
        graphs = vectorize_graph(graphs, {x: points})
        n = points.shape[0]
        # What does not depend on x has no axis of points: a deterministic of data alone.
        full = [
            g if g.ndim > f.ndim else pt.broadcast_to(g, (n, *g.shape))
            for g, f in zip(graphs, model.unobserved_RVs, strict=True)
        ]
        return numpy_function([points], full)


def _without_checks(logp):
    """A log density that is -inf where PyMC's own would raise, as ``pm.sample`` has it.

    Vectorised checks raise for all points of a block if one of them is bad.
    """
    checks = {}
    for variable in ancestors([logp]):
        node = variable.owner
        if node is not None and isinstance(node.op, CheckParameterValue):
            value, *conditions = node.inputs
            if node.op.can_be_replaced_by_ninf:
                checks[variable] = pt.switch(pt.all(conditions), value, -np.inf)
    return graph_replace(logp, checks, strict=False) if checks else logp
