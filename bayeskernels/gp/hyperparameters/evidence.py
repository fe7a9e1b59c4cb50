"""Log evidence of a Gaussian process as a function of its hyperparameters, with its gradient.

The covariance matrix is factored once for value and gradient. From its derivative with respect to
the matrix (:class:`bayeskernels.linear.exact_process.GaussianEvidence`) PyTensor's reverse mode
goes on through the kernel to all hyperparameters at once, without a matrix for each of them: so a
length scale for every column costs no more than one. Gaussian kernels and sparse processes have
functions of their own.
"""

from functools import cached_property

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.traversal import ancestors

from bayeskernels.gp.hyperparameters.exact_evidence import ExactFunction
from bayeskernels.gp.hyperparameters.gaussian_kernel import GaussianKernelFunction, parameters_of
from bayeskernels.gp.hyperparameters.vfe_evidence import VfeFunction
from bayeskernels.kernels.argument import numpy_function
from bayeskernels.specification.posterior_process import each_posterior
from bayeskernels.specification.process import process_of, targets_of
from bayeskernels.specification.process_draws import kernel_graph

__all__ = ["EvidenceFunction", "log_evidence"]


def log_evidence(model, idata=None, *, progressbar=True):
    r"""Log marginal likelihood :math:`\log p(t | \theta)` at given hyperparameters.

    Parameters
    ----------
    model : pm.Model
        Made by :func:`bayeskernels.models.gp_regression`.
    idata : DataTree, EvidenceMaximum or None
        Where the hyperparameters have their values from; None where nothing is random.
    progressbar : bool

    Returns
    -------
    array of shape (n_draws,) or float
        One number for each draw, a float where there is only one.

    Examples
    --------
    >>> kernel = pm.gp.cov.ExpQuad(1, ls=1.0)
    >>> model = bk.models.gp_regression([[0.0], [9.0]], [0.0, 0.0], kernel=kernel, noise=1.0)
    >>> round(bk.gp.log_evidence(model), 4)  # minus log(2 pi 2)
    -2.531
    """
    values = [
        process.posterior.log_evidence
        for process in each_posterior(process_of(model), idata, progressbar=progressbar)
    ]
    return values[0] if len(values) == 1 else np.array(values)


class EvidenceFunction:
    """Log evidence and its gradient with respect to unconstrained hyperparameters.

    Where the covariance matrix has no Cholesky factor, or numbers are out of range, the value is
    minus infinity and the gradient zero.

    Parameters
    ----------
    model : pm.Model
        Made by :func:`bayeskernels.models.gp_regression`, with something random in it.

    Attributes
    ----------
    variables : list of TensorVariable
        Random variables on which the evidence depends, in the order of the argument.
    sizes : list of int
        How many numbers of the argument belong to each.

    Examples
    --------
    >>> model = bk.models.gp_regression([[0.0], [0.4], [1.0]], [0.0, 0.7, -0.3])
    >>> evidence = bk.gp.EvidenceFunction(model)
    >>> value, gradient = evidence(evidence.initial_point())
    >>> gradient.shape  # amplitude, length scale, noise
    (3,)
    """

    def __init__(self, model):
        specification = process_of(model)
        chosen = _hyperparameters(model, specification)
        if not chosen:
            raise ValueError(
                "Nothing is random in this model: there are no hyperparameters to draw or to "
                "maximise over. bk.gp.log_evidence(model) gives its evidence, and "
                "bk.predict(model, None, X_new) predicts."
            )
        values = [model.rvs_to_values[v] for v in chosen]
        self._function = _kind(specification)(model, specification, values)
        self.model = model
        self.variables = chosen
        self._values = values
        start = model.initial_point()
        self._start = [np.asarray(start[v.name], dtype=float) for v in values]
        self._shapes = [part.shape for part in self._start]
        self.sizes = [int(np.prod(shape, dtype=int)) for shape in self._shapes]

    def __call__(self, theta):
        """Value and gradient at an unconstrained point, an array of sum(sizes) numbers."""
        found = _where_possible(self._function, self.split(theta))
        if found is None or not np.isfinite(found[0]):
            return -np.inf, np.zeros(sum(self.sizes))
        value, *gradients = found
        return float(value), np.concatenate([np.ravel(g) for g in gradients])

    def value(self, theta):
        """The value alone, which is cheaper."""
        value = _where_possible(self._function.value, self.split(theta))
        return float(value) if value is not None and np.isfinite(value) else -np.inf

    def split(self, theta):
        """Parts of an unconstrained point, one for each variable in its shape."""
        theta = np.asarray(theta, dtype=float)
        if theta.shape != (sum(self.sizes),):
            raise ValueError(
                f"Expected {sum(self.sizes)} unconstrained numbers, got the shape {theta.shape}."
            )
        parts = np.split(theta, np.cumsum(self.sizes)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]

    def initial_point(self):
        """The model's own start, as an unconstrained point."""
        return np.concatenate([part.ravel() for part in self._start])

    def constrained(self, theta):
        """Values of the variables and of what is made of them, by name."""
        if not hasattr(self, "_constrain"):
            model = self.model
            outputs = [*self.variables, *model.deterministics]
            graphs = model.replace_rvs_by_values(outputs)
            known = set(self._values)
            # What also depends on variables that the evidence does not know has no value.
            others = set(model.value_vars) - known
            kept = [
                (v.name, g)
                for v, g in zip(outputs, graphs, strict=True)
                if not others & set(ancestors([g]))
            ]
            self._names = [name for name, _ in kept]
            self._constrain = numpy_function(self._values, [g for _, g in kept])
        return dict(zip(self._names, self._constrain(*self.split(theta)), strict=True))

    @property
    def is_transformed(self):
        """Which of the numbers are logarithms or other transforms of a variable: bool array."""
        flags = [self.model.rvs_to_transforms[v] is not None for v in self.variables]
        return np.repeat(flags, self.sizes)


def _kind(specification):
    """The function that is the fastest one for a process."""
    if specification.approximation is not None:
        return {"VFE": VfeFunction, "FITC": _ModelsGraph}[specification.approximation]
    kernel = specification.kernel
    # That of a kernel without random hyperparameters is computed once, by the other one.
    is_gaussian = kernel.is_random and parameters_of(kernel) is not None
    return GaussianKernelFunction if is_gaussian else ExactFunction


def _where_possible(function, parts):
    """What a function of the parts returns, or None where a matrix has no Cholesky factor."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            return function(*parts)
        except np.linalg.LinAlgError:
            return None


def _hyperparameters(model, specification):
    """Free variables on whose values the evidence depends.

    A parent in a hierarchy is not one of them: it matters through the values of its children only.
    """
    kernel = specification.kernel
    graphs = [pt.as_tensor(v) for v in (specification.noise, specification.mean)]
    if kernel.is_random:
        X, Z = pt.matrix("X"), pt.matrix("Z")
        # White noise is in the values of points with themselves only.
        graphs += [kernel_graph(kernel, X), kernel_graph(kernel, X, Z)]
    reached = set(ancestors(model.replace_rvs_by_values(graphs)))
    return [v for v in model.free_RVs if model.rvs_to_values[v] in reached]


class _ModelsGraph:
    """The same from the model's own graph of the targets' log density, by PyTensor's gradient."""

    def __init__(self, model, specification, values):
        self._values = values
        self._likelihood = model.logp(vars=[targets_of(model)])

    def __call__(self, *point):
        return self._with_gradients(*point)

    def value(self, *point):
        return self._value(*point)

    @cached_property
    def _with_gradients(self):
        gradients = pt.grad(self._likelihood, self._values)
        return numpy_function(self._values, [self._likelihood, *gradients])

    @cached_property
    def _value(self):
        return numpy_function(self._values, self._likelihood)
