r"""Evidence of a label-noise classifier as a function of its noise level.

All that the noise level q does is to price errors: with g(e) the prior probability of a classifier
that makes e training errors among m,

.. math:: Z(q) = \sum_e g(e)\, q^e (1-q)^{m-e}.

So one estimate of g gives the evidence at every q, the posterior of q under any prior, and the mean
number of errors, each with its error.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import xarray as xr
from scipy.special import expit, logsumexp

from bayeskernels.evidence.result import Evidence
from bayeskernels.samplers.tempering.level_density import LevelDensity

__all__ = ["NoiseEvidence", "NoisePosterior", "noise_nodes"]

#: Stands for an infinite price of an error: exp of minus this is zero.
_INFINITE = 1e6

#: By how much the integral of a prior over the nodes may differ from one.
LARGEST_PRIOR_ERROR = 0.01


def noise_nodes(low=0.0, high=0.5, *, centre=0.0, spread=np.inf):
    """Noise levels and weights of a quadrature over an interval: trapezoids in the logit.

    Parameters
    ----------
    low, high : float
    centre, spread : float
        Around which logit of (q - low) / (high - low) a prior lies, and how far from it: where the
        spread is below one, nodes lie that much denser around the centre.

    Returns
    -------
    q, weights : arrays of shape (2001,)

    Examples
    --------
    >>> q, weights = noise_nodes(0.2999, 0.3001)
    >>> round(float(weights @ q / weights.sum()), 9)
    0.3
    """
    ends = np.array([-20.0, 20.0])
    if spread < 1.0:
        u, step = np.linspace(*np.arcsinh((ends - centre) / spread), 2001, retstep=True)
        logits, steps = centre + spread * np.sinh(u), spread * np.cosh(u) * step
    else:
        logits, steps = np.linspace(*ends, 2001, retstep=True)
    share = expit(logits)
    return low + (high - low) * share, (high - low) * share * expit(-logits) * steps


@dataclass(frozen=True, eq=False)
class NoisePosterior:
    """Posterior of the noise level.

    Attributes
    ----------
    q : array of shape (n,)
    density : array of shape (n,)
        At each q; it integrates to one over (0, 1/2).
    mean : float
    mcse : float
        Monte Carlo error of the mean.
    interval : tuple of float
        Shortest interval that holds ``probability``.
    probability : float
    log_evidence : float
        With q integrated out under its prior.
    log_evidence_mcse : float
    below : float
        Probability of levels below the lowest for which the ladder was made.
    """

    q: np.ndarray
    density: np.ndarray
    mean: float
    mcse: float
    interval: tuple[float, float]
    probability: float
    log_evidence: float
    log_evidence_mcse: float
    below: float = 0.0

    def __repr__(self):
        low, high = self.interval
        return (
            f"NoisePosterior(mean {self.mean:.3f}, {self.probability:.0%} interval "
            f"{low:.3f} to {high:.3f})"
        )


@dataclass(frozen=True, eq=False)
class NoiseEvidence(Evidence):
    """Log evidence of a label-noise classifier, with that of all other noise levels.

    Attributes
    ----------
    n_points : int
        Number m of labels.
    betas : array of shape (n_rungs,)
        Rungs of the ladder, or of several one after the other.
    errors : array of int, shape (n_ladders, n_rounds, n_rungs)
        Training errors on every rung after every round.
    run : array of int, shape (n_rungs,)
        To which of several repeated runs a rung belongs.
    round_trips : array of int, shape (n_runs,)
    lowest : float
        Smallest noise level for which the ladder was made; 0 if it went down to classifiers that
        make as few errors as any.
    log_prior : array of shape (n,), optional
        Log-density of the model's prior of q, where q is random.
    prior_q, prior_weights : arrays of shape (n,), optional
        Nodes at which it is given, and their weights: close together where the prior is narrow.
        By default those of :func:`noise_nodes`.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> y, flipped = bk.data.flip_labels(y, 0.1, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.1)
    >>> evidence = bk.evidence.estimate(
    ...     model, method="tempering", draws=200, random_seed=1, progressbar=False
    ... )
    >>> curve = evidence.curve([0.1, 0.2, 0.3])
    >>> sorted(curve.data_vars)
    ['errors', 'log_evidence', 'mcse']
    >>> bool(abs(curve.log_evidence[0] - evidence.log_evidence) < 1e-9)
    True
    >>> low, high = evidence.noise_posterior().interval
    >>> 0 < low < 0.1 < high < 0.5
    True
    """

    n_points: int = 0
    betas: np.ndarray = field(default=None, repr=False)
    errors: np.ndarray = field(default=None, repr=False)
    run: np.ndarray = field(default=None, repr=False)
    round_trips: np.ndarray = field(default=None, repr=False)
    lowest: float = 0.0
    log_prior: np.ndarray = field(default=None, repr=False)
    prior_q: np.ndarray = field(default=None, repr=False)
    prior_weights: np.ndarray = field(default=None, repr=False)

    has_curve: ClassVar[bool] = True

    def at(self, log_evidence, mcse):
        """Return the same curve as the result for one noise level, or one prior of it."""
        return replace(self, log_evidence=log_evidence, mcse=mcse)

    @cached_property
    def densities(self):
        """Prior distribution of the error count, from each run."""
        return [
            LevelDensity.from_energies(
                self.betas[self.run == k], self.errors[..., self.run == k], trips
            )
            for k, trips in enumerate(self.round_trips)
        ]

    def curve(self, q=None):
        """Log evidence, its error and the mean number of training errors, by noise level.

        Parameters
        ----------
        q : array_like, optional
            Noise levels in [0, 1/2]; by default 100 from the lowest of the ladder to one half.

        Returns
        -------
        xr.Dataset
            Variables ``log_evidence``, ``mcse`` and ``errors``, dim ``q``.

        Raises
        ------
        ValueError
            If a level is below the lowest for which the ladder was made: the estimate would be
            a guess.
        """
        if q is None:
            q = np.linspace(max(self.lowest, 1e-4), 0.499, 100)
        q = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if q.ndim != 1 or not np.all((q >= 0) & (q <= 0.5)):
            raise ValueError("q must be numbers in [0, 1/2].")
        if q.min() < self.lowest * (1 - 1e-9):
            raise ValueError(
                f"This ladder reaches down to q = {self.lowest:.3g}; at {q.min():.3g} its answer "
                f"would be a guess. Estimate again with lowest={q.min():.3g}."
            )
        values, errors, counts = [], [], []
        for density in self.densities:
            values.append(self._log_evidence(density, q))
            errors.append(density.mcse(density.parts(_prices(q))))
            counts.append(density.mean_energy(_prices(q)))
        value, error = _pooled(np.array(values), np.array(errors))
        return xr.Dataset(
            {
                "log_evidence": ("q", value),
                "mcse": ("q", error),
                "errors": ("q", np.mean(counts, axis=0)),
            },
            coords={"q": q},
        )

    def _log_evidence(self, density, q):
        with np.errstate(divide="ignore"):
            value = self.n_points * np.log1p(-q) + density.log_ratio(_prices(q))
        return np.where((q == 0) & (density.levels[0] > 0), -np.inf, value)

    def noise_posterior(self, log_prior=None, *, probability=0.94) -> NoisePosterior:
        """Posterior of the noise level, and the evidence with the level integrated out.

        Parameters
        ----------
        log_prior : callable, optional
            Log-density of q, of arrays, normalised on (0, 1/2). By default the model's own prior
            where it has one, else uniform.
        probability : float
            Of the interval.

        Raises
        ------
        ValueError
            If the prior does not integrate to one over the nodes: it is not normalised, or too
            narrow for them.
        """
        if not 0 < probability < 1:
            raise ValueError(f"probability must be between 0 and 1, got {probability}.")
        q, weights = noise_nodes()
        if log_prior is not None:
            log_density = np.asarray(log_prior(q), dtype=np.float64)
        elif self.log_prior is not None:
            log_density = self.log_prior
            if self.prior_q is not None:
                q, weights = self.prior_q, self.prior_weights
        else:
            log_density = np.full(len(q), np.log(2.0))
        with np.errstate(over="ignore"):
            total = float(weights @ np.exp(log_density))
        if not abs(total - 1.0) < LARGEST_PRIOR_ERROR:
            raise ValueError(
                f"The prior of the noise level has the integral {total:.4g} over (0, 1/2), not 1. "
                "Normalise it; instead of one that is very narrow, fix the level."
            )
        prices = _prices(q)
        means, shifts, totals, total_errors, posteriors = [], [], [], [], []
        for density in self.densities:
            joint = log_density + np.log(weights) + self._log_evidence(density, q)
            total = logsumexp(joint)
            mass = np.exp(joint - total)
            mean = mass @ q
            parts = density.parts(prices, np.stack([mass, mass * (q - mean)]))
            total_error, mean_error = density.mcse(parts)
            means.append(mean)
            shifts.append(mean_error)
            totals.append(total)
            total_errors.append(total_error)
            posteriors.append(mass)
        mass = np.mean(posteriors, axis=0)
        mean, mean_error = _pooled(np.array(means), np.array(shifts))
        total, total_error = _pooled(np.array(totals), np.array(total_errors))
        return NoisePosterior(
            q,
            mass / weights,
            float(mean),
            float(mean_error),
            _shortest_interval(q, mass, probability),
            probability,
            float(total),
            float(total_error),
            float(mass[q < self.lowest * (1 - 1e-9)].sum()),
        )

    def _arrays(self):
        stored = {
            "n_points": ((), self.n_points),
            "betas": ("rung", self.betas),
            "errors": (("ladder", "round", "rung"), self.errors),
            "run": ("rung", self.run),
            "round_trips": ("repetition", self.round_trips),
            "lowest": ((), self.lowest),
        }
        for name in ("log_prior", "prior_q", "prior_weights"):
            if getattr(self, name) is not None:
                stored[name] = ("node", getattr(self, name))
        return stored

    @classmethod
    def _from_arrays(cls, data):
        fields = super()._from_arrays(data)
        numbers = {"n_points": int(fields["n_points"]), "lowest": float(fields["lowest"])}
        return fields | numbers

    def _combined(self, results, log_evidence, mcse, diagnostics):
        return replace(
            self,
            log_evidence=log_evidence,
            mcse=mcse,
            diagnostics=diagnostics,
            n_evaluations=sum(result.n_evaluations for result in results),
            betas=np.concatenate([result.betas for result in results]),
            errors=np.concatenate([result.errors for result in results], axis=2),
            run=np.concatenate([np.full(len(r.betas), k) for k, r in enumerate(results)]),
            round_trips=np.concatenate([result.round_trips for result in results]),
            lowest=max(result.lowest for result in results),
        )


def _prices(q):
    """What an error costs in log-probability."""
    with np.errstate(divide="ignore"):
        return np.minimum(np.log1p(-q) - np.log(q), _INFINITE)


def _pooled(values, errors):
    """Mean over runs (first axis), with the larger of claimed error and spread."""
    n = len(values)
    error = np.sqrt(np.mean(errors**2, axis=0) / n)
    if n > 1:
        with np.errstate(invalid="ignore"):  # minus infinity has no spread
            error = np.maximum(error, values.std(axis=0, ddof=1) / np.sqrt(n))
    return values.mean(axis=0), error


def _shortest_interval(q, mass, probability):
    """Ends of the shortest interval with that probability, interpolated between nodes."""
    # Half of a node's mass lies on either side of it.
    below = np.cumsum(mass) - 0.5 * mass
    starts = np.linspace(0.0, 1.0 - probability, 400)
    low = np.interp(starts, below, q)
    high = np.interp(starts + probability, below, q)
    best = int(np.argmin(high - low))
    return float(low[best]), float(high[best])
