r"""Whitened kernel columns of an active set, and what is known of their inner products.

An active point brings q columns, one for each kernel, and there are r responses, one for each
contrast of classes; most models have one of each. With :math:`K_\gamma` the columns of one kernel
at the k active points, :math:`L L^T = K_{\gamma\gamma}` and :math:`V = K_\gamma L^{-T}`,
Silverman's prior makes its part of the predictor :math:`V z / \sqrt g` with
:math:`z \sim N(0, I)`. The marginal covariance of a working response s (GKM, equation (8)) is then
:math:`Q = I + 1 1^T / \eta + \sum_j w_j^2 V_j V_j^T` with :math:`w_j = 1 / \sqrt{g_j}`, or zero
where kernel j is off, and nothing squares the condition of K as equation (11) does. Any orthonormal
basis will do: L need not be triangular. A birth appends one column to each V (a step of a pivoted
Cholesky factorisation, :mod:`bayeskernels.samplers.active_sets.columns.births`), a death reflects
the others until one column can be dropped
(:mod:`bayeskernels.samplers.active_sets.columns.deaths`), and :math:`T = L^{-1}` is carried along,
whose columns are the directions that deaths need.

In the coordinates :math:`W = (1 / \sqrt\eta, w_1 V_1, \ldots, w_q V_q)` all that a proposal needs
is the inverse of :math:`M = I + W^T W` and :math:`B = W^T S`, as

.. math:: \log p(S) = -\tfrac r2 \log |M| + \tfrac12 \mathrm{tr}(B^T M^{-1} B) + \ldots

That is O(n k) for a birth, O(k^2) for a death.

Numbers that belong to the columns of W, such as a row of M, are stored in blocks: the constant
first, then a block for each kernel that has room for all of its rows (:func:`first`).
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.compiled import dot

__all__ = [
    "MAX_DEAD",
    "MAX_RAW",
    "ActiveColumns",
    "block",
    "clear",
    "column_factors",
    "compact_gram",
    "compact_inverse",
    "compact_response",
    "first",
    "install_kernel",
    "prepare",
    "rebuild",
    "refresh_gram",
    "replace_response",
    "scale_gram",
    "stored_rows",
    "sum_over_blocks",
    "times_inverse",
]

#: Deaths that may wait.
MAX_DEAD = 24

#: Rows that may wait to be whitened.
MAX_RAW = 24


class ActiveColumns(NamedTuple):
    """Active points and all that depends on them; arrays are as large as the largest set.

    ``n_rows`` below is the room for rows of V, k_max + MAX_DEAD; ``width`` is 1 + q n_rows.

    Attributes
    ----------
    size : array of int, shape (1,)
        Number k of active points.
    points : array of int, shape (k_max,)
        Active points in the order in which they came.
    is_active : array of bool, shape (n,)
    kernel : array of shape (k_max, q, n)
        Their kernel columns, as rows; those of the point in slot a are ``kernel[stored[a]]``.
    stored : array of int, shape (k_max,)
        A permutation: rows of ``kernel`` in use, then free ones.
    V : array of shape (q, n_rows, n)
        Whitened columns, as rows, but for what waits to be done to them
        (:mod:`bayeskernels.samplers.active_sets.columns.waiting`).
    n_dead, n_raw, n_columns : arrays of int, shape (1,)
        Number of deaths that wait, of rows of V that are raw kernel columns, and of columns of T in
        use. With deaths waiting there are as many rows more than active points, here and below.
    dead : array of shape (q, MAX_DEAD, n_rows)
        Orthonormal directions that were lost with the deaths that wait.
    raw_weights : array of shape (q, MAX_RAW, n_rows)
        What has to be subtracted from each raw row (the last ones) of the rows before it.
    raw_pivots : array of shape (q, MAX_RAW)
        What each has to be divided by afterwards.
    T : array of shape (q, n_rows, k_max + MAX_RAW)
        Inverses of the factors L: V = T K_gamma' as rows. They wait for the same as V.
    column : array of int, shape (k_max,)
        Column of T of each active point: its slot, while nothing waits.
    gram : array of shape (width, width)
        Inner products of (1, V).
    inverse : array of shape (width, width)
        Inverse of M; zero along dead directions.
    response : array of shape (r, width)
        Rows of B' = S'W.
    scales : array of shape (1 + q,)
        1 / sqrt(eta), and the weights of the kernels.
    constant : array of shape (n,)
        Column of the offset: ones, or weights of the rows where a link has them.
    """

    size: np.ndarray
    points: np.ndarray
    is_active: np.ndarray
    kernel: np.ndarray
    stored: np.ndarray
    V: np.ndarray
    n_dead: np.ndarray
    n_raw: np.ndarray
    n_columns: np.ndarray
    dead: np.ndarray
    raw_weights: np.ndarray
    raw_pivots: np.ndarray
    T: np.ndarray
    column: np.ndarray
    gram: np.ndarray
    inverse: np.ndarray
    response: np.ndarray
    scales: np.ndarray
    constant: np.ndarray

    @classmethod
    def empty(cls, n, k_max, q=1, r=1):
        """No active points."""
        n_rows = k_max + MAX_DEAD
        width = 1 + q * n_rows
        columns = cls(
            size=np.zeros(1, dtype=np.int64),
            points=np.full(k_max, -1),
            is_active=np.zeros(n, dtype=np.bool_),
            kernel=np.zeros((k_max, q, n)),
            stored=np.arange(k_max),
            V=np.zeros((q, n_rows, n)),
            n_dead=np.zeros(1, dtype=np.int64),
            n_raw=np.zeros(1, dtype=np.int64),
            n_columns=np.zeros(1, dtype=np.int64),
            dead=np.zeros((q, MAX_DEAD, n_rows)),
            raw_weights=np.zeros((q, MAX_RAW, n_rows)),
            raw_pivots=np.ones((q, MAX_RAW)),
            T=np.zeros((q, n_rows, k_max + MAX_RAW)),
            column=np.arange(k_max),
            gram=np.zeros((width, width)),
            inverse=np.zeros((width, width)),
            response=np.zeros((r, width)),
            scales=np.ones(1 + q),
            constant=np.ones(n),
        )
        columns.gram[0, 0] = n
        return columns


@numba.njit(**JIT)
def stored_rows(state):
    """Number of rows of V in use: those of active points and of deaths that wait."""
    return state.size[0] + state.n_dead[0]


@numba.njit(**JIT)
def first(state, kernel):
    """Where a kernel's block begins among the columns of W."""
    return 1 + kernel * state.V.shape[1]


@numba.njit(**JIT)
def block(state, kernel, n_rows):
    """Bounds of the first rows of a kernel's block; the constant goes with the first kernel."""
    start = first(state, kernel)
    return (0 if kernel == 0 else start), start + n_rows


@numba.njit(**JIT)
def sum_over_blocks(state, x, y):
    """Inner product of vectors of numbers of the columns of W."""
    n_rows = stored_rows(state)
    total = 0.0
    for j in range(len(state.V)):
        start, stop = block(state, j, n_rows)
        total += dot(x[start:stop], y[start:stop])
    return total


@numba.njit(**JIT)
def times_inverse(state, vector, out):
    """The array ``out`` becomes the inverse of M times a vector of numbers of the columns of W."""
    n_rows = stored_rows(state)
    q = len(state.V)
    inverse = state.inverse
    for h in range(q):
        top, bottom = block(state, h, n_rows)
        for a in range(top, bottom):
            total = 0.0
            for j in range(q):
                start, stop = block(state, j, n_rows)
                total += dot(inverse[a, start:stop], vector[start:stop])
            out[a] = total


@numba.njit(**JIT)
def _compact_start(state, kernel):
    """As the start of :func:`block`, where there are no gaps between the active points' blocks."""
    return 0 if kernel == 0 else 1 + kernel * state.size[0]


@numba.njit(**JIT)
def _copy(values, out):
    """Faster than an assignment, which has to ask whether the arrays overlap."""
    for a in range(len(values)):
        out[a] = values[a]


@numba.njit(**JIT)
def _compact(state, A):
    """Rows and columns of a matrix that belong to the constant and to active points."""
    k = state.size[0]
    q = len(state.V)
    compact = np.empty((1 + q * k, 1 + q * k))
    for j in range(q):
        top, bottom = block(state, j, k)
        row = _compact_start(state, j)
        for h in range(q):
            start, stop = block(state, h, k)
            column = _compact_start(state, h)
            for a in range(bottom - top):
                _copy(A[top + a, start:stop], compact[row + a, column : column + stop - start])
    return compact


@numba.njit(**JIT)
def _expand(state, compact, A):
    """The opposite of :func:`_compact`."""
    k = state.size[0]
    for j in range(len(state.V)):
        top, bottom = block(state, j, k)
        row = _compact_start(state, j)
        for h in range(len(state.V)):
            start, stop = block(state, h, k)
            column = _compact_start(state, h)
            for a in range(bottom - top):
                _copy(compact[row + a, column : column + stop - start], A[top + a, start:stop])


@numba.njit(**JIT)
def column_factors(state):
    """Factors of the constant and of the active points' columns in W."""
    k = state.size[0]
    factors = np.empty(1 + len(state.V) * k)
    factors[0] = state.scales[0]
    for j in range(len(state.V)):
        factors[1 + j * k : 1 + (j + 1) * k] = state.scales[1 + j]
    return factors


@numba.njit(**JIT)
def prepare(state, S, weights, eta):
    """Bring inverse and response up to date for other responses or scales.

    S has the shape (r, n), ``weights`` are those of the kernels. Nothing may be waiting.
    """
    k = state.size[0]
    state.scales[0] = 1.0 / math.sqrt(eta)
    state.scales[1:] = weights
    factors = column_factors(state)
    M = _compact(state, state.gram)
    for a in range(len(M)):
        row, factor = M[a], factors[a]
        for c in range(len(M)):
            row[c] *= factor * factors[c]
        row[a] += 1.0
    _expand(state, np.linalg.inv(M), state.inverse)
    for d in range(len(S)):
        state.response[d, 0] = dot(S[d], state.constant) * state.scales[0]
        for j in range(len(state.V)):
            for a in range(k):
                product = dot(state.V[j, a], S[d])
                state.response[d, first(state, j) + a] = product * state.scales[1 + j]


@numba.njit(**JIT)
def compact_inverse(state):
    """Inverse of M without gaps; nothing may be waiting."""
    return _compact(state, state.inverse)


@numba.njit(**JIT)
def compact_gram(state):
    """Inner products of (1, V) without gaps; nothing may be waiting."""
    return _compact(state, state.gram)


@numba.njit(**JIT)
def compact_response(state):
    """Rows of B' without gaps; nothing may be waiting."""
    k = state.size[0]
    response = np.empty((len(state.response), 1 + len(state.V) * k))
    for j in range(len(state.V)):
        start, stop = block(state, j, k)
        column = _compact_start(state, j)
        response[:, column : column + stop - start] = state.response[:, start:stop]
    return response


@numba.njit(**JIT)
def replace_response(state, response):
    """Take over rows of B' that have no gaps."""
    for j in range(len(state.V)):
        start, stop = block(state, j, state.size[0])
        column = _compact_start(state, j)
        state.response[:, start:stop] = response[:, column : column + stop - start]


@numba.njit(**JIT)
def scale_gram(state, factor):
    """Multiply the inner products of (1, V), but for that of the constant, which is computed."""
    k = state.size[0]
    for j in range(len(state.V)):
        top, bottom = block(state, j, k)
        for h in range(len(state.V)):
            start, stop = block(state, h, k)
            state.gram[top:bottom, start:stop] *= factor
    state.gram[0, 0] = dot(state.constant, state.constant)


@numba.njit(**JIT)
def refresh_gram(state):
    """Compute the inner products of (1, V) from the columns; nothing may be waiting."""
    k = state.size[0]
    state.gram[0, 0] = dot(state.constant, state.constant)
    for j in range(len(state.V)):
        own = first(state, j)
        for a in range(k):
            total = dot(state.V[j, a], state.constant)
            state.gram[0, own + a] = total
            state.gram[own + a, 0] = total
        for h in range(len(state.V)):
            other = first(state, h)
            product = np.dot(state.V[j, :k], state.V[h, :k].T)
            state.gram[own : own + k, other : other + k] = product


@numba.njit(**JIT)
def rebuild(state, diagonal):
    """Recompute V, T and the Gram matrix from the kernel columns, against drift.

    ``diagonal`` has the shape (q, n). :func:`prepare` has to follow; nothing may be waiting.
    """
    k = state.size[0]
    n = state.V.shape[2]
    c = np.empty(k)
    for j in range(len(state.V)):
        V, T = state.V[j], state.T[j]
        for a in range(k):
            column = state.kernel[state.stored[a], j]
            point = state.points[a]
            for e in range(a):
                c[e] = V[e, point]
            left = diagonal[j, point] * (1.0 + ACTIVE_JITTER) - dot(c[:a], c[:a])
            pivot = math.sqrt(max(left, diagonal[j, point] * ACTIVE_JITTER))
            for i in range(n):
                V[a, i] = column[i]
            for e in range(k):
                T[a, e] = 0.0
            for e in range(a):
                weight = c[e]
                for i in range(n):
                    V[a, i] -= weight * V[e, i]
                for b in range(a):
                    T[a, b] -= weight * T[e, b]
            scale = 1.0 / pivot
            for i in range(n):
                V[a, i] *= scale
            for b in range(a):
                T[a, b] *= scale
            T[a, a] = scale
    refresh_gram(state)


@numba.njit(**JIT)
def install_kernel(state, columns, V, T, gram):
    """Take over the active points' columns under other kernels; :func:`prepare` has to follow.

    Columns have the shape (k, q, n), V and T begin with (q, k), ``gram`` has no gaps. Nothing may
    be waiting.
    """
    k = state.size[0]
    for a in range(k):
        state.kernel[state.stored[a]] = columns[a]
        for j in range(len(state.V)):
            state.V[j, a] = V[j, a]
            state.T[j, a, :k] = T[j, a]
    _expand(state, gram, state.gram)


@numba.njit(**JIT)
def clear(state):
    """Make all points inactive, with no response at all."""
    state.size[0] = 0
    state.n_dead[0] = 0
    state.n_raw[0] = 0
    state.n_columns[0] = 0
    state.is_active[:] = False
    state.inverse[:] = 0.0
    state.inverse[0, 0] = 1.0
