"""Evidence of label-noise classifiers by parallel tempering over the noise level."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors
from rich.progress import Progress
from scipy.special import expit, logit

from bayeskernels.distributions import UniformSphereRV
from bayeskernels.evidence.estimators.method import EvidenceMethod
from bayeskernels.evidence.noise_curve import NoiseEvidence, noise_nodes
from bayeskernels.evidence.result import Evidence
from bayeskernels.graphs.numpy_graphs import WITHOUT_COMPILER, numpy_function
from bayeskernels.graphs.prior_mass import support_of
from bayeskernels.samplers.directions.billiards.noise_ladder import (
    ErrorLandscape,
    NoiseLadder,
    descend,
)
from bayeskernels.samplers.directions.label_noise_target import LabelNoiseTarget, label_noise_terms
from bayeskernels.samplers.tempering.ladder import even_rungs, ladder_warning, place_rungs
from bayeskernels.samplers.tempering.level_density import LevelDensity

__all__ = ["Tempering", "direction_of"]

#: A ladder goes down until the evidence has fallen this far (in nats) below its largest value, so
#: that the posterior of the noise level lies within its reach.
REACH = 8.0

#: Share of the posterior of the noise that may lie beyond the ladder.
LARGEST_GUESS = 0.01

#: Draws of a prior that show how narrow it is.
PRIOR_DRAWS = 1000


def direction_of(model):
    """The direction of a model of label noise, and an empty text.

    None, and why, where it is not one that geometry can solve: all observations have to be labels
    of its outputs.
    """
    directions = [rv for rv in model.free_RVs if isinstance(rv.owner.op, UniformSphereRV)]
    if len(directions) != 1:
        return None, (
            "It is for classifiers with one direction w and label noise: "
            "bk.models.label_noise_classifier or bk.models.bayes_point_machine."
        )
    [w] = directions
    terms = label_noise_terms(model, w)
    others = [rv.name for rv in model.observed_RVs if rv not in terms]
    others += [potential.name for potential in model.potentials]
    if not terms or others:
        return None, (
            f"The model also has {', '.join(others)}, which labels alone do not explain. Use "
            "'bridge' or 'smc' with repetitions: both may be wrong where a density has jumps."
            if others
            else "No LabelNoise likelihood depends on its direction. Use 'bridge' or 'smc'."
        )
    return w, ""


class Tempering(EvidenceMethod):
    """Parallel tempering of a label-noise classifier, with histogram reweighting."""

    name = "tempering"

    def refusal(self, model, idata):
        """Why a model is not for it."""
        w, reason = direction_of(model)
        if w is None:
            return reason
        if w.ndim > 1:
            return (
                "It is for two classes; this model has several directions. At noise zero use "
                "'orthant', otherwise a model of one class against the rest for each class."
            )
        rates = [rate for rv in label_noise_terms(model, w) for rate in rv.owner.inputs[3:5]]
        others = [rv for rv in model.free_RVs if rv is not w]
        if not others or (len(others) == 1 and all(rate is others[0] for rate in rates)):
            return None
        if set(others) <= set(ancestors(rates)):
            return (
                "It integrates one noise level that both classes share; here unknown rates differ "
                "by class or depend on further unknowns. Fix them at several values with "
                "bk.evidence.scan."
            )
        names = ", ".join(rv.name for rv in others)
        return (
            f"Kernel and noise must be fixed, or the noise one unknown rate; {names} is unknown. "
            "Fix it at several values with bk.evidence.scan."
        )

    def run(
        self,
        model,
        idata=None,
        *,
        random_seed=None,
        progressbar=True,
        draws=None,
        tune=200,
        ladders=4,
        particles=64,
        swap_rate=0.5,
        lowest=None,
        cores=None,
    ):
        """Estimate the evidence at the model's noise level and at all others within reach.

        Parameters
        ----------
        draws : int, optional
            Rounds of each ladder; by default 200,000 / m, at least 1,000 and at most 8,000.
        tune : int, default 200
            Rounds before them; after the first half the rungs are evened out.
        ladders : int, default 4
            Independent ladders, whose spread is part of the error.
        particles : int, default 64
            Of the pilot that places the rungs.
        swap_rate : float, default 0.5
            At which neighbours should swap; fewer rungs swap less often.
        lowest : float, optional
            Noise level down to which the ladder should reach. By default as far as the posterior of
            the level has mass under a flat prior, and to the model's own level.
        cores : int, optional
            Threads; by default one for each ladder as far as there are processors, four at most.
            The result does not depend on their number.

        Returns
        -------
        NoiseEvidence
            Or an :class:`Evidence` without a curve where the two classes have different rates.
        """
        rng = np.random.default_rng(random_seed)
        problem = _Problem.read(model)
        if draws is None:
            draws = int(np.clip(200_000 // problem.n_points, 1000, 8000))
        for name, value, least in (
            ("draws", draws, 20),
            ("tune", tune, 10),
            ("ladders", ladders, 1),
            ("particles", particles, 16),
        ):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}.")
        if not 0 < swap_rate < 1:
            raise ValueError(f"swap_rate must be between 0 and 1, got {swap_rate}.")
        if lowest is not None and not 0 <= lowest < 0.5:
            raise ValueError(f"lowest must be in [0, 1/2), got {lowest}.")
        rngs = rng.spawn(ladders)
        cores = cores or min(ladders, os.cpu_count() or 1, 4)
        with ThreadPoolExecutor(cores) as pool, Progress(disable=not progressbar) as progress:
            task = progress.add_task("Pilot", total=None)
            pilot = descend(
                problem.landscape,
                rng,
                problem.is_enough(lowest),
                end=problem.end(lowest),
                particles=particles,
            )
            progress.remove_task(task)
            betas, runs = _run_ladders(
                problem.landscape,
                place_rungs([pilot.levels], swap_rate=swap_rate),
                pilot,
                rngs,
                (tune, draws),
                pool,
                progress,
            )
        energies = np.stack([run.energies for run in runs])
        trips = sum(run.round_trips for run in runs)
        swap_rates = np.mean([run.swap_rates for run in runs], axis=0)
        diagnostics = {
            "round_trips": trips,
            "rungs": len(betas),
            "smallest_swap_rate": float(swap_rates.min()),
            "swap_rates": swap_rates,
            "events": pilot.events + sum(run.events for run in runs),
            "capped": sum(run.capped for run in runs),
            "warning": ladder_warning(
                swap_rates, trips, ladders, "a larger swap_rate or more draws"
            ),
        }
        spent = {"n_evaluations": energies.size, "diagnostics": diagnostics}
        return problem.result(betas, energies, pilot.is_saturated, trips, spent)


def _run_ladders(landscape, betas, pilot, rngs, rounds, pool, progress):
    """Rungs after tuning, and what each ladder did on them."""
    tune, draws = rounds
    task = progress.add_task("Tempering", total=(tune + draws) * len(rngs))

    def advance(n):
        progress.advance(task, n)

    made = [NoiseLadder.from_descent(landscape, betas, pilot, rng) for rng in rngs]

    def run(ladder, rng, n):
        return ladder.run(rng, n, advance)

    first = list(pool.map(run, made, rngs, [tune // 2] * len(made)))
    betas = even_rungs(betas, np.mean([run.swap_rates for run in first], axis=0))
    for ladder in made:
        ladder.betas = betas
    list(pool.map(run, made, rngs, [tune - tune // 2] * len(made)))
    return betas, list(pool.map(run, made, rngs, [draws] * len(made)))


def _prior_of_noise(rv):
    """Log density of the prior of a noise level, at nodes that lie where the prior does."""
    low, high = support_of(rv)
    low, high = max(low, 0.0), min(high, 0.5)
    draws = pm.draw(rv, PRIOR_DRAWS, random_seed=1, mode=WITHOUT_COMPILER)
    logits = logit(np.clip((draws - low) / (high - low), 1e-9, 1.0 - 1e-9))
    first, centre, last = np.quantile(logits, [0.25, 0.5, 0.75])
    q, weights = noise_nodes(low, high, centre=centre, spread=max(last - first, 1e-9))
    log_prior = numpy_function([], pm.logp(rv, q))()
    return {"log_prior": log_prior, "prior_q": q, "prior_weights": weights}


class _Problem:
    """A classifier's errors and what they cost: one price for all, or one for each class."""

    def __init__(self, landscape, n_points, noise, log_right, prior):
        self.landscape = landscape
        self.n_points = n_points
        self.noise = noise  # None where it is random, or where the classes differ
        self.log_right = log_right
        self.prior = prior  # fields of NoiseEvidence

    @classmethod
    def read(cls, model):
        """Take all from the graph of a model that :meth:`Tempering.refusal` lets pass."""
        w, _ = direction_of(model)
        point = model.initial_point()
        target = LabelNoiseTarget(model.rvs_to_values[w], model)
        [geometry] = target.geometries(point)
        m = len(geometry.wall_of_point)
        others = [rv for rv in model.free_RVs if rv is not w]
        ones = np.ones(m)
        if others:
            prior = _prior_of_noise(others[0])
            return cls(ErrorLandscape.from_geometry(geometry, ones), m, None, None, prior)
        costs, log_right = (column[:, 0] for column in target.costs(point))
        prices = np.unique(costs)
        if len(prices) == 1:
            noise = 0.0 if np.isinf(prices[0]) else float(expit(-prices[0]))
            return cls(ErrorLandscape.from_geometry(geometry, ones), m, noise, None, {})
        if np.isinf(prices).any():
            raise TypeError(
                "One class is never flipped and the other is: tempering needs both rates positive "
                "or both zero. Use a small rate such as 1e-6 instead of zero."
            )
        landscape = ErrorLandscape.from_geometry(geometry, costs)
        return cls(landscape, m, None, float(log_right.sum()), {})

    @property
    def has_classes(self):
        """Whether the classes have different rates; beta is then a power, up to 1."""
        return self.log_right is not None

    def end(self, lowest):
        """A beta that must be reached, or None."""
        if self.has_classes:
            return 1.0
        wanted = [q for q in (self.noise, lowest) if q is not None]
        if not wanted or min(wanted) == 0.0:
            return None
        return math.log((1 - min(wanted)) / min(wanted))

    def is_enough(self, lowest):
        """Where a pilot may stop."""
        end = self.end(lowest)
        to_zero = lowest == 0.0 or (self.noise == 0.0 and not self.has_classes)

        def is_enough(betas, log_ratios):
            if to_zero or (end is not None and betas[-1] < end):
                return False
            if self.has_classes or lowest is not None:
                return True
            heights = self.n_points * np.log(expit(betas)) + log_ratios
            return len(betas) > 1 and heights.max() - heights[-1] > REACH

        return is_enough

    def result(self, betas, energies, is_saturated, trips, spent):
        """Make a result of what the ladders recorded."""
        if self.has_classes:
            density = LevelDensity.from_energies(betas, energies, trips)
            value = self.log_right + float(density.log_ratio([1.0])[0])
            error = float(density.mcse(density.parts([1.0]))[0])
            return Evidence(value, error, Tempering.name, **spent)
        lowest = 0.0 if is_saturated else float(expit(-betas[-1]))
        evidence = NoiseEvidence(
            math.nan,
            math.nan,
            Tempering.name,
            **spent,
            n_points=self.n_points,
            betas=betas,
            errors=energies.round().astype(np.int32),
            run=np.zeros(len(betas), dtype=np.int64),
            round_trips=np.array([trips]),
            lowest=lowest,
            **self.prior,
        )
        if self.noise is None:
            posterior = evidence.noise_posterior()
            if posterior.below > LARGEST_GUESS:
                warning = (
                    f"{posterior.below:.0%} of the posterior of the noise lies below "
                    f"{lowest:.2g}, to which the ladder reaches: estimate again with a smaller "
                    "lowest."
                )
                earlier = evidence.warning
                told = {**evidence.diagnostics, "warning": f"{earlier} {warning}".strip()}
                evidence = replace(evidence, diagnostics=told)
            return evidence.at(posterior.log_evidence, posterior.log_evidence_mcse)
        here = evidence.curve([max(self.noise, lowest)])
        if self.noise == 0.0 and np.isinf(here.log_evidence[0]):
            raise ValueError(
                "No classifier without errors was met on the ladder: the version space is empty or "
                "too thin to be found this way. Use method='orthant'."
            )
        return evidence.at(float(here.log_evidence[0]), float(here.mcse[0]))
