r"""A ladder of replicas: where its rungs stand, who is on which of them, and their exchange.

Replicas at several powers :math:`\beta` of a density :math:`p_0 e^{-\beta E}` move by whatever
sampler there is, and neighbours exchange their places. On the lowest rung a replica is drawn afresh
in every round, so that whatever gets from there to the highest is a new start: *round trips* count
these. The billiard (:mod:`bayeskernels.samplers.directions.billiards.replicas`) and the powers of a
likelihood (:mod:`bayeskernels.samplers.tempering.power_ladder`) share all of it.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
import scipy

from bayeskernels.samplers.compiled import JIT

__all__ = [
    "Ladder",
    "count_trips",
    "even_rungs",
    "ladder_warning",
    "offer_swap",
    "place_rungs",
    "resample",
]

#: Neighbours that swap less often leave a gap in the ladder.
SMALLEST_SWAP_RATE = 0.1

#: Round trips of each ladder below which the error of the evidence is not to be trusted.
FEWEST_TRIPS = 2


class Ladder(NamedTuple):
    """Places of replicas and what their swaps did; compiled functions change it in place.

    Attributes
    ----------
    at : array of int, shape (n_rungs,)
        The replica on each rung.
    stage : array of int, shape (n_rungs,)
        Of each replica: 0 before it was on the lowest rung, 1 on the way to the highest, 2 on the
        way back.
    swap_sums, swap_counts : arrays of shape (n_rungs - 1,)
        Sums of acceptance probabilities, and proposals.
    trips : array of int, shape (1,)
        From the lowest rung to the highest and back, of all replicas.
    """

    at: np.ndarray
    stage: np.ndarray
    swap_sums: np.ndarray
    swap_counts: np.ndarray
    trips: np.ndarray

    @classmethod
    def of_size(cls, n_rungs):
        """Replica k on rung k."""
        gaps = n_rungs - 1
        return cls(
            np.arange(n_rungs),
            np.zeros(n_rungs, dtype=np.int64),
            np.zeros(gaps),
            np.zeros(gaps, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )

    def forget(self):
        """Set all counters to zero; replicas stay where they are."""
        for counter in self[1:]:
            counter[:] = 0

    @property
    def swap_rates(self):
        """Mean acceptance probabilities of swaps between neighbours, (n_rungs - 1,)."""
        return self.swap_sums / np.maximum(self.swap_counts, 1)

    @property
    def round_trips(self):
        """How often a replica went from the lowest rung to the highest and back."""
        return int(self.trips[0])


@numba.njit(**JIT)
def count_trips(ladder):
    """Note who has come to either end of the ladder."""
    bottom, top = ladder.at[0], ladder.at[-1]
    ladder.trips[0] += ladder.stage[bottom] == 2
    ladder.stage[bottom] = 1
    if ladder.stage[top] == 1:
        ladder.stage[top] = 2


@numba.njit(**JIT)
def offer_swap(ladder, low, gain, level):
    """Swap the replicas on the rungs ``low`` and ``low + 1``, with the Metropolis probability.

    ``gain`` is the log density that both together would gain, ``level`` a uniform random number.
    """
    probability = math.exp(min(0.0, gain))
    ladder.swap_sums[low] += probability
    ladder.swap_counts[low] += 1
    if level < probability:
        ladder.at[low], ladder.at[low + 1] = ladder.at[low + 1], ladder.at[low]


def place_rungs(pilots, *, swap_rate=0.5, n_rungs=None):
    """Powers at which neighbours swap at about a given rate, judged by pilots.

    Parameters
    ----------
    pilots : list of pairs of arrays of shapes (n,) and (n, n_particles)
        Increasing powers, and energies E of particles at each.
    swap_rate : float
    n_rungs : int, optional
        Fixes the number of rungs instead.

    Returns
    -------
    array of shape (n_rungs,)
        At least 3, from the pilots' first power to the least of their last ones.
    """
    measured = []
    for powers, energies in pilots:
        # A swap passes with probability min(1, exp(gap (E_higher - E_lower))): over all pairs.
        gains = np.diff(powers)[:, None, None] * (energies[1:, :, None] - energies[:-1, None, :])
        measured.append((powers, np.exp(np.minimum(gains, 0.0)).mean(axis=(1, 2))))
    if n_rungs is None:
        barrier = np.mean([np.sum(1.0 - rates) for _, rates in measured])
        n_rungs = max(3, int(np.ceil(barrier / (1.0 - swap_rate))) + 1)
    rungs = np.mean([even_rungs(powers, rates, n_rungs) for powers, rates in measured], axis=0)
    rungs[-1] = min(powers[-1] for powers, _ in pilots)
    return rungs


def resample(weights, rng):
    """Systematic resampling: as many indices as there are weights, which sum to one."""
    levels = (rng.random() + np.arange(len(weights))) / len(weights)
    return np.minimum(np.searchsorted(np.cumsum(weights), levels), len(weights) - 1)


def even_rungs(powers, swap_rates, n_rungs=None):
    """Powers at which all neighbours swap equally often, by rates measured at others.

    There are as many as in ``powers``, or ``n_rungs``; first and last stay where they are.

    Examples
    --------
    >>> even_rungs(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5])).tolist()
    [0.0, 0.5, 1.0]
    >>> bool(even_rungs(np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.8]))[1] < 0.5)
    True
    """
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(1.0 - swap_rates, 1e-3))])
    wanted = np.linspace(0.0, barrier[-1], n_rungs or len(powers))
    rungs = scipy.interpolate.PchipInterpolator(barrier, powers)(wanted)
    rungs[0], rungs[-1] = powers[0], powers[-1]
    return rungs


def ladder_warning(swap_rates, round_trips, n_ladders, remedy):
    """What is wrong with a run of some ladders; empty where nothing is.

    ``round_trips`` are those of all ladders; ``remedy`` is for a gap, to be read after "use".

    Examples
    --------
    >>> ladder_warning(np.array([0.5, 0.02]), 40, 2, "more rungs")
    'some neighbours on the ladder swap in 2.0% of the rounds only; use more rungs.'
    >>> ladder_warning(np.array([0.5, 0.5]), 3, 2, "more rungs")
    'replicas made 3 round trips only, so the error may be too small; use more draws.'
    """
    rate = 100 * swap_rates.min()
    if rate < 100 * SMALLEST_SWAP_RATE:
        return (
            f"some neighbours on the ladder swap in {rate:.1f}% of the rounds only; use {remedy}."
        )
    if round_trips < FEWEST_TRIPS * n_ladders:
        return (
            f"replicas made {round_trips} round trips only, so the error may be too small; use "
            "more draws."
        )
    return ""
