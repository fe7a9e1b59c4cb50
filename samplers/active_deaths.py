r"""Deaths of active points.

A death reflects the whitened columns so that only the last one needs the dying point, and drops it.
On small matrices that is done at once. On V, n numbers long, a reflection is one pass through
memory: several of them wait as *mirrors* and are carried out together, as matrix products, by
:func:`reflect_now` (the compact form of Schreiber and Van Loan). Until then new columns are
computed through the mirrors, O(k) each.
"""

import math

import numba
import numpy as np

from bayeskernels.samplers.active_columns import MAX_MIRRORS

__all__ = [
    "death_direction",
    "death_gain",
    "reflect_coefficients",
    "reflect_now",
    "remove",
    "remove_soon",
]

_JIT = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"nnan", "nsz", "contract", "reassoc"},
}


@numba.njit(**_JIT)
def death_direction(state, slot, t):
    """T becomes the unit vector of V's coordinates that only the point in ``slot`` needs."""
    k = state.size[0]
    length = 0.0
    for a in range(k):
        t[a] = state.T[a, slot]
        length += t[a] * t[a]
    scale = 1.0 / math.sqrt(length)
    for a in range(k):
        t[a] *= scale


@numba.njit(**_JIT)
def death_gain(state, t, x):
    """Log-ratio of p(s) without direction t and with it, and the Schur complement.

    x becomes inverse (0, t).
    """
    k = state.size[0]
    share = 0.0
    lost = 0.0
    for a in range(k + 1):
        row = 0.0
        for c in range(k):
            row += state.inverse[a, c + 1] * t[c]
        x[a] = row
        lost += row * state.response[a]
        if a > 0:
            share += row * t[a - 1]
    return -0.5 * math.log(share) - 0.5 * lost * lost / share, share


@numba.njit(**_JIT)
def _reflection(matrix, h, w):
    """Find what a reflection from both sides does to a symmetric matrix A, for h'h = 2.

    (I - h h') A (I - h h') = A - h w' - w h' with w = A h - (h' A h / 2) h.
    """
    half = 0.0
    for a in range(len(h)):
        value = 0.0
        for e in range(len(h)):
            value += matrix[a, e] * h[e]
        w[a] = value
        half += 0.5 * h[a] * value
    for a in range(len(h)):
        w[a] -= half * h[a]


@numba.njit(**_JIT)
def _mirror(state, slot):
    """Normal of length sqrt(2) of the reflection that takes a death's direction to the last axis.

    To that of its two ends which is farther away, for accuracy.
    """
    k = state.size[0]
    h = np.empty(k)
    death_direction(state, slot, h)
    h[k - 1] += 1.0 if h[k - 1] >= 0.0 else -1.0
    length = 0.0
    for a in range(k):
        length += h[a] * h[a]
    scale = math.sqrt(2.0 / length)
    for a in range(k):
        h[a] *= scale
    return h


@numba.njit(**_JIT)
def reflect_coefficients(state, slot, z):
    """Whitened coefficients as :func:`remove` will need them; the last is then to be dropped."""
    k = state.size[0]
    h = _mirror(state, slot)
    along = 0.0
    for a in range(k):
        along += h[a] * z[a]
    for a in range(k):
        z[a] -= along * h[a]


@numba.njit(**_JIT)
def remove(state, slot):
    """Make the point in ``slot`` inactive."""
    remove_soon(state, slot)
    reflect_now(state)


@numba.njit(**_JIT)
def remove_soon(state, slot):
    """Make the point in ``slot`` inactive; V follows when :func:`reflect_now` is called."""
    k = state.size[0]
    if state.waiting[0] == MAX_MIRRORS:
        reflect_now(state)
    if state.waiting[0] == 0:
        state.waiting[1] = k
        for a in range(k):
            state.position[a] = a
    h = _mirror(state, slot)
    mirror = state.mirrors[state.waiting[0]]
    mirror[:] = 0.0
    for a in range(k):
        mirror[state.position[a]] = h[a]
    state.waiting[0] += 1
    work = np.zeros(k + 1)
    for a in range(k):
        for e in range(k):
            work[e] += h[a] * state.T[a, e]
    for a in range(k - 1):
        # The dying point's column closes up at the same time.
        for e in range(slot):
            state.T[a, e] -= h[a] * work[e]
        for e in range(slot + 1, k):
            state.T[a, e - 1] = state.T[a, e] - h[a] * work[e]
    along = 0.0
    for a in range(k):
        along += h[a] * state.response[a + 1]
    for a in range(k):
        state.response[a + 1] -= along * h[a]
    normal = np.zeros(k + 1)
    normal[1:] = h
    _reflection(state.gram, normal, work)
    for a in range(k):
        for e in range(k):
            state.gram[a, e] -= normal[a] * work[e] + work[a] * normal[e]
    _reflection(state.inverse, normal, work)
    # The inverse of M without its last row and column, in the same pass as the reflection.
    last = np.empty(k + 1)
    for a in range(k + 1):
        last[a] = state.inverse[a, k] - normal[a] * work[k] - work[a] * normal[k]
    for a in range(k):
        weight = last[a] / last[k]
        for e in range(k):
            state.inverse[a, e] -= normal[a] * work[e] + work[a] * normal[e] + weight * last[e]
    state.size[0] = k - 1
    state.is_active[state.points[slot]] = False
    freed = state.stored[slot]
    for q in range(slot + 1, k):
        state.points[q - 1] = state.points[q]
        state.stored[q - 1] = state.stored[q]
    state.points[k - 1] = -1
    state.stored[k - 1] = freed


@numba.njit(**_JIT)
def _subtract_combination(target, row, weights, W):
    """Target becomes the row less a combination of the rows of W, four of them in one pass."""
    for i in range(len(row)):
        target[i] = row[i]
    in_fours = len(weights) // 4 * 4
    for b in range(0, in_fours, 4):
        w0, w1, w2, w3 = weights[b], weights[b + 1], weights[b + 2], weights[b + 3]
        for i in range(len(row)):
            target[i] -= w0 * W[b, i] + w1 * W[b + 1, i] + w2 * W[b + 2, i] + w3 * W[b + 3, i]
    for b in range(in_fours, len(weights)):
        for i in range(len(row)):
            target[i] -= weights[b] * W[b, i]


@numba.njit(**_JIT)
def reflect_now(state):
    """Carry out the reflections of V that wait, and close the gaps that deaths have left.

    The product of reflections H_m ... H_1 with normals y_1, ..., y_m, the rows of Y, is
    I - Y' M Y with a triangular M.
    """
    n_mirrors, n_rows = state.waiting
    if n_mirrors == 0:
        return
    k = state.size[0]
    Y = np.ascontiguousarray(state.mirrors[:n_mirrors, :n_rows])
    M = np.eye(n_mirrors)
    for b in range(1, n_mirrors):
        products = np.dot(Y[:b], Y[b])
        for d in range(b):
            for e in range(d + 1):
                M[b, e] -= products[d] * M[d, e]
    MY = np.dot(M, Y)
    kept = np.empty((k, n_mirrors))
    for a in range(k):
        for b in range(n_mirrors):
            kept[a, b] = Y[b, state.position[a]]
    W = np.dot(MY, state.V[:n_rows])
    for a in range(k):
        _subtract_combination(state.V[a], state.V[state.position[a]], kept[a], W)
    state.waiting[0] = 0
