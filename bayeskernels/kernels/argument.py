"""What a ``kernel=`` argument may be, brought to one form.

A kernel is a covariance function of ``pm.gp.cov`` (sums, products and ARD included), a function
``k(X, Z)`` of two arrays, or a Gram matrix that was computed before. Here each becomes a
:class:`Kernel`, which evaluates on arrays; covariance functions can also be built into a PyTensor
graph, which is needed when their hyperparameters are random variables.
"""

from copy import copy
from functools import cached_property
from numbers import Real

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import scipy
from pytensor.graph.basic import Variable
from pytensor.graph.replace import graph_replace

from bayeskernels.graphs.numpy_graphs import WITHOUT_COMPILER, is_random, numpy_function
from bayeskernels.inputs import as_floats, as_inputs
from bayeskernels.kernels.covariance_check import check_covariance

__all__ = [
    "WITHOUT_COMPILER",
    "CallableKernel",
    "CovarianceKernel",
    "GramKernel",
    "Kernel",
    "KernelSum",
    "as_kernel",
    "check_bias",
    "numpy_function",
    "read_inputs",
]


def as_kernel(kernel, X, *, bias=0.0) -> "Kernel":
    """Interpret a ``kernel=`` argument.

    Parameters
    ----------
    kernel : pm.gp.cov.Covariance, callable, array of shape (m, m), or None
        Hyperparameters of a covariance that are fixed are checked here, see
        :func:`bayeskernels.kernels.covariance_check.check_covariance`. None stands for a Gaussian
        kernel whose width is the median distance between the rows of X.
    X : array of shape (m, p) or None
        Training inputs; not used with a Gram matrix.
    bias : float
        Constant that is added to the kernel. It gives every classifier an offset, whose prior scale
        it sets; zero, as in the papers, means none.
    """
    check_bias(bias)
    if kernel is None:
        if X is None:
            raise ValueError("A kernel is needed where no inputs X are given.")
        kernel = pm.gp.cov.ExpQuad(X.shape[1], ls=_median_distance(X))
    if isinstance(kernel, type):
        raise TypeError(
            f"kernel is the class {kernel.__name__}: give an object of it, such as "
            "pm.gp.cov.ExpQuad(2, ls=1.0)."
        )
    if isinstance(kernel, pm.gp.cov.BaseCovariance):
        return CovarianceKernel(kernel + pm.gp.cov.Constant(bias) if bias else kernel, X.shape[1])
    if isinstance(kernel, np.ndarray):
        return GramKernel(kernel, bias)
    if callable(kernel):
        return CallableKernel(kernel, bias)
    raise TypeError(
        "kernel must be a pm.gp.cov covariance, a function k(X, Z) or a Gram matrix (array), "
        f"got {type(kernel).__name__}."
    )


def check_bias(bias):
    """Refuse what is no constant to add to a kernel."""
    if not isinstance(bias, Real) or not np.isfinite(bias) or bias < 0:
        raise ValueError(f"bias must be a number >= 0, got {bias!r}.")


def read_inputs(X, kernel, bias, *, default=None):
    """Interpret the arguments ``X`` and ``kernel`` of a builder together.

    Parameters
    ----------
    X : array_like or DataFrame of shape (m, p), or None
        None where the kernel is a Gram matrix, which then stands for the inputs.
    kernel : pm.gp.cov.Covariance, callable, array of shape (m, m), or None
    bias : float
    default : callable, optional
        ``default(X)`` makes the kernel where there is none.

    Returns
    -------
    array of shape (m, p)
        Inputs, or the Gram matrix.
    list of str
        Names of their columns.
    Kernel
    """
    if hasattr(kernel, "to_numpy"):
        kernel = kernel.to_numpy()
    if isinstance(kernel, np.ndarray):
        kernel = as_kernel(kernel, None, bias=bias)
        gram, columns = as_inputs(kernel.values, name="kernel")
        if X is not None and len(X) != len(gram):
            raise ValueError(
                f"X has {len(X)} rows but the Gram matrix given as kernel is one of {len(gram)} "
                "points. With a Gram matrix X may be None."
            )
        return gram, columns, kernel
    X, columns = as_inputs(X)
    if kernel is None and default is not None:
        kernel = default(X)
    return X, columns, as_kernel(kernel, X, bias=bias)


def _median_distance(X):
    rows = X if len(X) <= 1000 else X[np.random.default_rng(0).choice(len(X), 1000, replace=False)]
    distances = scipy.spatial.distance.pdist(rows)
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


class Kernel:
    """A positive semidefinite function of two inputs, evaluated on arrays of them."""

    #: Whether hyperparameters are random variables: then only a graph can evaluate the kernel.
    is_random = False

    #: Whether rows of X are rows of a Gram matrix rather than inputs.
    is_precomputed = False

    def __call__(self, X, Z):
        """Kernel values of the rows of X with those of Z, shape (len(X), len(Z))."""
        raise NotImplementedError

    def diagonal(self, X):
        """Kernel values of each row of X with itself, shape (len(X),)."""
        parts = [X[start : start + 64] for start in range(0, len(X), 64)]
        return np.concatenate([np.diag(self(part, part)) for part in parts])

    def gram(self, X):
        """Gram matrix of the rows of X, checked for its shape."""
        values = np.asarray(self._gram(X), dtype=np.float64)
        if values.shape != (len(X), len(X)):
            raise ValueError(
                f"kernel(X, X) must have the shape {(len(X), len(X))}, got {values.shape}."
            )
        return values

    def _gram(self, X):
        return self(X, X)


class CallableKernel(Kernel):
    """A function k(X, Z) of two arrays, given by the user."""

    def __init__(self, function, bias=0.0):
        self.function = function
        self.bias = bias

    def __call__(self, X, Z):
        """Call the function and check its answer."""
        values = as_floats(self.function(X, Z), "kernel(X, Z)")
        if values.shape != (len(X), len(Z)):
            raise ValueError(
                f"kernel(X, Z) must have the shape {(len(X), len(Z))}, got {values.shape}."
            )
        return values + self.bias


class KernelSum(Kernel):
    """Sum of kernels with fixed hyperparameters."""

    def __init__(self, kernels):
        self.kernels = tuple(kernels)

    def __call__(self, X, Z):
        """Kernel values of the rows of X with those of Z."""
        return sum(kernel(X, Z) for kernel in self.kernels)

    def diagonal(self, X):
        """Kernel values of each row of X with itself."""
        return sum(kernel.diagonal(X) for kernel in self.kernels)


class GramKernel(Kernel):
    """A Gram matrix computed before: inputs are rows of kernel values with the training points."""

    is_precomputed = True

    def __init__(self, values, bias=0.0):
        values = as_floats(values, "kernel")
        if values.ndim != 2 or values.shape[0] != values.shape[1]:
            raise ValueError(
                f"A Gram matrix given as kernel must be square; got the shape {values.shape}."
            )
        self.values = values
        self.bias = bias

    def gram(self, X=None):
        """Gram matrix of the training points."""
        return self.values + self.bias

    def __call__(self, X, support):
        """Columns ``support`` (indices) of kernel values X of points with all training points."""
        return np.asarray(X, dtype=np.float64)[:, support] + self.bias


class CovarianceKernel(Kernel):
    """A covariance function of ``pm.gp.cov``."""

    def __init__(self, covariance, n_features):
        check_covariance(covariance, n_features)
        self.covariance = covariance
        self.n_features = n_features

    def graph(self, X, Z=None):
        """Kernel values as a graph; without Z those of X with itself, white noise included."""
        return self.covariance(X) if Z is None else self.covariance(X, Z)

    def with_variables(self, replacements):
        """The same kernel with other variables, as a copy of a model has them."""
        covariance = _with_variables(self.covariance, replacements)
        return CovarianceKernel(covariance, self.n_features)

    def _gram(self, X):
        if self.is_random:
            raise TypeError("The kernel has random hyperparameters: its values differ by draw.")
        return self._gram_function(X)

    @cached_property
    def symbolic(self):
        """Symbolic inputs X and Z, and the kernel values of their rows as a graph of them."""
        X, Z = pt.matrix("X"), pt.matrix("Z")
        values = self.covariance(X, Z)
        # A constant covariance does not look at its inputs, and its graph may be a plain 1 x 1.
        return X, Z, values + pt.zeros((X.shape[0], Z.shape[0]))

    @cached_property
    def is_random(self):
        """Whether a hyperparameter is a random variable."""
        X, _, values = self.symbolic
        # White noise is in the values of points with themselves only.
        return is_random(values, self.covariance(X))

    @cached_property
    def _function(self):
        X, Z, values = self.symbolic
        return numpy_function([X, Z], values)

    @cached_property
    def _gram_function(self):
        X, _, _ = self.symbolic
        return numpy_function([X], self.covariance(X) + pt.zeros((X.shape[0], X.shape[0])))

    @cached_property
    def _diagonal(self):
        X, _, _ = self.symbolic
        return numpy_function([X], self.covariance(X, diag=True) + pt.zeros(X.shape[0]))

    def __call__(self, X, Z):
        """Evaluate on arrays; only possible while no hyperparameter is random."""
        if self.is_random:
            raise TypeError("The kernel has random hyperparameters: its values differ by draw.")
        return self._function(X, Z)

    def diagonal(self, X):
        """Kernel values of each row of X with itself."""
        return self._diagonal(X)


def _with_variables(part, replacements):
    """A covariance function, or a part of one, in whose graphs variables are replaced."""
    if isinstance(part, Variable):
        part = replacements.get(part, part)
        return graph_replace(part, replacements, strict=False)
    if isinstance(part, list | tuple):
        return type(part)(_with_variables(item, replacements) for item in part)
    if not isinstance(part, pm.gp.cov.BaseCovariance):
        return part
    same = copy(part)
    for name, value in vars(part).items():
        setattr(same, name, _with_variables(value, replacements))
    return same
