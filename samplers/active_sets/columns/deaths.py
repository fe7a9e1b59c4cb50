r"""Deaths of active points.

A death takes away one direction of the space of each kernel's whitened columns, the one that only
the dying point needs. It is left out of all that follows, and of the whitened columns themselves
when they are brought up to date (:mod:`bayeskernels.samplers.active_sets.columns.waiting`).
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns.proposal import eliminate, factorise, new_proposal
from bayeskernels.samplers.active_sets.columns.state import (
    block,
    first,
    stored_rows,
    sum_over_blocks,
)
from bayeskernels.samplers.active_sets.columns.waiting import (
    bring_up_to_date,
    leave_out_dead,
    whiten_entries,
)
from bayeskernels.samplers.compiled import dot

__all__ = ["forget", "propose_death", "remove", "remove_soon"]


@numba.njit(**JIT)
def _find_directions(state, slot, t):
    """Unit vectors t, in V's coordinates, that only the point in ``slot`` needs."""
    n_rows = stored_rows(state)
    for j in range(len(state.V)):
        direction = t[j, :n_rows]
        for a in range(n_rows):
            direction[a] = state.T[j, a, state.column[slot]]
        whiten_entries(state, j, direction)
        # Twice, as rounding errors of what is left out may be large against the rest.
        for _ in range(2):
            leave_out_dead(state, j, direction)
            scale = 1.0 / math.sqrt(dot(direction, direction))
            for a in range(n_rows):
                direction[a] *= scale


@numba.njit(**JIT)
def propose_death(state, slot, proposal):
    """Log-ratio of p(S) without the point in ``slot`` and with it."""
    _find_directions(state, slot, proposal.t)
    n_rows = stored_rows(state)
    q = len(state.V)
    t, x = proposal.t, proposal.x
    share = np.empty((q, q))
    for j in range(q):
        own = first(state, j)
        direction, image, inverse = t[j, :n_rows], x[j], state.inverse
        for h in range(q):
            start, stop = block(state, h, n_rows)
            for a in range(start, stop):
                image[a] = dot(inverse[a, own : own + n_rows], direction)
    for j in range(q):
        for h in range(q):
            own = first(state, h)
            share[j, h] = dot(x[j, own : own + n_rows], t[h, :n_rows])
    factorise(share, proposal.shares, proposal.unit)
    eliminate(x, proposal.unit)
    gain = 0.0
    r = len(state.response)
    for j in range(q):
        gain -= 0.5 * r * math.log(proposal.shares[j])
        for d in range(r):
            lost = sum_over_blocks(state, x[j], state.response[d])
            gain -= 0.5 * lost * lost / proposal.shares[j]
    return gain


@numba.njit(**JIT)
def remove_soon(state, slot, proposal):
    """Make the point in ``slot`` inactive; the rows of V follow when they are brought up to date.

    Its death was proposed last.
    """
    n_rows = stored_rows(state)
    x = proposal.x
    for i in range(len(state.V)):
        top, bottom = block(state, i, n_rows)
        for a in range(top, bottom):
            for j in range(len(state.V)):
                weight = x[j, a] / proposal.shares[j]
                for h in range(len(state.V)):
                    start, stop = block(state, h, n_rows)
                    target, lost = state.inverse[a, start:stop], x[j, start:stop]
                    for e in range(stop - start):
                        target[e] -= weight * lost[e]
    forget(state, slot, proposal)


@numba.njit(**JIT)
def forget(state, slot, proposal):
    """As :func:`remove_soon`, but the inverse has to be updated by a birth that follows at once."""
    k = state.size[0]
    for j in range(len(state.V)):
        for a in range(stored_rows(state)):
            state.dead[j, state.n_dead[0], a] = proposal.t[j, a]
    state.is_active[state.points[slot]] = False
    freed = state.stored[slot]
    for later in range(slot + 1, k):
        state.points[later - 1] = state.points[later]
        state.stored[later - 1] = state.stored[later]
        state.column[later - 1] = state.column[later]
    state.points[k - 1] = -1
    state.stored[k - 1] = freed
    state.n_dead[0] += 1
    state.size[0] = k - 1


@numba.njit(**JIT)
def remove(state, slots, z):
    """Make the points in several slots inactive, and z the coefficients that are left."""
    proposal = new_proposal(state)
    slots = np.sort(slots)
    for a in range(len(slots) - 1, -1, -1):
        if state.n_dead[0] == state.dead.shape[1]:
            bring_up_to_date(state, z)
        propose_death(state, slots[a], proposal)
        remove_soon(state, slots[a], proposal)
    bring_up_to_date(state, z)
