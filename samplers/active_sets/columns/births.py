"""Births of active points: whitened columns, what they add to p(S), and appending them.

What is found out about a point before it is accepted is kept in a
:class:`~bayeskernels.samplers.active_sets.columns.proposal.Proposal`, so that nothing is computed
twice. A swap is a birth without the directions of a point that is about to die
(:mod:`bayeskernels.samplers.active_sets.columns.deaths`).
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.active_sets.columns.proposal import eliminate, factorise
from bayeskernels.samplers.active_sets.columns.state import (
    block,
    first,
    stored_rows,
    sum_over_blocks,
    times_inverse,
)
from bayeskernels.samplers.active_sets.columns.waiting import (
    add_raw_row,
    leave_out_dead,
    new_row,
    whiten_entries,
    whiten_now,
)
from bayeskernels.samplers.compiled import dot

__all__ = [
    "activate",
    "activate_without_response",
    "append",
    "append_held",
    "hold",
    "let_go",
    "new_directions",
    "propose_birth",
]

#: Pivots (squared, relative to the diagonal) below which products are computed the long way.
SMALL_PIVOT = 1e-3


@numba.njit(**JIT)
def _find_coordinates(state, point, diagonal, proposal):
    """Coordinates of a point in V and pivots; ``diagonal`` has its kernel values with itself."""
    n_rows = stored_rows(state)
    for j in range(len(state.V)):
        c = proposal.c[j, :n_rows]
        for a in range(n_rows):
            c[a] = state.V[j, a, point]
        whiten_entries(state, j, c)
        leave_out_dead(state, j, c)
        if proposal.is_swap[0]:
            dying = proposal.t[j, :n_rows]
            along = dot(c, dying)
            for a in range(n_rows):
                c[a] -= along * dying[a]
        left = diagonal[j, point] * (1.0 + ACTIVE_JITTER) - dot(c, c)
        proposal.pivots[j] = math.sqrt(max(left, diagonal[j, point] * ACTIVE_JITTER))


@numba.njit(**JIT)
def _whiten_columns(state, columns, proposal):
    """Whitened columns of a point from its coordinates."""
    whiten_now(state)
    n_rows = stored_rows(state)
    for j in range(len(state.V)):
        known = np.dot(proposal.c[j, :n_rows], state.V[j, :n_rows])
        scale = 1.0 / proposal.pivots[j]
        for i in range(len(known)):
            proposal.v[j, i] = (columns[j, i] - known[i]) * scale
    proposal.is_whitened[0] = True


@numba.njit(**JIT)
def new_directions(state, point, columns, diagonal, proposal):
    """Whitened columns of a further point; ``columns`` are its kernel columns, (q, n)."""
    _find_coordinates(state, point, diagonal, proposal)
    _whiten_columns(state, columns, proposal)


@numba.njit(**JIT)
def _products(state, S, proposal):
    """Inner products of whitened columns with each other, with (1, V) and with S."""
    n_rows = stored_rows(state)
    for j in range(len(state.V)):
        v = proposal.v[j]
        proposal.m[j, 0] = dot(v, state.constant)
        for h in range(len(state.V)):
            start = first(state, h)
            m = proposal.m[j, start : start + n_rows]
            m[:] = np.dot(state.V[h, :n_rows], v)
            whiten_entries(state, h, m)
            proposal.own[j, h] = dot(v, proposal.v[h])
        for d in range(len(S)):
            proposal.with_s[j, d] = dot(v, S[d])


@numba.njit(**JIT)
def _raw_products(state, columns, known, S, proposal):
    """As :func:`_products`, but of kernel columns."""
    n_rows = stored_rows(state)
    n_known = known.shape[2]
    for j in range(len(state.V)):
        column = columns[j]
        proposal.m[j, 0] = dot(column, state.constant)
        for h in range(len(state.V)):
            start = first(state, h)
            m = proposal.m[j, start : start + n_rows]
            already = known[j, h]
            for a in range(n_known):
                m[a] = already[a]
            if n_known < n_rows:
                m[n_known:] = np.dot(state.V[h, n_known:n_rows], column)
            whiten_entries(state, h, m)
            proposal.own[j, h] = dot(column, columns[h])
        for d in range(len(S)):
            proposal.with_s[j, d] = dot(column, S[d])


@numba.njit(**JIT)
def _short_products(state, columns, known, S, proposal):
    """What :func:`_products` would find, without the whitened columns.

    They follow from the products of the kernel columns, from the Gram matrix and the response.
    """
    _raw_products(state, columns, known, S, proposal)
    n_rows = stored_rows(state)
    q = len(state.V)
    c, m, pivots = proposal.c, proposal.m, proposal.pivots
    along = proposal.row
    for j in range(q):
        own = first(state, j)
        known_part = c[j, :n_rows]
        for d in range(len(S)):
            # Nothing of a kernel that is off is ever asked for.
            rest = 0.0
            if state.scales[1 + j] > 0.0:
                rest = proposal.with_s[j, d]
                response = state.response[d, own : own + n_rows]
                rest -= dot(known_part, response) / state.scales[1 + j]
            proposal.with_s[j, d] = rest / pivots[j]
        for h in range(q):
            start = first(state, h)
            gram = state.gram[start : start + n_rows]
            for a in range(n_rows):
                along[j, start + a] = dot(gram[a, own : own + n_rows], known_part)
    for j in range(q):
        own = first(state, j)
        for h in range(q):
            other = first(state, h)
            product = dot(c[j, :n_rows], m[h, own : own + n_rows])
            product += dot(c[h, :n_rows], m[j, other : other + n_rows])
            left = proposal.own[j, h] - product
            for a in range(n_rows):
                left += c[h, a] * along[j, other + a]
            proposal.own[j, h] = left / (pivots[j] * pivots[h])
    for j in range(q):
        own = first(state, j)
        m[j, 0] -= dot(c[j, :n_rows], state.gram[0, own : own + n_rows])
        m[j, 0] /= pivots[j]
        for h in range(q):
            start = first(state, h)
            target, lost = m[j, start : start + n_rows], along[j, start : start + n_rows]
            for e in range(n_rows):
                target[e] = (target[e] - lost[e]) / pivots[j]


@numba.njit(**JIT)
def _couple(state, proposal):
    """What M's inverse has to be updated by when the new columns are added.

    Without the directions of a point that is about to die, where there is one.
    """
    n_rows = stored_rows(state)
    q = len(state.V)
    new, row, x = proposal.new, proposal.row, proposal.x
    schur = np.empty((q, q))
    for j in range(q):
        scale = state.scales[1 + j]
        new[j, 0] = proposal.m[j, 0] * state.scales[0] * scale
        for h in range(q):
            start = first(state, h)
            other = state.scales[1 + h]
            target, m = new[j, start : start + n_rows], proposal.m[j, start : start + n_rows]
            for e in range(n_rows):
                target[e] = m[e] * other * scale
        times_inverse(state, new[j], row[j])
    for j in range(q):
        for h in range(q):
            schur[j, h] = 1.0 if j == h else 0.0
            schur[j, h] += proposal.own[j, h] * state.scales[1 + j] * state.scales[1 + h]
            schur[j, h] -= sum_over_blocks(state, row[j], new[h])
    if proposal.is_swap[0]:
        # The inverse without the directions differs by outer products of each x with itself.
        along = np.empty(q)
        for i in range(q):
            for j in range(q):
                along[j] = sum_over_blocks(state, x[i], new[j]) / proposal.shares[i]
            for j in range(q):
                for h in range(q):
                    schur[j, h] += along[j] * along[h] * proposal.shares[i]
                    start, stop = block(state, h, n_rows)
                    for e in range(start, stop):
                        row[j, e] -= along[j] * x[i, e]
    factorise(schur, proposal.schurs, proposal.unit)
    for j in range(q):
        proposal.schurs[j] = max(proposal.schurs[j], 1.0)
    eliminate(row, proposal.unit)


@numba.njit(**JIT)
def _gain(state, proposal):
    """Log-ratio of p(S) with and without the new columns."""
    gain = 0.0
    r = len(state.response)
    for h in range(len(state.V)):
        schur = proposal.schurs[h]
        gain -= 0.5 * r * math.log(schur)
        for d in range(r):
            residual = 0.0
            for j in range(h + 1):
                scaled = proposal.with_s[j, d] * state.scales[1 + j]
                residual += proposal.unit[h, j] * scaled
            residual -= sum_over_blocks(state, state.response[d], proposal.row[h])
            gain += 0.5 * residual * residual / schur
    return gain


@numba.njit(**JIT)
def propose_birth(state, point, columns, known, diagonal, S, proposal):
    """Log-ratio of p(S) with and without a further point.

    Its whitened columns are not needed to judge it. Only where a pivot is small, and the difference
    of large numbers would be left, are they computed.

    Parameters
    ----------
    state : ActiveColumns
    point : int
    columns : array of shape (q, n)
        Its kernel columns.
    known : array of shape (q, q, n_known)
        Inner products of each of them with the first rows of each V as they are stored, which can
        be computed for many points at once; those with the other rows are added.
    diagonal : array of shape (q, n)
    S : array of shape (r, n)
    proposal : Proposal
        With the directions of a point that dies at the same time, where there is one.

    Returns
    -------
    float
    """
    _find_coordinates(state, point, diagonal, proposal)
    proposal.is_whitened[0] = False
    for j in range(len(state.V)):
        pivot = proposal.pivots[j]
        if pivot * pivot < SMALL_PIVOT * diagonal[j, point]:
            proposal.is_whitened[0] = True
    if proposal.is_whitened[0]:
        _whiten_columns(state, columns, proposal)
        _products(state, S, proposal)
    else:
        _short_products(state, columns, known, S, proposal)
    _couple(state, proposal)
    return _gain(state, proposal)


@numba.njit(**JIT)
def _extend_matrices(state, proposal):
    """Gram matrix, inverse and response with the new columns; perhaps some directions less."""
    n_rows = stored_rows(state)
    q = len(state.V)
    inverse, row, x = state.inverse, proposal.row, proposal.x
    is_swap = proposal.is_swap[0]
    for i in range(q):
        top, bottom = block(state, i, n_rows)
        for a in range(top, bottom):
            for j in range(q):
                # Inverse of a matrix with one more row (block formula).
                weight = row[j, a] / proposal.schurs[j]
                for h in range(q):
                    start, stop = block(state, h, n_rows)
                    target, new = inverse[a, start:stop], row[j, start:stop]
                    if is_swap:
                        lost = x[j, a] / proposal.shares[j]
                        old = x[j, start:stop]
                        for e in range(stop - start):
                            target[e] += weight * new[e] - lost * old[e]
                    else:
                        for e in range(stop - start):
                            target[e] += weight * new[e]
            for j in range(q):
                last = first(state, j) + n_rows
                side = 0.0
                for h in range(j, q):
                    side -= row[h, a] / proposal.schurs[h] * proposal.unit[h, j]
                inverse[a, last] = side
                inverse[last, a] = side
                state.gram[a, last] = proposal.m[j, a]
                state.gram[last, a] = proposal.m[j, a]
    for j in range(q):
        last = first(state, j) + n_rows
        for h in range(q):
            corner = 0.0
            for i in range(max(j, h), q):
                corner += proposal.unit[i, j] * proposal.unit[i, h] / proposal.schurs[i]
            inverse[last, first(state, h) + n_rows] = corner
            state.gram[last, first(state, h) + n_rows] = proposal.own[j, h]
        for d in range(len(state.response)):
            state.response[d, last] = proposal.with_s[j, d] * state.scales[1 + j]


@numba.njit(**JIT)
def append(state, point, columns, proposal):
    """Make a point active that was proposed.

    Its rows of V and T follow later, unless its whitened columns are known.
    """
    is_whitened = proposal.is_whitened[0]
    if is_whitened:
        whiten_now(state)
    _extend_matrices(state, proposal)
    k = state.size[0]
    for j in range(len(state.V)):
        stored, column = state.kernel[state.stored[k], j], columns[j]
        for i in range(len(column)):
            stored[i] = column[i]
    state.points[k] = point
    state.is_active[point] = True
    row = new_row(state)
    if is_whitened:
        n_columns = state.n_columns[0]
        for j in range(len(state.V)):
            T = state.T[j]
            for i in range(proposal.v.shape[1]):
                state.V[j, row, i] = proposal.v[j, i]
            for e in range(row):
                for b in range(n_columns):
                    T[row, b] -= proposal.c[j, e] * T[e, b]
            for b in range(n_columns):
                T[row, b] /= proposal.pivots[j]
    else:
        add_raw_row(state, row, columns, proposal.c, proposal.pivots)
    state.size[0] += 1


@numba.njit(**JIT)
def activate(state, point, columns, diagonal, S, proposal):
    """Make a point active."""
    new_directions(state, point, columns, diagonal, proposal)
    append_held(state, point, columns, S, proposal)


@numba.njit(**JIT)
def append_held(state, point, columns, S, proposal):
    """Make a point active whose whitened columns, coordinates and pivots are known."""
    proposal.is_whitened[0] = True
    _products(state, S, proposal)
    _couple(state, proposal)
    append(state, point, columns, proposal)


@numba.njit(**JIT)
def activate_without_response(state, point, columns, diagonal, proposal):
    """Make a point active where there is no response: products with one are not kept up."""
    new_directions(state, point, columns, diagonal, proposal)
    proposal.m[:] = 0.0
    proposal.own[:] = 0.0
    proposal.with_s[:] = 0.0
    proposal.row[:] = 0.0
    proposal.unit[:] = np.eye(len(proposal.unit))
    proposal.schurs[:] = 1.0
    append(state, point, columns, proposal)


@numba.njit(**JIT)
def hold(state, proposal):
    """Count whitened columns for the time being: further ones become orthogonal to them."""
    row = state.size[0]
    for j in range(len(state.V)):
        state.V[j, row] = proposal.v[j]
    state.size[0] += 1


@numba.njit(**JIT)
def let_go(state, k):
    """End of :func:`hold`: k points are active."""
    state.size[0] = k
