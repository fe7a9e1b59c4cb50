r"""Whitened kernel columns of an active set, updated one point at a time.

With :math:`K_\gamma` the kernel columns of the k active points, :math:`L L^T = K_{\gamma\gamma}`
and :math:`V = K_\gamma L^{-T}`, Silverman's prior makes the predictor :math:`f = u + V z / \sqrt g`
with :math:`z \sim N(0, I)`. The marginal covariance of the working response s (GKM, equation (8))
is then :math:`Q = I + 1 1^T / \eta + V V^T / g`, and nothing squares the condition of K as equation
(11) does. A birth appends one column to V (a step of a pivoted Cholesky factorisation), a death
rotates the others until one column can be dropped.

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
    "death_direction",
    "death_gain",
    "new_direction",
    "prepare",
    "products",
    "rebuild",
    "remove",
    "truncate",
]

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
    V : array of shape (k_max, n)
        Whitened columns, as rows.
    L : array of shape (k_max, k_max)
        Lower triangular factor.
    gram : array of shape (k_max + 1, k_max + 1)
        Inner products of (1, V).
    inverse : array of shape (k_max + 1, k_max + 1)
        Inverse of M.
    response : array of shape (k_max + 1,)
        b = W's.
    scales : array of shape (2,)
        1 / sqrt(eta) and 1 / sqrt(g).
    """

    size: np.ndarray
    points: np.ndarray
    is_active: np.ndarray
    kernel: np.ndarray
    stored: np.ndarray
    V: np.ndarray
    L: np.ndarray
    gram: np.ndarray
    inverse: np.ndarray
    response: np.ndarray
    scales: np.ndarray

    @classmethod
    def empty(cls, n, k_max):
        """No active points."""
        columns = cls(
            size=np.zeros(1, dtype=np.int64),
            points=np.full(k_max, -1),
            is_active=np.zeros(n, dtype=np.bool_),
            kernel=np.zeros((k_max, n)),
            stored=np.arange(k_max),
            V=np.zeros((k_max, n)),
            L=np.zeros((k_max, k_max)),
            gram=np.zeros((k_max + 1, k_max + 1)),
            inverse=np.zeros((k_max + 1, k_max + 1)),
            response=np.zeros(k_max + 1),
            scales=np.ones(2),
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
        total += s[i]
    state.response[0] = total * state.scales[0]
    for a in range(k):
        total = 0.0
        for i in range(len(s)):
            total += state.V[a, i] * s[i]
        state.response[a + 1] = total * state.scales[1]


@numba.njit(**_JIT)
def new_direction(state, point, column, diagonal, without, v, c):
    """Whitened column of a further point; returns its pivot.

    ``without`` is a unit vector in the coordinates of V that is left out (of a point about to
    die), or empty. c becomes the coordinates of the point in V.
    """
    k = state.size[0]
    n = len(column)
    for a in range(k):
        c[a] = state.V[a, point]
    if len(without) > 0:
        along = 0.0
        for a in range(k):
            along += c[a] * without[a]
        for a in range(k):
            c[a] -= along * without[a]
    left = diagonal * (1.0 + ACTIVE_JITTER)
    for a in range(k):
        left -= c[a] * c[a]
    pivot = math.sqrt(max(left, diagonal * ACTIVE_JITTER))
    for i in range(n):
        v[i] = column[i]
    for a in range(k):
        weight = c[a]
        for i in range(n):
            v[i] -= weight * state.V[a, i]
    scale = 1.0 / pivot
    for i in range(n):
        v[i] *= scale
    return pivot


@numba.njit(**_JIT)
def products(state, v, s, m):
    """M becomes the inner products of v with (1, V); returns those with itself and with s."""
    own = 0.0
    total = 0.0
    with_s = 0.0
    for i in range(len(v)):
        own += v[i] * v[i]
        total += v[i]
        with_s += v[i] * s[i]
    m[0] = total
    for a in range(state.size[0]):
        product = 0.0
        for i in range(len(v)):
            product += v[i] * state.V[a, i]
        m[a + 1] = product
    return own, with_s


@numba.njit(**_JIT)
def birth_gain(state, inverse, own, with_s, m):
    """Log-ratio of p(s) with and without a further column, given ``inverse`` without it."""
    k = state.size[0]
    g_scale = state.scales[1]
    schur = 1.0 + own * g_scale * g_scale
    residual = with_s * g_scale
    for a in range(k + 1):
        row = 0.0
        for c in range(k + 1):
            row += inverse[a, c] * m[c] * state.scales[min(c, 1)]
        weight = m[a] * state.scales[min(a, 1)] * g_scale
        schur -= weight * row * g_scale
        residual -= state.response[a] * row * g_scale
    schur = max(schur, 1.0)
    return -0.5 * math.log(schur) + 0.5 * residual * residual / schur


@numba.njit(**_JIT)
def death_direction(state, slot, t):
    """T becomes the unit vector of V's coordinates that only the point in ``slot`` needs."""
    k = state.size[0]
    L = state.L
    length = 0.0
    for a in range(k):
        if a < slot:
            t[a] = 0.0
            continue
        value = 1.0 if a == slot else 0.0
        for c in range(slot, a):
            value -= L[a, c] * t[c]
        t[a] = value / L[a, a]
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
def append(state, point, column, v, c, pivot, own, with_s, m):
    """Make a point active; what :func:`new_direction` and :func:`products` found is used."""
    k = state.size[0]
    n = len(v)
    g_scale = state.scales[1]
    row_in_store = state.stored[k]
    for i in range(n):
        state.kernel[row_in_store, i] = column[i]
        state.V[k, i] = v[i]
    for a in range(k):
        state.L[k, a] = c[a]
        state.L[a, k] = 0.0
    state.L[k, k] = pivot
    # Inverse of a matrix with one more row: block formula.
    schur = 1.0 + own * g_scale * g_scale
    row = np.empty(k + 1)
    for a in range(k + 1):
        value = 0.0
        for e in range(k + 1):
            value += state.inverse[a, e] * m[e] * state.scales[min(e, 1)]
        row[a] = value * g_scale
        schur -= m[a] * state.scales[min(a, 1)] * g_scale * row[a]
    schur = max(schur, 1.0)
    for a in range(k + 1):
        for e in range(k + 1):
            state.inverse[a, e] += row[a] * row[e] / schur
        state.inverse[a, k + 1] = -row[a] / schur
        state.inverse[k + 1, a] = -row[a] / schur
        state.gram[a, k + 1] = m[a]
        state.gram[k + 1, a] = m[a]
    state.inverse[k + 1, k + 1] = 1.0 / schur
    state.gram[k + 1, k + 1] = own
    state.response[k + 1] = with_s * g_scale
    state.points[k] = point
    state.is_active[point] = True
    state.size[0] = k + 1


@numba.njit(**_JIT)
def _rotate(matrix, n_rows, n_columns, p, cosine, sine):
    """Turn rows p and p + 1, then columns p and p + 1, of a symmetric matrix."""
    for e in range(n_columns):
        first = matrix[p, e]
        second = matrix[p + 1, e]
        matrix[p, e] = cosine * first + sine * second
        matrix[p + 1, e] = cosine * second - sine * first
    for e in range(n_rows):
        first = matrix[e, p]
        second = matrix[e, p + 1]
        matrix[e, p] = cosine * first + sine * second
        matrix[e, p + 1] = cosine * second - sine * first


@numba.njit(**_JIT)
def remove(state, slot):
    """Make the point in ``slot`` inactive."""
    k = state.size[0]
    n = state.V.shape[1]
    L = state.L
    for q in range(slot + 1, k):
        p = q - 1
        length = math.hypot(L[q, p], L[q, q])
        cosine = L[q, p] / length
        sine = L[q, q] / length
        for a in range(q, k):
            first = L[a, p]
            second = L[a, q]
            L[a, p] = cosine * first + sine * second
            L[a, q] = cosine * second - sine * first
        for i in range(n):
            first = state.V[p, i]
            second = state.V[q, i]
            state.V[p, i] = cosine * first + sine * second
            state.V[q, i] = cosine * second - sine * first
        _rotate(state.gram, k + 1, k + 1, p + 1, cosine, sine)
        _rotate(state.inverse, k + 1, k + 1, p + 1, cosine, sine)
        first = state.response[p + 1]
        second = state.response[q + 1]
        state.response[p + 1] = cosine * first + sine * second
        state.response[q + 1] = cosine * second - sine * first
    last = state.inverse[k, k]
    for a in range(k):
        weight = state.inverse[a, k] / last
        for e in range(k):
            state.inverse[a, e] -= weight * state.inverse[k, e]
    state.is_active[state.points[slot]] = False
    freed = state.stored[slot]
    for q in range(slot + 1, k):
        state.points[q - 1] = state.points[q]
        state.stored[q - 1] = state.stored[q]
        for a in range(q):
            L[q - 1, a] = L[q, a]
        L[q - 1, q] = 0.0
    state.points[k - 1] = -1
    state.stored[k - 1] = freed
    state.size[0] = k - 1


@numba.njit(**_JIT)
def truncate(state, k, inverse):
    """Take back the points that came after the first k; ``inverse`` is what it was before."""
    for a in range(k, state.size[0]):
        state.is_active[state.points[a]] = False
        state.points[a] = -1
    state.size[0] = k
    state.inverse[: k + 1, : k + 1] = inverse


@numba.njit(**_JIT)
def rebuild(state, diagonal):
    """Recompute V, L and the Gram matrix from the kernel columns, against drift.

    :func:`prepare` has to follow.
    """
    k = state.size[0]
    n = state.V.shape[1]
    for a in range(k):
        column = state.kernel[state.stored[a]]
        point = state.points[a]
        left = diagonal[point] * (1.0 + ACTIVE_JITTER)
        for c in range(a):
            state.L[a, c] = state.V[c, point]
            left -= state.L[a, c] * state.L[a, c]
            state.L[c, a] = 0.0
        pivot = math.sqrt(max(left, diagonal[point] * ACTIVE_JITTER))
        state.L[a, a] = pivot
        for i in range(n):
            state.V[a, i] = column[i]
        for c in range(a):
            weight = state.L[a, c]
            for i in range(n):
                state.V[a, i] -= weight * state.V[c, i]
        scale = 1.0 / pivot
        for i in range(n):
            state.V[a, i] *= scale
    V = state.V[:k]
    state.gram[1 : k + 1, 1 : k + 1] = np.dot(V, V.T)
    for a in range(k):
        total = 0.0
        for i in range(n):
            total += V[a, i]
        state.gram[0, a + 1] = total
        state.gram[a + 1, 0] = total
