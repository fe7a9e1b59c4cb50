r"""Sizes of the active set drawn anew within a window, with the working response integrated out.

A response that was drawn with many active points is explained by few only badly, so given S the
size of the set moves slowly however often it is proposed. Beside the paper's moves there are
therefore *windows*, which leave the response out and judge by the labels themselves. All points are
put into a random order that begins with the active ones, and the size of the set is drawn afresh
from a window of sizes that contains the present one, by its conditional probabilities given the
order. A new point comes with its own whitened coefficients, one for each kernel and response, drawn
from independent normal distributions that one step of Newton's method finds, and a death takes its
coefficients along. Nothing is rejected. The window lies around the present size at random, as
likely where it is as it would be seen from any size in it.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns.births import (
    append_held,
    hold,
    let_go,
    new_directions,
)
from bayeskernels.samplers.active_sets.columns.deaths import remove
from bayeskernels.samplers.active_sets.columns.proposal import new_proposal
from bayeskernels.samplers.active_sets.links.link import label_terms
from bayeskernels.samplers.compiled import dot, weighted_dot

__all__ = [
    "Predictor",
    "directions_of",
    "draw_index",
    "draw_slots",
    "log_prior_over_proposal",
    "log_size_weight",
    "move_window",
    "newton_step",
]


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
def directions_of(state, kernel, slots):
    """Orthonormal rows, (size, k): the first j span what only the first j slots need of V."""
    k = state.size[0]
    D = np.empty((len(slots), k))
    for e in range(len(slots)):
        for a in range(k):
            D[e, a] = state.T[kernel, a, slots[e]]
        # Gram-Schmidt, twice for the sake of rounding errors.
        for _ in range(2):
            for d in range(e):
                product = dot(D[d], D[e])
                for a in range(k):
                    D[e, a] -= product * D[d, a]
        scale = 1.0 / math.sqrt(dot(D[e], D[e]))
        for a in range(k):
            D[e, a] *= scale
    return D


@numba.njit(**JIT)
def newton_step(v, scale, slope, bend):
    """Mean and precision of the coefficient of v, by one step of Newton's method from zero."""
    precision = 1.0 + scale * scale * weighted_dot(bend, v, v)
    return scale * dot(v, slope) / precision, precision


@numba.njit(**JIT)
def log_prior_over_proposal(z, mean, precision):
    """Log-ratio of the standard normal density of a coefficient to that of its proposal."""
    return -0.5 * z * z + 0.5 * precision * (z - mean) ** 2 - 0.5 * math.log(precision)


@numba.njit(**JIT)
def _log_ratio(v, scales, group, slope, bend):
    """:func:`log_prior_over_proposal` of all coefficients of a point, (r, q)."""
    total = 0.0
    for d in range(len(group)):
        for j in range(len(v)):
            mean, precision = newton_step(v[j], scales[j], slope[d], bend[d])
            total += log_prior_over_proposal(group[d, j], mean, precision)
    return total


@numba.njit(**JIT)
def _add_point(f, v, scales, group, sign, out):
    """Predictors with a point added (sign 1) or taken away (-1)."""
    for d in range(len(f)):
        changed = out[d]
        changed[:] = f[d]
        for j in range(len(v)):
            factor, column = sign * scales[j] * group[d, j], v[j]
            for i in range(len(changed)):
                changed[i] += factor * column[i]


class Predictor(NamedTuple):
    """Predictors, and what they are made of.

    Attributes
    ----------
    S, f : arrays of shape (r, n)
        Working responses and predictors.
    z : array of shape (r, q, k_max)
        Whitened coefficients.
    weights : array of shape (q,)
        Those of the kernels.
    """

    S: np.ndarray
    f: np.ndarray
    z: np.ndarray
    weights: np.ndarray


@numba.njit(**JIT)
def move_window(state, predictor, response, born, n_deaths, log_prior, rng):
    """Draw the size of the active set from a window.

    The path of predictors from the smallest set of the window to the largest is drawn first:
    downwards from the present one each death takes its coefficients along, upwards coefficients are
    drawn from Newton's Gaussians. Then every size has the weight of its set, coefficients and
    labels, times the probability of having drawn the rest of the path above it.

    Parameters
    ----------
    state : ActiveColumns
        With inverse and response for S and whatever scales; they stay consistent.
    predictor : Predictor
        Updated in place, but for S, which has to be drawn anew afterwards.
    response
        Data of the link.
    born : Candidates
        Inactive points in the order in which they might become active.
    n_deaths : int
        How many sizes of the window lie below the present one.
    log_prior : array of shape (k_max + 1,)
    rng : numpy.random.Generator

    Returns
    -------
    bool
        Whether the size changed.
    """
    S, f, z, scales = predictor
    points, columns, diagonal = born
    r, n = f.shape
    q = len(scales)
    k = state.size[0]
    n_births = len(points)
    path = np.empty((n_deaths + n_births + 1, r, n))
    log_weights = np.empty(n_deaths + n_births + 1)
    slope = np.empty((r, n))
    bend = np.empty((r, n))
    group = np.empty((r, q))
    slots = draw_slots(k, n_deaths, rng)
    log_share = 0.0
    path[n_deaths] = f
    if n_deaths > 0:
        lost = np.empty((n_deaths, q, n))
        along = np.empty((n_deaths, r, q))
        for j in range(q):
            D = directions_of(state, j, slots)
            lost[:, j] = np.dot(D, state.V[j, :k])
            for d in range(r):
                along[:, d, j] = np.dot(D, z[d, j, :k])
        for a in range(n_deaths):
            below = n_deaths - a - 1
            _add_point(path[below + 1], lost[a], scales, along[a], -1.0, path[below])
            log_weights[below] = label_terms(path[below], response, slope, bend)
            log_share -= _log_ratio(lost[a], scales, along[a], slope, bend)
            log_weights[below] += log_share + log_size_weight(log_prior, n, k - a - 1)
    log_weights[n_deaths] = label_terms(f, response, slope, bend)
    log_weights[n_deaths] += log_size_weight(log_prior, n, k)
    proposal = new_proposal(state)
    coordinates = np.empty((n_births, q, state.V.shape[1]))
    pivots = np.empty((n_births, q))
    log_share = 0.0
    for a in range(n_births):
        new_directions(state, points[a], columns[a], diagonal, proposal)
        coordinates[a] = proposal.c
        pivots[a] = proposal.pivots
        for d in range(r):
            for j in range(q):
                mean, precision = newton_step(proposal.v[j], scales[j], slope[d], bend[d])
                group[d, j] = mean + rng.standard_normal() / math.sqrt(precision)
                z[d, j, k + a] = group[d, j]
                log_share += log_prior_over_proposal(group[d, j], mean, precision)
        above = n_deaths + a + 1
        _add_point(path[above - 1], proposal.v, scales, group, 1.0, path[above])
        log_weights[above] = label_terms(path[above], response, slope, bend)
        log_weights[above] += log_share + log_size_weight(log_prior, n, k + a + 1)
        hold(state, proposal)
    let_go(state, k)
    index = draw_index(log_weights, rng)
    new_size = k - n_deaths + index
    f[:] = path[index]
    for a in range(new_size - k):
        proposal.v[:] = state.V[:, k + a]
        proposal.c[:] = coordinates[a]
        proposal.pivots[:] = pivots[a]
        append_held(state, points[a], columns[a], S, proposal)
    remove(state, slots[: max(k - new_size, 0)], z)
    return new_size != k
