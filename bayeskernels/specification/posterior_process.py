"""Posteriors of a Gaussian process, one for each draw of its hyperparameters."""

import numpy as np
from rich.progress import Progress
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from bayeskernels.kernels.gram import factor_gram
from bayeskernels.linear.exact_process import ExactPosterior
from bayeskernels.linear.low_rank_process import LowRankPosterior, whitened
from bayeskernels.specification.process_draws import ProcessDraws

__all__ = ["each_posterior", "few_threads", "row_blocks"]

#: Size of a block of kernel values: it stays in the cache of a core.
BLOCK_BYTES = 2**22

#: Below this number of points one thread is faster than two.
SMALL = 2000


def each_posterior(specification, idata, *, which=None, progressbar=True):
    """Go through the draws of the hyperparameters, with the posterior process of each.

    Parameters
    ----------
    specification : GaussianProcessSpecification
    idata : DataTree, EvidenceMaximum or None
    which : array of int, optional
        Numbers of draws, chains one after the other; all by default.
    progressbar : bool

    Yields
    ------
    PosteriorProcess
    """
    draws = ProcessDraws(specification, idata)
    which = range(draws.n_draws) if which is None else which
    several = len(which) > 1
    with (
        few_threads(specification),
        Progress(disable=not (progressbar and several), transient=True) as progress,
    ):
        for draw in progress.track(which, description="Posteriors by draw"):
            yield PosteriorProcess(draws, draw)


def few_threads(specification):
    """Hold BLAS to one thread where matrices are small: several would only wait for each other.

    Those of sparse processes are small, however many points there are: they come in blocks.
    """
    is_small = specification.approximation is not None or len(specification.X) < SMALL
    return threadpool_limits(1 if is_small else None, user_api="blas")


class PosteriorProcess:
    """Posterior process under the hyperparameters of one draw.

    Attributes
    ----------
    noise, mean : float
        Standard deviation of the noise, prior mean.
    support : array of shape (s, p)
        Points in whose kernel functions the posterior mean is expanded.
    posterior : ExactPosterior or LowRankPosterior
    """

    def __init__(self, draws, draw):
        self._draws, self._draw = draws, draw
        specification = draws.specification
        self.noise, self.mean = draws.scalars(draw)
        targets = specification.y - self.mean
        sparse = specification.approximation is not None
        self.support = specification.inducing if sparse else specification.X
        gram = draws.gram(self.support, draw)
        if sparse:
            gram = gram + specification.jitter * np.eye(len(gram))
            self.posterior = LowRankPosterior(
                gram, self._blocks(targets), self.noise**2, specification.approximation
            )
        else:
            self.posterior = ExactPosterior(gram, self.noise**2, targets)

    def __call__(self, X_new):
        """Mean and variance of the process at new points, without noise."""
        parts = [
            self.posterior.mean_and_variance(cross, variances)
            for cross, variances, _ in self._blocks(np.zeros(len(X_new)), X_new)
        ]
        means, variances = (np.concatenate(values) for values in zip(*parts, strict=True))
        return means + self.mean, variances

    def draw(self, X_new, n_draws, rng):
        """Draw functions at new points, or at the training points (None): shape (n_draws, n).

        By Matheron's rule: functions of the prior, corrected by what their values at the support
        lack. The covariance matrix of the posterior, a small difference of large numbers where the
        noise is small, is not needed.
        """
        specification, posterior = self._draws.specification, self.posterior
        is_exact = specification.approximation is None
        points = specification.X if X_new is None else X_new
        n_support = len(self.support)
        if is_exact and X_new is None:
            gram = cross = self._draws.gram(points, self._draw)
            at_support = at_points = self._draw_prior(gram, n_draws, rng)
        else:
            gram = self._draws.gram(np.vstack([self.support, points]), self._draw)
            cross = gram[:n_support, n_support:]
            if not is_exact:
                gram[np.diag_indices(n_support)] += specification.jitter
            drawn = self._draw_prior(gram, n_draws, rng)
            at_support, at_points = drawn[:, :n_support], drawn[:, n_support:]
        normal = rng.standard_normal((n_support, n_draws))
        if is_exact:
            lacking = (specification.y - self.mean - at_support).T - self.noise * normal
            correction = lapack.dpotrs(posterior.factor, lacking, lower=1)[0]
        else:
            correction = posterior.draw_weights(normal) - whitened(posterior.factor, at_support.T)
            cross = whitened(posterior.factor, cross)
        return self.mean + at_points + correction.T @ cross

    @staticmethod
    def _draw_prior(gram, n_draws, rng):
        """Values of functions with zero mean; a singular matrix has a factor with fewer columns."""
        features = factor_gram(gram).features
        return rng.standard_normal((n_draws, features.shape[1])) @ features.T

    def _blocks(self, targets, X=None):
        """Kernel values of points with the support and with themselves, block by block."""
        X = self._draws.specification.X if X is None else X
        for part in row_blocks(len(X), len(self.support)):
            cross = self._draws.cross(self.support, X[part], self._draw)
            yield cross, self._draws.variances(X[part], self._draw), targets[part]


def row_blocks(n, width):
    """Slices of n rows, such that a block of so many columns stays small."""
    rows = max(1, BLOCK_BYTES // (8 * width))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
