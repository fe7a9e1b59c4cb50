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

__all__ = ["ExactPosterior", "evidence_and_cotangent"]


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
        factor, info = _factor(gram, noise_variance)
        if info:
            raise np.linalg.LinAlgError(
                f"The covariance matrix of the {len(targets)} targets is not positive definite "
                f"(noise variance {float(noise_variance):.3g}): the kernel is not positive "
                "semidefinite, or the noise too small for it."
            )
        self.factor = factor
        self.dual = lapack.dpotrs(factor, targets, lower=1)[0]
        self.log_evidence = _log_density(factor, targets, self.dual)

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


def evidence_and_cotangent(gram, noise_variance, targets):
    r"""Log evidence and its derivative with respect to the covariance matrix.

    Parameters
    ----------
    gram : array of shape (n, n)
    noise_variance : float
    targets : array of shape (n,)

    Returns
    -------
    float
        Minus infinity where the covariance matrix is not positive definite.
    array of shape (n, n)
        :math:`\tfrac12 (a a^T - C^{-1})`, of which the lecture's
        :math:`-\tfrac12 \mathrm{Tr}(C^{-1} \partial C) + \tfrac12 t^T C^{-1} \partial C C^{-1} t`
        is the inner product with :math:`\partial C`. (Zeros where there is no evidence.)
    array of shape (n,)
        Minus the dual coefficients, the derivative with respect to the targets.
    """
    factor, info = _factor(gram, noise_variance)
    if info:
        return -np.inf, np.zeros(gram.shape), np.zeros(len(targets))
    dual = lapack.dpotrs(factor, targets, lower=1)[0]
    value = _log_density(factor, targets, dual)
    inverse, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
    return value, _cotangent(inverse, dual), -dual


def _factor(gram, noise_variance):
    # Fortran order is what LAPACK works in without a copy; the matrix is symmetric.
    covariance = np.array(gram.T, order="F")
    covariance.flat[:: len(covariance) + 1] += noise_variance
    if not np.isfinite(covariance[0, 0]):
        return covariance, 1
    return lapack.dpotrf(covariance, lower=1, clean=0, overwrite_a=1)


def _log_density(factor, targets, dual):
    return float(
        -0.5 * targets @ dual
        - np.log(np.diagonal(factor)).sum()
        - 0.5 * len(targets) * np.log(2.0 * np.pi)
    )


@numba.njit(cache=True, nogil=True)
def _cotangent(inverse, dual):
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
