r"""Births, deaths and swaps of active points, given the working response (GKM, step (c)).

Coefficients and offset are integrated out, so a move is accepted by the ratio of the marginal
densities :math:`p(s \mid \gamma)`, of the priors and of the proposal probabilities.

A response that was drawn with many active points is explained by few only badly, so given s the
size of the set moves slowly however often it is proposed. Beside the paper's moves there are
therefore *windows*, which leave the response out and judge by the labels themselves. All points are
put into a random order that begins with the active ones, and the size of the set is drawn afresh
from a window of sizes that contains the present one, by its conditional probabilities given the
order. A new point comes with its own whitened coefficient, drawn from a Gaussian that one step of
Newton's method finds, and a death takes its coefficient along. Nothing is rejected. The window lies
around the present size at random, as likely where it is as it would be seen from any size in it.

Points to be born come from a list drawn in advance, uniformly from all points; those that are
active already are skipped, which makes the choice uniform among the inactive ones. Their kernel
columns can so be computed together before the compiled code runs. Where the list might not last for
a move of any kind, the caller has to bring a new one before the kind is drawn: who gave up only
those moves that need a point would favour the others.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns import (
    append,
    append_later,
    birth_gain,
    coupling,
    new_direction,
    new_products,
    products,
)
from bayeskernels.samplers.active_sets.deaths import (
    death_direction,
    death_gain,
    forget,
    remove,
    remove_soon,
)
from bayeskernels.samplers.active_sets.links.link import label_terms
from bayeskernels.samplers.active_sets.waiting_columns import (
    bring_up_to_date,
    is_full,
    stored_rows,
)
from bayeskernels.samplers.compiled import dot, weighted_dot

__all__ = [
    "BIRTH",
    "DEATH",
    "KERNEL",
    "SWAP",
    "WINDOW",
    "directions_of",
    "draw_index",
    "draw_slots",
    "log_prior_over_proposal",
    "log_size_weight",
    "move_points",
    "move_window",
    "newton_step",
]

#: Rows of the counts of moves: those of points, of the size of the set, and of kernels.
BIRTH, DEATH, SWAP, WINDOW, KERNEL = range(5)


@numba.njit(**JIT)
def _next_candidate(is_active, pool, used):
    """Index of the next point of the pool that is not active; its length where there is none."""
    while used < len(pool) and is_active[pool[used]]:
        used += 1
    return used


@numba.njit(**JIT)
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
    counts : array of int, shape (4, 2)
        Proposed and accepted moves of each kind, added to.

    Returns
    -------
    int
        How much of the pool has been used now.
    int
        How many of the proposals are left to be made with a new pool.
    """
    n = len(s)
    most_rows = len(state.V)
    v = np.empty(n)
    c = np.empty(most_rows)
    t = np.empty(most_rows)
    m = np.empty(most_rows + 1)
    x = np.empty(most_rows + 1)
    row = np.empty(most_rows + 1)
    nothing = np.empty(0)
    known = np.empty((0, 0))
    first_known = 0
    for proposal in range(n_proposals):
        k = state.size[0]
        candidate = _next_candidate(state.is_active, pool, used)
        if candidate == len(pool) and k < n:
            bring_up_to_date(state, nothing)
            return candidate, n_proposals - proposal
        if is_full(state) or candidate >= first_known + len(known):
            # Inner products of the next candidates with V: one matrix product for all of them.
            # A point of the pool that is passed over because it is active may die and be next.
            bring_up_to_date(state, nothing)
            first_known = used
            wanted = 1 + int((n_proposals - proposal) * (1.0 - death[k]))
            last = min(candidate + wanted, len(pool))
            known = np.dot(columns[used:last], state.V[:k].T)
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
            without = t[: stored_rows(state)]
        if kind != DEATH:
            point = pool[candidate]
            column = columns[candidate]
            pivot, own, with_s, is_whitened = new_products(
                state,
                point,
                column,
                known[candidate - first_known],
                diagonal[point],
                without,
                s,
                v,
                c,
                m,
            )
            lost = nothing if kind == BIRTH else x[: stored_rows(state) + 1]
            schur = coupling(state, own, m, lost, share, row)
            log_ratio += birth_gain(state, with_s, row, schur)
        if kind == BIRTH:
            log_ratio += log_prior[k + 1] - log_prior[k]
            log_ratio += math.log(death[k + 1] * (n - k) / (birth[k] * (k + 1)))
        elif kind == DEATH:
            log_ratio += log_prior[k - 1] - log_prior[k]
            log_ratio += math.log(birth[k - 1] * k / (death[k] * (n - k + 1)))
        if math.log(1.0 - rng.random()) < log_ratio:
            counts[kind, 1] += 1
            if kind == DEATH:
                remove_soon(state, slot, t, x, share)
                continue
            if kind == SWAP:
                forget(state, slot, t)
            if is_whitened:
                append(state, point, column, v, c, pivot, own, with_s, m, row, schur, lost, share)
            else:
                append_later(
                    state, point, column, c, pivot, own, with_s, m, row, schur, lost, share
                )
    bring_up_to_date(state, nothing)
    return used, 0


@numba.njit(**JIT)
def log_size_weight(log_prior, n, k):
    """Log-probability of a set of k points, shared out among the orders that begin with it."""
    return log_prior[k] - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@numba.njit(**JIT)
def draw_slots(k, wanted, rng):
    """Different slots in random order."""
    slots = np.arange(k)
    for a in range(wanted):
        e = a + int(rng.random() * (k - a))
        slots[a], slots[e] = slots[e], slots[a]
    return slots[:wanted]


@numba.njit(**JIT)
def draw_index(log_weights, rng):
    """Index drawn with probabilities in proportion to exp(log_weights)."""
    weights = np.exp(log_weights - log_weights.max())
    level = rng.random() * weights.sum()
    index = 0
    while index < len(weights) - 1 and level >= weights[index]:
        level -= weights[index]
        index += 1
    return index


@numba.njit(**JIT)
def directions_of(state, slots):
    """Orthonormal basis, (k, size): the first j span what only the first j slots need of V."""
    k = state.size[0]
    size = len(slots)
    # One direction after the other along rows, for the sake of the cache.
    D = np.empty((size, k))
    for e in range(size):
        for a in range(k):
            D[e, a] = state.T[a, slots[e]]
        # Gram-Schmidt, twice for the sake of rounding errors.
        for _ in range(2):
            for d in range(e):
                product = dot(D[d], D[e])
                for a in range(k):
                    D[e, a] -= product * D[d, a]
        scale = 1.0 / math.sqrt(dot(D[e], D[e]))
        for a in range(k):
            D[e, a] *= scale
    return np.ascontiguousarray(D.T)


@numba.njit(**JIT)
def move_window(state, s, f, z, g, positive, born, columns, diagonal, n_deaths, log_prior, rng):
    """Draw the size of the active set from a window, with the working response integrated out.

    The path of predictors from the smallest set of the window to the largest is drawn first:
    downwards from the present one each death takes its coefficient along, upwards coefficients are
    drawn from Newton's Gaussians. Then every size has the weight of its set, coefficients and
    labels, times the probability of having drawn the rest of the path above it.

    Parameters
    ----------
    state : ActiveColumns
        With inverse and response for s and whatever scales; they stay consistent.
    s : array of shape (n,)
        Has to be drawn anew afterwards.
    f : array of shape (n,)
        Predictor, updated in place.
    z : array of shape (k_max,)
        Whitened coefficients, updated in place.
    g : float
    positive : array of bool, shape (n,)
    born : array of int
        Inactive points in the order in which they might become active.
    columns : array of shape (len(born), n)
        Their kernel columns.
    diagonal : array of shape (n,)
    n_deaths : int
        How many sizes of the window lie below the present one.
    log_prior : array of shape (k_max + 1,)
    rng : numpy.random.Generator

    Returns
    -------
    bool
        Whether the size changed.
    """
    n = len(f)
    k = state.size[0]
    scale = 1.0 / math.sqrt(g)
    n_births = len(born)
    path = np.empty((n_deaths + n_births + 1, n))
    log_weights = np.empty(n_deaths + n_births + 1)
    slope = np.empty(n)
    bend = np.empty(n)
    slots = draw_slots(k, n_deaths, rng)
    log_share = 0.0
    path[n_deaths] = f
    if n_deaths > 0:
        D = np.ascontiguousarray(directions_of(state, slots).T)
        lost = np.dot(D, state.V[:k])
        along = np.dot(D, z[:k])
        for a in range(n_deaths):
            j = n_deaths - a - 1
            for i in range(n):
                path[j, i] = path[j + 1, i] - scale * along[a] * lost[a, i]
            log_weights[j] = label_terms(path[j], positive, slope, bend)
            mean, precision = newton_step(lost[a], scale, slope, bend)
            log_share -= log_prior_over_proposal(along[a], mean, precision)
            log_weights[j] += log_share + log_size_weight(log_prior, n, k - a - 1)
    log_weights[n_deaths] = label_terms(f, positive, slope, bend)
    log_weights[n_deaths] += log_size_weight(log_prior, n, k)
    most_rows = len(state.V)
    coordinates = np.empty((n_births, most_rows))
    pivots = np.empty(n_births)
    nothing = np.empty(0)
    log_share = 0.0
    for a in range(n_births):
        point = born[a]
        v = state.V[k + a]
        pivots[a] = new_direction(
            state, point, columns[a], diagonal[point], nothing, v, coordinates[a]
        )
        mean, precision = newton_step(v, scale, slope, bend)
        new = mean + rng.standard_normal() / math.sqrt(precision)
        j = n_deaths + a + 1
        for i in range(n):
            path[j, i] = path[j - 1, i] + scale * new * v[i]
        z[k + a] = new
        log_share += log_prior_over_proposal(new, mean, precision)
        log_weights[j] = label_terms(path[j], positive, slope, bend)
        log_weights[j] += log_share + log_size_weight(log_prior, n, k + a + 1)
        # Counted for the time being: the next column has to be orthogonal to this one.
        state.size[0] += 1
    state.size[0] = k
    index = draw_index(log_weights, rng)
    new_size = k - n_deaths + index
    f[:] = path[index]
    m = np.empty(most_rows + 1)
    row = np.empty(most_rows + 1)
    for a in range(new_size - k):
        v = state.V[k + a]
        own, with_s = products(state, v, s, m)
        schur = coupling(state, own, m, nothing, 1.0, row)
        c, pivot = coordinates[a], pivots[a]
        append(state, born[a], columns[a], v, c, pivot, own, with_s, m, row, schur, nothing, 1.0)
    remove(state, slots[: max(k - new_size, 0)], z)
    return new_size != k


@numba.njit(**JIT)
def newton_step(v, scale, slope, bend):
    """Mean and precision of the coefficient of v, by one step of Newton's method from zero."""
    precision = 1.0 + scale * scale * weighted_dot(bend, v, v)
    return scale * dot(v, slope) / precision, precision


@numba.njit(**JIT)
def log_prior_over_proposal(z, mean, precision):
    """Log-ratio of the standard normal density of a coefficient to that of its proposal."""
    return -0.5 * z * z + 0.5 * precision * (z - mean) ** 2 - 0.5 * math.log(precision)
