r"""A mixture of heavy-tailed Laplace approximations, one around each mode of a density.

The Laplace approximation at mode k has the covariance :math:`\Sigma_k` of the curvature there and
the mass :math:`p(x_k) |2 \pi \Sigma_k|^{1/2}`. With Student's t in place of the Gaussian the
mixture has heavier tails than the posteriors it is made for, and can propose for them.
"""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_t

__all__ = ["LaplaceMixture"]

#: Degrees of freedom of Student's t.
DEGREES = 6.0

#: Every mode is proposed with at least this probability, divided among them.
SHARED = 0.1


class LaplaceMixture:
    """Mixture of multivariate t distributions around modes.

    Parameters
    ----------
    modes : array of shape (k, d)
    covariances : array of shape (k, d, d)
        Inverses of the negative Hessians of the log density.
    log_densities : array of shape (k,)
        Log density at each mode, up to a constant.

    Attributes
    ----------
    masses : array of shape (k,)
        Shares of the modes in the total mass, by Laplace's approximation.

    Examples
    --------
    >>> two = LaplaceMixture([[-3.0], [3.0]], [[[1.0]], [[4.0]]], [0.0, 0.0])
    >>> two.masses.round(2)  # equally high, the second twice as wide
    array([0.33, 0.67])
    >>> points = two.draw(np.random.default_rng(1), 1000)
    >>> round(float((points[:, 0] > 0).mean()), 1)
    0.6
    """

    def __init__(self, modes, covariances, log_densities):
        self.modes = np.asarray(modes, dtype=float)
        covariances = np.asarray(covariances, dtype=float)
        log_masses = np.asarray(log_densities) + 0.5 * np.linalg.slogdet(covariances)[1]
        self.masses = np.exp(log_masses - logsumexp(log_masses))
        self._shares = (1.0 - SHARED) * self.masses + SHARED / len(self.masses)
        self._parts = [
            multivariate_t(mode, covariance, df=DEGREES)
            for mode, covariance in zip(self.modes, covariances, strict=True)
        ]

    def draw(self, rng, size):
        """Independent draws, an array of shape (size, d)."""
        chosen = rng.choice(len(self._parts), size=size, p=self._shares)
        points = np.empty((size, self.modes.shape[1]))
        for k in np.unique(chosen):
            own = chosen == k
            points[own] = np.reshape(
                self._parts[k].rvs(own.sum(), random_state=rng), (own.sum(), -1)
            )
        return points

    def log_density(self, points):
        """Log density at each of the points, an array of shape (n, d)."""
        return logsumexp(self._log_terms(points), axis=0)

    def nearest(self, point):
        """Number of the mode to which a point most probably belongs."""
        return int(np.argmax(self._log_terms(np.atleast_2d(point))[:, 0]))

    def _log_terms(self, points):
        terms = [np.atleast_1d(part.logpdf(points)) for part in self._parts]
        return np.log(self._shares)[:, None] + np.stack(terms)
