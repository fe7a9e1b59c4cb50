r"""Refractive billiard: an exact sampler of label-noise posteriors that does not slow down with m.

The ball and its motion are in :mod:`bayeskernels.samplers.directions.billiards.billiard_ball`; here
are the step that PyMC sees, and a function that runs the ball without PyMC.
"""

import logging
import math
from dataclasses import dataclass

import numpy as np
import pymc as pm
from pymc.step_methods.compound import Competence
from pymc.util import get_value_vars_from_user_vars

from bayeskernels.distributions import FlipRateRV, UniformSphereRV
from bayeskernels.samplers.directions.billiards.billiard_ball import BilliardBall
from bayeskernels.samplers.directions.billiards.wall_dynamics import DURATION
from bayeskernels.samplers.directions.compiled_flip_rates import FlipRates, set_heights
from bayeskernels.samplers.directions.flip_rate_gibbs import FlipRateGibbs, RateOfDirection
from bayeskernels.samplers.directions.sphere_step import SphereStep

__all__ = ["BilliardPath", "RefractiveBilliard", "simulate_refractive_billiard"]

_log = logging.getLogger(__name__)


@dataclass
class BilliardPath:
    """What one call of :func:`simulate_refractive_billiard` did.

    Attributes
    ----------
    draws : array of shape (n_draws, r)
        Positions z after every ``sweeps`` trajectories.
    errors, events, reflections, capped : arrays of int, shape (n_draws,)
        Training errors at each draw; wall events, reflections among them and trajectories given up
        at the event cap since the draw before.
    """

    draws: np.ndarray
    errors: np.ndarray
    events: np.ndarray
    reflections: np.ndarray
    capped: np.ndarray


def simulate_refractive_billiard(walls, z, n_draws, *, rng, sweeps=1, **options) -> BilliardPath:
    """Sample directions from a piecewise constant density on the sphere, without PyMC.

    Parameters
    ----------
    walls : Walls
        The density.
    z : array of shape (r,)
        Start; of any length, on an allowed side of every infinitely high wall.
    n_draws : int
        How many positions to return.
    rng : numpy.random.Generator
    sweeps : int, default 1
        Trajectories per returned position.
    gram : array of shape (n_walls, n_walls), optional
        Gram matrix of the normals where it is known already.
    duration, max_events, tempering, circles
        As for :class:`bayeskernels.samplers.RefractiveBilliard`.

    Examples
    --------
    >>> geometry = bk.samplers.WallGeometry.from_features(np.eye(2), [True, True])
    >>> walls = geometry.with_costs([np.log(9)] * 2)
    >>> path = simulate_refractive_billiard(walls, [1, 1], 4000, rng=np.random.default_rng(1))
    >>> bool(abs(np.mean(path.errors) - 0.2) < 0.05)  # log(9) stands for q = 0.1
    True
    """
    draws, counts = BilliardBall(walls, z, sweeps=sweeps, **options).run(rng, n_draws)
    return BilliardPath(draws, *counts.T)


class RefractiveBilliard(SphereStep):
    """Step method for the direction of a label-noise classifier; PyMC's choice for it.

    Exact for every flip rate, zero included. A chain begins with a short trial: where balls from
    different starts do not come to agree, as with many points in few dimensions and little signal,
    it runs on a ladder of lower walls (parallel tempering); in very few dimensions it adds great
    circles. Nothing else is tuned: the draws of the tuning phase let the chain forget its start.

    Parameters
    ----------
    vars : list, optional
        The direction, and the :class:`~bayeskernels.distributions.FlipRate` of its labels if it is
        unknown: the rate is then drawn after every trajectory. By default the model's
        :class:`~bayeskernels.distributions.UniformSphere` and what belongs to it.
    sweeps : int, optional
        Rounds per recorded draw, each with a trajectory on every rung. By default as many as take
        about as long as PyMC needs for recording a draw: 10 up to 100 walls, one from 1000 on. On a
        ladder it is twice as many.
    duration : tuple of float, default (1.2, 1.9)
        Interval from which the duration of each trajectory is drawn; within (0, pi]. The efficiency
        is flat around the default.
    max_events : int, optional
        A trajectory that meets more walls than this, by default five million, is given up (the
        chain stays where it is, which keeps it exact) and counted in the statistic
        ``refractive_capped``. Where great circles follow, the cap is at most 20,000.
    tempering : bool, optional
        Whether to use a ladder; by default the trial decides. There is none where the kernel has
        random hyperparameters, since all rungs would have to move with it.
    circles : bool, optional
        Whether a great circle follows each trajectory; by default where the points have few
        dimensions (an effective dimension up to five).
    model : pm.Model, optional
        The model in context by default.

    Notes
    -----
    Sampler statistics: ``refractive_errors`` (training errors), ``refractive_events`` and
    ``refractive_reflections`` (walls met and not passed), ``refractive_capped``, all of the chain
    itself and not of the ladder below it; ``refractive_rungs``, 1 where there is no ladder. In
    equilibrium the share of reflections among the events is 1 - 2q.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(20, random_seed=1)
    >>> with bk.models.label_noise_classifier(X, y, noise=0.1):
    ...     idata = pm.sample(20, chains=1, quiet=True, refractive_billiard={"sweeps": 2})
    >>> "refractive_errors" in idata.sample_stats
    True
    """

    name = "refractive_billiard"
    stat_prefix = "refractive"
    suitability = Competence.IDEAL
    uses_gram = True
    default_tune_steps = 200
    stats_dtypes_shapes = {
        f"refractive_{count}": (int, [])
        for count in ("errors", "events", "reflections", "capped", "rungs")
    }
    progress_columns = {"refractive_errors": "Errors", "refractive_events": "Events"}

    def __new__(cls, vars=None, **kwargs):
        """Leave a flip rate whose direction has another step to FlipRateGibbs."""
        if vars is None:
            return super().__new__(cls, **kwargs)
        model = pm.modelcontext(kwargs.get("model"))
        values = get_value_vars_from_user_vars(vars, model)
        if any(_is_a(UniformSphereRV, value, model) for value in values):
            return super().__new__(cls, vars, **kwargs)
        shared = {"model", "rng", "compile_kwargs", "blocked", "initial_point"}
        return FlipRateGibbs(vars, **{k: value for k, value in kwargs.items() if k in shared})

    def __init__(
        self,
        vars=None,
        *,
        duration=DURATION,
        max_events=None,
        tempering=None,
        circles=None,
        **kwargs,
    ):
        low, high = duration
        if not 0 < low <= high <= math.pi:
            raise ValueError(f"duration must be an interval within (0, pi], got {duration}.")
        if max_events is not None and max_events < 1:
            raise ValueError(f"max_events must be at least 1, got {max_events}.")
        self.duration = (float(low), float(high))
        self.max_events = max_events
        self.tempering = tempering
        self.circles = circles
        model = pm.modelcontext(kwargs.get("model"))
        direction, rates = None, None
        if vars is not None:
            values = get_value_vars_from_user_vars(vars, model)
            rates = [value for value in values if _is_a(FlipRateRV, value, model)]
            direction = [value for value in values if value not in rates]
        super().__init__(direction, **kwargs)
        self.rate = RateOfDirection.find(model, model.values_to_rvs[self.vars[0]])
        if rates is None:
            rates = [] if self.rate is None else [model.rvs_to_values[self.rate.variable]]
        if not rates:
            self.rate = None
        elif self.rate is None or rates != [model.rvs_to_values[self.rate.variable]]:
            names = ", ".join(value.name for value in rates)
            raise TypeError(
                f"RefractiveBilliard draws a flip rate along with the direction whose labels it "
                f"speaks of and of nothing else, under a FlipRate prior with fixed parameters. "
                f"{names} is not of that kind: leave it to FlipRateGibbs or a general step."
            )
        self.vars = [*self.vars, *rates]
        if self.target.geometry_names:
            self.tempering = False
        self._nothing_else_moves = not self.target.geometry_names and set(
            self.target.rate_names
        ) <= {value.name for value in rates}

    def _forget(self):
        super()._forget()
        self._has_warned = False
        self._labels = None
        self._last_rate = None

    def _walls_at(self, point):
        if self.rate is None:
            return super()._walls_at(point)
        if self._labels is None:
            [geometry] = self.target.geometries(point)
            self._labels = geometry.by_label(is_shared=self.rate.is_shared)
        return [self._labels[0]]

    def _make_sampler(self, walls, value):
        options = {}
        if self.rate is not None:
            _, errors, always, totals = self._labels
            rates = FlipRates(
                self.rate.high, errors, always, totals, self.rate.alpha, self.rate.beta,
                self.rate.is_shared, True,
            )  # fmt: skip
            # A rate that may rise lowers the walls by itself: what counts is how far it may.
            options = {"flip_rates": rates, "reference": np.empty(walls.n_walls)}
            set_heights(rates, options["reference"])
        return BilliardBall(
            walls,
            value,
            gram=self._gram_of(walls),
            sweeps=self.sweeps,
            duration=self.duration,
            max_events=self.max_events,
            tempering=self.tempering,
            circles=self.circles,
            **options,
        )

    def step(self, point):
        """Move the direction, and the flip rate with it; the other variables of ``point`` stay."""
        if self.rate is None:
            return super().step(point)
        given = point[self.rate.value.name]
        if self.samplers is None:
            self._adapt_to(point)
        [ball] = self.samplers
        if given is not self._last_rate and not np.array_equal(given, self._value_of(ball.rates)):
            ball.rates = self.rate.value.rate(given)
        point, stats = super().step(point)
        self._last_rate = self._value_of(ball.rates)
        return {**point, self.rate.value.name: self._last_rate}, stats

    def _value_of(self, rates):
        return self.rate.value.of(rates[0] if self.rate.is_shared else rates.copy())

    def _move(self, sampler):
        draws, [counts] = sampler.move(self.rng)
        if counts[3] and sampler.n_moves == 1 and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "A trajectory met more than max_events = %d walls and was given up; the statistic "
                "refractive_capped counts them. The chain stays exact, but is slow if there are "
                "many: a thin posterior may need more noise, another kernel or a higher cap.",
                sampler.max_events,
            )
        counts = [*(int(count) for count in counts[:4]), sampler.n_rungs]
        return draws[0], dict(zip(self.stats_dtypes_shapes, counts, strict=True))

    @classmethod
    def competence(cls, var, has_grad):
        """Directions under label noise, and the flip rate that belongs to one."""
        if not isinstance(getattr(var.owner, "op", None), FlipRateRV):
            return super().competence(var, has_grad)
        model = pm.Model.get_context(error_if_none=False)
        if model is None or not cls.is_chosen():
            return Competence.INCOMPATIBLE
        for w in model.free_RVs:
            if isinstance(w.owner.op, UniformSphereRV):
                rate = RateOfDirection.find(model, w)
                if rate is not None and rate.variable is var:
                    return Competence.IDEAL
        return Competence.INCOMPATIBLE


def _is_a(op_type, value, model):
    """Whether a value variable is that of a random variable of some type."""
    return isinstance(model.values_to_rvs[value].owner.op, op_type)
