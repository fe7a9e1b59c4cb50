r"""Replicas of a chain at powers of the likelihood from 0 to 1 that exchange their places.

At power 0 a replica is redrawn from the prior in every round, so whatever climbs from there to
power 1 is a fresh start that has been cooled: *round trips* count how often that happened.
Neighbours are proposed to swap alternately on even and odd rungs (Okabe et al. 2001; Syed et al.
2022), which carries replicas through the ladder rather than letting them diffuse.
"""

import numpy as np

from bayeskernels.samplers.tempering.power_smc import robust_spread
from bayeskernels.samplers.tempering.powered_chain import PoweredChain
from bayeskernels.samplers.tempering.powered_coefficients import G

__all__ = ["PowerLadder", "largest_jump", "rungs_from_pilot"]

#: Over fewer rounds a jump of log g cannot be told from noise.
FEWEST_ROUNDS = 20


def rungs_from_pilot(pilot, *, step=1.0, n_rungs=None):
    """Powers at equal steps of the energy's spread.

    Parameters
    ----------
    pilot : PowerSMC
    step : float
        Standard deviations of the energy between neighbours; 1 lets about half of the swaps
        pass.
    n_rungs : int, optional
        Fixes the number of rungs instead.

    Returns
    -------
    array of shape (n_rungs,)
        From 0 to 1.
    """
    spread = np.maximum(robust_spread(pilot.energies), 1e-3)
    # One over the spread is nearly linear in the power, as it is where draws adapt to it.
    powers = np.unique(
        np.concatenate(
            [
                np.linspace(low, high, 33)
                for low, high in zip(pilot.powers[:-1], pilot.powers[1:], strict=True)
            ]
        )
    )
    density = 1.0 / np.interp(powers, pilot.powers, 1.0 / spread)
    lengths = np.diff(powers) * 0.5 * (density[1:] + density[:-1])
    length = np.concatenate([[0.0], np.cumsum(lengths)])
    if n_rungs is None:
        n_rungs = max(3, int(np.ceil(length[-1] / step)) + 1)
    rungs = np.interp(np.linspace(0.0, length[-1], n_rungs), length, powers)
    rungs[0], rungs[-1] = 0.0, 1.0
    return rungs


def largest_jump(values):
    """Largest change of a quantity's mean from one rung to the next, in standard deviations.

    Neighbours a standard deviation of the energy apart differ by one or two of whatever follows
    the energy. Where a path has a first-order transition, the rungs on either side of it are
    concentrated on different phases, and the smaller of their standard deviations says so.

    Parameters
    ----------
    values : array of shape (n_rounds, n_rungs)

    Returns
    -------
    float
        0 where there are too few rounds to tell.

    Examples
    --------
    >>> import numpy as np
    >>> waves = np.sin(np.arange(40.0))[:, None]
    >>> smooth, broken = largest_jump(waves + [0, 1, 2]), largest_jump(waves + [0, 1, 7])
    >>> round(smooth, 1), round(broken, 1)
    (1.4, 8.5)
    """
    values = np.asarray(values)
    if len(values) < FEWEST_ROUNDS:
        return 0.0
    spread = values.std(axis=0)
    smaller = np.maximum(np.minimum(spread[1:], spread[:-1]), 1e-12)
    return float((np.abs(np.diff(values.mean(axis=0))) / smaller).max())


class PowerLadder:
    """Replicas on a ladder of powers.

    Parameters
    ----------
    target : PoweredTarget
    powers : array of shape (n_rungs,)
        From 0 to 1.
    **options
        Passed to :class:`bayeskernels.samplers.tempering.powered_chain.PoweredChain`.

    Attributes
    ----------
    replicas : list of PoweredChain
    at : array of int, shape (n_rungs,)
        Which replica is on each rung.
    energies : array of shape (n_rungs,)
        Those of the rungs after the last round, before its swaps.
    log_g : array of shape (n_rungs,)
        Logarithms of g at the same time.
    swap_sums, swap_counts : arrays of shape (n_rungs - 1,)
        Sums of acceptance probabilities, and how many.
    round_trips : int
        From power 0 to 1 and back again, of all replicas.
    """

    def __init__(self, target, powers, **options):
        self.target = target
        self.powers = np.array(powers, dtype=np.float64)
        self.replicas = [PoweredChain(target, **options) for _ in self.powers]
        self.at = np.arange(len(self.powers))
        self.energies = np.zeros(len(self.powers))
        self.log_g = np.zeros(len(self.powers))
        self.parity = 0
        self.forget()

    def forget(self):
        """Set counters to zero."""
        self.swap_sums = np.zeros(len(self.powers) - 1)
        self.swap_counts = np.zeros(len(self.powers) - 1, dtype=np.int64)
        self.round_trips = 0
        #: 0: was never at power 0; 1: on the way up; 2: on the way down.
        self.stage = np.zeros(len(self.powers), dtype=np.int64)
        for replica in self.replicas:
            replica.counts[:] = 0
            replica.window_counts[:] = 0

    def start(self, pilot, rng):
        """Set every replica down where a pilot was at about its power."""
        for rung, power in enumerate(self.powers):
            number = np.searchsorted(pilot.powers, power, side="right") - 1
            cloud = pilot.particles[number]
            self.replicas[self.at[rung]].place(cloud[rng.integers(len(cloud))])

    def round(self, rng):
        """Move every replica, then propose swaps of neighbours."""
        for rung, power in enumerate(self.powers):
            replica = self.replicas[self.at[rung]]
            if power == 0.0:
                replica.draw_prior(rng)
            else:
                replica.sweep(power, rng)
            self.energies[rung] = replica.energy
            self.log_g[rung] = np.log(replica.scalars[G])
        self._count_trips()
        now = self.energies.copy()
        for low in range(self.parity, len(self.powers) - 1, 2):
            gap = self.powers[low + 1] - self.powers[low]
            log_ratio = gap * (now[low] - now[low + 1])
            self.swap_sums[low] += np.exp(min(0.0, log_ratio))
            self.swap_counts[low] += 1
            if np.log(1.0 - rng.random()) < log_ratio:
                self.at[[low, low + 1]] = self.at[[low + 1, low]]
        self.parity = 1 - self.parity

    def _count_trips(self):
        bottom, top = self.at[0], self.at[-1]
        self.round_trips += int(self.stage[bottom] == 2)
        self.stage[bottom] = 1
        if self.stage[top] == 1:
            self.stage[top] = 2

    @property
    def swap_rates(self):
        """Mean acceptance probabilities of the swaps, (n_rungs - 1,)."""
        return self.swap_sums / np.maximum(self.swap_counts, 1)

    @property
    def coldest(self):
        """The replica at power 1 as it was moved last.

        Valid after :meth:`round`: swaps at the end of a round leave the target, too.
        """
        return self.replicas[self.at[-1]]
