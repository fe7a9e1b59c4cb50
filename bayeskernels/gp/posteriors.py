"""Posteriors of a Gaussian process, one for each draw of its hyperparameters."""

import numpy as np
from rich.progress import Progress
from threadpoolctl import threadpool_limits

from bayeskernels.gp.exact import ExactPosterior
from bayeskernels.gp.hyperparameters import ProcessDraws

__all__ = ["each_posterior", "few_threads"]

#: Size of a block of kernel values.
BLOCK_BYTES = 2**26

#: Below this number of points one thread is faster than two.
SMALL = 1000


def each_posterior(model, idata, *, progressbar=True):
    """Go through the draws of the hyperparameters, with the posterior process of each.

    Parameters
    ----------
    model : pm.Model
    idata : DataTree, EvidenceMaximum or None
    progressbar : bool

    Yields
    ------
    PosteriorProcess
    """
    draws = ProcessDraws(model, idata)
    several = draws.n_draws > 1
    with (
        few_threads(len(draws.specification.X)),
        Progress(disable=not (progressbar and several), transient=True) as progress,
    ):
        for draw in progress.track(range(draws.n_draws), description="Posteriors by draw"):
            yield PosteriorProcess(draws, draw)


def few_threads(n):
    """Hold BLAS to one thread where matrices are small: several would only wait for each other."""
    return threadpool_limits(1 if n < SMALL else None, user_api="blas")


class PosteriorProcess:
    """Posterior process under the hyperparameters of one draw.

    Attributes
    ----------
    noise, mean : float
        Standard deviation of the noise, prior mean.
    support : array of shape (s, p)
        Points in whose kernel functions the posterior mean is expanded.
    posterior : ExactPosterior
    """

    def __init__(self, draws, draw):
        self._draws, self._draw = draws, draw
        specification = draws.specification
        self.noise, self.mean = draws.scalars(draw)
        targets = specification.y - self.mean
        self.support = specification.X
        gram = draws.gram(specification.X, draw)
        self.posterior = ExactPosterior(gram, self.noise**2, targets)

    def __call__(self, X_new):
        """Mean and variance of the process at new points, without noise."""
        means, variances = [], []
        rows = max(1, BLOCK_BYTES // (8 * len(self.support)))
        for start in range(0, len(X_new), rows):
            part = X_new[start : start + rows]
            cross = self._draws.cross(self.support, part, self._draw)
            own = self._draws.variances(part, self._draw)
            mean, variance = self.posterior.mean_and_variance(cross, own)
            means.append(mean + self.mean)
            variances.append(variance)
        return np.concatenate(means), np.concatenate(variances)
