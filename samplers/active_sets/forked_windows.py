r"""Births, deaths and swaps of active points under a power of the likelihood, in one move.

A chain at power b has the target :math:`p(\gamma, z, u, g, \eta)\,\prod_i \Phi(\pm f_i)^b` with
:math:`f = u + V z / \sqrt g`; there is no working response, as powers of the probit likelihood have
none. The move is that of :func:`bayeskernels.samplers.active_sets.windows.move_window` with a fork.
From the smallest set of a window of sizes, the *anchor*, two branches of points go up: the one on
which the present set lies, and another with other points. Coefficients that are not there yet are
drawn from the Gaussian that one step of Newton's method finds. Then one of all the sets on both
branches is drawn by its conditional probability, so nothing is rejected: a step up or down a branch
is a birth or a death of several points, a step across is a swap.

Each set has the weight of its prior, coefficients and labels times the probability of drawing the
rest of the fork from it. Seen from the anchor either branch could be the present one, which
doubles the anchor's weight.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.active_sets.columns.births import (
    activate_without_response,
    hold,
    let_go,
    new_directions,
)
from bayeskernels.samplers.active_sets.columns.deaths import remove
from bayeskernels.samplers.active_sets.columns.proposal import new_proposal
from bayeskernels.samplers.active_sets.links.probit import probit_terms
from bayeskernels.samplers.active_sets.windows import (
    directions_of,
    draw_index,
    draw_slots,
    log_prior_over_proposal,
    log_size_weight,
    newton_step,
)
from bayeskernels.samplers.compiled import dot

__all__ = [
    "Fork",
    "PoweredLabels",
    "draw_inactive",
    "draw_window",
    "move_fork",
    "powered_terms",
]


@numba.njit(**JIT)
def powered_terms(f, positive, power, slope, bend):
    """Log-probability of the labels, not yet raised to the power; slope and bend are.

    Proposals only use slope and bend, so they may be cut to what is possible: far in the tail,
    where draws of a heavy-tailed prior lie, the difference of large numbers would leave nothing.
    """
    total = probit_terms(f, positive, slope, bend)
    for i in range(len(f)):
        if not math.fabs(slope[i]) <= math.fabs(f[i]) + 1.0:
            slope[i] = -f[i]
        slope[i] *= power
        bend[i] = power * bend[i] if 0.0 <= bend[i] <= 1.0 else power
    return total


@numba.njit(**JIT)
def draw_window(k, k_max, n, width, rng):
    """Sizes of the anchor and of the largest set, and whether there are points for a fork.

    Widths are random, as narrow windows are cheap and wide ones go far. The window lies around the
    present size k with the same probability as it would be drawn from any other size in it.
    """
    span = int(math.exp(rng.random() * math.log(width + 1.0)))
    low = k - int(rng.random() * (span + 1))
    high = min(low + span, k_max)
    low = max(low, 0)
    return low, high, 2 * (high - low) <= n - low


@numba.njit(**JIT)
def draw_inactive(is_active, wanted, rng):
    """Different inactive points in random order."""
    points = np.flatnonzero(~is_active)
    for a in range(wanted):
        e = a + int(rng.random() * (len(points) - a))
        points[a], points[e] = points[e], points[a]
    return points[:wanted]


@numba.njit(**JIT)
def _direction_on_fork(state, point, column, diagonal, D, other, v):
    """Whitened column v of a point above the anchor; V without directions D, with ``other``."""
    k = state.size[0]
    c = np.empty(k)
    for a in range(k):
        c[a] = state.V[0, a, point]
    for d in range(len(D)):
        along = dot(c, D[d])
        for a in range(k):
            c[a] -= along * D[d, a]
    left = diagonal * (1.0 + ACTIVE_JITTER) - dot(c, c)
    known = np.dot(c, state.V[0, :k])
    for d in range(len(other)):
        share = other[d, point]
        left -= share * share
        for i in range(len(v)):
            known[i] += share * other[d, i]
    scale = 1.0 / math.sqrt(max(left, diagonal * ACTIVE_JITTER))
    for i in range(len(v)):
        v[i] = (column[i] - known[i]) * scale


class PoweredLabels(NamedTuple):
    """Labels of a probit model, the power of their likelihood, and the prior of sets by size.

    Attributes
    ----------
    positive : array of bool, shape (n,)
    power : float
    log_prior : array of shape (k_max + 1,)
    """

    positive: np.ndarray
    power: float
    log_prior: np.ndarray


class Fork(NamedTuple):
    """Where a fork lies, and the points on it.

    Attributes
    ----------
    low, high : int
        Sizes of the anchor and of the largest sets, around the present one.
    is_forked : bool
        Whether there is a second branch.
    points : array of int
        Inactive points in random order: those to come on the present branch, then those of the
        other one.
    columns : array of shape (n_columns, 1, n)
    rows : array of int
        Where in ``columns`` the kernel columns of the points are.
    diagonal : array of shape (1, n)
    """

    low: int
    high: int
    is_forked: bool
    points: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    diagonal: np.ndarray


@numba.njit(**JIT)
def move_fork(state, f, z, g, labels, fork, rng):
    """Draw the active set from a fork.

    Parameters
    ----------
    state : ActiveColumns
        Only its points and whitened columns are used.
    f : array of shape (n,)
        Predictor, updated in place.
    z : array of shape (1, 1, k_max)
        Whitened coefficients, updated in place.
    g : float
    labels : PoweredLabels
    fork : Fork
    rng : numpy.random.Generator

    Returns
    -------
    int
        0 where the set stayed, 1 after births or deaths, 2 after a step across.
    """
    positive, power, log_prior = labels
    low, high, is_forked, candidates, columns, rows, diagonal = fork
    n = len(f)
    k = state.size[0]
    scale = 1.0 / math.sqrt(g)
    n_deaths = k - low
    n_births = high - k
    span = high - low
    n_other = span if is_forked else 0
    path = np.empty((span + n_other + 1, n))
    log_weights = np.empty(span + n_other + 1)
    log_ratio = np.zeros(span + n_other + 1)
    slope = np.empty(n)
    bend = np.empty(n)
    at_anchor = np.empty(n)
    bend_at_anchor = np.empty(n)
    v = np.empty(n)
    path[n_deaths] = f
    slots = draw_slots(k, n_deaths, rng)
    D = np.empty((0, k))
    if n_deaths > 0:
        D = directions_of(state, 0, slots)
        lost = np.dot(D, state.V[0, :k])
        along = np.dot(D, z[0, 0, :k])
        # Downwards: what is lost with each death, and what its birth would have drawn.
        for a in range(n_deaths):
            j = n_deaths - a - 1
            for i in range(n):
                path[j, i] = path[j + 1, i] - scale * along[a] * lost[a, i]
            log_weights[j] = power * powered_terms(path[j], positive, power, slope, bend)
            mean, precision = newton_step(lost[a], scale, slope, bend)
            log_ratio[j + 1] = log_prior_over_proposal(along[a], mean, precision)
            if j == 0:
                at_anchor[:] = slope
                bend_at_anchor[:] = bend
        for j in range(1, n_deaths + 1):
            log_ratio[j] += log_ratio[j - 1]
    log_weights[n_deaths] = power * powered_terms(f, positive, power, slope, bend)
    if n_deaths == 0:
        at_anchor[:] = slope
        bend_at_anchor[:] = bend
    # Upwards on the present branch.
    proposal = new_proposal(state)
    new = np.empty(n_births + n_other)
    for a in range(n_births):
        new_directions(state, candidates[a], columns[rows[a]], diagonal, proposal)
        hold(state, proposal)
        row = state.V[0, k + a]
        mean, precision = newton_step(row, scale, slope, bend)
        new[a] = mean + rng.standard_normal() / math.sqrt(precision)
        j = n_deaths + a + 1
        for i in range(n):
            path[j, i] = path[j - 1, i] + scale * new[a] * row[i]
        log_weights[j] = power * powered_terms(path[j], positive, power, slope, bend)
        log_ratio[j] = log_ratio[j - 1] + log_prior_over_proposal(new[a], mean, precision)
    let_go(state, k)
    # Upwards on the other one.
    other = np.empty((n_other, n))
    for a in range(n_other):
        point = candidates[n_births + a]
        if a == 0:
            slope[:] = at_anchor
            bend[:] = bend_at_anchor
        column = columns[rows[n_births + a], 0]
        _direction_on_fork(state, point, column, diagonal[0, point], D, other[:a], v)
        other[a] = v
        mean, precision = newton_step(v, scale, slope, bend)
        drawn = mean + rng.standard_normal() / math.sqrt(precision)
        new[n_births + a] = drawn
        j = span + a + 1
        below = 0 if a == 0 else j - 1
        for i in range(n):
            path[j, i] = path[below, i] + scale * drawn * v[i]
        log_weights[j] = power * powered_terms(path[j], positive, power, slope, bend)
        log_ratio[j] = log_ratio[below] + log_prior_over_proposal(drawn, mean, precision)
    for j in range(span + n_other + 1):
        size = low + j if j <= span else low + j - span
        log_weights[j] += log_ratio[j] + log_size_weight(log_prior, n, size)
    if n_other > 0:
        log_weights[0] += math.log(2.0)
    chosen = draw_index(log_weights, rng)
    f[:] = path[chosen]
    is_across = chosen > span
    n_lost = n_deaths if is_across else max(n_deaths - chosen, 0)
    remove(state, slots[:n_lost], z)
    n_new = chosen - span if is_across else max(chosen - n_deaths, 0)
    first = n_births if is_across else 0
    for a in range(first, first + n_new):
        z[0, 0, state.size[0]] = new[a]
        activate_without_response(state, candidates[a], columns[rows[a]], diagonal, proposal)
    return 2 if is_across else 1 if chosen != n_deaths else 0
