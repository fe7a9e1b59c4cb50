r"""Billiard in an orthant: exact draws of a Gaussian vector whose signs are given.

The working response of a probit model, offset and function integrated out, is :math:`s \sim N(0,
Q)` with the signs of the labels. Gaussian Hamiltonian dynamics turns position and velocity,
:math:`s(t) = s \cos t + v \sin t`, and at a wall :math:`s_i = 0` the velocity is reflected,
:math:`v \leftarrow v - 2 v_i Q_{\cdot i} / Q_{ii}`: one column of Q, so an event costs O(n) and
nothing has to be factorised (Pakman and Paninski 2014, "Exact Hamiltonian Monte Carlo for truncated
multivariate Gaussians"). The motion is that of
:mod:`bayeskernels.samplers.directions.billiards.wall_dynamics` with walls that all reflect; here Q
changes from call to call and only columns in use are formed.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.directions.billiards.wall_dynamics import next_wall

__all__ = ["bounce_in_orthant"]

#: An output on its wall, and one that rounding errors have put behind it.
ON_THE_WALL = 1e-300


@numba.njit(**JIT)
def _advance(f, g, cotangents, row, signs, cos_t, sin_t, scaled_kick, shifted_kick):
    """Turn outputs and velocities by t, reflect the velocities, and time the next crossings."""
    for j in range(f.shape[0]):
        f_j = max(f[j] * cos_t + g[j] * sin_t, ON_THE_WALL)
        kick = signs[j] * (scaled_kick * row[j] + shifted_kick)
        g_j = g[j] * cos_t - f[j] * sin_t + kick
        f[j] = f_j
        g[j] = g_j
        cotangents[j] = -g_j / f_j


@numba.njit(**JIT)
def bounce_in_orthant(s, velocity, signs, gram, scale, shift, duration, max_events):
    r"""Follow one trajectory; s is advanced in place.

    Parameters
    ----------
    s : array of shape (n,)
        With the given signs.
    velocity : array of shape (n,)
        A draw of N(0, Q), :math:`Q = I + \text{shift}\, 1 1^T + \text{scale} \cdot \text{gram}`.
    signs : array of shape (n,)
        Plus or minus one.
    gram : array of shape (n, n)
    scale, shift : float
    duration : float
        At most pi.
    max_events : int
        A trajectory that meets more walls is given up and s stays, which is exact: its reverse
        would meet as many.

    Returns
    -------
    int
        Number of reflections; -1 where it was given up.
    """
    n = len(s)
    f = np.empty(n)
    g = np.empty(n)
    cotangents = np.empty(n)
    bits = cotangents.view(np.int64)
    for j in range(n):
        f[j] = max(s[j] * signs[j], ON_THE_WALL)
        g[j] = velocity[j] * signs[j]
        cotangents[j] = -g[j] / f[j]
    cos_left, sin_left = math.cos(duration), math.sin(duration)
    events = 0
    while True:
        wall = next_wall(cotangents, bits)
        if cotangents[wall] * sin_left <= cos_left:
            break
        if events == max_events:
            return -1
        # Turning keeps f^2 + g^2, and on the wall f is zero: that is the squared velocity there.
        speed = math.sqrt(f[wall] * f[wall] + g[wall] * g[wall])
        sin_t = f[wall] / speed
        cos_t = -g[wall] / speed
        cos_left, sin_left = (
            cos_left * cos_t + sin_left * sin_t,
            sin_left * cos_t - cos_left * sin_t,
        )
        variance = 1.0 + shift + scale * gram[wall, wall]
        kick = 2.0 * speed * signs[wall] / variance
        _advance(f, g, cotangents, gram[wall], signs, cos_t, sin_t, kick * scale, kick * shift)
        # On the wall and moving away from it: the next crossing is half a turn later.
        f[wall] = ON_THE_WALL
        g[wall] = speed
        cotangents[wall] = -np.inf
        events += 1
    for j in range(n):
        s[j] = signs[j] * max(f[j] * cos_left + g[j] * sin_left, ON_THE_WALL)
    return events
