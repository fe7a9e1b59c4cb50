r"""What the whitened columns V of an active set still wait for.

V has a row of n numbers for each active point, so whatever touches all of it is a pass through
memory, and updating the matrices of size k is not free either. Births and deaths therefore leave
the rows as they are for a while, and :func:`bring_up_to_date` does for several of them, as matrix
products, what each would have to do by itself:

- a birth adds a row (kernel column - combination of the other rows) / pivot. The *raw* kernel
  column takes its place, with the coefficients and the pivot beside it;
- a death takes away one direction of the space that the rows span. The rows stay, with the *dead*
  direction beside them: coordinates of points are kept orthogonal to it, and the inverse of M
  vanishes along it. In the end a few reflections turn the dead directions into the last axes,
  whose rows are dropped (all of them at once, in the compact form of Schreiber and Van Loan).

Until then numbers that belong to single points (coordinates, inner products) are computed through
what waits, O(k) for each of them. The same holds for T, which has the same rows.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.compiled import dot

__all__ = [
    "MAX_DEAD",
    "MAX_RAW",
    "add_raw_row",
    "bring_up_to_date",
    "is_full",
    "leave_out_dead",
    "new_row",
    "stored_rows",
    "whiten_entries",
    "whiten_now",
]

#: Deaths that may wait.
MAX_DEAD = 24

#: Rows that may wait to be whitened.
MAX_RAW = 24

#: Columns of V that are reflected together: so much stays in the fastest cache.
CHUNK = 256


@numba.njit(**JIT)
def stored_rows(state):
    """Number of rows of V in use: those of active points and of deaths that wait."""
    return state.size[0] + state.waiting[0]


@numba.njit(**JIT)
def is_full(state):
    """Whether no further birth and death may wait."""
    n_dead, n_raw, n_columns = state.waiting
    return n_dead == MAX_DEAD or n_raw == MAX_RAW or n_columns == state.T.shape[1]


@numba.njit(**JIT)
def whiten_entries(state, stored):
    """Turn numbers of the stored rows, raw ones among them, into those of the whitened rows.

    Any linear function of the rows: their value at a point, their product with a vector.
    """
    n_raw = state.waiting[1]
    first = len(stored) - n_raw
    for b in range(n_raw):
        a = first + b
        value = stored[a] - dot(state.raw_weights[b, :a], stored[:a])
        stored[a] = value / state.raw_pivots[b]


@numba.njit(**JIT)
def leave_out_dead(state, c):
    """Make coordinates orthogonal to the dead directions."""
    for b in range(state.waiting[0]):
        along = dot(state.dead[b, : len(c)], c)
        for a in range(len(c)):
            c[a] -= along * state.dead[b, a]


@numba.njit(**JIT)
def new_row(state):
    """Row of V and T for the next active point, which it begins in T as if it were raw."""
    k = state.size[0]
    row = stored_rows(state)
    for b in range(state.waiting[0]):
        state.dead[b, row] = 0.0
    state.column[k] = state.waiting[2]
    state.T[row] = 0.0
    state.T[row, state.column[k]] = 1.0
    state.waiting[2] += 1
    return row


@numba.njit(**JIT)
def add_raw_row(state, row, column, weights, pivot):
    """Let the kernel column of a further point wait in a row of V.

    ``weights`` are the coefficients of the rows before it.
    """
    b = state.waiting[1]
    for a in range(row):
        state.raw_weights[b, a] = weights[a]
    state.raw_pivots[b] = pivot
    for i in range(len(column)):
        state.V[row, i] = column[i]
    state.waiting[1] += 1


@numba.njit(**JIT)
def _subtract_combination(target, weights, W):
    """Subtract a combination of the rows of W, four of them in one pass."""
    in_fours = len(weights) // 4 * 4
    for b in range(0, in_fours, 4):
        w0, w1, w2, w3 = weights[b], weights[b + 1], weights[b + 2], weights[b + 3]
        for i in range(len(target)):
            target[i] -= w0 * W[b, i] + w1 * W[b + 1, i] + w2 * W[b + 2, i] + w3 * W[b + 3, i]
    for b in range(in_fours, len(weights)):
        for i in range(len(target)):
            target[i] -= weights[b] * W[b, i]


@numba.njit(**JIT)
def _whiten_rows(A, first, weights, pivots):
    known = np.dot(np.ascontiguousarray(weights[:, :first]), A[:first])
    for b in range(len(weights)):
        row = A[first + b]
        _subtract_combination(row, weights[b, first : first + b], A[first : first + b])
        scale = 1.0 / pivots[b]
        for i in range(len(row)):
            row[i] = (row[i] - known[b, i]) * scale


@numba.njit(**JIT)
def whiten_now(state):
    """Whiten the rows that are still raw."""
    n_raw = state.waiting[1]
    if n_raw == 0:
        return
    first = stored_rows(state) - n_raw
    _whiten_rows(state.V, first, state.raw_weights[:n_raw], state.raw_pivots)
    _whiten_rows(state.T, first, state.raw_weights[:n_raw], state.raw_pivots)
    state.waiting[1] = 0


@numba.njit(**JIT)
def _mirrors(state):
    """Reflections that turn the dead directions into the last axes, as I - Y' M Y.

    Returns Y, whose rows are the normals of length sqrt(2), and M Y.
    """
    n_dead = state.waiting[0]
    n_rows = stored_rows(state)
    Y = np.zeros((n_dead, n_rows))
    M = np.eye(n_dead)
    for b in range(n_dead):
        last = n_rows - 1 - b
        h = state.dead[b, :n_rows].copy()
        for d in range(b):
            along = dot(Y[d], h)
            for a in range(n_rows):
                h[a] -= along * Y[d, a]
        h[last + 1 :] = 0.0
        # To that of the axis' two ends which is farther away, for accuracy.
        h[last] += 1.0 if h[last] >= 0.0 else -1.0
        scale = math.sqrt(2.0 / dot(h, h))
        for a in range(last + 1):
            Y[b, a] = scale * h[a]
        for d in range(b):
            product = dot(Y[d], Y[b])
            for e in range(d + 1):
                M[b, e] -= product * M[d, e]
    return Y, np.dot(M, Y)


@numba.njit(**JIT)
def _reflect_rows(A, Y, MY, k):
    """Reflect the rows of A; only the first k are wanted."""
    W = np.dot(MY, A[: MY.shape[1]])
    kept = np.ascontiguousarray(Y[:, :k].T)
    for start in range(0, W.shape[1], CHUNK):
        part = np.ascontiguousarray(W[:, start : start + CHUNK])
        for a in range(k):
            row = A[a]
            _subtract_combination(row[start : start + CHUNK], kept[a], part)


@numba.njit(**JIT)
def _reflect_symmetric(A, Y, MY, k):
    """Reflect all rows and columns of A but the first, which belongs to the offset.

    With P = M Y A, S = P (M Y)' and U = P - S Y / 2 that is A - Y' U - U' Y.
    """
    n_dead, n_rows = Y.shape
    P = np.zeros((n_dead, n_rows + 1))
    for a in range(n_rows):
        row = A[a + 1]
        for b in range(n_dead):
            weight = MY[b, a]
            for e in range(n_rows + 1):
                P[b, e] += weight * row[e]
    S = np.dot(np.ascontiguousarray(P[:, 1:]), MY.T)
    both = np.zeros((2 * n_dead, k + 1))
    both[:n_dead] = P[:, : k + 1]
    both[:n_dead, 1:] -= 0.5 * np.dot(S, Y)[:, :k]
    both[n_dead:, 1:] = Y[:, :k]
    weights = np.ascontiguousarray(np.concatenate((both[n_dead:], both[:n_dead])).T)
    for a in range(k + 1):
        row = A[a]
        _subtract_combination(row[: k + 1], weights[a], both)


@numba.njit(**JIT)
def _reflect_vector(values, Y, MY):
    values -= np.dot(np.dot(MY, values), Y)


@numba.njit(**JIT)
def bring_up_to_date(state, z):
    """Carry out all that waits.

    z are coefficients of the rows, one for each row that is stored, or empty; what lies along dead
    directions is dropped.
    """
    whiten_now(state)
    if state.waiting[0] == 0:
        return
    k = state.size[0]
    n_rows = stored_rows(state)
    Y, MY = _mirrors(state)
    _reflect_rows(state.V, Y, MY, k)
    _reflect_rows(state.T, Y, MY, k)
    _reflect_symmetric(state.gram, Y, MY, k)
    _reflect_symmetric(state.inverse, Y, MY, k)
    _reflect_vector(state.response[1 : n_rows + 1], Y, MY)
    if len(z) > 0:
        _reflect_vector(z[:n_rows], Y, MY)
    for a in range(k):
        # Columns of T move up to where those of dead points were.
        for e in range(k):
            state.T[a, e] = state.T[a, state.column[e]]
        state.T[a, k:] = 0.0
    for e in range(k):
        state.column[e] = e
    state.waiting[0] = 0
    state.waiting[2] = k
