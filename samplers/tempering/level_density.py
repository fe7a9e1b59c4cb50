r"""How the prior spreads over the levels of an energy, from draws of a ladder.

Where the energy takes few values, as the number of training errors does, all draws of a ladder are
a histogram for each rung, and reweighting gives the prior probability of every level at once
(Ferrenberg and Swendsen 1989). From these g(E) follows
:math:`\log \mathrm{E}\, e^{-\beta E} = \log \sum_E g(E) e^{-\beta E}` at every :math:`\beta`, those
between the rungs included.

Its error is that of a mean over rounds: to first order every round shifts the estimate by a number
of its own, its *part* (the infinitesimal jackknife), all :math:`\beta` at once. Autocorrelation of
these parts, the spread between ladders and the number of round trips widen the error.
"""

from dataclasses import dataclass, field

import numpy as np
from arviz_stats.base import array_stats
from scipy.special import logsumexp

from bayeskernels.samplers.tempering.energy_reweighting import log_normalizers

__all__ = ["LevelDensity", "error_of_mean"]


@dataclass(frozen=True)
class LevelDensity:
    """Prior probabilities of the levels of an energy, with what each round says about them.

    Attributes
    ----------
    levels : array of shape (n_levels,)
        Values of the energy that were met.
    log_density : array of shape (n_levels,)
        Logarithms of their prior probabilities.
    betas : array of shape (n_rungs,)
        Rungs of the ladder, from 0.
    log_normalizers : array of shape (n_rungs,)
    numbers : array of int, shape (n_ladders, n_rounds, n_rungs)
        Level on each rung after each round.
    round_trips : int
        Of all ladders.
    """

    levels: np.ndarray
    log_density: np.ndarray
    betas: np.ndarray
    log_normalizers: np.ndarray = field(repr=False)
    numbers: np.ndarray = field(repr=False)
    round_trips: int

    @classmethod
    def from_energies(cls, betas, energies, round_trips):
        """Pool the energies (n_ladders, n_rounds, n_rungs) of ladders at the same betas.

        Examples
        --------
        Draws of a fair die and of one on which an eye more is e times as likely.

        >>> rng = np.random.default_rng(1)
        >>> weights = np.exp(np.arange(6.0))
        >>> fair = rng.integers(6, size=4000)
        >>> loaded = rng.choice(6, 4000, p=weights / weights.sum())
        >>> density = LevelDensity.from_energies(
        ...     [0.0, 1.0], -np.stack([fair, loaded], axis=1)[None], 100
        ... )
        >>> np.exp(density.log_density).round(1).tolist()
        [0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
        >>> bool(abs(density.log_ratio([1.0])[0] - np.log(weights.mean())) < 0.1)
        True
        """
        betas = np.asarray(betas, dtype=np.float64)
        energies = np.asarray(energies, dtype=np.float64)
        n_ladders, n_rounds, n_rungs = energies.shape
        if n_rounds < 20:
            raise ValueError(f"{n_rounds} rounds are too few for an error; at least 20 are needed.")
        # Sums of costs that are equal but for the order of their terms are one level.
        levels, numbers = np.unique(energies.round(9), return_inverse=True)
        numbers = numbers.reshape(energies.shape)
        by_rung = numbers.reshape(-1, n_rungs)
        counts = np.stack([np.bincount(column, minlength=len(levels)) for column in by_rung.T])
        values = log_normalizers(betas, -levels, counts=counts)
        log_mixture = logsumexp(-betas[:, None] * levels - values[:, None], axis=0)
        log_density = np.log(counts.sum(axis=0)) - np.log(n_ladders * n_rounds) - log_mixture
        log_density -= logsumexp(log_density)
        return cls(levels, log_density, betas, values, numbers, int(round_trips))

    def log_ratio(self, betas):
        """Log of the prior mean of exp(-beta E) at each beta, (n,)."""
        betas = np.asarray(betas, dtype=np.float64)
        return logsumexp(self.log_density - betas[:, None] * self.levels, axis=1)

    def mean_energy(self, betas):
        """Mean of E under the tilted prior at each beta, (n,)."""
        return self._tilted(betas) @ self.levels

    def _tilted(self, betas):
        """Probabilities of the levels at each beta, (n, n_levels)."""
        tilted = self.log_density - np.asarray(betas, dtype=np.float64)[:, None] * self.levels
        return np.exp(tilted - logsumexp(tilted, axis=1, keepdims=True))

    def parts(self, betas, mixture=None):
        """First-order shift of :meth:`log_ratio` by every round: (n, n_ladders, n_rounds).

        Their mean is zero. ``mixture`` (k, n) gives k weighted sums of them instead.
        """
        tilts = -self.betas[:, None] * self.levels - self.log_normalizers[:, None]
        shares = np.exp(tilts - logsumexp(tilts, axis=0))
        # Probability of a level at beta over how often a ladder meets it, times the rungs.
        met = np.bincount(self.numbers.ravel(), minlength=len(self.levels))
        n_rounds = self.numbers[..., 0].size
        tilted = self._tilted(betas)
        totals_of = np.ones(len(tilted))
        if mixture is not None:
            tilted, totals_of = mixture @ tilted, mixture @ totals_of
        weights = tilted * n_rounds / met
        curvature = np.diag(shares @ met) - (shares * met) @ shares.T
        coupling = (weights * met) @ shares[1:].T
        # By the implicit function theorem a round moves the normalisers by the inverse curvature
        # times its own part of the gradient, and these move the ratio.
        through = np.linalg.lstsq(curvature[1:, 1:], coupling.T, rcond=1e-12)[0].T
        by_level = weights + through @ shares[1:]
        shifts = -totals_of - through.sum(axis=1)
        totals = np.zeros((len(by_level), *self.numbers.shape[:2]))
        for rung in range(self.numbers.shape[2]):
            totals += by_level[:, self.numbers[..., rung]]
        return totals + shifts[:, None, None]

    def mcse(self, parts):
        """Standard error of an estimate from its parts, (..., n_ladders, n_rounds)."""
        return error_of_mean(parts, self.round_trips)


def error_of_mean(parts, round_trips):
    """Standard error of the mean of what every round of several ladders contributes.

    Of ``parts``, an array of shape (..., n_ladders, n_rounds), it is the larger of two errors, by
    the effective number of rounds and by the spread between ladders. A ladder's rounds count for
    more than one independent draw only if replicas travel, and n round trips give the error itself
    an error of about 1 / sqrt(2 n); it is widened by as much.

    Examples
    --------
    >>> parts = np.random.default_rng(1).standard_normal((2, 5000))
    >>> float(error_of_mean(parts, 1000).round(3))
    0.01
    """
    parts = np.asarray(parts)
    n_ladders, n_rounds = parts.shape[-2:]
    flat = parts.reshape(-1, n_ladders, n_rounds)
    spread = flat.std(axis=(1, 2))
    effective = np.array(
        [
            array_stats.ess(part, method="mean", chain_axis=0, draw_axis=1) if sd > 0 else np.inf
            for part, sd in zip(flat, spread, strict=True)
        ]
    )
    error = spread / np.sqrt(effective)
    if n_ladders > 1:
        between = flat.mean(axis=2).std(axis=1, ddof=1) / np.sqrt(n_ladders)
        error = np.maximum(error, between)
    error = error * (1.0 + np.sqrt(0.5 / max(round_trips, 0.5)))
    return error.reshape(parts.shape[:-2])
