r"""Births, deaths and swaps of active points that bring a group of columns; kernels on and off.

As in :mod:`bayeskernels.samplers.active_sets.moves`, coefficients and offset are integrated out
given the response S, and points to be born come from a list drawn in advance.

Given S and the other weights, the density of S as a function of the weight w of one kernel is known
at all w from one eigenvalue decomposition. Whether the kernel is on and which precision
:math:`g = 1 / w^2` it has are therefore proposed together, from a piecewise constant approximation
of their joint conditional distribution, and nearly all proposals are accepted. The paper (section
6.1) would update the weight from a Gamma distribution; but there the weight is a scale, to which no
Gamma prior is conjugate.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.groups.columns import (
    append_group,
    birth_gain_of_group,
    column_scales,
    death_directions,
    death_gain_of_group,
    group_directions,
    group_products,
    mirrors,
    prepare_groups,
    reflect_rows,
    remove_group,
)
from bayeskernels.samplers.active_sets.moves import BIRTH, DEATH, SWAP, draw_index

__all__ = ["log_gain_of_kernel", "move_groups", "move_kernel", "weight_spectrum"]

#: Cells of the grid of log g, and the range it covers below and above the prior's log of the mean.
N_CELLS = 60
LOWEST, HIGHEST = -15.0, 3.0


@numba.njit(**JIT)
def move_groups(
    state, S, pool, columns, diagonal, used, birth, death, log_prior, n_proposals, rng, counts
):
    """Propose births, deaths and swaps of single points.

    Parameters
    ----------
    state : GroupedColumns
        Up to date for S.
    S : array of shape (n, r)
    pool : array of int
        Points to be born, in the order in which they are proposed.
    columns : array of shape (len(pool), q, n)
        Their kernel columns.
    diagonal : array of shape (q, n)
        Kernel values of the points with themselves.
    used : int
        How much of the pool has been used.
    birth, death : arrays of shape (k_max + 1,)
        Probabilities of the moves by the number of active points; what is left is for swaps.
    log_prior : array of shape (k_max + 1,)
        Log-probability of a set by its size.
    n_proposals : int
    rng : numpy.random.Generator
    counts : array of int, shape (4, 2)
        Proposed and accepted moves of each kind, added to.

    Returns
    -------
    int
        How much of the pool has been used now.
    int
        How many of the proposals are left to be made with a new pool.
    """
    k_max, q, n = state.V.shape
    v = np.empty((q, n))
    c = np.empty((q, k_max))
    pivots = np.empty(q)
    nothing = np.empty((0, 0))
    for proposal in range(n_proposals):
        k = state.size[0]
        m = 1 + k * q
        while used < len(pool) and state.is_active[pool[used]]:
            used += 1
        if used == len(pool) and k < n:
            return used, n_proposals - proposal
        level = rng.random()
        kind = BIRTH if level < birth[k] else DEATH if level < birth[k] + death[k] else SWAP
        if kind == SWAP and (k == 0 or k == n):
            continue
        counts[kind, 0] += 1
        log_ratio = 0.0
        slot = 0
        point = 0
        candidate = 0
        t = nothing
        own, with_columns, with_s = nothing, nothing, nothing
        inverse = np.ascontiguousarray(state.inverse[:m, :m])
        if kind != BIRTH:
            slot = int(rng.random() * k)
            t = death_directions(state, slot)
            gain, inverse = death_gain_of_group(state, t)
            log_ratio += gain
        if kind != DEATH:
            candidate = used
            point = pool[used]
            used += 1
            group_directions(state, point, columns[candidate], diagonal, t, v, c, pivots)
            own, with_columns, with_s = group_products(state, v, S)
            log_ratio += birth_gain_of_group(state, inverse, own, with_columns, with_s)
        if kind == BIRTH:
            log_ratio += log_prior[k + 1] - log_prior[k]
            log_ratio += math.log(death[k + 1] * (n - k) / (birth[k] * (k + 1)))
        elif kind == DEATH:
            log_ratio += log_prior[k - 1] - log_prior[k]
            log_ratio += math.log(birth[k - 1] * k / (death[k] * (n - k + 1)))
        if math.log(1.0 - rng.random()) < log_ratio:
            counts[kind, 1] += 1
            if kind == SWAP:
                # The death will reflect the coordinates of V, so those of the new point too.
                h = mirrors(t)
                reflect_rows(with_columns, h)
                for j in range(q):
                    along = 0.0
                    for a in range(k):
                        along += h[j, a] * c[j, a]
                    for a in range(k):
                        c[j, a] -= along * h[j, a]
                with_columns = with_columns[: m - q].copy()
            if kind != BIRTH:
                remove_group(state, slot)
            if kind != DEATH:
                append_group(
                    state, point, columns[candidate], v, c, pivots, own, with_columns, with_s
                )
    return used, 0


@numba.njit(**JIT)
def weight_spectrum(state, kernel):
    """How p(S) depends on the weight of a kernel, the other weights given.

    Parameters
    ----------
    state : GroupedColumns
        Up to date.
    kernel : int

    Returns
    -------
    array of shape (k,)
        Eigenvalues, for :func:`log_gain_of_kernel`.
    array of shape (k,)
        Squared lengths of the responses along the eigenvectors, added up over responses.
    """
    k = state.size[0]
    q = state.V.shape[1]
    m = 1 + k * q
    own = np.empty(k, dtype=np.int64)
    others = np.empty(m - k, dtype=np.int64)
    others[0] = 0
    found = 1
    for a in range(k):
        for j in range(q):
            if j == kernel:
                own[a] = 1 + a * q + j
            else:
                others[found] = 1 + a * q + j
                found += 1
    factors = column_scales(state.scales, m)
    inverse = np.ascontiguousarray(state.inverse[:m, :m])
    block = inverse[own][:, own].copy()
    side = inverse[others][:, own].copy()
    reduced = inverse[others][:, others].copy() - np.dot(
        side, np.linalg.solve(block, side.T.copy())
    )
    E = state.gram[:m, :m][others][:, own].copy()
    r = state.products.shape[1]
    B = np.empty((len(others), r))
    for a in range(len(others)):
        factor = factors[others[a]]
        for e in range(k):
            E[a, e] *= factor
        for d in range(r):
            B[a, d] = factor * state.products[others[a], d]
    solved = np.dot(reduced, E).T.copy()
    left = state.gram[:m, :m][own][:, own].copy() - np.dot(solved, E)
    rest = state.products[own] - np.dot(solved, B)
    values, vectors = np.linalg.eigh(0.5 * (left + left.T))
    along = np.dot(vectors.T.copy(), rest)
    squares = np.zeros(k)
    for a in range(k):
        values[a] = max(values[a], 0.0)
        for d in range(r):
            squares[a] += along[a, d] ** 2
    return values, squares


@numba.njit(**JIT)
def log_gain_of_kernel(values, squares, r, weight):
    """Log-ratio of p(S) with a kernel of the given weight and without it."""
    x = weight * weight
    total = 0.0
    for a in range(len(values)):
        grown = 1.0 + x * values[a]
        total += 0.5 * x * squares[a] / grown - 0.5 * r * math.log(grown)
    return total


@numba.njit(**JIT)
def _log_target(log_g, values, squares, r, shape, rate):
    """Log-density of log g for a kernel that is on, without the constant of the prior."""
    gain = log_gain_of_kernel(values, squares, r, math.exp(-0.5 * log_g))
    return gain + shape * log_g - rate * math.exp(log_g)


@numba.njit(**JIT)
def move_kernel(state, S, kernel, g, is_on, log_odds_off, shape, rate, rng):
    """Draw whether a kernel is on, and its precision g.

    Parameters
    ----------
    state : GroupedColumns
        Up to date for S; its inverse is updated.
    S : array of shape (n, r)
    kernel : int
    g : float
    is_on : bool
    log_odds_off : float
        Prior log-odds of the kernel being off; minus infinity where it is always on.
    shape, rate : float
        Of the precision's Gamma prior; a negative shape where it is not to be moved.
    rng : numpy.random.Generator

    Returns
    -------
    bool, float, bool
        Whether the kernel is on now, its precision (from the prior where it is off), and whether
        the proposal was accepted.
    """
    values, squares = weight_spectrum(state, kernel)
    r = S.shape[1]
    accepted = True
    if shape < 0.0:
        gain = log_gain_of_kernel(values, squares, r, 1.0 / math.sqrt(g))
        if math.isfinite(log_odds_off):
            is_on = rng.random() < 1.0 / (1.0 + math.exp(min(log_odds_off - gain, 700.0)))
    else:
        low = math.log(shape / rate) + LOWEST
        width = (HIGHEST - LOWEST) / N_CELLS
        log_weights = np.empty(N_CELLS + 1)
        for j in range(N_CELLS):
            log_g = low + (j + 0.5) * width
            log_weights[j] = _log_target(log_g, values, squares, r, shape, rate) + math.log(width)
        constant = shape * math.log(rate) - math.lgamma(shape)
        log_weights[N_CELLS] = log_odds_off - constant
        here = N_CELLS
        if is_on:
            here = math.floor((math.log(g) - low) / width)
        # Outside of the grid, which holds all but nothing of the prior, the other moves have to do.
        accepted = not is_on or 0 <= here < N_CELLS
        if accepted:
            new = draw_index(log_weights, rng)
            log_g = low + (new + rng.random()) * width
            log_ratio = 0.0
            if new < N_CELLS:
                log_ratio += _log_target(log_g, values, squares, r, shape, rate)
                log_ratio -= log_weights[new] - math.log(width)
            if is_on:
                log_ratio -= _log_target(math.log(g), values, squares, r, shape, rate)
                log_ratio += log_weights[here] - math.log(width)
            accepted = math.log(1.0 - rng.random()) < log_ratio
            if accepted:
                is_on = new < N_CELLS
                g = math.exp(log_g)
        if not is_on:
            g = rng.gamma(shape, 1.0 / rate)
    state.scales[1 + kernel] = 1.0 / math.sqrt(g) if is_on else 0.0
    prepare_groups(state, S)
    return is_on, g, accepted
