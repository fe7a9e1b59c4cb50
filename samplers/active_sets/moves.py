r"""Births, deaths and swaps of active points, given the working response (GKM, step (c)).

Coefficients and offset are integrated out, so a move is accepted by the ratio of the marginal
densities :math:`p(S \mid \gamma)`, of the priors and of the proposal probabilities.

Points to be born come from a list drawn in advance, uniformly from all points; those that are
active already are skipped, which makes the choice uniform among the inactive ones. Their kernel
columns can so be computed together before the compiled code runs. Where the list might not last for
a move of any kind, the caller has to bring a new one before the kind is drawn: who gave up only
those moves that need a point would favour the others.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns.births import append, propose_birth
from bayeskernels.samplers.active_sets.columns.deaths import forget, propose_death, remove_soon
from bayeskernels.samplers.active_sets.columns.proposal import new_proposal
from bayeskernels.samplers.active_sets.columns.waiting import bring_up_to_date, is_full

__all__ = [
    "BIRTH",
    "DEATH",
    "KERNEL",
    "SWAP",
    "WINDOW",
    "Candidates",
    "SizePrior",
    "move_points",
    "move_probabilities",
    "share",
]

#: Rows of the counts of moves: those of points, of the size of the set, and of kernels.
BIRTH, DEATH, SWAP, WINDOW, KERNEL = range(5)


class Candidates(NamedTuple):
    """Points that may be born.

    Attributes
    ----------
    points : array of int
        In the order in which they are proposed.
    columns : array of shape (len(points), q, n)
        Their kernel columns.
    diagonal : array of shape (q, n)
        Kernel values of all points with themselves.
    """

    points: np.ndarray
    columns: np.ndarray
    diagonal: np.ndarray


class SizePrior(NamedTuple):
    """What depends on the number of active points alone: prior, and probabilities of moves.

    Attributes
    ----------
    log_prior : array of shape (k_max + 1,)
        Log-probability of a set by its size.
    birth, death : arrays of shape (k_max + 1,)
        Probabilities of the moves; what is left is for swaps.
    """

    log_prior: np.ndarray
    birth: np.ndarray
    death: np.ndarray


def move_probabilities(n, k_max, birth=0.3, death=0.3):
    """Probabilities of births and deaths by the number of active points, as the paper sets them.

    Parameters
    ----------
    n, k_max : int
    birth, death : float
        Where neither is impossible; what is left is for swaps.

    Returns
    -------
    array of shape (2, k_max + 1)

    Examples
    --------
    >>> move_probabilities(10, 3).tolist()
    [[1.0, 0.3, 0.3, 0.0], [0.0, 0.3, 0.3, 1.0]]
    """
    if not (0 < birth and 0 < death and birth + death <= 1):
        raise ValueError(
            f"birth and death must be positive and at most one together, got {birth} and {death}."
        )
    probabilities = np.empty((2, k_max + 1))
    probabilities[:, :] = [[birth], [death]]
    probabilities[:, 0] = 1.0, 0.0
    probabilities[:, k_max] = 0.0, 1.0
    return probabilities


def share(counts):
    """Accepted of the proposed moves; NaN where none was proposed."""
    proposed, accepted = counts.tolist()
    return accepted / proposed if proposed else np.nan


@numba.njit(**JIT)
def _next_candidate(is_active, pool, used):
    """Index of the next point of the pool that is not active; its length where there is none."""
    while used < len(pool) and is_active[pool[used]]:
        used += 1
    return used


@numba.njit(**JIT)
def _known_products(state, columns):
    """Inner products of points' kernel columns with the rows of each V: (points, q, q, k).

    One matrix product for all points.
    """
    n_points, q, n = columns.shape
    k = state.size[0]
    known = np.empty((n_points, q, q, k))
    for j in range(q):
        product = np.dot(columns.reshape(n_points * q, n), state.V[j, :k].T)
        for a in range(n_points):
            for h in range(q):
                target, values = known[a, h, j], product[a * q + h]
                for e in range(k):
                    target[e] = values[e]
    return known


@numba.njit(**JIT)
def move_points(state, S, pool, used, prior, n_proposals, rng, counts):
    """Propose births, deaths and swaps of single points.

    Parameters
    ----------
    state : ActiveColumns
        Up to date for S.
    S : array of shape (r, n)
    pool : Candidates
    used : int
        How much of the pool has been used.
    prior : SizePrior
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
    n = S.shape[1]
    points, columns, diagonal = pool
    log_prior, birth, death = prior
    proposal = new_proposal(state)
    nothing = np.empty((0, 0, 0))
    known = np.empty((0, 0, 0, 0))
    first_known = 0
    for number in range(n_proposals):
        k = state.size[0]
        candidate = _next_candidate(state.is_active, points, used)
        if candidate == len(points) and k < n:
            bring_up_to_date(state, nothing)
            return candidate, n_proposals - number
        if is_full(state) or candidate >= first_known + len(known):
            # A point of the pool that is passed over because it is active may die and be next.
            bring_up_to_date(state, nothing)
            first_known = used
            wanted = 1 + int((n_proposals - number) * (1.0 - death[k]))
            known = _known_products(state, columns[used : min(candidate + wanted, len(points))])
        level = rng.random()
        kind = BIRTH if level < birth[k] else DEATH if level < birth[k] + death[k] else SWAP
        if kind == SWAP and (k == 0 or k == n):
            continue
        if kind != DEATH:
            used = candidate + 1
        counts[kind, 0] += 1
        log_ratio = 0.0
        slot = -1
        proposal.is_swap[0] = kind == SWAP
        if kind != BIRTH:
            slot = int(rng.random() * k)
            log_ratio += propose_death(state, slot, proposal)
        if kind != DEATH:
            log_ratio += propose_birth(
                state,
                points[candidate],
                columns[candidate],
                known[candidate - first_known],
                diagonal,
                S,
                proposal,
            )
        if kind == BIRTH:
            log_ratio += log_prior[k + 1] - log_prior[k]
            log_ratio += math.log(death[k + 1] * (n - k) / (birth[k] * (k + 1)))
        elif kind == DEATH:
            log_ratio += log_prior[k - 1] - log_prior[k]
            log_ratio += math.log(birth[k - 1] * k / (death[k] * (n - k + 1)))
        if math.log(1.0 - rng.random()) < log_ratio:
            counts[kind, 1] += 1
            if kind == DEATH:
                remove_soon(state, slot, proposal)
                continue
            if kind == SWAP:
                forget(state, slot, proposal)
            append(state, points[candidate], columns[candidate], proposal)
    bring_up_to_date(state, nothing)
    return used, 0
