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
from bayeskernels.samplers.active_sets.columns.state import (
    MAX_DEAD,
    MAX_RAW,
    block,
    first,
    stored_rows,
)
from bayeskernels.samplers.compiled import dot

__all__ = [
    "add_raw_row",
    "bring_up_to_date",
    "is_full",
    "leave_out_dead",
    "new_row",
    "whiten_entries",
    "whiten_now",
]

#: Columns of V that are reflected together: so much stays in the fastest cache.
CHUNK = 256


@numba.njit(**JIT)
def is_full(state):
    """Whether no further birth and death may wait."""
    return (
        state.n_dead[0] == MAX_DEAD
        or state.n_raw[0] == MAX_RAW
        or state.n_columns[0] == state.T.shape[2]
    )


@numba.njit(**JIT)
def whiten_entries(state, kernel, stored):
    """Turn numbers of a kernel's stored rows, raw ones among them, into those of whitened rows.

    Any linear function of the rows: their value at a point, their product with a vector.
    """
    n_raw = state.n_raw[0]
    start = len(stored) - n_raw
    for b in range(n_raw):
        a = start + b
        value = stored[a] - dot(state.raw_weights[kernel, b, :a], stored[:a])
        stored[a] = value / state.raw_pivots[kernel, b]


@numba.njit(**JIT)
def leave_out_dead(state, kernel, c):
    """Make coordinates orthogonal to a kernel's dead directions."""
    for b in range(state.n_dead[0]):
        dead = state.dead[kernel, b, : len(c)]
        along = dot(dead, c)
        for a in range(len(c)):
            c[a] -= along * dead[a]


@numba.njit(**JIT)
def new_row(state):
    """Row of V and T for the next active point, which it begins in T as if it were raw."""
    k = state.size[0]
    row = stored_rows(state)
    state.column[k] = state.n_columns[0]
    for j in range(len(state.V)):
        for b in range(state.n_dead[0]):
            state.dead[j, b, row] = 0.0
        state.T[j, row] = 0.0
        state.T[j, row, state.column[k]] = 1.0
    state.n_columns[0] += 1
    return row


@numba.njit(**JIT)
def add_raw_row(state, row, columns, weights, pivots):
    """Let the kernel columns of a further point, (q, n), wait in a row of V.

    ``weights`` are the coefficients of the rows before it.
    """
    b = state.n_raw[0]
    for j in range(len(state.V)):
        for a in range(row):
            state.raw_weights[j, b, a] = weights[j, a]
        state.raw_pivots[j, b] = pivots[j]
        target, column = state.V[j, row], columns[j]
        for i in range(len(column)):
            target[i] = column[i]
    state.n_raw[0] += 1


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
def _whiten_rows(A, start, weights, pivots):
    known = np.dot(np.ascontiguousarray(weights[:, :start]), A[:start])
    for b in range(len(weights)):
        row = A[start + b]
        _subtract_combination(row, weights[b, start : start + b], A[start : start + b])
        scale = 1.0 / pivots[b]
        for i in range(len(row)):
            row[i] = (row[i] - known[b, i]) * scale


@numba.njit(**JIT)
def whiten_now(state):
    """Whiten the rows that are still raw."""
    n_raw = state.n_raw[0]
    if n_raw == 0:
        return
    start = stored_rows(state) - n_raw
    for j in range(len(state.V)):
        weights, pivots = state.raw_weights[j, :n_raw], state.raw_pivots[j]
        _whiten_rows(state.V[j], start, weights, pivots)
        _whiten_rows(state.T[j], start, weights, pivots)
    state.n_raw[0] = 0


@numba.njit(**JIT)
def _mirrors(dead):
    """Reflections that turn the dead directions of a kernel into the last axes, as I - Y' M Y.

    Y and MY, whose rows are the normals of length sqrt(2) and M times them, are returned.
    """
    n_dead, n_rows = dead.shape
    Y = np.zeros((n_dead, n_rows))
    M = np.eye(n_dead)
    for b in range(n_dead):
        last = n_rows - 1 - b
        h = dead[b].copy()
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
def _reflect_symmetric(state, A, Y, MY):
    """Reflect all rows and columns of A but the first, which belongs to the offset.

    Y and MY have the shape (q, n_dead, n_rows). With P = M Y A, S = P (M Y)' and U = P - S Y / 2
    the result is A - Y' U - U' Y, of which only what belongs to active points is wanted.
    """
    q, n_dead, n_rows = Y.shape
    k = state.size[0]
    P = np.zeros((q, n_dead, A.shape[1]))
    for j in range(q):
        for a in range(n_rows):
            row = A[first(state, j) + a]
            for b in range(n_dead):
                weight = MY[j, b, a]
                for h in range(q):
                    start, stop = block(state, h, n_rows)
                    target, values = P[j, b, start:stop], row[start:stop]
                    for e in range(stop - start):
                        target[e] += weight * values[e]
    for j in range(q):
        for h in range(q):
            start = first(state, h)
            part = np.ascontiguousarray(P[j, :, start : start + n_rows])
            P[j, :, start : start + k] -= 0.5 * np.dot(np.dot(part, MY[h].T), Y[h])[:, :k]
    for h in range(q):
        start, stop = block(state, h, k)
        from_kernel = first(state, h) - start
        both = np.zeros((2 * n_dead, stop - start))
        both[n_dead:, from_kernel:] = Y[h, :, :k]
        for j in range(q):
            top, bottom = block(state, j, k)
            own = first(state, j) - top
            both[:n_dead] = P[j, :, start:stop]
            weights = np.zeros((bottom - top, 2 * n_dead))
            weights[own:, :n_dead] = Y[j, :, :k].T
            weights[:, n_dead:] = P[h, :, top:bottom].T
            for a in range(bottom - top):
                _subtract_combination(A[top + a, start:stop], weights[a], both)


@numba.njit(**JIT)
def _reflect_vector(values, Y, MY):
    values -= np.dot(np.dot(MY, values), Y)


@numba.njit(**JIT)
def bring_up_to_date(state, z):
    """Carry out all that waits.

    z are coefficients of the rows, (r, q, rows) with as many rows as are stored at least, or empty;
    what lies along dead directions is dropped.
    """
    whiten_now(state)
    n_dead = state.n_dead[0]
    if n_dead == 0:
        return
    k = state.size[0]
    n_rows = stored_rows(state)
    q = len(state.V)
    Y = np.empty((q, n_dead, n_rows))
    MY = np.empty((q, n_dead, n_rows))
    for j in range(q):
        Y[j], MY[j] = _mirrors(state.dead[j, :n_dead, :n_rows])
        _reflect_rows(state.V[j], Y[j], MY[j], k)
        _reflect_rows(state.T[j], Y[j], MY[j], k)
        start = first(state, j)
        for d in range(len(state.response)):
            _reflect_vector(state.response[d, start : start + n_rows], Y[j], MY[j])
        for d in range(len(z)):
            _reflect_vector(z[d, j, :n_rows], Y[j], MY[j])
        for a in range(k):
            # Columns of T move up to where those of dead points were.
            for e in range(k):
                state.T[j, a, e] = state.T[j, a, state.column[e]]
            state.T[j, a, k:] = 0.0
    _reflect_symmetric(state, state.gram, Y, MY)
    _reflect_symmetric(state, state.inverse, Y, MY)
    for e in range(k):
        state.column[e] = e
    state.n_dead[0] = 0
    state.n_columns[0] = k
