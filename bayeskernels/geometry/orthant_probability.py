r"""Probability of an orthant under a Gaussian, by minimax exponential tilting (Botev 2017).

With :math:`f = B z`, z standard normal and B lower triangular after a rotation, the orthant
:math:`f > 0` is :math:`z_i > a_i(z_1, \dots, z_{i-1})`. Drawing the :math:`z_i` one after the other
from normal distributions cut off at :math:`a_i` gives an unbiased estimate of its probability, but
a poor one where the orthant is small. Shifting these normals by :math:`\mu_i` makes its logarithm

.. math:: \psi(z, \mu) = \sum_i \tfrac{1}{2} \mu_i^2 - z_i \mu_i + \log \Phi(\mu_i - a_i(z)),

and the shifts that make its maximum over z least, a saddle point of a function that is concave in z
and convex in :math:`\mu`, leave draws of nearly equal weight.

Z. I. Botev, "The normal law under linear restrictions: simulation and estimation via minimax
tilting", JRSS B 79:125-148, 2017. The order of the variables is that of Gibson, Glasbey and Elston
(1994): the most constrained first.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import root
from scipy.special import log_ndtr, logsumexp, ndtri_exp
from scipy.stats import qmc

from bayeskernels.geometry.unit_rows import unit_rows

__all__ = ["OrthantProbability", "log_orthant_probability", "orthant_of_features"]

#: A direction that is left with less than this of its length by those before it is their
#: combination: there is no density of all outputs together.
SMALLEST_PIVOT = 1e-9

#: Independent scrambles of the point set, whose spread is the error.
REPLICATES = 16


@dataclass(frozen=True)
class OrthantProbability:
    """Estimate of the logarithm of an orthant's probability.

    Attributes
    ----------
    value : float
    mcse : float
        Standard error, from independent replicates.
    bound : float
        Upper bound of the value: the saddle point itself.
    n_draws : int
    effective_draws : float
        Draws of equal weight that would be as good; few mean that the error cannot be trusted.
    """

    value: float
    mcse: float
    bound: float
    n_draws: int
    effective_draws: float


def log_orthant_probability(covariance, *, n_draws=2**14, rng=None) -> OrthantProbability:
    """Logarithm of P(f > 0 in all coordinates), f ~ N(0, covariance), which is positive definite.

    All else is as in :func:`orthant_of_features`.

    Examples
    --------
    With all correlations one half each of n + 1 independent variables is equally likely to be the
    smallest, so the probability is 1 / (n + 1).

    >>> covariance = 0.5 * np.eye(20) + 0.5
    >>> found = log_orthant_probability(covariance, rng=np.random.default_rng(1))
    >>> bool(abs(found.value - np.log(1 / 21)) < 0.01)
    True
    """
    covariance = np.asarray(covariance, dtype=np.float64)
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ValueError(
            "The covariance is not positive definite: some outputs are combinations of others, "
            "and tilting has no density to work with."
        ) from None
    return orthant_of_features(factor, n_draws=n_draws, rng=rng)


def orthant_of_features(features, *, n_draws=2**14, rng=None) -> OrthantProbability:
    """Logarithm of P(features @ z > 0 in all rows), z standard normal.

    Parameters
    ----------
    features : array of shape (m, r)
        Linearly independent rows.
    n_draws : int
        In all replicates together.
    rng : numpy.random.Generator, optional

    Raises
    ------
    ValueError
        If rows are linearly dependent.
    """
    if n_draws < 2 * REPLICATES:
        raise ValueError(f"n_draws must be at least {2 * REPLICATES}, got {n_draws}.")
    rng = np.random.default_rng() if rng is None else rng
    slopes = _ordered_slopes(np.asarray(features, dtype=np.float64))
    shifts, bound = _saddle_point(slopes)
    per_replicate = n_draws // REPLICATES
    logs = np.empty((REPLICATES, per_replicate))
    for k, child in enumerate(rng.spawn(REPLICATES)):
        logs[k] = _draw_log_weights(slopes, shifts, _uniforms(child, len(slopes), per_replicate))
    total = logsumexp(logs)
    by_replicate = np.exp(logsumexp(logs, axis=1) - total) * REPLICATES
    return OrthantProbability(
        value=float(total - np.log(logs.size)),
        mcse=float(by_replicate.std(ddof=1) / np.sqrt(REPLICATES)),
        bound=float(bound),
        n_draws=logs.size,
        effective_draws=float(np.exp(2 * total - logsumexp(2 * logs))),
    )


def _ordered_slopes(features):
    """Strictly lower triangular matrix of the slopes by which earlier z move the bound of a later.

    Row i of the factor is divided by its diagonal: then z_i > -(slopes[i] @ z).
    """
    units, lengths = unit_rows(features)
    if features.shape[0] > features.shape[1] or not lengths.all():
        raise ValueError(
            f"{features.shape[0]} outputs in {features.shape[1]} dimensions are combinations of "
            "each other, and tilting has no density to work with."
        )
    order = _most_constrained_first(units)
    # By orthogonal transformations rather than from the Gram matrix, whose small pivots would be
    # rounding errors.
    factor = np.linalg.qr(units[order].T, mode="r").T
    diagonal = np.diag(factor)
    if np.abs(diagonal).min() < SMALLEST_PIVOT:
        raise ValueError(
            "Some outputs are, but for rounding errors, combinations of others, and tilting has no "
            "density to work with."
        )
    # A standard normal variable may be turned over: then all diagonal entries are positive.
    return np.tril(factor * np.sign(diagonal) / np.abs(diagonal)[:, None], -1)


def _most_constrained_first(units):
    """Order in which each next output is the least likely to be positive, given the others' means.

    Means of those before it, under the truncation, stand for them.
    """
    m = len(units)
    gram = units @ units.T
    order = np.arange(m)
    factor = np.zeros((m, m))
    means = np.zeros(m)
    left = np.ones(m)
    shift = np.zeros(m)
    for k in range(m):
        rest = order[k:]
        spread = np.sqrt(np.maximum(left[rest], SMALLEST_PIVOT**2))
        chosen = k + int(np.argmin(shift[rest] / spread))
        order[[k, chosen]] = order[[chosen, k]]
        j = order[k]
        spread = np.sqrt(max(left[j], SMALLEST_PIVOT**2))
        column = (gram[:, j] - factor[:, :k] @ factor[j, :k]) / spread
        factor[:, k] = column
        means[k] = _mills(-shift[j] / spread)
        left = left - column**2
        shift = shift + column * means[k]
    return order


def _mills(t):
    """Mean of a standard normal variable above t: its density at t over its mass above."""
    return np.exp(-0.5 * t**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(-t))


def _saddle_point(slopes):
    """Shifts of the draws, and the value of psi at the saddle point."""
    m = len(slopes)
    n = m - 1
    L = slopes[:, :n]

    def bounds(point):
        return -(L @ point[:n])

    def shifts_of(point):
        return np.append(point[n:], 0.0)

    def gradient(point):
        """Derivatives of psi by z and by the shifts; its last z and shift play no part."""
        shifts = shifts_of(point)
        mills = _mills(bounds(point) - shifts)
        by_z = L.T @ mills - shifts[:n]
        by_shift = shifts[:n] - point[:n] + mills[:n]
        return np.concatenate([by_z, by_shift])

    def jacobian(point):
        t = bounds(point) - shifts_of(point)
        mills = _mills(t)
        bend = mills * (t - mills)  # second derivative of log Phi(-t)
        mixed = L * bend[:, None]
        corner = mixed[:n] - np.eye(n)
        return np.block([[L.T @ mixed, corner.T], [corner, np.diag(1.0 + bend[:n])]])

    point = np.zeros(2 * n)
    if n > 0:
        point = _newton(gradient, jacobian, point)
    shifts = shifts_of(point)
    value = np.sum(
        0.5 * shifts**2 - np.append(point[:n], 0.0) * shifts + log_ndtr(shifts - bounds(point))
    )
    return shifts, value


def _newton(gradient, jacobian, point, *, tolerance=1e-8, max_steps=100):
    """Zero of a gradient; halved steps where Newton's would lead away from it."""
    now = gradient(point)
    for _ in range(max_steps):
        size = np.linalg.norm(now)
        if size < tolerance:
            return point
        step = np.linalg.solve(jacobian(point), now)
        for halving in range(30):
            trial = point - 0.5**halving * step
            there = gradient(trial)
            if np.linalg.norm(there) < (1.0 - 1e-4 * 0.5**halving) * size:
                break
        else:
            break
        point, now = trial, there
    if np.linalg.norm(now) < 1e-5:
        return point
    # Any shifts give an unbiased estimate; those of the best point found are merely less efficient.
    return root(gradient, point, jac=jacobian, method="hybr").x


def _uniforms(rng, m, n):
    """Points that fill the unit cube evenly, scrambled at random; (m, n), never 0 or 1."""
    points = qmc.Sobol(m, rng=rng).random(n).T
    return np.clip(points, 1e-300, 1.0 - 2.0**-53)


def _draw_log_weights(slopes, shifts, uniforms):
    """Log-weights of draws from shifted normals cut off at their bounds, one after the other."""
    m, n = uniforms.shape
    z = np.empty((m, n))
    logs = np.zeros(n)
    for i in range(m):
        t = -(slopes[i, :i] @ z[:i]) - shifts[i] if i else np.full(n, -shifts[i])
        log_mass = log_ndtr(-t)
        z[i] = shifts[i] - ndtri_exp(np.minimum(np.log(uniforms[i]) + log_mass, -1e-300))
        logs += 0.5 * shifts[i] ** 2 - z[i] * shifts[i] + log_mass
    return logs
