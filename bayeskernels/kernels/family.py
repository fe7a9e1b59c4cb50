"""A kernel with random hyperparameters, as a function of arrays and of their values.

A covariance function of ``pm.gp.cov`` may hold random variables. Where a sampler or a prediction
knows their values, the kernel is an ordinary one, and only needed columns are computed.
"""

import numpy as np
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors

from bayeskernels.kernels.argument import Kernel, numpy_function

__all__ = ["KernelFamily"]


class KernelFamily:
    """Kernels that differ in the values of random hyperparameters.

    Parameters
    ----------
    kernel : CovarianceKernel
        With hyperparameters that are variables of the model.
    model : pm.Model

    Attributes
    ----------
    variables : list of TensorVariable
        The random variables on which the kernel depends directly.
    sizes : list of int
        How many numbers each has.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0]])
    >>> with pm.Model() as model:
    ...     ell = pm.HalfNormal("ell")
    >>> family = KernelFamily(bk.kernels.argument.as_kernel(pm.gp.cov.ExpQuad(1, ls=ell), X), model)
    >>> family.at([2.0])(X, X).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """

    def __init__(self, kernel, model):
        self.kernel = kernel
        X, Z, values = kernel.symbolic
        graphs = [values, kernel.covariance(X, diag=True) + 0.0 * X[:, 0]]
        used = set(ancestors(graphs, blockers=model.free_RVs))
        self.variables = [v for v in model.free_RVs if v in used]
        self.shapes = [tuple(v.shape.eval()) for v in self.variables]
        self.sizes = [int(np.prod(shape)) for shape in self.shapes]
        inputs = [v.type(name=v.name) for v in self.variables]
        replacements = dict(zip(self.variables, inputs, strict=True))
        values, diagonal = graph_replace(graphs, replacements, strict=False)
        self._function = numpy_function([X, Z, *inputs], values)
        self._diagonal = numpy_function([X, *inputs], diagonal)

    @property
    def names(self):
        """Names of the variables."""
        return [v.name for v in self.variables]

    def split(self, theta):
        """Values of the variables from all their numbers in a row."""
        theta = np.asarray(theta, dtype=np.float64)
        parts = np.split(theta, np.cumsum(self.sizes)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def at(self, theta):
        """The kernel with given numbers, those of all variables in a row."""
        return _Member(self, self.split(theta))


class _Member(Kernel):
    def __init__(self, family, values):
        self.family = family
        self.values = values

    def __call__(self, X, Z):
        return self.family._function(X, Z, *self.values)

    def diagonal(self, X):
        return self.family._diagonal(X, *self.values)
