r"""Whitened kernel columns of an active set, updated one point at a time.

With :math:`K_\gamma` the kernel columns of the k active points, :math:`L L^T = K_{\gamma\gamma}`
and :math:`V = K_\gamma L^{-T}`, Silverman's prior makes the predictor :math:`f = u + V z / \sqrt g`
with :math:`z \sim N(0, I)`. The marginal covariance of the working response s (GKM, equation (8))
is then :math:`Q = I + 1 1^T / \eta + V V^T / g`, and nothing squares the condition of K as equation
(11) does. Any orthonormal basis will do: L need not be triangular. A birth appends one column to V
(a step of a pivoted Cholesky factorisation), a death reflects the others until one column can be
dropped (:mod:`bayeskernels.samplers.active_deaths`), and :math:`T = L^{-1}` is carried along, whose
columns are the directions that deaths need.

In the coordinates W = (1 / sqrt(eta), V / sqrt(g)) all that a proposal needs is the inverse of
:math:`M = I + W^T W` and :math:`b = W^T s`: O(n k) for a birth, O(k^2) for a death.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.distributions.silverman_g import ACTIVE_JITTER

__all__ = [
    "ActiveColumns",
    "append",
    "birth_gain",
    "new_direction",
    "new_products",
    "prepare",
    "products",
    "rebuild",
    "whitened_column",
]

#: Reflections of deaths that may wait before they are carried out on V together.
MAX_MIRRORS = 24

#: Pivots (squared, relative to the diagonal) below which products are computed the long way.
SMALL_PIVOT = 1e-3

_JIT = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"nnan", "nsz", "contract", "reassoc"},
}


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
    V : array of shape (k_max + MAX_MIRRORS, n)
        Whitened columns, as rows, but for the reflections that wait in ``mirrors``.
    mirrors : array of shape (MAX_MIRRORS, k_max + MAX_MIRRORS)
        Normals, of squared length two, of reflections of the rows of V that have not been carried
        out yet, first one first. After them row a of the whitened columns is row ``position[a]``.
    waiting : array of int, shape (2,)
        Number of those reflections, and of rows of V while there are any.
    position : array of int, shape (k_max,)
        Means something only while reflections are waiting.
    T : array of shape (k_max, k_max)
        Inverse of L: V = T K_gamma' as rows.
    gram : array of shape (k_max + 1, k_max + 1)
        Inner products of (1, V).
    inverse : array of shape (k_max + 1, k_max + 1)
        Inverse of M.
    response : array of shape (k_max + 1,)
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
    mirrors: np.ndarray
    waiting: np.ndarray
    position: np.ndarray
    T: np.ndarray
    gram: np.ndarray
    inverse: np.ndarray
    response: np.ndarray
    scales: np.ndarray
    constant: np.ndarray

    @classmethod
    def empty(cls, n, k_max):
        """No active points."""
        columns = cls(
            size=np.zeros(1, dtype=np.int64),
            points=np.full(k_max, -1),
            is_active=np.zeros(n, dtype=np.bool_),
            kernel=np.zeros((k_max, n)),
            stored=np.arange(k_max),
            V=np.zeros((k_max + MAX_MIRRORS, n)),
            mirrors=np.zeros((MAX_MIRRORS, k_max + MAX_MIRRORS)),
            waiting=np.zeros(2, dtype=np.int64),
            position=np.arange(k_max),
            T=np.zeros((k_max, k_max)),
            gram=np.zeros((k_max + 1, k_max + 1)),
            inverse=np.zeros((k_max + 1, k_max + 1)),
            response=np.zeros(k_max + 1),
            scales=np.ones(2),
            constant=np.ones(n),
        )
        columns.gram[0, 0] = n
        return columns


@numba.njit(**_JIT)
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
    total = 0.0
    for i in range(len(s)):
        total += s[i] * state.constant[i]
    state.response[0] = total * state.scales[0]
    for a in range(k):
        total = 0.0
        for i in range(len(s)):
            total += state.V[a, i] * s[i]
        state.response[a + 1] = total * state.scales[1]


@numba.njit(**_JIT)
def _behind_mirrors(state, stored, values):
    """Turn what belongs to the rows of V as they are stored into what belongs to whitened columns.

    ``stored`` is used up; ``values`` has one entry for each active point.
    """
    n_mirrors, n_rows = state.waiting
    if n_mirrors == 0:
        values[: state.size[0]] = stored
        return
    for b in range(n_mirrors):
        along = 0.0
        for a in range(n_rows):
            along += state.mirrors[b, a] * stored[a]
        for a in range(n_rows):
            stored[a] -= along * state.mirrors[b, a]
    for a in range(state.size[0]):
        values[a] = stored[state.position[a]]


@numba.njit(**_JIT)
def _before_mirrors(state, values):
    """Reverse :func:`_behind_mirrors`: coefficients of the rows of V as they are stored."""
    k = state.size[0]
    n_mirrors, n_rows = state.waiting
    if n_mirrors == 0:
        return values[:k]
    stored = np.zeros(n_rows)
    for a in range(k):
        stored[state.position[a]] = values[a]
    for b in range(n_mirrors - 1, -1, -1):
        along = 0.0
        for a in range(n_rows):
            along += state.mirrors[b, a] * stored[a]
        for a in range(n_rows):
            stored[a] -= along * state.mirrors[b, a]
    return stored


@numba.njit(**_JIT)
def _stored_rows(state):
    """Number of rows of V in use."""
    return state.waiting[1] if state.waiting[0] > 0 else state.size[0]


@numba.njit(**_JIT)
def _coordinates(state, point, diagonal, without, c):
    """C becomes the coordinates of a point in V; returns the pivot of a step that adds it.

    ``without`` is a unit vector in the coordinates of V that is left out (of a point about to
    die), or empty.
    """
    k = state.size[0]
    n_rows = _stored_rows(state)
    stored = np.empty(n_rows)
    for a in range(n_rows):
        stored[a] = state.V[a, point]
    _behind_mirrors(state, stored, c)
    if len(without) > 0:
        along = 0.0
        for a in range(k):
            along += c[a] * without[a]
        for a in range(k):
            c[a] -= along * without[a]
    left = diagonal * (1.0 + ACTIVE_JITTER)
    for a in range(k):
        left -= c[a] * c[a]
    return math.sqrt(max(left, diagonal * ACTIVE_JITTER))


@numba.njit(**_JIT)
def new_direction(state, point, column, diagonal, without, v, c):
    """Whitened column v of a further point; returns its pivot. c becomes its coordinates in V.

    ``without`` is a unit vector in the coordinates of V that is left out (of a point about to
    die), or empty.
    """
    pivot = _coordinates(state, point, diagonal, without, c)
    whitened_column(state, column, c, pivot, v)
    return pivot


@numba.njit(**_JIT)
def whitened_column(state, column, c, pivot, v):
    """Whitened column v of a point from its coordinates in V."""
    known = np.dot(_before_mirrors(state, c), state.V[: _stored_rows(state)])
    scale = 1.0 / pivot
    for i in range(len(v)):
        v[i] = (column[i] - known[i]) * scale


@numba.njit(**_JIT)
def products(state, v, s, m):
    """M becomes the inner products of v with (1, V); returns those with itself and with s."""
    return _products(state, v, s, np.dot(state.V[: _stored_rows(state)], v), m)


@numba.njit(**_JIT)
def _products(state, v, s, stored, m):
    """As :func:`products`, from the inner products of v with the rows of V as they are stored."""
    own = 0.0
    total = 0.0
    with_s = 0.0
    for i in range(len(v)):
        own += v[i] * v[i]
        total += v[i] * state.constant[i]
        with_s += v[i] * s[i]
    m[0] = total
    _behind_mirrors(state, stored, m[1:])
    return own, with_s


@numba.njit(**_JIT)
def new_products(state, point, column, known, diagonal, without, s, v, c, m):
    """What :func:`products` finds for the whitened column of a further point.

    Returns its pivot and its products with itself and with s. The column itself is not needed to
    judge a proposal: its products follow from those of the kernel column and the Gram matrix. Only
    where the pivot is small, and the difference of large numbers would be left, is it computed.
    ``known`` has the inner products of the kernel column with the first rows of V as they are
    stored, which can be computed for many columns at once; what it lacks is added.
    """
    k = state.size[0]
    pivot = _coordinates(state, point, diagonal, without, c)
    if pivot * pivot < SMALL_PIVOT * diagonal:
        whitened_column(state, column, c, pivot, v)
        own, with_s = products(state, v, s, m)
        return pivot, own, with_s
    n_rows = _stored_rows(state)
    stored = np.empty(n_rows)
    stored[: len(known)] = known
    stored[len(known) :] = np.dot(state.V[len(known) : n_rows], column)
    own, with_s = _products(state, column, s, stored, m)
    total = 0.0
    for a in range(k):
        own -= 2.0 * c[a] * m[a + 1]
        with_s -= c[a] * state.response[a + 1] / state.scales[1]
        total += c[a] * state.gram[0, a + 1]
    m[0] = (m[0] - total) / pivot
    for a in range(k):
        row = 0.0
        for e in range(k):
            row += state.gram[a + 1, e + 1] * c[e]
        own += c[a] * row
        m[a + 1] = (m[a + 1] - row) / pivot
    return pivot, own / (pivot * pivot), with_s / pivot


@numba.njit(**_JIT)
def birth_gain(state, own, with_s, m, x, share):
    """Log-ratio of p(s) with and without a further column.

    Without a direction that is about to die where x and ``share`` are what
    :func:`~bayeskernels.samplers.active_deaths.death_gain` found for it; x is empty otherwise.
    """
    k = state.size[0]
    g_scale = state.scales[1]
    schur = 1.0 + own * g_scale * g_scale
    residual = with_s * g_scale
    weights = np.empty(k + 1)
    weights[0] = m[0] * state.scales[0] * g_scale
    for a in range(k):
        weights[a + 1] = m[a + 1] * g_scale * g_scale
    for a in range(k + 1):
        row = 0.0
        for c in range(k + 1):
            row += state.inverse[a, c] * weights[c]
        schur -= weights[a] * row
        residual -= state.response[a] * row
    if len(x) > 0:
        # The inverse without the direction differs by the outer product of x with itself.
        along = 0.0
        with_response = 0.0
        for a in range(k + 1):
            along += x[a] * weights[a]
            with_response += x[a] * state.response[a]
        schur += along * along / share
        residual += along * with_response / share
    schur = max(schur, 1.0)
    return -0.5 * math.log(schur) + 0.5 * residual * residual / schur


@numba.njit(**_JIT)
def append(state, point, column, v, c, pivot, own, with_s, m):
    """Make a point active; what :func:`new_direction` and :func:`products` found is used."""
    k = state.size[0]
    n = len(v)
    g_scale = state.scales[1]
    row_in_store = state.stored[k]
    new_row = _stored_rows(state)
    if state.waiting[0] > 0:
        state.position[k] = new_row
        state.waiting[1] += 1
        state.mirrors[: state.waiting[0], new_row] = 0.0
    for i in range(n):
        state.kernel[row_in_store, i] = column[i]
        state.V[new_row, i] = v[i]
    # Inverse of a factor with one more row.
    for a in range(k):
        state.T[a, k] = 0.0
        state.T[k, a] = 0.0
    for a in range(k):
        weight = c[a] / pivot
        for e in range(k):
            state.T[k, e] -= weight * state.T[a, e]
    state.T[k, k] = 1.0 / pivot
    # Inverse of a matrix with one more row: block formula.
    schur = 1.0 + own * g_scale * g_scale
    weights = np.empty(k + 1)
    weights[0] = m[0] * state.scales[0] * g_scale
    for a in range(k):
        weights[a + 1] = m[a + 1] * g_scale * g_scale
    row = np.empty(k + 1)
    for a in range(k + 1):
        value = 0.0
        for e in range(k + 1):
            value += state.inverse[a, e] * weights[e]
        row[a] = value
        schur -= weights[a] * value
    schur = max(schur, 1.0)
    for a in range(k + 1):
        share = row[a] / schur
        for e in range(k + 1):
            state.inverse[a, e] += share * row[e]
        state.inverse[a, k + 1] = -share
        state.inverse[k + 1, a] = -share
        state.gram[a, k + 1] = m[a]
        state.gram[k + 1, a] = m[a]
    state.inverse[k + 1, k + 1] = 1.0 / schur
    state.gram[k + 1, k + 1] = own
    state.response[k + 1] = with_s * g_scale
    state.points[k] = point
    state.is_active[point] = True
    state.size[0] = k + 1


@numba.njit(**_JIT)
def rebuild(state, diagonal):
    """Recompute V, T and the Gram matrix from the kernel columns, against drift.

    :func:`prepare` has to follow. No reflections may be waiting.
    """
    k = state.size[0]
    n = state.V.shape[1]
    c = np.empty(k)
    for a in range(k):
        column = state.kernel[state.stored[a]]
        point = state.points[a]
        left = diagonal[point] * (1.0 + ACTIVE_JITTER)
        for e in range(a):
            c[e] = state.V[e, point]
            left -= c[e] * c[e]
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
        total = 0.0
        for i in range(n):
            total += V[a, i] * state.constant[i]
        state.gram[0, a + 1] = total
        state.gram[a + 1, 0] = total
