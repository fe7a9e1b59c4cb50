r"""Whitened kernel columns of an active set, updated one point at a time.

With :math:`K_\gamma` the kernel columns of the k active points, :math:`L L^T = K_{\gamma\gamma}`
and :math:`V = K_\gamma L^{-T}`, Silverman's prior makes the predictor :math:`f = u + V z / \sqrt g`
with :math:`z \sim N(0, I)`. The marginal covariance of the working response s (GKM, equation (8))
is then :math:`Q = I + 1 1^T / \eta + V V^T / g`, and nothing squares the condition of K as equation
(11) does. Any orthonormal basis will do: L need not be triangular. A birth appends one column to V
(a step of a pivoted Cholesky factorisation), a death reflects the others until one column can be
dropped (:mod:`bayeskernels.samplers.active_sets.deaths`), and :math:`T = L^{-1}` is carried along,
whose columns are the directions that deaths need.

In the coordinates W = (1 / sqrt(eta), V / sqrt(g)) all that a proposal needs is the inverse of
:math:`M = I + W^T W` and :math:`b = W^T s`: O(n k) for a birth, O(k^2) for a death.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.active_sets.waiting_columns import (
    MAX_DEAD,
    MAX_RAW,
    add_raw_row,
    leave_out_dead,
    new_row,
    stored_rows,
    whiten_entries,
    whiten_now,
)
from bayeskernels.samplers.compiled import dot

__all__ = [
    "ActiveColumns",
    "append",
    "append_later",
    "birth_gain",
    "coupling",
    "new_direction",
    "new_products",
    "prepare",
    "products",
    "rebuild",
]

#: Pivots (squared, relative to the diagonal) below which products are computed the long way.
SMALL_PIVOT = 1e-3


class ActiveColumns(NamedTuple):
    """Active points and all that depends on them; arrays are as large as the largest set.

    Attributes
    ----------
    size : array of int, shape (1,)
        Number k of active points.
    points : array of int, shape (k_max,)
        Active points in the order in which they came.
    is_active : array of bool, shape (n,)
    kernel : array of shape (k_max, n)
        Their kernel columns, as rows; that of the point in slot a is row ``stored[a]``.
    stored : array of int, shape (k_max,)
        A permutation: rows of ``kernel`` in use, then free ones.
    V : array of shape (k_max + MAX_DEAD, n)
        Whitened columns, as rows, but for what waits to be done to them
        (:mod:`bayeskernels.samplers.active_sets.waiting_columns`).
    waiting : array of int, shape (3,)
        Number of deaths that wait, of rows of V that are raw kernel columns, and of columns of T in
        use. With deaths waiting there are as many rows more than active points, here and below.
    dead : array of shape (MAX_DEAD, k_max + MAX_DEAD)
        Orthonormal directions that were lost with the deaths that wait.
    raw_weights : array of shape (MAX_RAW, k_max + MAX_DEAD)
        What has to be subtracted from each raw row (the last ones) of the rows before it.
    raw_pivots : array of shape (MAX_RAW,)
        What each has to be divided by afterwards.
    T : array of shape (k_max + MAX_DEAD, k_max + MAX_RAW)
        Inverse of L: V = T K_gamma' as rows. Waits for the same as V.
    column : array of int, shape (k_max,)
        Column of T of each active point: its slot, while nothing waits.
    gram : array of shape (k_max + MAX_DEAD + 1, k_max + MAX_DEAD + 1)
        Inner products of (1, V).
    inverse : array of shape (k_max + MAX_DEAD + 1, k_max + MAX_DEAD + 1)
        Inverse of M; zero along dead directions.
    response : array of shape (k_max + MAX_DEAD + 1,)
        b = W's.
    scales : array of shape (2,)
        1 / sqrt(eta) and 1 / sqrt(g).
    constant : array of shape (n,)
        Column of the offset: ones, or weights of the rows where a link has them.
    """

    size: np.ndarray
    points: np.ndarray
    is_active: np.ndarray
    kernel: np.ndarray
    stored: np.ndarray
    V: np.ndarray
    waiting: np.ndarray
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
    def empty(cls, n, k_max):
        """No active points."""
        n_rows = k_max + MAX_DEAD
        columns = cls(
            size=np.zeros(1, dtype=np.int64),
            points=np.full(k_max, -1),
            is_active=np.zeros(n, dtype=np.bool_),
            kernel=np.zeros((k_max, n)),
            stored=np.arange(k_max),
            V=np.zeros((n_rows, n)),
            waiting=np.zeros(3, dtype=np.int64),
            dead=np.zeros((MAX_DEAD, n_rows)),
            raw_weights=np.zeros((MAX_RAW, n_rows)),
            raw_pivots=np.ones(MAX_RAW),
            T=np.zeros((n_rows, k_max + MAX_RAW)),
            column=np.arange(k_max),
            gram=np.zeros((n_rows + 1, n_rows + 1)),
            inverse=np.zeros((n_rows + 1, n_rows + 1)),
            response=np.zeros(n_rows + 1),
            scales=np.ones(2),
            constant=np.ones(n),
        )
        columns.gram[0, 0] = n
        return columns


@numba.njit(**JIT)
def prepare(state, s, g, eta):
    """Bring inverse and response up to date for another response or other scales."""
    k = state.size[0]
    state.scales[0] = 1.0 / math.sqrt(eta)
    state.scales[1] = 1.0 / math.sqrt(g)
    M = np.empty((k + 1, k + 1))
    for a in range(k + 1):
        scale_a = state.scales[min(a, 1)]
        for c in range(k + 1):
            M[a, c] = scale_a * state.scales[min(c, 1)] * state.gram[a, c]
        M[a, a] += 1.0
    state.inverse[: k + 1, : k + 1] = np.linalg.inv(M)
    state.response[0] = dot(s, state.constant) * state.scales[0]
    for a in range(k):
        state.response[a + 1] = dot(state.V[a], s) * state.scales[1]


@numba.njit(**JIT)
def _coordinates(state, point, diagonal, without, c):
    """The array c becomes the coordinates of a point in V; returns the pivot that adds it.

    ``without`` is a unit vector in the coordinates of V that is left out (of a point about to
    die), or empty.
    """
    n_rows = stored_rows(state)
    for a in range(n_rows):
        c[a] = state.V[a, point]
    c = c[:n_rows]
    whiten_entries(state, c)
    leave_out_dead(state, c)
    if len(without) > 0:
        along = dot(c, without)
        for a in range(n_rows):
            c[a] -= along * without[a]
    left = diagonal * (1.0 + ACTIVE_JITTER) - dot(c, c)
    return math.sqrt(max(left, diagonal * ACTIVE_JITTER))


@numba.njit(**JIT)
def new_direction(state, point, column, diagonal, without, v, c):
    """Whitened column v of a further point; returns its pivot. c becomes its coordinates in V.

    ``without`` is a unit vector in the coordinates of V that is left out (of a point about to
    die), or empty.
    """
    pivot = _coordinates(state, point, diagonal, without, c)
    _whitened_column(state, column, c, pivot, v)
    return pivot


@numba.njit(**JIT)
def _whitened_column(state, column, c, pivot, v):
    """Whitened column v of a point from its coordinates in V."""
    whiten_now(state)
    n_rows = stored_rows(state)
    known = np.dot(c[:n_rows], state.V[:n_rows])
    scale = 1.0 / pivot
    for i in range(len(v)):
        v[i] = (column[i] - known[i]) * scale


@numba.njit(**JIT)
def products(state, v, s, m):
    """The array m becomes the inner products of v with (1, V).

    Returns the inner products of v with itself and with s.
    """
    n_rows = stored_rows(state)
    m[1 : n_rows + 1] = np.dot(state.V[:n_rows], v)
    return _other_products(state, v, s, m)


@numba.njit(**JIT)
def _other_products(state, v, s, m):
    """As :func:`products`, but m has the inner products with the rows as they are stored."""
    m[0] = dot(v, state.constant)
    whiten_entries(state, m[1 : stored_rows(state) + 1])
    return dot(v, v), dot(v, s)


@numba.njit(**JIT)
def new_products(state, point, column, known, diagonal, without, s, v, c, m):
    """What :func:`products` finds for the whitened column of a further point.

    Returns its pivot, its products with itself and with s, and whether v became the column. It is
    not needed to judge a proposal: its products follow from those of the kernel column and the Gram
    matrix. Only where the pivot is small, and the difference of large numbers would be left, is it
    computed. ``known`` has the inner products of the kernel column with the first rows of V as they
    are stored, which can be computed for many columns at once; what it lacks is added.
    """
    pivot = _coordinates(state, point, diagonal, without, c)
    if pivot * pivot < SMALL_PIVOT * diagonal:
        _whitened_column(state, column, c, pivot, v)
        own, with_s = products(state, v, s, m)
        return pivot, own, with_s, True
    n_rows = stored_rows(state)
    n_known = len(known)
    m[1 : n_known + 1] = known
    m[n_known + 1 : n_rows + 1] = np.dot(state.V[n_known:n_rows], column)
    own, with_s = _other_products(state, column, s, m)
    last = n_rows + 1
    known_part = c[:n_rows]
    own -= 2.0 * dot(known_part, m[1:last])
    with_s -= dot(known_part, state.response[1:last]) / state.scales[1]
    m[0] = (m[0] - dot(known_part, state.gram[0, 1:last])) / pivot
    for a in range(1, last):
        row = dot(state.gram[a, 1:last], known_part)
        own += c[a - 1] * row
        m[a] = (m[a] - row) / pivot
    return pivot, own / (pivot * pivot), with_s / pivot, False


@numba.njit(**JIT)
def coupling(state, own, m, x, share, row):
    """What M's inverse has to be updated by when a column with products m is added.

    ``row`` becomes the inverse times the new column of M; returns the Schur complement. Both are
    without a direction that is about to die where x and ``share`` are what
    :func:`~bayeskernels.samplers.active_sets.deaths.death_gain` found for it; x is empty otherwise.
    """
    size = stored_rows(state) + 1
    g_scale = state.scales[1]
    schur = 1.0 + own * g_scale * g_scale
    weights = np.empty(size)
    weights[0] = m[0] * state.scales[0] * g_scale
    for a in range(1, size):
        weights[a] = m[a] * g_scale * g_scale
    for a in range(size):
        row[a] = dot(state.inverse[a, :size], weights)
    schur -= dot(row[:size], weights)
    if len(x) > 0:
        # The inverse without the direction differs by the outer product of x with itself.
        along = dot(x, weights) / share
        for a in range(size):
            row[a] -= along * x[a]
        schur += along * along * share
    return max(schur, 1.0)


@numba.njit(**JIT)
def birth_gain(state, with_s, row, schur):
    """Log-ratio of p(s) with and without a further column, from its :func:`coupling`."""
    size = stored_rows(state) + 1
    residual = with_s * state.scales[1] - dot(state.response[:size], row[:size])
    return -0.5 * math.log(schur) + 0.5 * residual * residual / schur


@numba.njit(**JIT)
def append(state, point, column, v, c, pivot, own, with_s, m, row, schur, x, share):
    """Make a point active.

    What :func:`new_direction`, :func:`products` and :func:`coupling` found is used. x, where it is
    not empty, and ``share`` belong to a point that dies at the same time
    (:func:`~bayeskernels.samplers.active_sets.deaths.forget`).
    """
    whiten_now(state)
    _append_point(state, point, column, own, with_s, m, row, schur, x, share)
    a = new_row(state)
    for i in range(len(v)):
        state.V[a, i] = v[i]
    for e in range(a):
        for b in range(state.waiting[2]):
            state.T[a, b] -= c[e] * state.T[e, b]
    for b in range(state.waiting[2]):
        state.T[a, b] /= pivot
    state.size[0] += 1


@numba.njit(**JIT)
def append_later(state, point, column, c, pivot, own, with_s, m, row, schur, x, share):
    """As :func:`append`, but the rows of V and T follow later."""
    _append_point(state, point, column, own, with_s, m, row, schur, x, share)
    add_raw_row(state, new_row(state), column, c, pivot)
    state.size[0] += 1


@numba.njit(**JIT)
def _append_point(state, point, column, own, with_s, m, row, schur, x, share):
    """All that follows a birth but for V and T."""
    k = state.size[0]
    last = stored_rows(state) + 1
    for a in range(last):
        # Inverse of a matrix with one more row (block formula), and perhaps a direction less.
        weight = row[a] / schur
        if len(x) > 0:
            lost = x[a] / share
            for e in range(last):
                state.inverse[a, e] += weight * row[e] - lost * x[e]
        else:
            for e in range(last):
                state.inverse[a, e] += weight * row[e]
        state.inverse[a, last] = -weight
        state.inverse[last, a] = -weight
        state.gram[a, last] = m[a]
        state.gram[last, a] = m[a]
    state.inverse[last, last] = 1.0 / schur
    state.gram[last, last] = own
    state.response[last] = with_s * state.scales[1]
    state.kernel[state.stored[k]] = column
    state.points[k] = point
    state.is_active[point] = True


@numba.njit(**JIT)
def rebuild(state, diagonal):
    """Recompute V, T and the Gram matrix from the kernel columns, against drift.

    :func:`prepare` has to follow. Nothing may be waiting.
    """
    k = state.size[0]
    n = state.V.shape[1]
    c = np.empty(k)
    for a in range(k):
        column = state.kernel[state.stored[a]]
        point = state.points[a]
        for e in range(a):
            c[e] = state.V[e, point]
        left = diagonal[point] * (1.0 + ACTIVE_JITTER) - dot(c[:a], c[:a])
        pivot = math.sqrt(max(left, diagonal[point] * ACTIVE_JITTER))
        for i in range(n):
            state.V[a, i] = column[i]
        for e in range(k):
            state.T[a, e] = 0.0
        for e in range(a):
            weight = c[e]
            for i in range(n):
                state.V[a, i] -= weight * state.V[e, i]
            for b in range(a):
                state.T[a, b] -= weight * state.T[e, b]
        scale = 1.0 / pivot
        for i in range(n):
            state.V[a, i] *= scale
        for b in range(a):
            state.T[a, b] *= scale
        state.T[a, a] = scale
    V = state.V[:k]
    state.gram[1 : k + 1, 1 : k + 1] = np.dot(V, V.T)
    for a in range(k):
        total = dot(V[a], state.constant)
        state.gram[0, a + 1] = total
        state.gram[a + 1, 0] = total
