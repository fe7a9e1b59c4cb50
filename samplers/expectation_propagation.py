r"""Expectation propagation for piecewise constant posteriors (Minka 2001, chapter 5).

Not a sampler but the deterministic rival of one: with its length made free the direction is
:math:`z \sim N(0, I)`, every wall is a likelihood term of the output :math:`f_i = \langle n_i, z
\rangle` that has one value above and one below, and expectation propagation (EP) replaces each term
by a Gaussian that gives the right mean and variance in the context of the others. The mean of the
Gaussian posterior approximates the Bayes point (length and direction are independent, so
:math:`E z` is a multiple of :math:`E w`), its normalising constant the evidence.

Label noise and class-dependent rates need nothing extra, since walls have heights of their own. The
computation is in dual form: O(n_walls^2) per visit of a term.
"""

import logging
import math
from dataclasses import dataclass

import numba
import numpy as np

from bayeskernels.samplers.wall_dynamics import wall_gram

__all__ = ["GaussianPosterior", "propagate_expectations"]

_log = logging.getLogger(__name__)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _tilted_moments(mean, variance, above, below):
    """Log-normaliser of a step times a Gaussian, and its two derivatives by the mean.

    The step is ``above`` where f > 0 and ``below`` elsewhere.
    """
    deviation = math.sqrt(variance)
    u = mean / deviation
    # The side with the larger value comes first, so that nothing is lost by cancellation.
    if above >= below:
        share = 0.5 * math.erfc(-u / math.sqrt(2.0))
        level = below + (above - below) * share
    else:
        share = 0.5 * math.erfc(u / math.sqrt(2.0))
        level = above + (below - above) * share
    if level < 1e-300:
        # Far in the tail of a step down to zero: asymptotic hazard of the normal distribution.
        slope = -u / deviation - 1.0 / (u * deviation)
        log_level = -0.5 * u * u - math.log(-u if above > below else u) - 0.9189385332046727
        slope = slope if above > below else -slope
        return log_level, slope, -slope * (slope + u / deviation)
    density = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
    slope = (above - below) * density / (deviation * level)
    curvature = -slope * u / deviation - slope * slope
    return math.log(level), slope, curvature


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sweep(covariance, mean, precision, shift, above, below, order, damping):
    """Visit every term once; everything is updated in place. Returns the largest change."""
    largest = 0.0
    for i in order:
        variance = covariance[i, i]
        cavity_precision = 1.0 / variance - precision[i]
        if cavity_precision <= 0.0:
            continue
        cavity_variance = 1.0 / cavity_precision
        cavity_mean = (mean[i] / variance - shift[i]) * cavity_variance
        _, slope, curvature = _tilted_moments(cavity_mean, cavity_variance, above[i], below[i])
        new_variance = cavity_variance + cavity_variance * cavity_variance * curvature
        if not new_variance > 1e-300:
            continue
        new_mean = cavity_mean + cavity_variance * slope
        d_precision = damping * (1.0 / new_variance - cavity_precision - precision[i])
        d_shift = damping * (new_mean / new_variance - cavity_mean * cavity_precision - shift[i])
        scale = 1.0 + d_precision * variance
        if scale <= 1e-12:
            continue
        precision[i] += d_precision
        shift[i] += d_shift
        column = covariance[i].copy()
        mean += ((d_shift - d_precision * mean[i]) / scale) * column
        factor = d_precision / scale
        for j in range(len(mean)):
            covariance[j] -= (factor * column[j]) * column
        largest = max(largest, abs(mean[i] - new_mean) / math.sqrt(variance), abs(math.log(scale)))
    return largest


@dataclass(frozen=True)
class GaussianPosterior:
    """Gaussian approximation of a piecewise constant posterior.

    Attributes
    ----------
    mean : array of shape (r,)
        Mean of z; its direction approximates that of the Bayes point.
    log_mass : float
        Logarithm of E[exp(-energy)] under the prior, the energy counted from the lower side of each
        wall: add the log-likelihood of a classifier that is on the better side of every wall to get
        the log evidence.
    output_means, output_variances : arrays of shape (n_walls,)
        Marginals of the outputs.
    n_sweeps : int
        Visits of each term.
    converged : bool
        Whether the changes had fallen below the tolerance.
    """

    mean: np.ndarray
    log_mass: float
    output_means: np.ndarray
    output_variances: np.ndarray
    n_sweeps: int
    converged: bool

    @property
    def direction(self):
        """Unit vector along the mean."""
        return self.mean / np.linalg.norm(self.mean)


def propagate_expectations(walls, *, tolerance=1e-8, max_sweeps=200, damping=1.0, gram=None):
    """Approximate a piecewise constant posterior of a direction by a Gaussian.

    Parameters
    ----------
    walls : Walls
    tolerance : float
        Largest change of a marginal, in standard deviations, at which to stop.
    max_sweeps : int
        When to give up; the result then says so.
    damping : float in (0, 1]
        Share of each change that is made. Label noise can make EP oscillate; it is halved by itself
        when the changes do not shrink.
    gram : array of shape (n_walls, n_walls), optional
        Gram matrix of the normals where it is known already.

    Returns
    -------
    GaussianPosterior

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskernels.samplers.walls import WallGeometry, label_costs
    >>> points, positive = np.eye(2), np.array([True, True])
    >>> geometry = WallGeometry.from_features(points, positive)
    >>> walls = geometry.with_costs(label_costs(positive, 0.0, 0.0))
    >>> posterior = propagate_expectations(walls)  # a quarter of the circle
    >>> bool(np.isclose(posterior.log_mass, np.log(0.25)))
    True
    """
    gram = wall_gram(walls.normals, np.inf) if gram is None else gram
    n = walls.n_walls
    above = np.exp(np.minimum(walls.jumps, 0.0))
    below = np.exp(-np.maximum(walls.jumps, 0.0))
    precision, shift = np.zeros(n), np.zeros(n)
    covariance, mean = gram.copy(), np.zeros(n)
    order = np.arange(n)
    change, n_sweeps = np.inf, 0
    while n_sweeps < max_sweeps and change > tolerance:
        before = change
        change = _sweep(covariance, mean, precision, shift, above, below, order, damping)
        n_sweeps += 1
        if n_sweeps > 10 and change > 0.9 * before:
            damping = max(0.5 * damping, 0.05)
        covariance, mean = _posterior(gram, precision, shift)
    if change > tolerance:
        _log.warning("Expectation propagation did not settle in %d sweeps.", n_sweeps)
    return GaussianPosterior(
        mean=(shift - precision * mean) @ walls.normals,
        log_mass=_log_mass(gram, covariance, mean, precision, shift, above, below),
        output_means=mean,
        output_variances=np.diag(covariance).copy(),
        n_sweeps=n_sweeps,
        converged=bool(change <= tolerance),
    )


def _posterior(gram, precision, shift):
    """Covariance and mean of the outputs from scratch; precisions may be negative."""
    system = np.eye(len(gram)) + gram * precision
    covariance = np.linalg.solve(system, gram)
    covariance = 0.5 * (covariance + covariance.T)
    return covariance, covariance @ shift


def _log_mass(gram, covariance, mean, precision, shift, above, below):
    """Logarithm of the normalising constant (Rasmussen and Williams 2006, equation (3.65))."""
    _, log_determinant = np.linalg.slogdet(np.eye(len(gram)) + gram * precision)
    total = -0.5 * log_determinant + 0.5 * shift @ mean
    for i in range(len(mean)):
        cavity_precision = 1.0 / covariance[i, i] - precision[i]
        cavity_variance = 1.0 / cavity_precision
        cavity_mean = (mean[i] / covariance[i, i] - shift[i]) * cavity_variance
        log_level, _, _ = _tilted_moments(cavity_mean, cavity_variance, above[i], below[i])
        natural_mean = shift[i] + cavity_mean * cavity_precision
        site = (
            -0.5 * math.log1p(precision[i] * cavity_variance)
            + 0.5 * natural_mean**2 / (precision[i] + cavity_precision)
            - 0.5 * cavity_mean**2 * cavity_precision
        )
        total += log_level - site
    return float(total)
