r"""Normalising constants of a family of targets :math:`p_0 e^{b E}` from draws at several b.

All draws are pooled (multistate Bennett acceptance ratio: Shirts and Chodera 2008; the family has
one energy, so this is also the histogram method without a histogram). With :math:`N_k` draws at
:math:`b_k`,

.. math:: \log Z(b) = \log \sum_n \frac{e^{b E_n}}{\sum_k N_k e^{b_k E_n - \log Z_k}},

and :math:`Z(b_0) = 1` fixes the scale. Errors come from what each round of a ladder contributes to
the estimate, all powers at once: neither correlations between rungs nor in time are overlooked.
"""

from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats
from scipy.special import logsumexp

__all__ = ["Normalizer", "log_normalizers", "normalizer_with_error"]


class Normalizer(NamedTuple):
    """A log-ratio of normalising constants with its Monte Carlo error."""

    value: float
    mcse: float


def log_normalizers(powers, energies, *, counts=None, start=None, tolerance=1e-8, max_steps=200):
    """Log-normalising constants at all powers, relative to the first.

    Parameters
    ----------
    powers : array of shape (n_powers,)
    energies : array of shape (n_powers, n_draws)
        E of the draws at each power; or, with ``counts``, the values that E takes, (n_values,).
    counts : array of shape (n_powers, n_values), optional
        How often each value was met at each power, equally many in all.
    start : array of shape (n_powers,), optional
        Where the iteration starts.
    tolerance : float
    max_steps : int

    Returns
    -------
    array of shape (n_powers,)

    Examples
    --------
    Standard normal draws tilted by E = x are normal with mean b, and log Z = b^2 / 2.

    >>> rng = np.random.default_rng(1)
    >>> powers = np.array([0.0, 0.5, 1.0])
    >>> energies = powers[:, None] + rng.standard_normal((3, 20_000))
    >>> log_normalizers(powers, energies).round(1).tolist()
    [0.0, 0.1, 0.5]
    """
    powers = np.asarray(powers, dtype=np.float64)
    energies = np.asarray(energies, dtype=np.float64)
    tilts = powers[:, None] * energies.ravel()
    if counts is None:
        n_draws, weights, middle = energies.shape[1], 1.0, np.median(energies, axis=1)
    else:
        n_draws, weights = counts[0].sum(), counts.sum(axis=0)
        middle = counts @ energies / n_draws
    values = _trapezoid(powers, middle) if start is None else np.array(start)
    for _ in range(max_steps):
        shares = _shares(tilts, values)
        weighted = weights * shares
        step = _newton_step(weighted.sum(axis=1), weighted @ shares.T, n_draws)
        if not np.all(np.abs(step) < 1.0):
            # Far away: the self-consistent iteration cannot go astray.
            step = _self_consistent(tilts, weights, values) - values
        values = values + step
        if np.abs(step).max() < tolerance:
            break
    return values


def _shares(tilts, values):
    """Probabilities that a draw came from each power, (n_powers, n)."""
    shares = tilts - values[:, None]
    return np.exp(shares - logsumexp(shares, axis=0))


def _newton_step(totals, products, n_draws):
    """Step of Newton's method on the convex objective; totals and products of the shares."""
    step = np.zeros(len(totals))
    curvature = (np.diag(totals) - products)[1:, 1:]
    step[1:] = np.linalg.lstsq(curvature, totals[1:] - n_draws, rcond=1e-12)[0]
    return step


def _trapezoid(powers, middle):
    """Thermodynamic integration, as a start: by medians where heavy tails may spoil means."""
    steps = 0.5 * np.diff(powers) * (middle[1:] + middle[:-1])
    return np.concatenate([[0.0], np.cumsum(steps)])


def _self_consistent(tilts, weights, values):
    log_mixture = logsumexp(tilts - values[:, None], axis=0)
    new = logsumexp(tilts - log_mixture, axis=1, b=weights)
    return new - new[0]


def normalizer_with_error(powers, energies):
    """Log-ratio of the last normalising constant to the first, with its Monte Carlo error.

    Parameters
    ----------
    powers : array of shape (n_powers,)
    energies : array of shape (n_ladders, n_draws, n_powers)
        E of each rung after each round, of independent ladders.

    Returns
    -------
    Normalizer
        The error is the larger of two: that of the mean of the rounds' contributions, by their
        effective number, and, where there are several ladders, that from the spread between their
        estimates. The second sees what the first cannot, ladders that have not mixed.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> powers = np.array([0.0, 0.5, 1.0])
    >>> energies = powers + rng.standard_normal((2, 1000, 3))
    >>> estimate = normalizer_with_error(powers, energies)
    >>> bool(abs(estimate.value - 0.5) < 3 * estimate.mcse)
    True
    """
    powers = np.asarray(powers, dtype=np.float64)
    energies = np.asarray(energies, dtype=np.float64)
    n_ladders, n_draws, n_powers = energies.shape
    if n_draws < 20:
        raise ValueError(f"{n_draws} draws are too few for an error; at least 20 are needed.")
    rounds = energies.reshape(-1, n_powers)
    values = log_normalizers(powers, rounds.T)
    tilts = (powers[:, None, None] * rounds.T).reshape(n_powers, -1)
    shares = _shares(tilts, values)
    # By the implicit function theorem a round moves the estimate by the inverse curvature times
    # its own part of the gradient.
    last = np.zeros(n_powers)
    curvature = np.diag(shares.sum(axis=1)) - shares @ shares.T
    unit = np.eye(n_powers - 1)[-1]
    last[1:] = np.linalg.lstsq(curvature[1:, 1:], unit, rcond=1e-12)[0] * len(rounds)
    parts = last @ (shares.reshape(n_powers, n_powers, -1).sum(axis=1) - 1.0)
    parts = parts.reshape(n_ladders, n_draws)
    effective = array_stats.ess(parts, method="mean", chain_axis=0, draw_axis=1)
    error = parts.std() / np.sqrt(effective)
    if n_ladders > 1:
        alone = [log_normalizers(powers, part.T, start=values)[-1] for part in energies]
        error = max(error, np.std(alone, ddof=1) / np.sqrt(n_ladders))
    return Normalizer(float(values[-1]), float(error))
