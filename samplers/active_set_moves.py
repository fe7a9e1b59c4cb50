r"""Births, deaths and swaps of active points, given the working response (GKM, step (c)).

Coefficients and offset are integrated out, so a move is accepted by the ratio of the marginal
densities :math:`p(s \mid \gamma)`, of the priors and of the proposal probabilities. Beside the
paper's moves of one point there are births and deaths of whole blocks, which a chain with far too
many active points needs on its way down.

Points to be born come from a list drawn in advance, uniformly from all points; those that are
active already are skipped, which makes the choice uniform among the inactive ones. Their kernel
columns can so be computed together before the compiled code runs. Where the list might not last for
a move of any kind, the caller has to bring a new one before the kind is drawn: who gave up only
those moves that need a point would favour the others.
"""

import math

import numba
import numpy as np

from bayeskernels.samplers.active_columns import (
    append,
    birth_gain,
    death_direction,
    death_gain,
    new_direction,
    products,
    remove,
    truncate,
)

__all__ = ["BIRTH", "BLOCK_BIRTH", "BLOCK_DEATH", "DEATH", "SWAP", "move_blocks", "move_points"]

_JIT = {"cache": True, "nogil": True, "error_model": "numpy"}

BIRTH, DEATH, SWAP, BLOCK_BIRTH, BLOCK_DEATH = range(5)

#: Block sizes are powers of two, from 2 to this power.
LARGEST_POWER = 5


@numba.njit(**_JIT)
def _next_candidate(is_active, pool, used):
    """Index of the next point of the pool that is not active; its length where there is none."""
    while used < len(pool) and is_active[pool[used]]:
        used += 1
    return used


@numba.njit(**_JIT)
def _has_candidates(is_active, pool, used, wanted):
    """Whether the rest of the pool has at least ``wanted`` different points that are inactive."""
    marked = np.empty(wanted, dtype=np.int64)
    found = 0
    for i in range(used, len(pool)):
        if found == wanted:
            break
        if is_active[pool[i]]:
            continue
        is_new = True
        for j in range(found):
            is_new = is_new and marked[j] != pool[i]
        if is_new:
            marked[found] = pool[i]
            found += 1
    return found == wanted


@numba.njit(**_JIT)
def move_points(
    state, s, pool, columns, diagonal, used, birth, death, log_prior, n_proposals, rng, counts
):
    """Propose births, deaths and swaps of single points.

    Parameters
    ----------
    state : ActiveColumns
        Up to date for s.
    s : array of shape (n,)
    pool : array of int
        Points to be born, in the order in which they are proposed.
    columns : array of shape (len(pool), n)
        Their kernel columns.
    diagonal : array of shape (n,)
        Kernel values of the points with themselves.
    used : int
        How much of the pool has been used.
    birth, death : arrays of shape (k_max + 1,)
        Probabilities of the moves by the number of active points; what is left is for swaps.
    log_prior : array of shape (k_max + 1,)
        Log-probability of a set by its size.
    n_proposals : int
    rng : numpy.random.Generator
    counts : array of int, shape (5, 2)
        Proposed and accepted moves of each kind, added to.

    Returns
    -------
    int
        How much of the pool has been used now.
    int
        How many of the proposals are left to be made with a new pool.
    """
    n = len(s)
    k_max = len(state.points)
    v = np.empty(n)
    c = np.empty(k_max)
    t = np.empty(k_max)
    m = np.empty(k_max + 1)
    x = np.empty(k_max + 1)
    reduced = np.empty((k_max + 1, k_max + 1))
    nothing = np.empty(0)
    for proposal in range(n_proposals):
        k = state.size[0]
        candidate = _next_candidate(state.is_active, pool, used)
        if candidate == len(pool) and k < n:
            return candidate, n_proposals - proposal
        level = rng.random()
        kind = BIRTH if level < birth[k] else DEATH if level < birth[k] + death[k] else SWAP
        if kind == SWAP and (k == 0 or k == n):
            continue
        if kind != DEATH:
            used = candidate + 1
        counts[kind, 0] += 1
        log_ratio = 0.0
        share = 1.0
        slot = -1
        without = nothing
        if kind != BIRTH:
            slot = int(rng.random() * k)
            death_direction(state, slot, t)
            gain, share = death_gain(state, t, x)
            log_ratio += gain
            without = t[:k]
        if kind != DEATH:
            point = pool[candidate]
            column = columns[candidate]
            pivot = new_direction(state, point, column, diagonal[point], without, v, c)
            own, with_s = products(state, v, s, m)
            if kind == BIRTH:
                log_ratio += birth_gain(state, state.inverse, own, with_s, m)
            else:
                for a in range(k + 1):
                    for e in range(k + 1):
                        reduced[a, e] = state.inverse[a, e] - x[a] * x[e] / share
                log_ratio += birth_gain(state, reduced, own, with_s, m)
        if kind == BIRTH:
            log_ratio += log_prior[k + 1] - log_prior[k]
            log_ratio += math.log(death[k + 1] * (n - k) / (birth[k] * (k + 1)))
        elif kind == DEATH:
            log_ratio += log_prior[k - 1] - log_prior[k]
            log_ratio += math.log(birth[k - 1] * k / (death[k] * (n - k + 1)))
        if math.log(1.0 - rng.random()) < log_ratio:
            counts[kind, 1] += 1
            if kind != BIRTH:
                remove(state, slot)
            if kind == SWAP:
                pivot = new_direction(state, point, column, diagonal[point], nothing, v, c)
                own, with_s = products(state, v, s, m)
            if kind != DEATH:
                append(state, point, column, v, c, pivot, own, with_s, m)
    return used, 0


@numba.njit(**_JIT)
def move_blocks(state, s, pool, columns, diagonal, used, log_prior, n_proposals, rng, counts):
    """Propose births and deaths of blocks, as often the one as the other.

    Parameters and results are those of :func:`move_points`.
    """
    n = len(s)
    for proposal in range(n_proposals):
        wanted = min(2**LARGEST_POWER, n - state.size[0])
        if not _has_candidates(state.is_active, pool, used, wanted):
            return used, n_proposals - proposal
        size = 2 ** (1 + int(rng.random() * LARGEST_POWER))
        if rng.random() < 0.5:
            counts[BLOCK_BIRTH, 0] += 1
            used, accepted = _block_birth(
                state, s, size, pool, columns, diagonal, used, log_prior, rng
            )
            counts[BLOCK_BIRTH, 1] += accepted
        else:
            counts[BLOCK_DEATH, 0] += 1
            counts[BLOCK_DEATH, 1] += _block_death(state, size, log_prior, n, rng)
    return used, 0


@numba.njit(**_JIT)
def _log_choose(n, k):
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@numba.njit(**_JIT)
def _block_birth(state, s, size, pool, columns, diagonal, used, log_prior, rng):
    """Append points one after the other, and take all of them back unless they are accepted."""
    n = len(s)
    k = state.size[0]
    k_max = len(state.points)
    if k + size > k_max or k + size > n:
        return used, False
    v = np.empty(n)
    c = np.empty(k_max)
    m = np.empty(k_max + 1)
    nothing = np.empty(0)
    before = state.inverse[: k + 1, : k + 1].copy()
    log_ratio = log_prior[k + size] - log_prior[k]
    log_ratio += _log_choose(n - k, size) - _log_choose(k + size, size)
    for _ in range(size):
        used = _next_candidate(state.is_active, pool, used)
        point = pool[used]
        column = columns[used]
        pivot = new_direction(state, point, column, diagonal[point], nothing, v, c)
        own, with_s = products(state, v, s, m)
        log_ratio += birth_gain(state, state.inverse, own, with_s, m)
        append(state, point, column, v, c, pivot, own, with_s, m)
        used += 1
    if math.log(1.0 - rng.random()) < log_ratio:
        return used, True
    truncate(state, k, before)
    return used, False


@numba.njit(**_JIT)
def _block_death(state, size, log_prior, n, rng):
    """Let several points die at once; nothing is moved unless they do."""
    k = state.size[0]
    if k < size:
        return False
    slots = np.arange(k)
    for a in range(size):
        e = a + int(rng.random() * (k - a))
        slots[a], slots[e] = slots[e], slots[a]
    chosen = np.sort(slots[:size])
    T = _directions_of(state, chosen)
    coordinates = np.ascontiguousarray(state.inverse[: k + 1, 1 : k + 1])
    X = np.dot(coordinates, T)
    C = np.dot(T.T, X[1:])
    lost = np.dot(X.T, state.response[: k + 1])
    log_determinant = 2.0 * np.log(np.diag(np.linalg.cholesky(C))).sum()
    log_ratio = -0.5 * log_determinant - 0.5 * np.dot(lost, np.linalg.solve(C, lost))
    log_ratio += log_prior[k - size] - log_prior[k]
    log_ratio += _log_choose(k, size) - _log_choose(n - k + size, size)
    if math.log(1.0 - rng.random()) < log_ratio:
        for e in range(size - 1, -1, -1):
            remove(state, chosen[e])
        return True
    return False


@numba.njit(**_JIT)
def _directions_of(state, chosen):
    """Orthonormal basis of the directions of V that only the chosen slots need, (k, size)."""
    k = state.size[0]
    size = len(chosen)
    L = state.L
    T = np.zeros((k, size))
    for e in range(size):
        for a in range(chosen[e], k):
            value = 1.0 if a == chosen[e] else 0.0
            for c in range(chosen[e], a):
                value -= L[a, c] * T[c, e]
            T[a, e] = value / L[a, a]
        # Gram-Schmidt, twice for the sake of rounding errors.
        for _ in range(2):
            for d in range(e):
                product = 0.0
                for a in range(k):
                    product += T[a, d] * T[a, e]
                for a in range(k):
                    T[a, e] -= product * T[a, d]
        length = 0.0
        for a in range(k):
            length += T[a, e] * T[a, e]
        scale = 1.0 / math.sqrt(length)
        for a in range(k):
            T[a, e] *= scale
    return T
