r"""Whitened kernel columns of active points that each bring a group of columns, several responses.

With several kernels an active point has one whitened column :math:`V_l = K_{l,\gamma} L_l^{-T}` in
each of them, and with several classes there are several responses, the columns of S, with one and
the same covariance :math:`Q = I + 1 1^T / \eta + \sum_l w_l^2 V_l V_l^T`. This is
:mod:`bayeskernels.samplers.active_sets.columns` in blocks: a birth appends a group of columns, a
death reflects each kernel's columns until a group can be dropped. In the coordinates W = (1 /
sqrt(eta), w_1 V_1, ..., w_q V_q) with M = I + W'W,

.. math:: \log p(S) = -\tfrac r2 \log |M| + \tfrac12 \mathrm{tr}(S^T W M^{-1} W^T S) + \ldots

A kernel whose weight w is zero is off: its columns are carried along, and take no part.

Groups are stored one after the other: the column of the point in slot a and of kernel l is number
1 + a q + l, number 0 is the constant.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER

__all__ = [
    "GroupedColumns",
    "append_group",
    "birth_gain_of_group",
    "column_scales",
    "death_directions",
    "death_gain_of_group",
    "group_directions",
    "group_products",
    "mirrors",
    "prepare_groups",
    "rebuild_groups",
    "reflect_rows",
    "remove_group",
]


class GroupedColumns(NamedTuple):
    """Active points and all that depends on them; arrays are as large as the largest set.

    Attributes
    ----------
    size : array of int, shape (1,)
        Number k of active points.
    points : array of int, shape (k_max,)
    is_active : array of bool, shape (n,)
    kernel : array of shape (k_max, q, n)
        Kernel columns of the active points.
    V : array of shape (k_max, q, n)
        Whitened columns.
    T : array of shape (q, k_max, k_max)
        Inverses of the factors L: V = T K_gamma' as rows, for each kernel.
    gram : array of shape (1 + k_max q, 1 + k_max q)
        Inner products of (1, V).
    inverse : array of the same shape
        Inverse of M.
    products : array of shape (1 + k_max q, r)
        Inner products of (1, V) with the responses.
    scales : array of shape (1 + q,)
        1 / sqrt(eta), and the weights of the kernels.
    """

    size: np.ndarray
    points: np.ndarray
    is_active: np.ndarray
    kernel: np.ndarray
    V: np.ndarray
    T: np.ndarray
    gram: np.ndarray
    inverse: np.ndarray
    products: np.ndarray
    scales: np.ndarray

    @classmethod
    def empty(cls, n, k_max, q, r):
        """No active points."""
        m = 1 + k_max * q
        columns = cls(
            size=np.zeros(1, dtype=np.int64),
            points=np.full(k_max, -1),
            is_active=np.zeros(n, dtype=np.bool_),
            kernel=np.zeros((k_max, q, n)),
            V=np.zeros((k_max, q, n)),
            T=np.zeros((q, k_max, k_max)),
            gram=np.zeros((m, m)),
            inverse=np.zeros((m, m)),
            products=np.zeros((m, r)),
            scales=np.ones(1 + q),
        )
        columns.gram[0, 0] = n
        return columns


@numba.njit(**JIT)
def column_scales(scales, m):
    """Factors of the first m columns in W."""
    q = len(scales) - 1
    values = np.empty(m)
    values[0] = scales[0]
    for p in range(1, m):
        values[p] = scales[1 + (p - 1) % q]
    return values


@numba.njit(**JIT)
def prepare_groups(state, S):
    """Bring inverse and products up to date for another response or other scales."""
    k = state.size[0]
    q = state.V.shape[1]
    n = state.V.shape[2]
    m = 1 + k * q
    factors = column_scales(state.scales, m)
    M = np.empty((m, m))
    for a in range(m):
        for e in range(m):
            M[a, e] = factors[a] * factors[e] * state.gram[a, e]
        M[a, a] += 1.0
    state.inverse[:m, :m] = np.linalg.inv(M)
    for d in range(S.shape[1]):
        total = 0.0
        for i in range(n):
            total += S[i, d]
        state.products[0, d] = total
    state.products[1:m] = np.dot(state.V[:k].reshape(k * q, n), S)


@numba.njit(**JIT)
def _scaled_products(state, m):
    """W'S."""
    factors = column_scales(state.scales, m)
    B = np.empty((m, state.products.shape[1]))
    for a in range(m):
        for d in range(B.shape[1]):
            B[a, d] = factors[a] * state.products[a, d]
    return B


@numba.njit(**JIT)
def death_directions(state, slot):
    """Unit vectors, (q, k), of each kernel's coordinates that only the point in ``slot`` needs."""
    k = state.size[0]
    q = len(state.T)
    t = np.empty((q, k))
    for j in range(q):
        length = 0.0
        for a in range(k):
            t[j, a] = state.T[j, a, slot]
            length += t[j, a] * t[j, a]
        scale = 1.0 / math.sqrt(length)
        for a in range(k):
            t[j, a] *= scale
    return t


@numba.njit(**JIT)
def death_gain_of_group(state, t):
    """Log-ratio of p(S) without the directions t and with them.

    Also returns the inverse of M without them, which is zero along them.
    """
    k = state.size[0]
    q = len(t)
    m = 1 + k * q
    r = state.products.shape[1]
    X = np.zeros((m, q))
    for j in range(q):
        for a in range(m):
            value = 0.0
            for e in range(k):
                value += state.inverse[a, 1 + e * q + j] * t[j, e]
            X[a, j] = value
    share = np.zeros((q, q))
    for j in range(q):
        for e in range(k):
            for h in range(q):
                share[j, h] += t[j, e] * X[1 + e * q + j, h]
    lost = np.dot(X.T.copy(), _scaled_products(state, m))
    solved = np.linalg.solve(share, lost)
    gain = -0.5 * r * math.log(np.linalg.det(share)) - 0.5 * (lost * solved).sum()
    reduced = state.inverse[:m, :m] - np.dot(X, np.linalg.solve(share, X.T.copy()))
    return gain, reduced


@numba.njit(**JIT)
def group_directions(state, point, columns, diagonal, without, v, c, pivots):
    """Whitened columns v, (q, n), of a further point.

    c, (q, k_max), becomes its coordinates in V, and ``pivots`` the pivots of the steps that add it.
    ``without`` are directions that are left out, of a point about to die: (q, k), or empty.
    """
    k = state.size[0]
    for j in range(len(v)):
        left = diagonal[j, point] * (1.0 + ACTIVE_JITTER)
        along = 0.0
        for a in range(k):
            c[j, a] = state.V[a, j, point]
        if len(without) > 0:
            for a in range(k):
                along += c[j, a] * without[j, a]
            for a in range(k):
                c[j, a] -= along * without[j, a]
        for a in range(k):
            left -= c[j, a] * c[j, a]
        pivots[j] = math.sqrt(max(left, diagonal[j, point] * ACTIVE_JITTER))
        for i in range(v.shape[1]):
            v[j, i] = columns[j, i]
        for a in range(k):
            weight = c[j, a]
            for i in range(v.shape[1]):
                v[j, i] -= weight * state.V[a, j, i]
        scale = 1.0 / pivots[j]
        for i in range(v.shape[1]):
            v[j, i] *= scale


@numba.njit(**JIT)
def group_products(state, v, S):
    """Inner products of a group v with itself, (q, q), with (1, V), (m, q), and with S, (q, r)."""
    k = state.size[0]
    q, n = v.shape
    with_columns = np.empty((1 + k * q, q))
    for j in range(q):
        total = 0.0
        for i in range(n):
            total += v[j, i]
        with_columns[0, j] = total
    V = state.V[:k].reshape(k * q, n)
    with_columns[1:] = np.dot(V, v.T)
    return np.dot(v, v.T), with_columns, np.dot(v, S)


@numba.njit(**JIT)
def _schur_complement(state, inverse, own, with_columns, with_s):
    """Of a group's block in M, with what the others leave of its products, and weights."""
    m, q = with_columns.shape
    factors = column_scales(state.scales, m)
    E = np.empty((m, q))
    schur = np.empty((q, q))
    rest = np.empty(with_s.shape)
    for j in range(q):
        weight = state.scales[1 + j]
        for a in range(m):
            E[a, j] = factors[a] * weight * with_columns[a, j]
        for h in range(q):
            schur[j, h] = weight * state.scales[1 + h] * own[j, h]
        schur[j, j] += 1.0
        for d in range(rest.shape[1]):
            rest[j, d] = weight * with_s[j, d]
    solved = np.dot(inverse, E)
    transposed = solved.T.copy()
    schur -= np.dot(transposed, E)
    rest -= np.dot(transposed, _scaled_products(state, m))
    return schur, rest, solved


@numba.njit(**JIT)
def birth_gain_of_group(state, inverse, own, with_columns, with_s):
    """Log-ratio of p(S) with a further group and without it, given ``inverse`` without it."""
    schur, rest, _ = _schur_complement(state, inverse, own, with_columns, with_s)
    r = rest.shape[1]
    gain = 0.5 * (rest * np.linalg.solve(schur, rest)).sum()
    return gain - 0.5 * r * math.log(np.linalg.det(schur))


@numba.njit(**JIT)
def _extend_inverse(T, k, c, pivot):
    """Inverse of a factor with one more row, whose entries are c and the pivot."""
    for a in range(k + 1):
        T[a, k] = 0.0
        T[k, a] = 0.0
    for a in range(k):
        weight = c[a] / pivot
        for e in range(k):
            T[k, e] -= weight * T[a, e]
    T[k, k] = 1.0 / pivot


@numba.njit(**JIT)
def append_group(state, point, columns, v, c, pivots, own, with_columns, with_s):
    """Make a point active, with what the functions above have found."""
    k = state.size[0]
    m, q = with_columns.shape
    inverse = np.ascontiguousarray(state.inverse[:m, :m])
    schur, _, solved = _schur_complement(state, inverse, own, with_columns, with_s)
    corner = np.linalg.inv(schur)
    side = np.dot(solved, corner)
    state.inverse[:m, :m] += np.dot(side, solved.T.copy())
    state.inverse[:m, m : m + q] = -side
    state.inverse[m : m + q, :m] = -side.T
    state.inverse[m : m + q, m : m + q] = corner
    state.gram[:m, m : m + q] = with_columns
    state.gram[m : m + q, :m] = with_columns.T
    state.gram[m : m + q, m : m + q] = own
    state.products[m : m + q] = with_s
    state.kernel[k] = columns
    state.V[k] = v
    for j in range(q):
        _extend_inverse(state.T[j], k, c[j], pivots[j])
    state.points[k] = point
    state.is_active[point] = True
    state.size[0] = k + 1


@numba.njit(**JIT)
def mirrors(t):
    """Normals of length sqrt(2) of the reflections that take directions to the last axis.

    To that of its two ends which is farther away, for accuracy.
    """
    h = t.copy()
    k = h.shape[1]
    for j in range(len(h)):
        h[j, k - 1] += 1.0 if h[j, k - 1] >= 0.0 else -1.0
        length = 0.0
        for a in range(k):
            length += h[j, a] * h[j, a]
        scale = math.sqrt(2.0 / length)
        for a in range(k):
            h[j, a] *= scale
    return h


@numba.njit(**JIT)
def reflect_rows(rows, h):
    """Reflect the rows of a matrix that belong to columns 1, 2, ...; the constant's stays."""
    q, k = h.shape
    for j in range(q):
        along = np.zeros(rows.shape[1])
        for a in range(k):
            for d in range(rows.shape[1]):
                along[d] += h[j, a] * rows[1 + a * q + j, d]
        for a in range(k):
            for d in range(rows.shape[1]):
                rows[1 + a * q + j, d] -= h[j, a] * along[d]


@numba.njit(**JIT)
def remove_group(state, slot):
    """Make the point in ``slot`` inactive; the last point takes its slot."""
    k = state.size[0]
    q = len(state.T)
    n = state.V.shape[2]
    m = 1 + k * q
    h = mirrors(death_directions(state, slot))
    for j in range(q):
        along = np.zeros(n)
        for a in range(k):
            weight = h[j, a]
            for i in range(n):
                along[i] += weight * state.V[a, j, i]
        for a in range(k):
            weight = h[j, a]
            for i in range(n):
                state.V[a, j, i] -= weight * along[i]
        for e in range(k):
            total = 0.0
            for a in range(k):
                total += h[j, a] * state.T[j, a, e]
            for a in range(k):
                state.T[j, a, e] -= h[j, a] * total
        for a in range(k):
            state.T[j, a, slot] = state.T[j, a, k - 1]
    reflect_rows(state.gram[:m, :m], h)
    reflect_rows(state.gram[:m, :m].T, h)
    reflect_rows(state.inverse[:m, :m], h)
    reflect_rows(state.inverse[:m, :m].T, h)
    reflect_rows(state.products[:m], h)
    left = m - q
    corner = np.ascontiguousarray(state.inverse[left:m, left:m])
    side = np.ascontiguousarray(state.inverse[:left, left:m])
    state.inverse[:left, :left] -= np.dot(side, np.linalg.solve(corner, side.T.copy()))
    state.is_active[state.points[slot]] = False
    state.points[slot] = state.points[k - 1]
    state.kernel[slot] = state.kernel[k - 1]
    state.points[k - 1] = -1
    state.size[0] = k - 1


@numba.njit(**JIT)
def rebuild_groups(state, diagonal):
    """Recompute V, T and the Gram matrix from the kernel columns, against drift.

    :func:`prepare_groups` has to follow.
    """
    k = state.size[0]
    q = len(state.T)
    n = state.V.shape[2]
    points = state.points[:k].copy()
    v = np.empty((q, n))
    c = np.empty((q, k))
    pivots = np.empty(q)
    nothing = np.empty((0, 0))
    for a in range(k):
        state.size[0] = a
        group_directions(state, points[a], state.kernel[a], diagonal, nothing, v, c, pivots)
        state.V[a] = v
        for j in range(q):
            _extend_inverse(state.T[j], a, c[j], pivots[j])
    state.size[0] = k
    V = state.V[:k].reshape(k * q, n)
    m = 1 + k * q
    state.gram[1:m, 1:m] = np.dot(V, V.T)
    for p in range(1, m):
        total = V[p - 1].sum()
        state.gram[0, p] = total
        state.gram[p, 0] = total
