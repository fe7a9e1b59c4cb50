r"""Billiards in version space (BPM, section 3.1), as geodesics with a velocity that is refreshed.

A ball rolls on great circles of the unit sphere within the version space and bounces off its walls;
the time average of its position is the centre of mass, the Bayes point. Between two bounces the
integral of the position is known in closed form, so the whole trajectory counts, not only the
recorded draws.

A pure billiard need not visit all of a polyhedron. At the events of a Poisson process the velocity
is drawn afresh, uniformly in the tangent space, which makes the motion ergodic and keeps the
uniform distribution: velocity and position are independent under it, and a reflection at a wall
changes neither area nor speed.

With d = outputs of the position and nu = outputs of the velocity carried along, a bounce costs
O(m) where the paper's Algorithm 2 pays O(m^2) for computing them anew. Algorithm 2 itself, with
its bias, is in :mod:`bayeskernels.samplers.directions.billiards.chord_billiard`.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.compiled import dot
from bayeskernels.samplers.directions.billiards.wall_dynamics import MAX_EVENTS, fly, wall_gram
from bayeskernels.samplers.directions.block_draws import OFF_THE_WALL, fresh_outputs, outputs_at
from bayeskernels.samplers.directions.block_sampler import BlockSampler

__all__ = ["RollingBall", "RollingPath", "simulate_billiard"]

#: Outputs are recomputed from position and velocity after this many recorded draws, or when making
#: velocities tangent may have magnified their rounding errors by :data:`MAX_ERROR_GROWTH`.
REFRESH_EVERY = 32
MAX_ERROR_GROWTH = 1e3

#: A random direction this close to the position (in squares) leaves no digits of its tangent part;
#: the next one is taken. Only its angle to the position decides, so velocities stay uniform.
NO_TANGENT = 1e-10


class _Ball(NamedTuple):
    """A ball on its way, changed in place.

    ``rows`` (3, r) holds position, velocity and the integral of the position since the last draw,
    ``pending`` (3, n_walls) the weights of the normals that are still to be added to these; f and g
    (n_walls,) are the outputs of position and velocity, ``clock`` is that of :class:`RollingBall`.
    """

    rows: np.ndarray
    pending: np.ndarray
    f: np.ndarray
    g: np.ndarray
    clock: np.ndarray


class _Room(NamedTuple):
    """Walls, and when to record a draw or to give up."""

    normals: np.ndarray
    gram: np.ndarray
    jumps: np.ndarray
    max_events: int
    path_length: float


@numba.njit(**JIT)
def _turn(rows, cos_t, sin_t):
    """Turn position and velocity by t and add to the integral of the position, without walls."""
    for i in range(rows.shape[1]):
        position = rows[0, i]
        velocity = rows[1, i]
        rows[0, i] = position * cos_t + velocity * sin_t
        rows[1, i] = velocity * cos_t - position * sin_t
        rows[2, i] += position * sin_t + velocity * (1.0 - cos_t)


@numba.njit(**JIT)
def _segment(ball, room, duration, kicks, cotangents):
    """Roll for ``duration`` with one velocity; everything is advanced in place.

    Where the event cap is reached the ball goes back to where it was and turns round, which keeps
    the uniform distribution of its draws. The path then counts as if the ball had waited, which is
    not right for the mean position: paths with few bounces are over-represented between the draws.
    Returns the bounces, -1 for a capped segment.
    """
    rows, pending, f, g, _ = ball
    normals, gram, jumps, max_events, _ = room
    f_before = f.copy()
    g_before = g.copy()
    bounces, _ = fly(f, g, normals, gram, jumps, duration, max_events, kicks, cotangents)
    if bounces < 0:
        f[:] = f_before
        g[:] = -g_before
        for part in (rows, pending):
            part[1] = -part[1]
            part[2] += duration * part[0]
        return -1
    cos_t, sin_t = math.cos(duration), math.sin(duration)
    _turn(rows, cos_t, sin_t)
    _turn(pending, cos_t, sin_t)
    pending += kicks
    return bounces


@numba.njit(**JIT)
def _settle(ball, normals):
    """Add the kicks along the normals, which were only counted so far, to the vectors."""
    rows, pending = ball.rows, ball.pending
    for j in range(pending.shape[1]):
        a, b, c = pending[0, j], pending[1, j], pending[2, j]
        if a != 0.0 or b != 0.0 or c != 0.0:
            for i in range(rows.shape[1]):
                normal = normals[j, i]
                rows[0, i] += a * normal
                rows[1, i] += b * normal
                rows[2, i] += c * normal
    pending[:] = 0.0


@numba.njit(**JIT)
def _new_velocity(ball, direction, outputs):
    """Turn a random direction into a unit velocity; returns the growth of rounding errors.

    Zero is returned, and the velocity kept, where the direction has no tangent part. The product
    with the position needs the position itself only up to its pending kicks, since the outputs of
    the direction are known.
    """
    rows, pending, f, g, _ = ball
    along = dot(direction, rows[0]) + dot(outputs, pending[0])
    total = dot(direction, direction)
    square = total - along * along
    if square < NO_TANGENT * total:
        return 0.0
    scale = 1.0 / math.sqrt(square)
    for i in range(len(direction)):
        rows[1, i] = (direction[i] - along * rows[0, i]) * scale
    for j in range(len(outputs)):
        pending[1, j] = -along * scale * pending[0, j]
        g[j] = (outputs[j] - along * f[j]) * scale
    return 1.0 + abs(along) * scale


@numba.njit(**JIT)
def _recompute(ball, room):
    """Make position and velocity orthonormal again and their outputs anew, against drift."""
    position, velocity = ball.rows[0], ball.rows[1]
    position *= 1.0 / math.sqrt(dot(position, position))
    velocity -= dot(position, velocity) * position
    speed = dot(velocity, velocity)
    # A ball that has not been given a velocity yet has none to normalise.
    velocity *= 1.0 / math.sqrt(speed) if speed > 0.0 else 0.0
    for j in range(len(ball.f)):
        f_j = dot(room.normals[j], position)
        if f_j == 0.0 or (f_j > 0.0) != (room.jumps[j] > 0.0):
            f_j = math.copysign(OFF_THE_WALL, room.jumps[j])
        ball.f[j] = f_j
        ball.g[j] = dot(room.normals[j], velocity)


@numba.njit(**JIT)
def _run(ball, room, directions, outputs, waits, first, draws, records):
    """Roll until all ``draws`` from ``first`` on are made or the block of directions is used up.

    A record is bounces, refreshments, capped segments and the mean position. Returns how many draws
    there are and how many directions were used.
    """
    rows, clock = ball.rows, ball.clock
    kicks = np.empty((3, len(ball.f)))
    cotangents = np.empty(len(ball.f))
    used = 0
    for k in range(first, len(draws)):
        record = records[k]
        if rows.shape[1] == 1:
            # The sphere of R^1 is two points: there is nowhere to roll to.
            rows[2] = room.path_length * rows[0]
            clock[1] = 0.0
        while clock[1] > 0.0:
            if clock[0] <= 0.0:
                if used == len(waits):
                    _settle(ball, room.normals)
                    return k, used
                growth = _new_velocity(ball, directions[used], outputs[used])
                used += 1
                if growth == 0.0:
                    continue
                clock[0] = waits[used - 1]
                clock[2] *= growth
                record[1] += 1
                if clock[2] > MAX_ERROR_GROWTH:
                    _settle(ball, room.normals)
                    _recompute(ball, room)
                    clock[2] = 1.0
            duration = min(clock[0], clock[1], 3.0)
            bounces = _segment(ball, room, duration, kicks, cotangents)
            record[0] += bounces if bounces >= 0 else room.max_events
            record[2] += bounces < 0
            clock[0] -= duration
            clock[1] -= duration
        _settle(ball, room.normals)
        clock[3] += 1.0
        if clock[3] >= REFRESH_EVERY:
            _recompute(ball, room)
            clock[2] = 1.0
            clock[3] = 0.0
        draws[k] = rows[0]
        record[3:] = rows[2] / room.path_length
        rows[2] = 0.0
        clock[1] = room.path_length
    return len(draws), used


class RollingBall(BlockSampler):
    """Position and velocity of one ball on the sphere, with their outputs.

    Attributes
    ----------
    walls, block
        See :class:`BlockSampler`; a direction is used at each refreshment of the velocity.
    gram : array
        Gram matrix of the normals, see :func:`wall_gram`.
    w, v : arrays of shape (r,)
        Position and velocity: orthogonal unit vectors.
    outputs, output_velocities : arrays of shape (n_walls,)
        ``walls.normals @ w`` and ``walls.normals @ v``, carried along.
    waits : array
        Path lengths between the refreshments of a block.
    clock : array of shape (4,)
        Path to the next refreshment and to the next draw, growth of rounding errors, draws since
        the outputs were computed from w and v.
    """

    carried = ("w", "v", "outputs", "output_velocities", "waits", "clock")

    def __init__(self, walls, w, *, path_length=1.5, refresh_rate=0.2, gram=None, max_events=None):
        super().__init__(walls, sweeps=1)
        refuse_finite_walls(walls)
        self.gram = wall_gram(walls.normals) if gram is None else gram
        self.path_length = path_length
        self.refresh_rate = refresh_rate
        self.max_events = MAX_EVENTS if max_events is None else max_events
        self.waits = None
        self.place(w)

    def place(self, w):
        """Set the ball down somewhere else; it gets a new velocity there."""
        self.w = np.array(w, dtype=np.float64)
        self.w /= np.linalg.norm(self.w)
        self.v = np.zeros_like(self.w)
        self.clock = np.array([0.0, self.path_length, 1.0, 0.0])
        self._refresh()

    def change_normals(self, walls, gram=None):
        """Go on among walls in other places; ``gram`` is the Gram matrix of their normals."""
        refuse_finite_walls(walls)
        self.gram = wall_gram(walls.normals) if gram is None else gram
        super().change_normals(walls)

    def _refresh(self):
        self.outputs = outputs_inside(self.w, self.walls)
        self.output_velocities = outputs_at(self.v[None], self.walls.normals)[0]
        self.clock[2:] = 1.0, 0.0

    def new_block(self, rng):
        """Draw the next directions, and when they will be used."""
        super().new_block(rng)
        self.waits = rng.exponential(1.0 / self.refresh_rate, self.block.left)

    def move(self, rng, n_draws=1):
        """Roll on; the position is recorded after every ``path_length``.

        How many draws are made at a time does not change them.

        Returns
        -------
        draws : array of shape (n_draws, r)
            Unit vectors.
        records : array of shape (n_draws, 3 + r)
            Bounces, refreshments of the velocity, segments given up at the event cap; then the mean
            position on the path since the draw before.
        """
        draws = np.empty((n_draws, self.walls.dimension))
        records = np.zeros((n_draws, 3 + self.walls.dimension))
        walls = self.walls
        ball = _Ball(
            np.stack([self.w, self.v, np.zeros_like(self.w)]),
            np.zeros((3, walls.n_walls)),
            self.outputs,
            self.output_velocities,
            self.clock,
        )
        room = _Room(walls.normals, self.gram, walls.jumps, self.max_events, self.path_length)
        done = 0
        while done < n_draws:
            if self.needs_block and self.clock[0] <= 0.0:
                self.new_block(rng)
            start = self.block.used
            ahead = self.block.directions[start:], self.block.outputs[start:], self.waits[start:]
            done, used = _run(ball, room, *ahead, done, draws, records)
            self.block.take(used)
        self.w, self.v = ball.rows[0].copy(), ball.rows[1].copy()
        return draws, records


def refuse_finite_walls(walls):
    """Raise an error where a wall can be passed."""
    if not np.isinf(walls.jumps).all():
        raise ValueError(
            "A billiard needs walls that nothing passes: labels without noise (noise = 0). Here "
            "errors are possible; sample label noise with RefractiveBilliard, the default step."
        )


def outputs_inside(w, walls):
    """Outputs of a position that must lie inside the version space."""
    outputs = fresh_outputs(w, walls)
    if np.isinf(walls.energy(outputs)):
        raise ValueError(
            f"The billiard starts outside the version space: {np.sum(outputs * walls.jumps < 0)} "
            "of its walls are on the wrong side. Start it at a direction without training errors, "
            "as bayeskernels.models does."
        )
    return outputs


@dataclass
class RollingPath:
    """What one call of :func:`simulate_billiard` did.

    Attributes
    ----------
    draws : array of shape (n_draws, r)
        Positions, unit vectors.
    centres : array of shape (n_draws, r)
        Mean position on the path before each of them: their mean is the centre of mass, unless
        segments were given up at the event cap, which biases it (but not the draws).
    bounces, refreshments, capped : arrays of int, shape (n_draws,)
        Bounces, refreshments of the velocity, and segments given up at the event cap.
    """

    draws: np.ndarray
    centres: np.ndarray
    bounces: np.ndarray
    refreshments: np.ndarray
    capped: np.ndarray


def simulate_billiard(walls, w, n_draws, *, rng, **options) -> RollingPath:
    """Roll a ball through a version space, without PyMC.

    Parameters
    ----------
    walls : Walls
        All infinitely high.
    w : array of shape (r,)
        Start inside the version space, of any length.
    n_draws : int
        How many positions to return.
    rng : numpy.random.Generator
    path_length, refresh_rate, max_events
        As for :class:`bayeskernels.samplers.Billiard`; the path is 1.5 radians long by default.
    gram : array of shape (n_walls, n_walls), optional
        Gram matrix of the normals where it is known already.

    Examples
    --------
    >>> geometry = bk.samplers.WallGeometry.from_features(np.eye(2), [True, True])
    >>> walls, rng = geometry.with_costs([np.inf] * 2), np.random.default_rng(1)
    >>> path = simulate_billiard(walls, np.ones(2), 4000, rng=rng)
    >>> bool(np.abs(path.centres.mean(axis=0) - 2 / np.pi).max() < 0.02)  # mean of a quarter circle
    True
    """
    draws, records = RollingBall(walls, w, **options).move(rng, n_draws)
    counts = records[:, :3].astype(np.int64)
    return RollingPath(draws, records[:, 3:], *counts.T)
