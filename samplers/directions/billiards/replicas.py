r"""Balls among walls, each on a rung of its own, that move in rounds and change places.

A ball is a position z with its outputs at the walls. In a round every ball follows one trajectory
of the refractive billiard (:mod:`bayeskernels.samplers.directions.billiards.wall_dynamics`) among
walls as high as its rung has them. Where great circles are asked for, it then draws a point of the
ellipse :math:`z \cos t + p \sin t`, p a fresh normal vector. Turning (z, p) keeps its distribution,
so drawing t from the posterior on that ellipse is a Gibbs step, exact like the trajectory, and like
a great circle of KGS it passes any number of walls at once. Then all pairs of neighbouring rungs
are proposed to swap, the even or the odd ones first in turn: beside trajectories swaps cost
nothing.

One ball on one rung is the plain refractive billiard. Rungs from no walls at all up to their full
height are a ladder: parallel tempering, for posteriors whose walls are too dense to be paid for one
after the other, and for the evidence
(:mod:`bayeskernels.samplers.directions.billiards.noise_ladder`).

Kicks at the walls are not added to z at once: their weights are kept by wall in ``pending``, and z
is brought up to date when it is wanted.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.directions.billiards.wall_dynamics import DURATION, fly
from bayeskernels.samplers.directions.block_draws import outputs_at
from bayeskernels.samplers.directions.compiled_flip_rates import draw_rates
from bayeskernels.samplers.directions.great_circle import draw_angle
from bayeskernels.samplers.tempering.ladder import Ladder, count_trips, offer_swap

__all__ = [
    "Balls",
    "Luck",
    "Rungs",
    "Tally",
    "Terrain",
    "play",
    "rung_heights",
    "settle",
    "wants_circles",
]


#: Up to this effective dimension of the normals a great circle gets about as far as a trajectory.
CIRCLES_UP_TO = 5.0


class Balls(NamedTuple):
    """State of all balls; :func:`play` changes it in place.

    Attributes
    ----------
    z : array of shape (n_rungs, r)
        Positions without the pending kicks; r may be 0 where only outputs are of interest.
    pending : array of shape (n_rungs, n_walls)
        Weights of the normals that are still to be added to z.
    outputs : array of shape (n_rungs, n_walls)
    ladder : Ladder
        The ball on each rung.
    """

    z: np.ndarray
    pending: np.ndarray
    outputs: np.ndarray
    ladder: Ladder

    @classmethod
    def at_positions(cls, z, outputs):
        """Put balls down, ball k on rung k."""
        return cls(
            np.array(z, dtype=np.float64),
            np.zeros(np.shape(outputs)),
            np.array(outputs, dtype=np.float64),
            Ladder.of_size(len(outputs)),
        )

    @property
    def top(self):
        """The ball on the highest rung."""
        return self.ladder.at[-1]


class Terrain(NamedTuple):
    """What all rungs share.

    Attributes
    ----------
    normals : array of shape (n_walls, r)
    gram : array of shape (n_walls, n_walls)
        Gram matrix of the normals; empty where it does not fit.
    costs : array of float, shape (2, n_walls)
        What is counted above and below each wall: training errors, or their prices.
    constant : float
        What is counted everywhere.
    """

    normals: np.ndarray
    gram: np.ndarray
    costs: np.ndarray
    constant: float


class Rungs(NamedTuple):
    """Walls by rung, the highest last.

    Attributes
    ----------
    heights : array of shape (n_rungs, n_walls)
        Energy below less energy above each wall.
    is_free : array of bool, shape (n_rungs,)
        Rungs without walls: their ball is drawn afresh in each round.
    max_events : int
        A trajectory that meets more walls is given up. Its ball stays where it was, which is exact
        because the reverse trajectory would meet as many.
    """

    heights: np.ndarray
    is_free: np.ndarray
    max_events: int


class Luck(NamedTuple):
    """Random numbers of some rounds.

    Attributes
    ----------
    momenta : array of shape (n_rounds, n_rungs, n_moves, r)
        Standard normal vectors: one for a trajectory, and one for a great circle if there is any.
    velocities : array of shape (n_rounds, n_rungs, n_moves, n_walls)
        Their outputs.
    durations : array of shape (n_rounds, n_rungs)
    turns, levels : arrays of shape (n_rounds, n_rungs)
        Uniform numbers that decide the great circles and the swaps.
    """

    momenta: np.ndarray
    velocities: np.ndarray
    durations: np.ndarray
    turns: np.ndarray
    levels: np.ndarray

    @classmethod
    def draw(cls, rng, momenta, velocities, *, duration=DURATION, swaps=True):
        """Draw the numbers that go with given momenta; without swaps all levels are too high."""
        # Round by round, so that a run does not depend on how many rounds are drawn at once.
        n_rounds, n_rungs = velocities.shape[:2]
        numbers = rng.random((n_rounds, 3, n_rungs))
        low, high = duration
        durations = low + (high - low) * numbers[:, 0]
        levels = numbers[:, 2] if swaps else numbers[:, 2] + 1.0
        return cls(
            momenta, velocities, durations, numbers[:, 1].copy(), np.ascontiguousarray(levels)
        )


class Tally(NamedTuple):
    """What :func:`play` records.

    Attributes
    ----------
    draws : array of shape (n_draws, r)
        Positions of the ball on the highest rung after every ``sweeps`` rounds.
    counts : array of int, shape (n_draws, 4)
        Of that rung: training errors; events, reflections and trajectories given up since the draw
        before.
    rates : array of shape (n_draws, 2)
        Flip rates where they are drawn along.
    energies : array of shape (n_rounds, n_rungs)
        What the terrain counts on each rung.
    totals : array of int, shape (2,)
        Events and trajectories given up on all rungs.
    sweeps : int
    """

    draws: np.ndarray
    counts: np.ndarray
    rates: np.ndarray
    energies: np.ndarray
    totals: np.ndarray
    sweeps: int

    @classmethod
    def empty(cls, n_rounds, n_rungs, dimension=0, sweeps=None):
        """Room for some rounds; without ``sweeps`` no draws are recorded."""
        n_draws = 0 if sweeps is None else n_rounds // sweeps
        return cls(
            np.empty((n_draws, dimension)),
            np.zeros((n_draws, 4), dtype=np.int64),
            np.empty((n_draws, 2)),
            np.empty((n_rounds, n_rungs)),
            np.zeros(2, dtype=np.int64),
            n_rounds + 1 if sweeps is None else sweeps,
        )


def rung_heights(jumps, scales):
    """Jumps at each scale, (n_scales, n_walls); walls that nothing passes are so on every rung."""
    soft = np.where(np.isfinite(jumps), jumps, 0.0)
    return np.where(np.isfinite(jumps), np.multiply.outer(scales, soft), jumps)


def wants_circles(normals):
    r"""Whether so few dimensions matter that great circles get as far as trajectories do.

    With many walls in few dimensions a ball meets one expensive wall after the other. What counts
    is the effective dimension :math:`(\sum \lambda)^2 / \sum \lambda^2` of the normals' covariance,
    not the number of coordinates.

    Examples
    --------
    >>> bool(wants_circles(np.eye(2))), bool(wants_circles(np.eye(20)))
    (True, False)
    """
    n_walls, r = normals.shape
    covariance = outputs_at(normals, normals) if n_walls < r else outputs_at(normals.T, normals.T)
    return n_walls**2 <= CIRCLES_UP_TO * np.sum(covariance**2)


@numba.njit(**JIT)
def settle(z, pending, normals):
    """Add the pending kicks to one position."""
    for j in range(len(pending)):
        weight = pending[j]
        if weight != 0.0:
            pending[j] = 0.0
            for i in range(len(z)):
                z[i] += weight * normals[j, i]


@numba.njit(**JIT)
def _turn(z, pending, momentum, angle):
    """Go by an angle along the ellipse of position and momentum."""
    cos_t, sin_t = math.cos(angle), math.sin(angle)
    for i in range(len(z)):
        z[i] = z[i] * cos_t + momentum[i] * sin_t
    for j in range(len(pending)):
        pending[j] *= cos_t
    return cos_t, sin_t


@numba.njit(**JIT)
def _move(ball, rung, t, balls, terrain, rungs, luck, workspace):
    """One trajectory and, where there is luck for it, one great circle of one ball.

    Returns events, reflections and whether the trajectory was given up.
    """
    z, pending, f = balls.z[ball], balls.pending[ball], balls.outputs[ball]
    if rungs.is_free[rung]:
        z[:] = luck.momenta[t, rung, 0]
        f[:] = luck.velocities[t, rung, 0]
        pending[:] = 0.0
        return 0, 0, False
    jumps = rungs.heights[rung]
    kicks, cotangents, start, g = workspace[:3], workspace[3], workspace[4], workspace[5]
    start[:] = f
    g[:] = luck.velocities[t, rung, 0]
    duration = luck.durations[t, rung]
    events, reflections = fly(
        f, g, terrain.normals, terrain.gram, jumps, duration, rungs.max_events, kicks, cotangents
    )
    is_capped = events < 0
    if is_capped:
        f[:] = start
        events = rungs.max_events
    else:
        _turn(z, pending, luck.momenta[t, rung, 0], duration)
        for j in range(len(f)):
            pending[j] += kicks[0, j]
    if luck.velocities.shape[2] > 1 and len(f) > 0:
        speeds = luck.velocities[t, rung, 1]
        angle = draw_angle(f, speeds, jumps, luck.turns[t, rung], cotangents)
        cos_t, sin_t = _turn(z, pending, luck.momenta[t, rung, 1], angle)
        for j in range(len(f)):
            f[j] = f[j] * cos_t + speeds[j] * sin_t
    return events, reflections, is_capped


@numba.njit(**JIT)
def _counted(terrain, f):
    """What the terrain counts at outputs f."""
    total = terrain.constant
    for j in range(len(f)):
        total += terrain.costs[0, j] if f[j] > 0.0 else terrain.costs[1, j]
    return total


@numba.njit(**JIT)
def _swap_gain(low, high, lower, higher):
    """Log-density gained if the balls with outputs ``low`` and ``high`` changed their rungs."""
    gain = 0.0
    for j in range(len(low)):
        difference = higher[j] - lower[j]
        # Where nothing passes on either rung the difference of infinities is not a number.
        if higher[j] != lower[j] and (low[j] > 0.0) != (high[j] > 0.0):
            gain += difference if low[j] > 0.0 else -difference
    return gain


@numba.njit(**JIT)
def play(balls, terrain, rungs, luck, flip_rates, tally, parity, rng):
    """Rounds of moves and swaps, one for each row of ``tally.energies``.

    Parameters
    ----------
    balls, terrain, rungs, luck, tally
        Of the classes of these names.
    flip_rates : FlipRates
        Drawn after each round, given the errors on the highest rung, where they are unknown; the
        heights there follow them.
    parity : int
        Whether even (0) or odd (1) pairs are the next to swap first.
    rng : numpy.random.Generator
        For the flip rates.

    Returns
    -------
    int
        The parity after that.
    """
    n_rounds, n_rungs = tally.energies.shape
    n_walls = balls.outputs.shape[1]
    top = n_rungs - 1
    at = balls.ladder.at
    workspace = np.empty((6, n_walls))
    for t in range(n_rounds):
        is_record = (t + 1) % tally.sweeps == 0
        for k in range(n_rungs):
            ball = at[k]
            events, reflections, is_capped = _move(
                ball, k, t, balls, terrain, rungs, luck, workspace
            )
            tally.energies[t, k] = _counted(terrain, balls.outputs[ball])
            tally.totals[0] += events
            tally.totals[1] += is_capped
            if k == top and len(tally.draws) > 0:
                count = tally.counts[t // tally.sweeps]
                count[1] += events
                count[2] += reflections
                count[3] += is_capped
        if n_rungs > 1:
            count_trips(balls.ladder)
        for half in range(2):
            for low in range((parity + half) % 2, top, 2):
                gain = _swap_gain(
                    balls.outputs[at[low]],
                    balls.outputs[at[low + 1]],
                    rungs.heights[low],
                    rungs.heights[low + 1],
                )
                offer_swap(balls.ladder, low, gain, luck.levels[t, low])
        parity = 1 - parity
        ball = at[top]
        if flip_rates.is_unknown:
            draw_rates(flip_rates, balls.outputs[ball], rungs.heights[top], rng)
        if is_record:
            row = t // tally.sweeps
            tally.counts[row, 0] = round(_counted(terrain, balls.outputs[ball]))
            settle(balls.z[ball], balls.pending[ball], terrain.normals)
            tally.draws[row] = balls.z[ball]
            tally.rates[row] = flip_rates.rates
    return parity
