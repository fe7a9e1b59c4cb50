"""Conformance test of kernels: what a function of two inputs needs to be a ``kernel=``."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from bayeskernels.kernels.argument import CovarianceKernel, as_kernel

__all__ = ["KernelReport", "check_kernel"]


@dataclass(frozen=True)
class KernelReport:
    """What :func:`check_kernel` found.

    Attributes
    ----------
    n_points : int
        Number of points of the Gram matrix.
    rank : int
        Its numerical rank.
    smallest_eigenvalue, largest_eigenvalue : float
    """

    n_points: int
    rank: int
    smallest_eigenvalue: float
    largest_eigenvalue: float


def check_kernel(kernel, X=None, *, tolerance=1e-8) -> KernelReport:
    """Check that a kernel is a symmetric, positive semidefinite function of two inputs.

    An AssertionError says what was expected and what came.

    Parameters
    ----------
    kernel : pm.gp.cov.Covariance, callable or array of shape (m, m)
        As in ``bayeskernels.models``: a covariance function with fixed hyperparameters, a function
        ``k(X, Z)`` of two arrays, or a Gram matrix.
    X : array of shape (m, p)
        Points to try it on; several tens that look like the data. Not needed with a Gram matrix.
    tolerance : float
        Largest error allowed, relative to the largest kernel value.

    Examples
    --------
    >>> X = np.random.default_rng(1).normal(size=(20, 3))
    >>> bk.testing.check_kernel(pm.gp.cov.Linear(3, c=0.0), X).rank
    3
    >>> bk.testing.check_kernel(lambda X, Z: -X @ Z.T, X)
    Traceback (most recent call last):
    AssertionError: expected a positive semidefinite kernel; the Gram matrix has the eigenvalue ...
    """
    if isinstance(kernel, np.ndarray):
        gram = kernel
        _expect(
            gram.ndim == 2 and gram.shape[0] == gram.shape[1],
            f"expected a square Gram matrix; got the shape {gram.shape}",
        )
    else:
        gram = _evaluate_in_parts(kernel, X, tolerance)
    _expect(np.isfinite(gram).all(), "expected finite kernel values; some are NaN or infinite")
    scale = np.abs(gram).max()
    asymmetry = np.abs(gram - gram.T).max()
    _expect(
        asymmetry <= tolerance * scale,
        f"expected k(x, z) = k(z, x); they differ by up to {asymmetry:.3g}",
    )
    values = linalg.eigvalsh((gram + gram.T) / 2)
    _expect(
        values[0] >= -tolerance * max(values[-1], scale),
        "expected a positive semidefinite kernel; the Gram matrix has the eigenvalue "
        f"{values[0]:.3g} (its largest is {values[-1]:.3g})",
    )
    rank = int(np.sum(values > len(gram) * np.finfo(float).eps * values[-1]))
    return KernelReport(len(gram), rank, float(values[0]), float(values[-1]))


def _expect(condition, message):
    if not condition:
        raise AssertionError(message)


def _evaluate_in_parts(kernel, X, tolerance):
    """Gram matrix of X; its parts and its diagonal must come out the same on their own."""
    X = np.asarray(X, dtype=np.float64)
    _expect(X.ndim == 2 and len(X) >= 2, f"expected at least two rows of inputs; got {X.shape}")
    before = X.copy()
    kernel = as_kernel(kernel, X)
    half = len(X) // 2
    first, rest = X[:half], X[half:]
    try:
        gram = kernel(X, X)
        parts = {"k(X[:h], X[h:])": (kernel(first, rest), gram[:half, half:])}
        parts["k(X[h:], X[:h])"] = (kernel(rest, first), gram[half:, :half])
        parts["the diagonal"] = (kernel.diagonal(X), np.diag(gram))
    except ValueError as error:
        raise AssertionError(f"expected k(X, Z) of the shape (len(X), len(Z)): {error}") from error
    _expect(np.array_equal(X, before), "expected the kernel to leave its inputs alone")
    scale = np.abs(gram[np.isfinite(gram)]).max(initial=0.0)
    for name, (part, whole) in parts.items():
        error = np.abs(part - whole).max()
        # PyMC takes the root of r^2 + 1e-12 for a distance r: its rough kernels, Matern12 for one,
        # have k(x, x) = 1 - 1e-6 in a matrix and 1 in its diagonal.
        is_rough = name == "the diagonal" and isinstance(kernel, CovarianceKernel)
        allowed = max(tolerance, 1e-5) if is_rough else tolerance
        _expect(
            not error > allowed * scale,
            f"expected {name} to be a part of k(X, X); it differs by up to {error:.3g}",
        )
    return gram
