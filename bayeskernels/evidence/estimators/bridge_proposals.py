r"""Proposals of bridge sampling: a Gaussian moved to the posterior, or the posterior moved to one.

*normal*: the Gaussian with mean and covariance of draws. *warp3* (Meng and Schilling 2002): the
posterior itself is standardised and reflected, :math:`\tilde p(z) = |L| (p(m + L z) + p(m - L z)) /
2`, which has the same integral; it agrees with N(0, I) in three moments, skewness included, at two
evaluations for each point.
"""

import numpy as np
from scipy.linalg import solve_triangular

__all__ = ["PROPOSALS", "NormalProposal", "WarpedProposal"]

_LOG_2PI = np.log(2.0 * np.pi)

#: Standard deviation of a variable given others, relative to its own, that rounding leaves.
SMALLEST_PIVOT = 1e-11


class NormalProposal:
    """A Gaussian with the mean and the covariance of draws.

    Parameters
    ----------
    draws : array of shape (n, d)
        That fit it, and are not used again.
    log_density : callable
        Of the posterior without its constant: from (n, d) to (n,).
    """

    evaluations = 1

    def __init__(self, draws, log_density):
        self.log_density = log_density
        self.mean = draws.mean(axis=0)
        scale = draws.std(axis=0)
        if not (scale > 0).all():
            raise ValueError(
                "Some coordinate has the same value in all draws: the chains have not moved."
            )
        # No shrinkage: what is left then does not depend on the units of the variables, nor on how
        # strongly they are correlated. Coefficients of a smooth kernel have condition numbers of
        # 1e10, of which shrinkage would leave nothing. The triangular factor comes from the draws
        # themselves; a covariance matrix would square that number.
        standard = (draws - self.mean) / (scale * np.sqrt(len(draws) - 1))
        triangle = np.linalg.qr(standard, mode="r")
        diagonal = np.diag(triangle)
        if not np.abs(diagonal).min() > SMALLEST_PIVOT:
            raise ValueError(
                "Some unknowns are functions of others in all draws: the posterior has no density "
                "in so many dimensions, or the draws are too few."
            )
        self.factor = scale[:, None] * (triangle * np.sign(diagonal)[:, None]).T
        self.log_volume = float(np.log(np.diag(self.factor)).sum())

    def at_draws(self, points):
        """Log-ratio of posterior to proposal at given points (n, d)."""
        z = self._standardised(points)
        return self.log_density(points) - self._log_normal(z) + self.log_volume

    def at_own_draws(self, n, rng):
        """The same at n draws of the proposal."""
        z = rng.standard_normal((n, len(self.mean)))
        points = self.mean + z @ self.factor.T
        return self.log_density(points) - self._log_normal(z) + self.log_volume

    def _standardised(self, points):
        return solve_triangular(self.factor, (points - self.mean).T, lower=True).T

    @staticmethod
    def _log_normal(z):
        return -0.5 * (z**2).sum(axis=1) - 0.5 * z.shape[1] * _LOG_2PI


class WarpedProposal(NormalProposal):
    """The posterior standardised and reflected, against a standard normal distribution."""

    evaluations = 2

    def at_draws(self, points):
        """Log-ratio of the warped density to the normal one at given points (n, d)."""
        z = self._standardised(points)
        mirrored = 2.0 * self.mean - points
        return self._reflected(points, mirrored) - self._log_normal(z)

    def at_own_draws(self, n, rng):
        """The same at n standard normal draws."""
        z = rng.standard_normal((n, len(self.mean)))
        shift = z @ self.factor.T
        return self._reflected(self.mean + shift, self.mean - shift) - self._log_normal(z)

    def _reflected(self, points, mirrored):
        both = np.logaddexp(self.log_density(points), self.log_density(mirrored))
        return both - np.log(2.0) + self.log_volume


PROPOSALS = {"normal": NormalProposal, "warp3": WarpedProposal}
