r"""Refractive billiard: an exact sampler of label-noise posteriors that does not slow down with m.

The direction w keeps its posterior when its length is made free, :math:`z = \rho w \sim N(0, I)`.
Under Hamiltonian dynamics with a Gaussian target, :math:`z(t) = z \cos t + p \sin t`; the outputs
at the walls turn in the same way, :math:`f(t) = f \cos t + g \sin t`. The likelihood only acts at
the walls: a ball that runs into a wall of height :math:`\Delta` passes and slows down if the
part of its kinetic energy across the wall pays for it, :math:`g_i^2 / 2 > \Delta`, and is
reflected if not; on the way out it speeds up (:mod:`bayeskernels.samplers.wall_dynamics` has the
motion itself). An event costs O(n_walls), with no matrix-vector product. No step size, no
rejection, exact for every q; q = 0 is a pure reflecting billiard in the version space.

The dynamics of Gaussian Hamiltonian Monte Carlo with walls is that of Pakman and Paninski (2014,
"Exact Hamiltonian Monte Carlo for truncated multivariate Gaussians"; 2013 for binary variables).
"""

import logging
import math
from dataclasses import dataclass

import numba
import numpy as np
from pymc.step_methods.compound import Competence

from bayeskernels.samplers.block_draws import fresh_outputs
from bayeskernels.samplers.block_sampler import BlockSampler
from bayeskernels.samplers.sphere_step import SphereStep
from bayeskernels.samplers.wall_dynamics import fly, wall_gram

__all__ = ["BilliardBall", "BilliardPath", "RefractiveBilliard", "simulate_refractive_billiard"]

_log = logging.getLogger(__name__)

_JIT = {"cache": True, "nogil": True, "error_model": "numpy"}

#: Outputs are recomputed from z after this many trajectories, together with the next block of
#: momenta; the drift in between is below 1e-12.
REFRESH_EVERY = 64


@numba.njit(**_JIT)
def _run(
    z, f, momenta, velocities, durations, normals, gram, jumps, errors, max_events, sweeps, draws
):
    """Run one trajectory per row of ``momenta`` and record z after every ``sweeps`` of them.

    z and f are updated in place, ``draws`` (one row per record) is filled. ``errors`` holds the
    training errors above and below each wall. Returns one row per record: errors, events,
    reflections, and trajectories given up at ``max_events``. The latter leave z as it was: their
    reverse meets as many walls, so staying put keeps the target exactly.
    """
    n_walls, r = normals.shape
    kicks = np.empty((3, n_walls))
    pending = np.zeros(n_walls)
    cotangents = np.empty(n_walls)
    start = np.empty(n_walls)
    counts = np.zeros((len(draws), 4), dtype=np.int64)
    for k in range(len(durations)):
        count = counts[k // sweeps]
        start[:] = f
        g = velocities[k].copy()
        events, reflections = fly(
            f, g, normals, gram, jumps, durations[k], max_events, kicks, cotangents
        )
        count[2] += reflections
        if events < 0:
            f[:] = start
            count[1] += max_events
            count[3] += 1
        else:
            count[1] += events
            cos_t = math.cos(durations[k])
            sin_t = math.sin(durations[k])
            for i in range(r):
                z[i] = z[i] * cos_t + momenta[k, i] * sin_t
            for j in range(n_walls):
                pending[j] = pending[j] * cos_t + kicks[0, j]
        if (k + 1) % sweeps == 0:
            for j in range(n_walls):
                count[0] += errors[0, j] if f[j] > 0.0 else errors[1, j]
                weight = pending[j]
                if weight != 0.0:
                    pending[j] = 0.0
                    for i in range(r):
                        z[i] += weight * normals[j, i]
            draws[k // sweeps] = z
    return counts


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


#: Event cap of a trajectory, seconds of work. The thinnest version spaces that were met (400 points
#: that a smooth kernel hardly separates) need several hundred thousand events; a chain that gives
#: up each time would stay where it started.
MAX_EVENTS = 5_000_000


class BilliardBall(BlockSampler):
    """One ball between walls.

    Attributes
    ----------
    walls, sweeps, block
        See :class:`BlockSampler`; directions are momenta here.
    gram : array
        Gram matrix of the normals, see :func:`wall_gram`.
    z : array of shape (r,)
    outputs : array of shape (n_walls,)
        ``walls.normals @ z``, carried along.
    since_refresh : int
        Trajectories since the outputs were last computed from z.
    """

    carried = ("z", "outputs", "since_refresh")

    def __init__(self, walls, z, *, gram=None, sweeps=1, duration=(1.2, 1.9), max_events=None):
        super().__init__(walls, sweeps)
        self.gram = wall_gram(walls.normals) if gram is None else gram
        self.duration = duration
        self.max_events = MAX_EVENTS if max_events is None else max_events
        self.place(z)

    def place(self, z):
        """Set the ball down somewhere else."""
        self.z = np.array(z, dtype=np.float64)
        self._refresh()

    def change_normals(self, walls, gram=None):
        """Go on among walls in other places; ``gram`` is the Gram matrix of their normals."""
        self.gram = wall_gram(walls.normals) if gram is None else gram
        super().change_normals(walls)

    def _refresh(self):
        self.outputs = fresh_outputs(self.z, self.walls)
        self.since_refresh = 0
        if np.isinf(self.walls.energy(self.outputs)):
            raise ValueError(
                "The billiard starts where the posterior is zero: a point whose label cannot be "
                "wrong (noise = 0) is on the wrong side. Start it at a direction without such "
                "errors, as bayeskernels.models does, or use noise > 0."
            )

    def move(self, rng, n_draws=1):
        """Run up to ``n_draws`` times ``sweeps`` trajectories, as far as the block of momenta goes.

        Returns
        -------
        draws : array of shape (n, r)
        counts : array of int, shape (n, 4)
            Errors, events, reflections, capped trajectories.
        """
        if self.needs_block:
            self.new_block(rng)
            if self.since_refresh >= REFRESH_EVERY:
                self._refresh()
        n_draws = min(n_draws, self.block.left // self.sweeps)
        n = n_draws * self.sweeps
        momenta, velocities = self.block.take(n)
        draws = np.empty((n_draws, self.walls.dimension))
        counts = _run(
            self.z,
            self.outputs,
            momenta,
            velocities,
            rng.uniform(*self.duration, size=n),
            self.walls.normals,
            self.gram,
            self.walls.jumps,
            self.walls.errors,
            self.max_events,
            self.sweeps,
            draws,
        )
        counts[:, 0] += self.walls.constant_errors
        self.since_refresh += n
        return draws, counts


def simulate_refractive_billiard(walls, z, n_draws, *, rng, **options):
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
    duration : tuple of float, default (1.2, 1.9)
        Each trajectory lasts a time drawn uniformly from this interval.
    max_events : int, optional
        Trajectories with more wall events are given up and counted.
    gram : array of shape (n_walls, n_walls), optional
        Gram matrix of the normals where it is known already.

    Returns
    -------
    BilliardPath

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskernels.samplers.walls import WallGeometry, label_costs
    >>> points, positive = np.eye(2), np.array([True, True])
    >>> geometry = WallGeometry.from_features(points, positive)
    >>> walls = geometry.with_costs(label_costs(positive, 0.1, 0.1))
    >>> path = simulate_refractive_billiard(
    ...     walls, np.ones(2), 4000, rng=np.random.default_rng(1)
    ... )
    >>> bool(abs(np.mean(path.errors) - 0.2) < 0.05)  # each of two labels is wrong with q = 0.1
    True
    """
    draws, counts = BilliardBall(walls, z, **options).run(rng, n_draws)
    return BilliardPath(draws, *counts.T)


class RefractiveBilliard(SphereStep):
    """Step method for the direction of a label-noise classifier; PyMC's choice for it.

    Exact for every flip rate, zero included; nothing is tuned. What is discarded as tuning only
    lets the chain forget its start.

    Parameters
    ----------
    vars : list, optional
        The direction; the model's :class:`~bayeskernels.distributions.UniformSphere` by default.
    sweeps : int, optional
        Trajectories per recorded draw. By default as many as take about as long as PyMC needs for
        recording a draw: 10 up to 100 walls, one from 1000 on.
    duration : tuple of float, default (1.2, 1.9)
        Interval from which the duration of each trajectory is drawn; within (0, pi]. The efficiency
        is flat around the default.
    max_events : int, optional
        A trajectory that meets more walls than this, by default five million, is given up (the
        chain stays where it is, which keeps it exact) and counted in the statistic
        ``refractive_capped``.
    model : pm.Model, optional
        The model in context by default.

    Notes
    -----
    Sampler statistics: ``refractive_errors`` (training errors), ``refractive_events`` and
    ``refractive_reflections`` (walls met and not passed), ``refractive_capped``. In equilibrium the
    share of reflections among the events is 1 - 2q.

    Examples
    --------
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(20, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.1)
    >>> with model:
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
        "refractive_errors": (int, []),
        "refractive_events": (int, []),
        "refractive_reflections": (int, []),
        "refractive_capped": (int, []),
    }
    progress_columns = {"refractive_errors": "Errors", "refractive_events": "Events"}

    def __init__(self, vars=None, *, duration=(1.2, 1.9), max_events=None, **kwargs):
        low, high = duration
        if not 0 < low <= high <= math.pi:
            raise ValueError(f"duration must be an interval within (0, pi], got {duration}.")
        if max_events is not None and max_events < 1:
            raise ValueError(f"max_events must be at least 1, got {max_events}.")
        self.duration = (float(low), float(high))
        self.max_events = max_events
        super().__init__(vars, **kwargs)

    def _forget(self):
        super()._forget()
        self._has_warned = False

    def _make_sampler(self, walls, value):
        sweeps = self.sweeps or int(np.clip(round(1000 / max(walls.n_walls, 1)), 1, 10))
        return BilliardBall(
            walls,
            value,
            gram=self._gram_of(walls),
            sweeps=sweeps,
            duration=self.duration,
            max_events=self.max_events,
        )

    def _move(self, sampler):
        draws, [counts] = sampler.move(self.rng)
        if counts[3] and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "A trajectory met more than max_events = %d walls and was given up; the statistic "
                "refractive_capped counts them. The chain stays exact, but is slow if there are "
                "many: a thin posterior may need more noise, another kernel or a higher cap.",
                sampler.max_events,
            )
        return draws[0], dict(zip(self.stats_dtypes_shapes, counts.tolist(), strict=True))
