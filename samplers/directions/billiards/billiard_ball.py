r"""One ball in the refractive billiard, with helpers where it would get stuck.

The direction w keeps its posterior when its length is made free, :math:`z = \rho w \sim N(0, I)`.
Under Hamiltonian dynamics with a Gaussian target, :math:`z(t) = z \cos t + p \sin t`; the outputs
at the walls turn in the same way, :math:`f(t) = f \cos t + g \sin t`. The likelihood only acts at
the walls: a ball that runs into a wall of height :math:`\Delta` passes and slows down if the part
of its kinetic energy across the wall pays for it, :math:`g_i^2 / 2 > \Delta`, and is reflected if
not; on the way out it speeds up (:mod:`bayeskernels.samplers.directions.billiards.wall_dynamics`
has the motion itself). An event costs O(n_walls), with no matrix-vector product. No step size, no
rejection, exact for every q; q = 0 is a pure reflecting billiard in the version space.

The dynamics of Gaussian Hamiltonian Monte Carlo with walls is that of Pakman and Paninski (2014,
"Exact Hamiltonian Monte Carlo for truncated multivariate Gaussians"; 2013 for binary variables).

A ball has about r / 2 nats of kinetic energy to pay for walls with, r the dimension. Labels without
signal make ridges of the order of :math:`\Delta \sqrt m`: with many points in few dimensions balls
from different starts then stay in different valleys. So before its first move the ball plays a few
rounds against others that start elsewhere. Where they do not come to agree it becomes the top of a
ladder (:mod:`bayeskernels.samplers.directions.billiards.replicas`), on whose lower rungs the same
walls are lower. In very few dimensions every trajectory is followed by a great circle. All of it is
exact.
"""

import numpy as np

from bayeskernels.samplers.directions.billiards.noise_ladder import ErrorLandscape, descend
from bayeskernels.samplers.directions.billiards.replicas import (
    Balls,
    Luck,
    Rungs,
    Tally,
    Terrain,
    play,
    rung_heights,
    settle,
    wants_circles,
)
from bayeskernels.samplers.directions.billiards.wall_dynamics import DURATION, MAX_EVENTS, wall_gram
from bayeskernels.samplers.directions.block_draws import fresh_outputs, outputs_at
from bayeskernels.samplers.directions.block_sampler import BlockSampler
from bayeskernels.samplers.directions.compiled_flip_rates import FlipRates, set_heights
from bayeskernels.samplers.tempering.ladder import place_rungs

__all__ = ["BilliardBall", "gets_stuck"]

#: Outputs are recomputed from z after this many trajectories, together with the next block of
#: momenta; the drift in between is below 1e-12.
REFRESH_EVERY = 64

#: How far out of a version space rounding may carry a ball, as a share of its length.
WIDEST_DRIFT = 1e-3

#: Event cap of a trajectory that a great circle follows: the circle gets further than a longer one.
MAX_EVENTS_BEFORE_CIRCLE = 20_000

#: The trial for getting stuck: balls, rounds before they are looked at, looks, rounds between.
TRIAL_BALLS, TRIAL_BURN, TRIAL_LOOKS, TRIAL_ROUNDS = 4, 15, 8, 4

#: Balls are stuck where their means differ by more than this many times what the differences
#: between the looks at one ball explain (an F ratio, 1 on average for independent looks).
STUCK_RATIO = 8.0

#: Particles and moves of the pilot that places the rungs, and the rate at which they should swap.
PILOT_PARTICLES, PILOT_SWEEPS, SWAP_RATE = 24, 2, 0.4


class BilliardBall(BlockSampler):
    """One ball between walls, with the ladder below it where it needs one.

    Parameters
    ----------
    walls : Walls
    z : array of shape (r,)
        Start; of any length, on an allowed side of every infinitely high wall.
    gram : array, optional
        Gram matrix of the normals, see :func:`wall_gram`.
    sweeps, duration, max_events, tempering, circles
        See :class:`bayeskernels.samplers.RefractiveBilliard`.
    flip_rates : FlipRates, optional
        Unknown rates that are drawn in every round.
    reference : array of shape (n_walls,), optional
        Heights with which to try whether balls get stuck; those of ``walls`` by default.

    Attributes
    ----------
    balls : Balls or None
        All balls; this one is on the last rung.
    scales : array of shape (n_rungs,)
        Heights of the walls by rung, as shares of ``reference``; the last is 1.
    reference : array of shape (n_walls,)
        Heights for which the ladder was made. They stay when those of the last rung change.
    inside : array of shape (r,)
        Where the ball started, a unit vector on the right side of all hard walls.
    """

    carried = (
        *("balls", "parity", "since_refresh", "scales", "reference"),
        *("n_moves", "sweeps", "max_events", "is_planned", "inside", "rates"),
    )

    def __init__(
        self,
        walls,
        z,
        *,
        gram=None,
        sweeps=None,
        duration=DURATION,
        max_events=None,
        tempering=None,
        circles=None,
        flip_rates=None,
        reference=None,
    ):
        self.flip_rates = FlipRates.fixed() if flip_rates is None else flip_rates
        self.has_own_sweeps = sweeps is None
        super().__init__(walls, sweeps or int(np.clip(round(1000 / max(walls.n_walls, 1)), 1, 10)))
        self.gram = wall_gram(walls.normals) if gram is None else gram
        self.duration = duration
        self.max_events = MAX_EVENTS if max_events is None else max_events
        self.tempering = tempering
        self.circles = circles
        self.scales = np.ones(1)
        self.reference = walls.jumps if reference is None else reference
        self.balls, self.parity = None, 0
        self.n_moves, self.is_planned = 1, False
        self.place(z)
        self.inside = self.z / np.linalg.norm(self.z)

    @property
    def walls(self):
        """Walls of the last rung."""
        return self._walls

    @walls.setter
    def walls(self, walls):
        self._walls = walls
        self._rungs = None

    @property
    def z(self):
        """Position, (r,)."""
        return self.balls.z[self.balls.top]

    @property
    def outputs(self):
        """``walls.normals @ z``, carried along, (n_walls,)."""
        return self.balls.outputs[self.balls.top]

    @property
    def rates(self):
        """Flip rates of the two classes where they are drawn along."""
        return self.flip_rates.rates

    @rates.setter
    def rates(self, rates):
        self.flip_rates.rates[:] = rates
        self._rungs = None

    @property
    def n_rungs(self):
        """Number of rungs of the ladder; 1 where there is none."""
        return len(self.scales)

    @property
    def directions_per_draw(self):
        """How many directions a draw uses up."""
        return self.sweeps * self.n_rungs * self.n_moves

    def place(self, z):
        """Set the ball down somewhere else."""
        z = np.array(z, dtype=np.float64)
        if self.balls is None:
            self.balls = Balls.at_positions(z[None], np.empty((1, self.walls.n_walls)))
        self.z[:] = z
        self.balls.pending[self.balls.top] = 0.0
        self._refresh()

    def change_normals(self, walls, gram=None):
        """Go on among walls in other places; ``gram`` is the Gram matrix of their normals."""
        self.gram = wall_gram(walls.normals) if gram is None else gram
        if walls.n_walls != self.balls.outputs.shape[1]:
            self.balls = Balls.at_positions(self.z[None], np.empty((1, walls.n_walls)))
            self.scales, self.reference, self.is_planned = np.ones(1), walls.jumps, False
            self.block = None
        super().change_normals(walls)

    def _refresh(self):
        for ball, (z, pending) in enumerate(zip(self.balls.z, self.balls.pending, strict=True)):
            settle(z, pending, self.walls.normals)
            self.balls.outputs[ball] = fresh_outputs(z, self.walls)
        self.since_refresh = 0
        if np.isinf(self.walls.energy(self.outputs)):
            raise ValueError(
                "The billiard starts where the posterior is zero: a point whose label cannot be "
                "wrong (noise = 0) is on the wrong side. Start it at a direction without such "
                "errors, as bayeskernels.models does, or use noise > 0."
            )

    def _mend_drift(self):
        """Recompute the outputs; a ball that rounding has put behind a hard wall is pulled back.

        In a version space as thin as 1e-6 a trajectory meets a million walls, and the rounding
        errors of them all are no longer small beside the space.
        """
        settle(self.z, self.balls.pending[self.balls.top], self.walls.normals)
        hard = np.isinf(self.walls.jumps)
        if hard.any():
            signs = np.sign(self.walls.jumps[hard])
            outside = -signs * outputs_at(self.z[None], self.walls.normals[hard])[0]
            depth = signs * outputs_at(self.inside[None], self.walls.normals[hard])[0]
            # A start on a wall has no depth there, and no room to be pulled to.
            pull = np.max(outside[depth > 0.0] / depth[depth > 0.0], initial=0.0)
            if pull > WIDEST_DRIFT * np.linalg.norm(self.z):
                raise ValueError(
                    "The version space is numerically empty: rounding errors carry the ball out of "
                    "it. Use noise > 0, a softness, or a kernel with more features."
                )
            if pull > 0.0:
                self.z[:] += 1.01 * pull * self.inside
        self._refresh()

    def move(self, rng, n_draws=1):
        """Play up to ``n_draws`` times ``sweeps`` rounds, as far as the block of momenta goes.

        Returns
        -------
        draws : array of shape (n, r)
        counts : array of int, shape (n, 4), or of float, shape (n, 6)
            Errors, events, reflections, capped trajectories; flip rates where they are unknown.
        """
        if not self.is_planned:
            self._plan(rng)
        if self.needs_block:
            self.new_block(rng)
            if self.since_refresh >= REFRESH_EVERY:
                self._mend_drift()
        n_draws = min(n_draws, self.block.left // self.directions_per_draw)
        rounds = n_draws * self.sweeps
        shape = (rounds, self.n_rungs, self.n_moves, -1)
        momenta, velocities = self.block.take(n_draws * self.directions_per_draw)
        velocities = velocities.reshape(*shape[:3], self.walls.n_walls)
        luck = Luck.draw(rng, momenta.reshape(shape), velocities, duration=self.duration)
        tally = Tally.empty(rounds, self.n_rungs, self.walls.dimension, self.sweeps)
        self.parity = play(
            self.balls, self._terrain(), self._heights(), luck, self.flip_rates, tally,
            self.parity, rng,
        )  # fmt: skip
        self.since_refresh += rounds
        if self.flip_rates.is_unknown:
            return tally.draws, np.column_stack([tally.counts, tally.rates])
        return tally.draws, tally.counts

    def _terrain(self):
        walls = self.walls
        return Terrain(
            walls.normals, self.gram, walls.errors.astype(np.float64), float(walls.constant_errors)
        )

    def _heights(self):
        """Heights of the walls by rung; those of the last follow the rates."""
        if self._rungs is None:
            heights = rung_heights(self.reference, self.scales)
            heights[-1] = self.walls.jumps
            if self.flip_rates.is_unknown:
                set_heights(self.flip_rates, heights[-1])
            is_free = (self.scales == 0.0) & np.isfinite(self.walls.jumps).all()
            self._rungs = Rungs(heights, is_free, self.max_events)
        return self._rungs

    def _plan(self, rng):
        """Find out what the ball needs in order to get around; fixed from then on."""
        self.is_planned = True
        if self.walls.n_walls == 0:
            return
        circles = wants_circles(self.walls.normals) if self.circles is None else self.circles
        if circles:
            self.n_moves = 2
            self.max_events = min(self.max_events, MAX_EVENTS_BEFORE_CIRCLE)
        # A version space is convex: there is one valley.
        if self.tempering is False or np.isinf(self.walls.jumps).any():
            return
        landscape = ErrorLandscape.from_jumps(self.walls.normals, self.reference, self.gram)
        if self.tempering or gets_stuck(landscape, self.z, rng):
            self._build_ladder(landscape, rng)

    def _build_ladder(self, landscape, rng):
        """Place rungs below the ball by a pilot, and the pilot's particles on them."""
        options = {"particles": PILOT_PARTICLES, "sweeps": PILOT_SWEEPS, "end": 1.0}
        pilot = descend(landscape, rng, lambda betas, _: betas[-1] >= 1.0, **options)
        self.scales = place_rungs([pilot.levels], swap_rate=SWAP_RATE)
        self.scales[-1] = 1.0
        if self.has_own_sweeps:
            self.sweeps *= 2
        z, _ = pilot.draw_particles(self.scales, rng)
        z[-1] = self.z
        self.balls = Balls.at_positions(z, outputs_at(np.array(z), self.walls.normals))
        self._rungs = None
        self._refresh()


def gets_stuck(landscape, z, rng) -> bool:
    """Whether a ball at z (r,) and others from the prior stay apart, judged by a short trial.

    Examples
    --------
    Two hundred random labels in six dimensions make valleys that no ball leaves; labels of a
    linear classifier do not.

    >>> rng = np.random.default_rng(1)
    >>> points, weights = rng.standard_normal((200, 6)), np.ones(6)
    >>> for labels in (rng.random(200) < 0.5, points @ weights > 0.0):
    ...     geometry = bk.samplers.WallGeometry.from_features(points, labels)
    ...     walls = geometry.with_costs(np.full(200, 3.0))
    ...     landscape = ErrorLandscape.from_jumps(walls.normals, walls.jumps)
    ...     gets_stuck(landscape, weights, rng)
    True
    False
    """
    starts = np.vstack([z, rng.standard_normal((TRIAL_BALLS - 1, len(z)))])
    balls = Balls.at_positions(starts, outputs_at(starts, landscape.normals))
    rounds = TRIAL_BURN + TRIAL_LOOKS * TRIAL_ROUNDS
    luck = landscape.draw_luck(rng, rounds, TRIAL_BALLS, swaps=False)
    heights = np.tile(landscape.jumps, (TRIAL_BALLS, 1))
    looks, energies, start = [], [], 0
    for end in range(TRIAL_BURN, rounds + 1, TRIAL_ROUNDS):
        part = Luck(*(numbers[start:end] for numbers in luck))
        tally, _ = landscape.play(balls, heights, part, rng)
        # Lengths are free and say nothing.
        looks.append(balls.outputs / np.linalg.norm(balls.outputs, axis=1, keepdims=True))
        energies.append(tally.energies[-1])
        start = end
    ratios = [_disagreement(np.array(seen[1:])) for seen in (looks, energies)]
    return bool(max(ratios) > STUCK_RATIO)


def _disagreement(looks):
    """F ratio of variances between and within balls, added up over the last axis if there is one.

    ``looks`` has the shape (n_looks, n_balls) or (n_looks, n_balls, n_quantities).
    """
    between = len(looks) * looks.mean(axis=0).var(axis=0, ddof=1).sum()
    within = looks.var(axis=0, ddof=1).mean(axis=0).sum()
    if between == 0.0:
        return 0.0
    return between / within if within > 0.0 else np.inf
