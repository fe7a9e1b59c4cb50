"""Log evidence of a Gaussian process as a function of its hyperparameters, with its gradient.

The covariance matrix is factored once for value and gradient. From its derivative with respect to
the matrix (:func:`bayeskernels.gp.exact.evidence_and_cotangent`) PyTensor's reverse mode goes on
through the kernel to all hyperparameters at once, without a matrix for each of them: so a length
scale for every column costs no more than one. The sparse processes have functions of their own.
"""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.traversal import ancestors

from bayeskernels.gp.exact import evidence_and_cotangent
from bayeskernels.gp.hyperparameters import kernel_graph
from bayeskernels.gp.posteriors import each_posterior
from bayeskernels.gp.specification import process_of
from bayeskernels.gp.vfe_evidence import VfeFunction
from bayeskernels.kernels import numpy_function

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
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> kernel = pm.gp.cov.ExpQuad(1, ls=1.0)
    >>> model = bk.models.gp_regression([[0.0], [9.0]], [0.0, 0.0], kernel=kernel, noise=1.0)
    >>> round(bk.gp.log_evidence(model), 4)  # minus log(2 pi 2)
    -2.531
    """
    values = [
        process.posterior.log_evidence
        for process in each_posterior(model, idata, progressbar=progressbar)
    ]
    return values[0] if len(values) == 1 else np.array(values)


class EvidenceFunction:
    """Log evidence and its gradient with respect to unconstrained hyperparameters.

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
    >>> import numpy as np
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = bk.models.gp_regression(X, np.sin(6 * X[:, 0]))
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
                "Nothing is random in this model: there is no evidence to maximise. "
                "bk.gp.log_evidence(model) gives its value."
            )
        values = [model.rvs_to_values[v] for v in chosen]
        compiled = {None: _exact_function, "VFE": VfeFunction}
        compile_function = compiled.get(specification.approximation, _whole_graph)
        self._function = compile_function(model, specification, values)
        self.model = model
        self.variables = chosen
        self._values = values
        start = model.initial_point()
        self._start = [np.asarray(start[v.name], dtype=float) for v in values]
        self._shapes = [part.shape for part in self._start]
        self.sizes = [int(np.prod(shape, dtype=int)) for shape in self._shapes]

    def __call__(self, theta):
        """Value and gradient at an unconstrained point, an array of sum(sizes) numbers."""
        value, *gradients = self._function(*self.split(theta))
        return float(value), np.concatenate([np.ravel(g) for g in gradients])

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


def _hyperparameters(model, specification):
    """Free variables on whose values the evidence depends.

    A parent in a hierarchy is not one of them: it matters through the values of its children only.
    """
    kernel = specification.kernel
    graphs = [pt.as_tensor(v) for v in (specification.noise, specification.mean)]
    if kernel.is_random:
        graphs.append(kernel_graph(kernel, pt.matrix("X"), pt.matrix("Z")))
    reached = set(ancestors(model.replace_rvs_by_values(graphs)))
    return [v for v in model.free_RVs if model.rvs_to_values[v] in reached]


def _exact_function(model, specification, values):
    """From the parts of an unconstrained point to value and gradients, of the exact process."""
    kernel = specification.kernel
    if kernel.is_random:
        gram = kernel_graph(kernel, pytensor.shared(specification.X, shape=(None, None)))
    else:
        gram = pytensor.shared(kernel.gram(specification.X), shape=(None, None))
    noise, mean = (pt.as_tensor(v) for v in (specification.noise, specification.mean))
    gram, noise, mean = model.replace_rvs_by_values([gram, noise, mean])
    targets = pytensor.shared(specification.y) - mean
    variance = pt.sqr(noise)
    value, *cotangents = _gaussian_evidence(gram, variance, targets)
    known = dict(zip((gram, variance, targets), cotangents, strict=True))
    return numpy_function(values, [value, *pt.grad(None, values, known_grads=known)])


def _whole_graph(model, specification, values):
    """The same of the log-likelihood in the model's own graph, by PyTensor's gradient."""
    value = model.logp(vars=[*model.observed_RVs, *model.potentials])
    return numpy_function(values, [value, *pt.grad(value, values)])


class _GaussianEvidence(Op):
    """Log density of targets, and its derivatives by Gram matrix, noise variance and targets."""

    __props__ = ()

    def make_node(self, gram, variance, targets):
        inputs = [pt.as_tensor(v) for v in (gram, variance, targets)]
        return Apply(self, inputs, [pt.dscalar(), pt.dmatrix(), pt.dscalar(), pt.dvector()])

    def perform(self, node, inputs, outputs):
        value, by_gram, by_targets = evidence_and_cotangent(*inputs)
        results = (value, by_gram, np.trace(by_gram), by_targets)
        for storage, result in zip(outputs, results, strict=True):
            storage[0] = np.asarray(result, dtype=float)


_gaussian_evidence = _GaussianEvidence()
