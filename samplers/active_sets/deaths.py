r"""Deaths of active points.

A death takes away one direction of the space of the whitened columns, the one that only the dying
point needs. It is left out of all that follows, and of the whitened columns themselves when they
are brought up to date (:mod:`bayeskernels.samplers.active_sets.waiting_columns`).
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.waiting_columns import (
    bring_up_to_date,
    leave_out_dead,
    stored_rows,
    whiten_entries,
)
from bayeskernels.samplers.compiled import dot

__all__ = ["death_direction", "death_gain", "forget", "remove", "remove_soon"]


@numba.njit(**JIT)
def death_direction(state, slot, t):
    """The array t becomes the unit vector, in V's coordinates, that only one point needs.

    ``slot`` is the place of that point among the active ones.
    """
    n_rows = stored_rows(state)
    for a in range(n_rows):
        t[a] = state.T[a, state.column[slot]]
    t = t[:n_rows]
    whiten_entries(state, t)
    # Twice, as rounding errors of what is left out may be large against the rest.
    for _ in range(2):
        leave_out_dead(state, t)
        scale = 1.0 / math.sqrt(dot(t, t))
        for a in range(n_rows):
            t[a] *= scale


@numba.njit(**JIT)
def death_gain(state, t, x):
    """Log-ratio of p(s) without direction t and with it, and the Schur complement.

    x becomes inverse (0, t).
    """
    size = stored_rows(state) + 1
    t = t[: size - 1]
    for a in range(size):
        x[a] = dot(state.inverse[a, 1:size], t)
    share = dot(x[1:size], t)
    lost = dot(x[:size], state.response[:size])
    return -0.5 * math.log(share) - 0.5 * lost * lost / share, share


@numba.njit(**JIT)
def remove_soon(state, slot, t, x, share):
    """Make the point in ``slot`` inactive; the rows of V follow when they are brought up to date.

    t, x and ``share`` are what :func:`death_direction` and :func:`death_gain` found for it.
    """
    size = stored_rows(state) + 1
    for a in range(size):
        weight = x[a] / share
        for e in range(size):
            state.inverse[a, e] -= weight * x[e]
    forget(state, slot, t)


@numba.njit(**JIT)
def forget(state, slot, t):
    """As :func:`remove_soon`, but the inverse has to be updated by a birth that follows at once."""
    k = state.size[0]
    for a in range(stored_rows(state)):
        state.dead[state.waiting[0], a] = t[a]
    state.is_active[state.points[slot]] = False
    freed = state.stored[slot]
    for q in range(slot + 1, k):
        state.points[q - 1] = state.points[q]
        state.stored[q - 1] = state.stored[q]
        state.column[q - 1] = state.column[q]
    state.points[k - 1] = -1
    state.stored[k - 1] = freed
    state.waiting[0] += 1
    state.size[0] = k - 1


@numba.njit(**JIT)
def remove(state, slots, z):
    """Make the points in several slots inactive, and z the coefficients that are left."""
    t = np.empty(state.dead.shape[1])
    x = np.empty(len(t) + 1)
    slots = np.sort(slots)
    for a in range(len(slots) - 1, -1, -1):
        if state.waiting[0] == len(state.dead):
            bring_up_to_date(state, z)
        death_direction(state, slots[a], t)
        _, share = death_gain(state, t, x)
        remove_soon(state, slots[a], t, x, share)
    bring_up_to_date(state, z)
