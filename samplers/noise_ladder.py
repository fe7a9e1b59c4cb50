r"""Replicas of a classifier at several prices of an error, from the prior down to few errors.

Under label noise the posterior of the direction is the prior times :math:`e^{-\beta E}`, where E
counts the training errors and :math:`\beta = \log((1-q)/q)` is what one of them costs. A ladder
holds one replica at each of several :math:`\beta`, from 0 up: each moves by the refractive billiard
(:mod:`bayeskernels.samplers.refractive_billiard`), whose walls are :math:`\beta` times as high as
at 1, and neighbours exchange their places. At 0 a replica is drawn afresh from the prior in every
round, so that whatever comes down to few errors is a new start: *round trips* count these.

Nothing but the outputs at the walls is carried along. They could drift from the space of outputs by
rounding errors, but a trajectory takes only a share :math:`\cos T` of them over from the one before
and the rest from its fresh velocity, so errors die out.
"""

from dataclasses import dataclass, field

import numba
import numpy as np

from bayeskernels.samplers.block_draws import outputs_at
from bayeskernels.samplers.power_ladder import even_rungs
from bayeskernels.samplers.refractive_billiard import MAX_EVENTS
from bayeskernels.samplers.wall_dynamics import fly, wall_gram

__all__ = ["Descent", "ErrorLandscape", "LadderRun", "NoiseLadder", "descend", "rungs_of"]

_JIT = {"cache": True, "nogil": True, "error_model": "numpy"}

#: Trajectories last a time drawn from this interval; see RefractiveBilliard.
DURATION = (1.2, 1.9)

#: Numbers that the velocities of one block of rounds may take up.
BLOCK_NUMBERS = 200_000

#: Largest beta; errors that are made there are made everywhere.
COLDEST = 30.0


@dataclass(frozen=True)
class ErrorLandscape:
    """What errors cost on either side of each wall, at beta = 1.

    Attributes
    ----------
    normals : array of shape (n_walls, r)
        Unit normals.
    costs : array of shape (2, n_walls)
        Cost above (output > 0) and below each wall. Counts of errors where all cost the same.
    constant : float
        Cost everywhere.
    gram : array of shape (n_walls, n_walls)
        Gram matrix of the normals; empty where it would not fit.
    """

    normals: np.ndarray
    costs: np.ndarray
    constant: float
    gram: np.ndarray = field(repr=False)

    @classmethod
    def from_geometry(cls, geometry, costs):
        """Put the costs of the errors of single points on the walls of a ``WallGeometry``."""
        walls = geometry.with_costs(np.ones(len(costs)))
        if np.all(np.asarray(costs) == 1.0):
            return cls(
                walls.normals,
                walls.errors.astype(np.float64),
                float(walls.constant_errors),
                wall_gram(walls.normals),
            )
        n_walls = len(geometry.normals)
        on_wall = geometry.wall_of_point >= 0
        wall, side = geometry.wall_of_point[on_wall], geometry.right_side[on_wall]
        above, below = (
            np.bincount(wall, (side == wrong) * np.asarray(costs)[on_wall], minlength=n_walls)
            for wrong in (-1.0, 1.0)
        )
        constant = float(np.asarray(costs)[~on_wall].sum())
        return cls(
            geometry.normals, np.array([above, below]), constant, wall_gram(geometry.normals)
        )

    @property
    def jumps(self):
        """Cost below less cost above each wall, (n_walls,)."""
        return self.costs[1] - self.costs[0]

    def energies(self, outputs):
        """Cost at the outputs of the walls (last axis)."""
        return np.where(outputs > 0, self.costs[0], self.costs[1]).sum(axis=-1) + self.constant

    def draw_outputs(self, rng, n):
        """Outputs of n standard normal vectors, (n, n_walls): positions of the prior, or speeds."""
        return outputs_at(rng.standard_normal((n, self.normals.shape[1])), self.normals)


@numba.njit(**_JIT)
def _energy(f, costs, constant):
    total = constant
    for j in range(f.shape[0]):
        total += costs[0, j] if f[j] > 0.0 else costs[1, j]
    return total


@numba.njit(**_JIT)
def _fly_all(f, velocities, durations, beta, normals, gram, costs, max_events):
    """One trajectory of every row of f at one beta, in place. Returns events and given-up ones."""
    n_walls = f.shape[1]
    kicks = np.empty((3, n_walls))
    cotangents = np.empty(n_walls)
    start = np.empty(n_walls)
    jumps = beta * (costs[1] - costs[0])
    counts = np.zeros(2, dtype=np.int64)
    for i in range(f.shape[0]):
        start[:] = f[i]
        events, _ = fly(
            f[i],
            velocities[i].copy(),
            normals,
            gram,
            jumps,
            durations[i],
            max_events,
            kicks,
            cotangents,
        )
        if events < 0:
            f[i] = start
            counts[1] += 1
            events = max_events
        counts[0] += events
    return counts


@numba.njit(**_JIT)
def _rounds(
    f, at, stage, parity, betas, velocities, durations, levels, normals, gram, costs, constant,
    max_events, energies, swap_sums, swap_counts,
):  # fmt: skip
    """Rounds of moves and swaps, one for each row of ``energies``, which is filled.

    ``f`` (n_rungs, n_walls) are the outputs of the replicas, ``at`` the replica of each rung; a
    replica's ``stage`` is 0 before it was at the prior, 1 on the way to the cold end, 2 on the way
    back. ``levels`` are uniform numbers that decide the swaps. All are updated in place. Returns
    parity, round trips, events, trajectories given up.
    """
    n_rounds, n_rungs = energies.shape
    trips = 0
    events = 0
    capped = 0
    for t in range(n_rounds):
        for k in range(n_rungs):
            replica = at[k]
            if k == 0:
                f[replica] = velocities[t, 0]
            else:
                counts = _fly_all(
                    f[replica : replica + 1], velocities[t, k : k + 1], durations[t, k : k + 1],
                    betas[k], normals, gram, costs, max_events,
                )  # fmt: skip
                events += counts[0]
                capped += counts[1]
            energies[t, k] = _energy(f[replica], costs, constant)
        bottom, top = at[0], at[n_rungs - 1]
        trips += stage[bottom] == 2
        stage[bottom] = 1
        if stage[top] == 1:
            stage[top] = 2
        for low in range(parity, n_rungs - 1, 2):
            gain = (betas[low + 1] - betas[low]) * (energies[t, low + 1] - energies[t, low])
            probability = np.exp(min(0.0, gain))
            swap_sums[low] += probability
            swap_counts[low] += 1
            if levels[t, low] < probability:
                at[low], at[low + 1] = at[low + 1], at[low]
        parity = 1 - parity
    return parity, trips, events, capped


@dataclass(frozen=True)
class Descent:
    """A pilot: particles that went down from the prior, beta by beta.

    Attributes
    ----------
    betas : array of shape (n,)
    energies : array of shape (n, n_particles)
        After the moves at each beta.
    outputs : list of arrays of shape (n_particles, n_walls)
    log_ratios : array of shape (n,)
        Rough log E_prior[exp(-beta E)].
    is_saturated : bool
        Whether hardly anything is left to gain at larger beta.
    events : int
    """

    betas: np.ndarray
    energies: np.ndarray
    outputs: list
    log_ratios: np.ndarray
    is_saturated: bool
    events: int


def descend(landscape, rng, is_enough, *, particles=48, sweeps=4, step=1.0, end=None):
    """Lower particles from the prior by sequential Monte Carlo, to place the rungs of a ladder.

    Parameters
    ----------
    landscape : ErrorLandscape
    rng : numpy.random.Generator
    is_enough : callable
        Of the arrays of betas and log-ratios so far: whether to stop at the last.
    particles, sweeps : int
        Particles, and trajectories of each at each beta.
    step : float
        Standard deviations of the energy from one beta to the next.
    end : float, optional
        A beta that must be among them, e.g. the last.

    Returns
    -------
    Descent
    """
    f = landscape.draw_outputs(rng, particles)
    energy = landscape.energies(f)
    betas, energies, outputs, log_ratios = [0.0], [energy], [f.copy()], [0.0]
    spread_scale = max(1.0, np.abs(landscape.jumps).max(initial=0.0)) * 0.25
    events = 0
    while True:
        beta = betas[-1]
        # Few particles may by chance agree: no step is longer than four spreads of a single wall.
        spread = max(energies[-1].std(), spread_scale)
        excess = energies[-1].mean() - energies[-1].min()
        is_saturated = beta >= COLDEST or (beta > 0 and excess < 0.02 * spread_scale)
        if is_saturated or is_enough(np.array(betas), np.array(log_ratios)):
            break
        gap = step / spread
        if end is not None and beta < end <= beta + 1.3 * gap:
            gap = end - beta
        tilts = -gap * energies[-1]
        log_ratios.append(log_ratios[-1] + np.logaddexp.reduce(tilts) - np.log(particles))
        weights = np.exp(tilts - tilts.max())
        positions = (rng.random() + np.arange(particles)) / particles
        chosen = np.searchsorted(np.cumsum(weights / weights.sum()), positions)
        f = f[np.minimum(chosen, particles - 1)]
        for _ in range(sweeps):
            counts = _fly_all(
                f,
                landscape.draw_outputs(rng, particles),
                rng.uniform(*DURATION, particles),
                beta + gap,
                landscape.normals,
                landscape.gram,
                landscape.costs,
                MAX_EVENTS,
            )
            events += int(counts[0])
        betas.append(beta + gap)
        energies.append(landscape.energies(f))
        outputs.append(f.copy())
    return Descent(
        np.array(betas), np.array(energies), outputs, np.array(log_ratios), is_saturated, events
    )


def rungs_of(descents, *, swap_rate=0.5):
    """Betas at which neighbours swap at about a given rate, judged by pilots.

    Parameters
    ----------
    descents : list of Descent
    swap_rate : float

    Returns
    -------
    array of shape (n_rungs,)
        At least 3.
    """
    end = min(descent.betas[-1] for descent in descents)
    ladders = []
    for descent in descents:
        # A swap passes with probability min(1, exp(gap (E_colder - E_hotter))): over all pairs.
        differences = descent.energies[1:, :, None] - descent.energies[:-1, None, :]
        gains = np.diff(descent.betas)[:, None, None] * differences
        ladders.append((descent.betas, np.exp(np.minimum(gains, 0.0)).mean(axis=(1, 2))))
    barrier = np.mean([np.sum(1.0 - rates) for _, rates in ladders])
    n_rungs = max(3, int(np.ceil(barrier / (1.0 - swap_rate))) + 1)
    rungs = np.mean([even_rungs(betas, rates, n_rungs) for betas, rates in ladders], axis=0)
    rungs[-1] = end
    return rungs


@dataclass(frozen=True)
class LadderRun:
    """What a ladder did.

    Attributes
    ----------
    energies : array of shape (n_rounds, n_rungs)
        Cost of the errors on each rung after the moves of each round.
    swap_rates : array of shape (n_rungs - 1,)
        Mean acceptance probabilities of swaps between neighbours.
    round_trips : int
        How often a replica went from the prior to the cold end and back.
    events, capped : int
        Walls met; trajectories given up because they met too many.
    """

    energies: np.ndarray
    swap_rates: np.ndarray
    round_trips: int
    events: int
    capped: int


class NoiseLadder:
    """Replicas on a ladder of prices of an error.

    Parameters
    ----------
    landscape : ErrorLandscape
    betas : array of shape (n_rungs,)
        Increasing from 0.
    outputs : array of shape (n_rungs, n_walls)
        Where the replicas start.
    max_events : int
        Trajectories that meet more walls are given up: the replica stays where it was, which is
        exact because the reverse trajectory would meet as many.

    Examples
    --------
    Outputs of orthogonal points are independent: at beta each is an error with probability q.

    >>> import numpy as np
    >>> from bayeskernels.samplers.walls import WallGeometry
    >>> geometry = WallGeometry.from_features(np.eye(4), np.ones(4, dtype=bool))
    >>> landscape = ErrorLandscape.from_geometry(geometry, np.ones(4))
    >>> rng = np.random.default_rng(1)
    >>> ladder = NoiseLadder(landscape, [0.0, np.log(9)], landscape.draw_outputs(rng, 2))
    >>> run = ladder.run(rng, 4000)
    >>> run.energies.mean(axis=0).round(1).tolist()
    [2.0, 0.4]
    """

    def __init__(self, landscape, betas, outputs, *, max_events=MAX_EVENTS):
        self.landscape = landscape
        self.betas = np.array(betas, dtype=np.float64)
        self.f = np.array(outputs, dtype=np.float64)
        self.max_events = max_events
        self.at = np.arange(len(self.betas))
        self.parity = 0

    @classmethod
    def from_descent(cls, landscape, betas, descent, rng):
        """Set every replica down where a pilot was at about its beta."""
        numbers = np.searchsorted(descent.betas, betas, side="right") - 1
        particles = rng.integers(descent.energies.shape[1], size=len(betas))
        outputs = [descent.outputs[k][i] for k, i in zip(numbers, particles, strict=True)]
        return cls(landscape, betas, outputs)

    def run(self, rng, n_rounds, on_block=None):
        """Move all replicas and propose swaps of neighbours, ``n_rounds`` times.

        Returns
        -------
        LadderRun
        """
        landscape = self.landscape
        n_rungs, n_walls = self.f.shape
        stage = np.zeros(n_rungs, dtype=np.int64)
        swap_sums, swap_counts = np.zeros(n_rungs - 1), np.zeros(n_rungs - 1, dtype=np.int64)
        energies = np.empty((n_rounds, n_rungs))
        block = int(np.clip(BLOCK_NUMBERS // max(n_rungs * n_walls, 1), 1, 256))
        totals = np.zeros(3, dtype=np.int64)
        for start in range(0, n_rounds, block):
            part = energies[start : start + block]
            speeds = landscape.draw_outputs(rng, part.size).reshape(*part.shape, n_walls)
            self.parity, *counts = _rounds(
                self.f,
                self.at,
                stage,
                self.parity,
                self.betas,
                speeds,
                rng.uniform(*DURATION, part.shape),
                rng.random(part.shape),
                landscape.normals,
                landscape.gram,
                landscape.costs,
                landscape.constant,
                self.max_events,
                part,
                swap_sums,
                swap_counts,
            )
            totals += counts
            if on_block is not None:
                on_block(len(part))
        rates = swap_sums / np.maximum(swap_counts, 1)
        trips, events, capped = (int(total) for total in totals)
        return LadderRun(energies, rates, trips, events, capped)
