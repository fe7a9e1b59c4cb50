r"""Exact Gaussian-process regression for given hyperparameters, in NumPy and LAPACK.

With the kernel matrix K of the training points, noise of variance :math:`\sigma^2` and
:math:`C = K + \sigma^2 I` the lecture has (slides "Prediction for New Data Points" and
"Hyperparameters in Gaussian Processes")

.. math::

    m(x) = k(x)^T C^{-1} t, \qquad s^2(x) = k(x, x) + \sigma^2 - k(x)^T C^{-1} k(x), \qquad
    \log p(t) = -\tfrac12 t^T C^{-1} t - \tfrac12 \log |C| - \tfrac n2 \log 2 \pi.

A Gram matrix is only positive *semi*definite: it is C that has an inverse, not K as a slide says.
"""

import numba
import numpy as np
from scipy.linalg import lapack, solve_triangular

from bayeskernels.compiled import JIT

__all__ = ["ExactPosterior", "GaussianEvidence"]


class ExactPosterior:
    """Posterior of a zero-mean Gaussian process at given hyperparameters.

    Parameters
    ----------
    gram : array of shape (n, n)
        Kernel matrix K of the training points.
    noise_variance : float
    targets : array of shape (n,)
        Less the prior mean.

    Attributes
    ----------
    factor : array of shape (n, n)
        Cholesky factor of C, lower triangle.
    dual : array of shape (n,)
        Coefficients a = C^-1 t: the dual solution of ridge regression.
    log_evidence : float
    """

    def __init__(self, gram, noise_variance, targets):
        # Fortran order is what LAPACK works in without a copy; the matrix is symmetric.
        factor, info = _factor_in_place(np.array(gram.T, order="F"), noise_variance)
        if info:
            raise np.linalg.LinAlgError(
                f"The covariance matrix of the {len(targets)} targets is not positive definite "
                f"(noise variance {float(noise_variance):.3g}): the kernel is not positive "
                "semidefinite, or the noise too small for it."
            )
        self.factor = factor
        self.dual = lapack.dpotrs(factor, targets, lower=1)[0]
        self.log_evidence = _log_density(factor, targets @ self.dual)

    def mean_and_variance(self, cross, variances):
        """Mean and variance of the process at new points, without noise.

        Parameters
        ----------
        cross : array of shape (n, n_new)
            Kernel values of training points with new ones.
        variances : array of shape (n_new,)
            Kernel values of the new points with themselves.
        """
        solved = solve_triangular(self.factor, cross, lower=True, check_finite=False)
        explained = np.einsum("ij,ij->j", solved, solved)
        return cross.T @ self.dual, np.maximum(variances - explained, 0.0)


class GaussianEvidence:
    r"""Log evidence, and its derivative by the covariance matrix in tiles.

    The derivative is :math:`\tfrac12 (a a^T - C^{-1})`, of which the lecture's
    :math:`-\tfrac12 \mathrm{Tr}(C^{-1} \partial C) + \tfrac12 t^T C^{-1} \partial C C^{-1} t` is
    the inner product with :math:`\partial C`. By the targets it is minus the dual coefficients a.

    Parameters
    ----------
    gram : array of shape (n, n), in Fortran order
        Kernel matrix K, of which only the lower triangle is read. It is overwritten.
    noise_variance : float
    targets : array of shape (n,)

    Attributes
    ----------
    value : float
        Minus infinity where the covariance matrix is not positive definite.
    matrix : array of shape (n, n)
        The memory of ``gram``: its lower triangle has the Cholesky factor of C, after
        :meth:`invert` the inverse. The upper one is left as it was.
    dual : array of shape (n,)
        After :meth:`invert`.
    """

    def __init__(self, gram, noise_variance, targets):
        self._targets = targets
        self.matrix, info = _factor_in_place(gram, noise_variance)
        self.value = -np.inf
        if not info:
            solved = lapack.dtrtrs(self.matrix, targets, lower=1)[0]
            self.value = _log_density(self.matrix, solved @ solved)

    def invert(self):
        """Make ready for derivatives."""
        self.dual = lapack.dpotrs(self.matrix, self._targets, lower=1)[0]
        self.matrix = lapack.dpotri(self.matrix, lower=1, overwrite_c=1)[0]

    def by_noise_variance(self):
        """Derivative by the variance of the noise: half the trace of that by the matrix."""
        return 0.5 * float(self.dual @ self.dual - np.trace(self.matrix))

    def cotangent(self, rows, columns):
        """Derivative by a tile of the lower triangle; on the diagonal by both its triangles."""
        inverse = self.matrix[rows, columns]
        if rows == columns:
            return _symmetric_cotangent(inverse, self.dual[rows])
        return 0.5 * (np.outer(self.dual[rows], self.dual[columns]) - inverse)


def _factor_in_place(covariance, noise_variance):
    """Cholesky factor of what becomes C, in its lower triangle, and LAPACK's verdict."""
    covariance.flat[:: len(covariance) + 1] += noise_variance
    if not np.isfinite(covariance[0, 0]):
        return covariance, 1
    return lapack.dpotrf(covariance, lower=1, clean=0, overwrite_a=1)


def _log_density(factor, squares):
    """From the factor of C and t' C^-1 t."""
    logarithms = np.log(np.diagonal(factor)).sum() + 0.5 * len(factor) * np.log(2.0 * np.pi)
    return float(-0.5 * squares - logarithms)


@numba.njit(**JIT)
def _symmetric_cotangent(inverse, dual):
    """Half of dual dual' - inverse, of which only the lower triangle is known."""
    n = len(dual)
    result = np.empty((n, n))
    width = 64
    # In tiles, so that the mirrored half is written while its lines are in cache.
    for first in range(0, n, width):
        for second in range(0, first + 1, width):
            for j in range(second, min(second + width, n)):
                for i in range(max(first, j), min(first + width, n)):
                    value = 0.5 * (dual[i] * dual[j] - inverse[i, j])
                    result[i, j] = value
                    result[j, i] = value
    return result
