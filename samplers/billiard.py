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
its bias, is in :mod:`bayeskernels.samplers.chord_billiard`.
"""

import math

import numba
import numpy as np

from bayeskernels.samplers.block_draws import DirectionBlock, fresh_outputs
from bayeskernels.samplers.wall_dynamics import fly, wall_gram

__all__ = ["RollingBall", "simulate_billiard"]

_JIT = {"cache": True, "nogil": True, "error_model": "numpy"}

#: Outputs are recomputed from position and velocity after this many recorded draws.
REFRESH_EVERY = 32


@numba.njit(**_JIT)
def _add_kicks(weights, normals, target):
    for j in range(len(weights)):
        weight = weights[j]
        if weight != 0.0:
            for i in range(len(target)):
                target[i] += weight * normals[j, i]


@numba.njit(**_JIT)
def _segment(w, v, f, g, duration, normals, gram, jumps, max_events, kicks, cotangents, arc):
    """Roll for ``duration``; everything is advanced in place and the path added to ``arc``.

    Where the event cap is reached the ball goes back to where it was and turns round, which keeps
    the uniform distribution; the path then counts as if it had waited. Returns the bounces, -1 for
    a capped segment.
    """
    f_before = f.copy()
    g_before = g.copy()
    bounces, _ = fly(f, g, normals, gram, jumps, duration, max_events, kicks, cotangents)
    if bounces < 0:
        f[:] = f_before
        g[:] = -g_before
        v[:] = -v
        arc += duration * w
        return -1
    cos_t = math.cos(duration)
    sin_t = math.sin(duration)
    for i in range(len(w)):
        arc[i] += w[i] * sin_t + v[i] * (1.0 - cos_t)
        w[i], v[i] = w[i] * cos_t + v[i] * sin_t, v[i] * cos_t - w[i] * sin_t
    _add_kicks(kicks[2], normals, arc)
    _add_kicks(kicks[0], normals, w)
    _add_kicks(kicks[1], normals, v)
    return bounces


@numba.njit(**_JIT)
def _make_tangent(w, v, f, g, direction, outputs):
    """Turn a random direction into a unit velocity at w, with its outputs."""
    along = 0.0
    for i in range(len(w)):
        along += direction[i] * w[i]
    length = 0.0
    for i in range(len(w)):
        v[i] = direction[i] - along * w[i]
        length += v[i] * v[i]
    scale = 1.0 / math.sqrt(length)
    for i in range(len(w)):
        v[i] *= scale
    for j in range(len(f)):
        g[j] = (outputs[j] - along * f[j]) * scale


@numba.njit(**_JIT)
def _roll(
    w, v, f, g, until_refresh, duration, waits, directions, outputs, walls_arrays, max_events, arc
):
    """Roll for ``duration`` with refreshments; returns bounces, capped, refreshments, time left.

    ``waits`` are the times between refreshments. Stops when the block of directions is used up;
    the caller then goes on with a new one for the time left.
    """
    normals, gram, jumps = walls_arrays
    kicks = np.empty((3, len(f)))
    cotangents = np.empty(len(f))
    bounces = 0
    capped = 0
    used = 0
    while duration > 0.0:
        if until_refresh <= 0.0:
            if used == len(directions):
                break
            _make_tangent(w, v, f, g, directions[used], outputs[used])
            until_refresh = waits[used]
            used += 1
        step = min(duration, until_refresh, 3.0)
        result = _segment(
            w, v, f, g, step, normals, gram, jumps, max_events, kicks, cotangents, arc
        )
        if result < 0:
            capped += 1
            bounces += max_events
        else:
            bounces += result
        duration -= step
        until_refresh -= step
    return bounces, capped, used, duration, until_refresh


class RollingBall:
    """Position and velocity of one ball on the sphere, with their outputs.

    Parameters
    ----------
    walls : Walls
        Infinitely high ones make a version space; finite ones are not meant for this sampler.
    w : array of shape (r,)
        Start inside, of any length.
    refresh_rate : float
        Velocity refreshments per unit of path length.
    """

    def __init__(self, walls, w, *, gram=None, refresh_rate=0.5, max_events=None):
        if not np.isinf(walls.jumps).all():
            raise ValueError(
                "A billiard needs walls that nothing passes (noise = 0); for label noise use "
                "RefractiveBilliard."
            )
        self.walls = walls
        self.gram = wall_gram(walls.normals) if gram is None else gram
        self.refresh_rate = refresh_rate
        self.max_events = 20_000 + 100 * walls.n_walls if max_events is None else max_events
        self.w = np.array(w, dtype=np.float64)
        self.w /= np.linalg.norm(self.w)
        self.f = fresh_outputs(self.w, walls)
        self.v = np.zeros_like(self.w)
        self.g = np.zeros_like(self.f)
        self.until_refresh = 0.0
        self.block = None
        self.waits = None
        self.since_refresh = 0

    def roll(self, rng, duration):
        """Roll a path of given length.

        Returns
        -------
        arc : array of shape (r,)
            Integral of the position over the path.
        bounces, capped : int
        """
        arc = np.zeros_like(self.w)
        bounces = capped = 0
        if self.since_refresh >= REFRESH_EVERY:
            self.w /= np.linalg.norm(self.w)
            self.v -= (self.v @ self.w) * self.w
            self.v /= np.linalg.norm(self.v)
            self.f = fresh_outputs(self.w, self.walls)
            self.g = self.walls.normals @ self.v
            self.since_refresh = 0
        self.since_refresh += 1
        while duration > 0.0:
            if self.block is None or self.block.left == 0:
                self.block = DirectionBlock.draw(rng, self.walls.normals)
                self.waits = rng.exponential(1.0 / self.refresh_rate, self.block.left)
            start = self.block.used
            n_bounces, n_capped, used, duration, self.until_refresh = _roll(
                self.w,
                self.v,
                self.f,
                self.g,
                self.until_refresh,
                duration,
                self.waits[start:],
                self.block.directions[start:],
                self.block.outputs[start:],
                (self.walls.normals, self.gram, self.walls.jumps),
                self.max_events,
                arc,
            )
            self.block.take(used)
            bounces += n_bounces
            capped += n_capped
        return arc, bounces, capped


def simulate_billiard(walls, w, n_draws, *, rng, path_length=1.5, **options):
    """Roll a ball through a version space, without PyMC.

    Parameters
    ----------
    walls : Walls
    w : array of shape (r,)
        Start inside the version space.
    n_draws : int
    rng : numpy.random.Generator
    path_length : float
        Length of the path between two recorded positions, in radians.
    **options
        Of :class:`RollingBall`.

    Returns
    -------
    draws : array of shape (n_draws, r)
        Positions.
    arcs : array of shape (n_draws, r)
        Mean position on the path before each of them: their mean is the centre of mass.
    bounces : array of int, shape (n_draws,)
    """
    ball = RollingBall(walls, w, **options)
    draws = np.empty((n_draws, walls.dimension))
    arcs = np.empty_like(draws)
    bounces = np.empty(n_draws, dtype=np.int64)
    for k in range(n_draws):
        arc, bounces[k], _ = ball.roll(rng, path_length)
        arcs[k] = arc / path_length
        draws[k] = ball.w
    return draws, arcs, bounces
