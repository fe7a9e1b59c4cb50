r"""Replicas of a classifier at several prices of an error, from the prior down to few errors.

Under label noise the posterior of the direction is the prior times :math:`e^{-\beta E}`, where E
counts the training errors and :math:`\beta = \log((1-q)/q)` is what one of them costs. A ladder
holds one replica at each of several :math:`\beta`, from 0 up: each moves by the refractive billiard
(:mod:`bayeskernels.samplers.directions.refractive_billiard`), whose walls are :math:`\beta` times
as high as at 1, and neighbours exchange their places. At 0 a replica is drawn afresh from the prior
in every round, so that whatever comes down to few errors is a new start: *round trips* count these.

The moves are those of :mod:`bayeskernels.samplers.directions.billiards.replicas`; the ladder
carries nothing but the outputs at the walls along. They could drift from the space of outputs by
rounding errors, but a trajectory takes only a share :math:`\cos T` of them over from the one before
and the rest from its fresh velocity, so errors die out.
"""

from dataclasses import dataclass, field

import numpy as np

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
from bayeskernels.samplers.directions.billiards.wall_dynamics import MAX_EVENTS, wall_gram
from bayeskernels.samplers.directions.block_draws import outputs_at
from bayeskernels.samplers.directions.compiled_flip_rates import FlipRates
from bayeskernels.samplers.tempering.ladder import resample

__all__ = ["Descent", "ErrorLandscape", "LadderRun", "NoiseLadder", "descend"]

#: Numbers that the velocities of one block of rounds may take up.
BLOCK_NUMBERS = 200_000

#: Largest beta; errors that are made there are made everywhere.
COLDEST = 30.0


@dataclass(frozen=True)
class ErrorLandscape:
    """What errors cost on either side of each wall, at beta = 1.

    Attributes
    ----------
    normals : array of shape (n_walls, r)
        Unit normals.
    costs : array of shape (2, n_walls)
        Cost above (output > 0) and below each wall. Counts of errors where all cost the same.
    constant : float
        Cost everywhere.
    gram : array of shape (n_walls, n_walls)
        Gram matrix of the normals; empty where it would not fit.
    """

    normals: np.ndarray
    costs: np.ndarray
    constant: float
    gram: np.ndarray = field(repr=False)

    @classmethod
    def from_geometry(cls, geometry, costs):
        """Put the costs of the errors of single points on the walls of a ``WallGeometry``."""
        walls = geometry.with_costs(np.ones(len(costs)))
        if np.all(np.asarray(costs) == 1.0):
            return cls(
                walls.normals,
                walls.errors.astype(np.float64),
                float(walls.constant_errors),
                wall_gram(walls.normals),
            )
        n_walls = len(geometry.normals)
        on_wall = geometry.wall_of_point >= 0
        wall, side = geometry.wall_of_point[on_wall], geometry.right_side[on_wall]
        above, below = (
            np.bincount(wall, (side == wrong) * np.asarray(costs)[on_wall], minlength=n_walls)
            for wrong in (-1.0, 1.0)
        )
        constant = float(np.asarray(costs)[~on_wall].sum())
        return cls(
            geometry.normals, np.array([above, below]), constant, wall_gram(geometry.normals)
        )

    @classmethod
    def from_jumps(cls, normals, jumps, gram=None):
        """Walls whose better side costs nothing, by energies below less energies above them."""
        costs = np.array([np.maximum(-jumps, 0.0), np.maximum(jumps, 0.0)])
        return cls(normals, costs, 0.0, wall_gram(normals) if gram is None else gram)

    @property
    def jumps(self):
        """Cost below less cost above each wall, (n_walls,)."""
        return self.costs[1] - self.costs[0]

    def energies(self, outputs):
        """Cost at the outputs of the walls (last axis)."""
        return np.where(outputs > 0, self.costs[0], self.costs[1]).sum(axis=-1) + self.constant

    @property
    def terrain(self):
        """What balls move among and what they are charged."""
        return Terrain(self.normals, self.gram, self.costs, self.constant)

    @property
    def n_moves(self):
        """Moves of a ball in a round: a trajectory, and a great circle where it gets further."""
        return 2 if wants_circles(self.normals) else 1

    def draw_outputs(self, rng, n):
        """Outputs of n standard normal vectors, (n, n_walls): positions of the prior."""
        return outputs_at(rng.standard_normal((n, self.normals.shape[1])), self.normals)

    def draw_luck(self, rng, n_rounds, n_rungs, **options):
        """Random numbers for some rounds of balls."""
        n_walls, r = self.normals.shape
        shape = (n_rounds, n_rungs, self.n_moves)
        momenta = rng.standard_normal((*shape, r))
        velocities = outputs_at(momenta.reshape(-1, r), self.normals).reshape(*shape, n_walls)
        return Luck.draw(rng, momenta, velocities, **options)

    def play(self, balls, heights, luck, rng, *, is_free=None, max_events=MAX_EVENTS, parity=0):
        """Move balls among walls of the given heights by rung; a tally, and the next parity."""
        is_free = np.zeros(len(heights), dtype=bool) if is_free is None else is_free
        tally = Tally.empty(*luck.levels.shape)
        rungs = Rungs(heights, is_free, max_events)
        fixed = FlipRates.fixed()
        return tally, play(balls, self.terrain, rungs, luck, fixed, tally, parity, rng)


@dataclass(frozen=True)
class Descent:
    """A pilot: particles that went down from the prior, beta by beta.

    Attributes
    ----------
    betas : array of shape (n,)
    energies : array of shape (n, n_particles)
        After the moves at each beta.
    positions, outputs : lists of arrays of shape (n_particles, r) and (n_particles, n_walls)
    log_ratios : array of shape (n,)
        Rough log E_prior[exp(-beta E)].
    is_saturated : bool
        Whether hardly anything is left to gain at larger beta.
    events : int
    """

    betas: np.ndarray
    energies: np.ndarray
    positions: list
    outputs: list
    log_ratios: np.ndarray
    is_saturated: bool
    events: int

    @property
    def levels(self):
        """What :func:`bayeskernels.samplers.tempering.ladder.place_rungs` needs of a pilot."""
        return self.betas, self.energies

    def draw_particles(self, betas, rng):
        """Positions and outputs of a random particle at about each of some betas, as two lists."""
        levels = np.searchsorted(self.betas, betas, side="right") - 1
        particles = rng.integers(self.energies.shape[1], size=len(betas))
        drawn = list(zip(levels, particles, strict=True))
        return [self.positions[k][i] for k, i in drawn], [self.outputs[k][i] for k, i in drawn]


def descend(landscape, rng, is_enough, *, particles=48, sweeps=4, step=1.0, end=None) -> Descent:
    """Lower particles from the prior by sequential Monte Carlo, to place the rungs of a ladder.

    Parameters
    ----------
    landscape : ErrorLandscape
    rng : numpy.random.Generator
    is_enough : callable
        Of the arrays of betas and log-ratios so far: whether to stop at the last.
    particles, sweeps : int
        Particles, and trajectories of each at each beta.
    step : float
        Standard deviations of the energy from one beta to the next.
    end : float, optional
        A beta that must be among them, e.g. the last.
    """
    z = rng.standard_normal((particles, landscape.normals.shape[1]))
    f = outputs_at(z, landscape.normals)
    betas, energies, log_ratios = [0.0], [landscape.energies(f)], [0.0]
    positions, outputs = [z], [f]
    spread_scale = max(1.0, np.abs(landscape.jumps).max(initial=0.0)) * 0.25
    events = 0
    while True:
        beta = betas[-1]
        # Few particles may by chance agree: no step is longer than four spreads of a single wall.
        spread = max(energies[-1].std(), spread_scale)
        excess = energies[-1].mean() - energies[-1].min()
        is_saturated = beta >= COLDEST or (beta > 0 and excess < 0.02 * spread_scale)
        if is_saturated or is_enough(np.array(betas), np.array(log_ratios)):
            break
        gap = step / spread
        if end is not None and beta < end <= beta + 1.3 * gap:
            gap = end - beta
        tilts = -gap * energies[-1]
        log_ratios.append(log_ratios[-1] + np.logaddexp.reduce(tilts) - np.log(particles))
        weights = np.exp(tilts - tilts.max())
        chosen = resample(weights / weights.sum(), rng)
        balls = Balls.at_positions(positions[-1][chosen], outputs[-1][chosen])
        heights = np.repeat(rung_heights(landscape.jumps, [beta + gap]), particles, axis=0)
        luck = landscape.draw_luck(rng, sweeps, particles, swaps=False)
        tally, _ = landscape.play(balls, heights, luck, rng)
        for position, pending in zip(balls.z, balls.pending, strict=True):
            settle(position, pending, landscape.normals)
        events += int(tally.totals[0])
        betas.append(beta + gap)
        energies.append(tally.energies[-1])
        positions.append(balls.z)
        outputs.append(balls.outputs)
    return Descent(
        np.array(betas),
        np.array(energies),
        positions,
        outputs,
        np.array(log_ratios),
        is_saturated,
        events,
    )


@dataclass(frozen=True)
class LadderRun:
    """What a ladder did.

    Attributes
    ----------
    energies : array of shape (n_rounds, n_rungs)
        Cost of the errors on each rung after the moves of each round.
    swap_rates : array of shape (n_rungs - 1,)
        Mean acceptance probabilities of swaps between neighbours.
    round_trips : int
        How often a replica went from the prior to the cold end and back.
    events, capped : int
        Walls met; trajectories given up because they met too many.
    """

    energies: np.ndarray
    swap_rates: np.ndarray
    round_trips: int
    events: int
    capped: int


class NoiseLadder:
    """Replicas on a ladder of prices of an error.

    Parameters
    ----------
    landscape : ErrorLandscape
    betas : array of shape (n_rungs,)
        Increasing from 0.
    outputs : array of shape (n_rungs, n_walls)
        Where the replicas start.
    max_events : int
        Trajectories that meet more walls are given up, see :class:`Rungs`.

    Examples
    --------
    Outputs of orthogonal points are independent: at beta each is an error with probability q.

    >>> geometry = bk.samplers.WallGeometry.from_features(np.eye(4), np.ones(4, dtype=bool))
    >>> landscape = ErrorLandscape.from_geometry(geometry, np.ones(4))
    >>> rng = np.random.default_rng(1)
    >>> ladder = NoiseLadder(landscape, [0.0, np.log(9)], landscape.draw_outputs(rng, 2))
    >>> run = ladder.run(rng, 4000)
    >>> run.energies.mean(axis=0).round(1).tolist()
    [2.0, 0.4]
    """

    def __init__(self, landscape, betas, outputs, *, max_events=MAX_EVENTS):
        self.landscape = landscape
        self.betas = np.array(betas, dtype=np.float64)
        self.max_events = max_events
        self.balls = Balls.at_positions(np.empty((len(outputs), 0)), outputs)
        self.parity = 0

    @classmethod
    def from_descent(cls, landscape, betas, descent, rng):
        """Set every replica down where a pilot was at about its beta."""
        _, outputs = descent.draw_particles(betas, rng)
        return cls(landscape, betas, outputs)

    def run(self, rng, n_rounds, on_block=None) -> LadderRun:
        """Move all replicas and propose swaps of neighbours, ``n_rounds`` times."""
        landscape = self.landscape
        n_rungs, n_walls = self.balls.outputs.shape
        ladder = self.balls.ladder
        ladder.forget()
        heights = rung_heights(landscape.jumps, self.betas)
        options = {"is_free": self.betas == 0.0, "max_events": self.max_events}
        energies = np.empty((n_rounds, n_rungs))
        numbers = max(n_rungs * landscape.n_moves * n_walls, 1)
        block = int(np.clip(BLOCK_NUMBERS // numbers, 1, 256))
        totals = np.zeros(2, dtype=np.int64)
        for start in range(0, n_rounds, block):
            part = energies[start : start + block]
            luck = landscape.draw_luck(rng, len(part), n_rungs)
            # Positions are of no interest here, outputs are all that is carried along.
            luck = luck._replace(momenta=luck.momenta[..., :0].copy())
            tally, self.parity = landscape.play(
                self.balls, heights, luck, rng, parity=self.parity, **options
            )
            part[:] = tally.energies
            totals += tally.totals
            if on_block is not None:
                on_block(len(part))
        events, capped = (int(total) for total in totals)
        return LadderRun(energies, ladder.swap_rates, ladder.round_trips, events, capped)
