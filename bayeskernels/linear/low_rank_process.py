r"""Sparse Gaussian-process regression for given hyperparameters, in blocks of points.

With m inducing points u, :math:`L L^T = K_{uu}` and the whitened columns
:math:`W = L^{-1} K_{uf}`, the covariance of the process at the data is approximated by
:math:`W^T W`, and the targets have

.. math:: t \sim N(0, W^T W + \Lambda), \qquad \Lambda = \sigma^2 I \text{ (VFE)} \quad \text{or}
    \quad \mathrm{diag}(K_{ff} - W^T W) + \sigma^2 I \text{ (FITC)}.

VFE (Titsias, 2009) is a lower bound of the evidence: it subtracts
:math:`\mathrm{tr}(K_{ff} - W^T W) / 2 \sigma^2`. All that the n points contribute are sums over
them, so they are visited in blocks and no n x m matrix is ever whole in memory.
"""

import numpy as np
from scipy.linalg import lapack, solve_triangular

__all__ = ["LowRankPosterior", "VfeSums", "whitened"]

# What matrices are called in errors.
GRAM = "kernel matrix of the inducing points"
INNER = "precision matrix of the inducing values"


def _cholesky(matrix, what):
    """Lower factor of a matrix, called ``what`` where it has none."""
    info = 1
    if np.isfinite(matrix).all():
        factor, info = lapack.dpotrf(matrix, lower=1, clean=1)
    if info:
        raise np.linalg.LinAlgError(
            f"The {what} is not positive definite: the kernel is not positive semidefinite, its "
            "values are out of range, or the noise too small for them."
        )
    return factor


def whitened(factor, cross):
    """Columns W of kernel values with inducing points, shape (m, n)."""
    return solve_triangular(factor, cross, lower=True, check_finite=False)


class LowRankPosterior:
    """Posterior of a zero-mean Gaussian process that is expanded in m inducing points.

    Parameters
    ----------
    gram : array of shape (m, m)
        Kernel matrix of the inducing points, jitter included.
    blocks : iterable
        Of kernel values with the inducing points (m, n_b), with themselves (n_b,) and targets less
        the prior mean (n_b,), block by block.
    noise_variance : float
    approximation : {"VFE", "FITC"}

    Attributes
    ----------
    log_evidence : float
        Of FITC the evidence of the approximate model, of VFE the bound.
    """

    def __init__(self, gram, blocks, noise_variance, approximation):
        m = len(gram)
        self.factor = _cholesky(gram, GRAM)
        inner, right = np.eye(m), np.zeros(m)
        log_scales = quadratic = lost = n = 0.0
        for cross, variances, targets in blocks:
            W = whitened(self.factor, cross)
            rest = variances - np.einsum("ij,ij->j", W, W)
            if approximation == "FITC":
                scales = np.maximum(rest, 0.0) + noise_variance
            else:
                scales = np.full(len(targets), noise_variance)
                lost += rest.sum() / noise_variance
            weighted = W / scales
            inner += weighted @ W.T
            right += weighted @ targets
            log_scales += np.log(scales).sum()
            quadratic += targets @ (targets / scales)
            n += len(targets)
        self.inner_factor = _cholesky(inner, INNER)
        self.right = solve_triangular(self.inner_factor, right, lower=True)
        self.weights = solve_triangular(self.inner_factor, self.right, lower=True, trans="T")
        self.log_evidence = float(
            -0.5 * (n * np.log(2.0 * np.pi) + log_scales + quadratic + lost)
            - np.log(np.diagonal(self.inner_factor)).sum()
            + 0.5 * self.right @ self.right
        )

    def mean_and_variance(self, cross, variances):
        """Mean and variance of the process at new points, as for the exact posterior.

        ``cross`` has the kernel values of inducing points with new ones, shape (m, n_new).
        """
        W = whitened(self.factor, cross)
        inner = solve_triangular(self.inner_factor, W, lower=True, check_finite=False)
        explained = np.einsum("ij,ij->j", W, W) - np.einsum("ij,ij->j", inner, inner)
        return W.T @ self.weights, np.maximum(variances - explained, 0.0)

    def draw_weights(self, normal):
        """Draws of the whitened inducing values, from columns of standard normal numbers."""
        spread = solve_triangular(self.inner_factor, normal, lower=True, trans="T")
        return self.weights[:, None] + spread


class VfeSums:
    r"""The bound of VFE and its derivatives with respect to all kernel values.

    The bound depends on the kernel values with the data only through :math:`S = W W^T`,
    :math:`a = W t` and :math:`\mathrm{tr} K_{ff}`. Blocks are visited twice: :meth:`add` gathers
    the sums, :meth:`cross_cotangent` then gives the derivative for one block.

    Parameters
    ----------
    gram : array of shape (m, m)
        Kernel matrix of the inducing points, jitter included.
    """

    def __init__(self, gram):
        self.factor = _cholesky(gram, GRAM)
        self.S = np.zeros(gram.shape)
        self.a = np.zeros(len(gram))
        self.squares = self.trace = 0.0
        self.n = 0

    def add(self, cross, variances, targets):
        """Gather the sums of one block; arguments as in :class:`LowRankPosterior`."""
        W = whitened(self.factor, cross)
        self.S += W @ W.T  # NumPy sees that this is symmetric and computes one half.
        self.a += W @ targets
        self.squares += targets @ targets
        self.trace += variances.sum()
        self.n += len(targets)

    def solve(self, noise_variance):
        """The bound, and its derivative with respect to the noise variance."""
        # A NumPy float overflows to infinity, where one of Python raises.
        m, v = len(self.a), np.float64(noise_variance)
        B = np.eye(m) + self.S / v
        factor = _cholesky(B, INNER)
        inverse = solve_triangular(factor, np.eye(m), lower=True)
        inverse = inverse.T @ inverse
        b = inverse @ self.a
        lost = self.trace - np.trace(self.S)
        value = -0.5 * (
            self.n * np.log(2.0 * np.pi * v)
            + 2.0 * np.log(np.diagonal(factor)).sum()
            + (self.squares - self.a @ b / v + lost) / v
        )
        # By S and a, which the blocks share; then by v at fixed S and a.
        self._by_S = 0.5 * (np.eye(m) / v - inverse / v - np.outer(b, b) / v**3)
        self._by_a = b / v**2
        by_B_over_v = np.sum(inverse * self.S) + b @ self.S @ b / v**2
        by_variance = -0.5 * (
            self.n / v
            - by_B_over_v / v**2
            - (self.squares + lost) / v**2
            + 2.0 * (self.a @ b) / v**3
        )
        self._by_trace = -0.5 / v
        # By kernel values they get an L^-T in front: once here, not for each block. (The L^-1
        # within W could be had in the same way, but would square the condition number.)
        both = np.column_stack([2.0 * self._by_S, self._by_a])
        both = solve_triangular(self.factor, both, lower=True, trans="T")
        self._times_W, self._times_targets = both[:, :-1], both[:, -1]
        return float(value), float(by_variance)

    def cross_cotangent(self, cross, targets):
        """Derivatives with respect to one block's kernel values, own variances and targets."""
        W = whitened(self.factor, cross)
        by_cross = self._times_W @ W + np.outer(self._times_targets, targets)
        by_targets = W.T @ self._by_a + 2.0 * self._by_trace * targets
        return by_cross, np.full(len(targets), self._by_trace), by_targets

    def gram_cotangent(self):
        """Derivative with respect to the kernel matrix of the inducing points."""
        # W = L^-1 K_uf, so L receives -L^-T (dW W^T), of which the sum over blocks is known.
        by_W_W = 2.0 * self._by_S @ self.S + np.outer(self._by_a, self.a)
        by_factor = -np.tril(solve_triangular(self.factor, by_W_W, lower=True, trans="T"))
        return _through_cholesky(self.factor, by_factor)


def _through_cholesky(factor, by_factor):
    """From the derivative by a Cholesky factor to that by the matrix (Murray, 2016)."""
    inner = np.tril(factor.T @ by_factor)
    inner[np.diag_indices_from(inner)] *= 0.5
    half = solve_triangular(factor, inner, lower=True, trans="T")
    half = solve_triangular(factor, half.T, lower=True, trans="T").T
    return 0.5 * (half + half.T)
