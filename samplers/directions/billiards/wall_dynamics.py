r"""Motion between walls: the inner loop that all billiards share.

A point moves on the great circle of its position and velocity, so its outputs at the walls turn:
:math:`f(t) = f \cos t + g \sin t`. At a wall it passes or is reflected, which adds a multiple of
one column of the Gram matrix of the normals to g. Position and velocity themselves are not touched
on the way: a kick c along normal n at the time t contributes :math:`c \sin(T-t)\, n` to the
position at the end T, :math:`c \cos(T-t)\, n` to the velocity and :math:`c (1 - \cos(T-t))\, n` to
the integral of the position over time. The loop only adds up these weights, wall by wall.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.directions.block_draws import outputs_at

__all__ = [
    "DURATION",
    "MAX_EVENTS",
    "MAX_WALL_GRAM_BYTES",
    "fly",
    "next_wall",
    "velocity_behind",
    "wall_gram",
]

#: Trajectories last a time drawn from this interval; the efficiency is flat around it.
DURATION = (1.2, 1.9)

#: Event cap of a trajectory, seconds of work. The thinnest version spaces that were met (400 points
#: that a smooth kernel hardly separates) need several hundred thousand events; a chain that gives
#: up each time would stay where it started.
MAX_EVENTS = 5_000_000

#: Above this the Gram matrix of the walls is not stored: its columns are computed when needed.
MAX_WALL_GRAM_BYTES = 2**31


def wall_gram(normals, max_bytes=MAX_WALL_GRAM_BYTES):
    """Gram matrix of the wall normals, or an empty array where it would not fit."""
    n_walls = len(normals)
    if 8 * n_walls**2 > max_bytes:
        return np.empty((0, 0))
    return outputs_at(normals, normals)


@numba.njit(**JIT)
def _advance(f, g, cotangents, gram, wall, cos_t, sin_t, kick):
    """Turn outputs and velocities by t, kick the velocities, and time the next crossings.

    ``cotangents[j]`` becomes cot of the angle at which output j is next zero: the largest is next.
    """
    for j in range(f.shape[0]):
        f_j = f[j] * cos_t + g[j] * sin_t
        g_j = g[j] * cos_t - f[j] * sin_t + kick * gram[wall, j]
        f[j] = f_j
        g[j] = g_j
        cotangents[j] = -g_j / f_j


@numba.njit(**JIT)
def next_wall(cotangents, bits):
    """Index of the largest cotangent; ``bits`` is the same memory seen as integers.

    Non-negative floats are ordered like their bit patterns, and a maximum of integers vectorises
    where one of floats does not. With all cotangents negative the order is the reverse one.
    """
    largest = bits[0]
    for j in range(bits.shape[0]):
        largest = max(largest, bits[j])
    if largest < 0:
        return np.argmax(cotangents)
    # Sixteen at a time, so that the search vectorises too.
    n = bits.shape[0]
    start = 0
    while start + 16 < n:
        hits = 0
        for j in range(start, start + 16):
            hits += bits[j] == largest
        if hits > 0:
            break
        start += 16
    for j in range(start, n):
        if bits[j] == largest:
            return j
    return 0


@numba.njit(**JIT)
def velocity_behind(velocity, jump):
    """Velocity across a wall after meeting it with ``velocity``; the same sign if it passes.

    ``jump`` is the energy below (output < 0) less the energy above.
    """
    cost = jump if velocity < 0 else -jump
    remaining = velocity * velocity - 2.0 * cost
    if remaining <= 0.0:
        return -velocity
    return math.copysign(math.sqrt(remaining), velocity)


@numba.njit(**JIT)
def fly(f, g, normals, gram, jumps, duration, max_events, kicks, cotangents):
    """Follow one point for ``duration`` (at most pi); f and g are advanced in place.

    ``kicks`` (3, n_walls) becomes the weights of the normals in the position at the end, in the
    velocity at the end and in the integral of the position. ``cotangents`` is workspace.

    Returns the numbers of events and reflections; events = -1 where ``max_events`` was reached.
    """
    bits = cotangents.view(np.int64)
    n_walls = f.shape[0]
    kicks[:] = 0.0
    events = 0
    reflections = 0
    # The time left, as an angle; turning it back event by event needs no trigonometry.
    cos_left, sin_left = math.cos(duration), math.sin(duration)
    for j in range(n_walls):
        cotangents[j] = -g[j] / f[j]
    while n_walls > 0:
        wall = next_wall(cotangents, bits)
        cotangent = cotangents[wall]
        if cotangent * sin_left <= cos_left:
            break
        if events == max_events:
            return -1, reflections
        # Turning keeps f^2 + g^2, and on the wall f is zero: that is the squared velocity there.
        speed = math.sqrt(f[wall] * f[wall] + g[wall] * g[wall])
        velocity = -math.copysign(speed, f[wall])
        sin_t = -f[wall] / velocity
        cos_t = g[wall] / velocity
        cos_left, sin_left = (
            cos_left * cos_t + sin_left * sin_t,
            sin_left * cos_t - cos_left * sin_t,
        )
        behind = velocity_behind(velocity, jumps[wall])
        kick = behind - velocity
        kicks[0, wall] += kick * sin_left
        kicks[1, wall] += kick * cos_left
        kicks[2, wall] += kick * (1.0 - cos_left)
        if gram.shape[0] > 0:
            _advance(f, g, cotangents, gram, wall, cos_t, sin_t, kick)
        else:
            column = np.dot(normals, normals[wall]).reshape(1, n_walls)
            # For a plain 0 numba would compile the function once more.
            _advance(f, g, cotangents, column, np.int64(0), cos_t, sin_t, kick)
        # The point stands on the wall and moves away from it: next crossing half a turn later.
        f[wall] = math.copysign(1e-300, behind)
        g[wall] = behind
        cotangents[wall] = -np.inf
        events += 1
        reflections += (behind > 0.0) != (velocity > 0.0)
    for j in range(n_walls):
        f[j], g[j] = f[j] * cos_left + g[j] * sin_left, g[j] * cos_left - f[j] * sin_left
    return events, reflections
