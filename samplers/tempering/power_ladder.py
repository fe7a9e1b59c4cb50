r"""Replicas of a chain at powers of the likelihood from 0 to 1 that exchange their places.

At power 0 a replica is redrawn from the prior in every round, so whatever climbs from there to
power 1 is a fresh start that has been cooled: *round trips* count how often that happened.
Neighbours are proposed to swap alternately on even and odd rungs (Okabe et al. 2001; Syed et al.
2022), which carries replicas through the ladder rather than letting them diffuse.
"""

import numpy as np

from bayeskernels.samplers.tempering.ladder import Ladder, count_trips, offer_swap
from bayeskernels.samplers.tempering.powered_chain import PoweredChain
from bayeskernels.samplers.tempering.powered_coefficients import G

__all__ = ["PowerLadder", "largest_jump"]

#: Over fewer rounds a jump of log g cannot be told from noise.
FEWEST_ROUNDS = 20


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
    places : Ladder
        Which replica is on each rung, swaps and round trips.
    energies : array of shape (n_rungs,)
        Those of the rungs after the last round, before its swaps.
    log_g : array of shape (n_rungs,)
        Logarithms of g at the same time.
    """

    def __init__(self, target, powers, **options):
        self.target = target
        self.powers = np.array(powers, dtype=np.float64)
        self.replicas = [PoweredChain(target, **options) for _ in self.powers]
        self.places = Ladder.of_size(len(self.powers))
        self.energies = np.zeros(len(self.powers))
        self.log_g = np.zeros(len(self.powers))
        self.parity = 0
        self.forget()

    def forget(self):
        """Set counters to zero."""
        self.places.forget()
        for replica in self.replicas:
            replica.counts[:] = 0
            replica.window_counts[:] = 0

    def start(self, pilot, rng):
        """Set every replica down where a pilot was at about its power."""
        for rung, power in enumerate(self.powers):
            number = np.searchsorted(pilot.powers, power, side="right") - 1
            cloud = pilot.particles[number]
            self.replicas[self.places.at[rung]].place(cloud[rng.integers(len(cloud))])

    def round(self, rng):
        """Move every replica, then propose swaps of neighbours."""
        for rung, power in enumerate(self.powers):
            replica = self.replicas[self.places.at[rung]]
            if power == 0.0:
                replica.draw_prior(rng)
            else:
                replica.sweep(power, rng)
            self.energies[rung] = replica.energy
            self.log_g[rung] = np.log(replica.scalars[G])
        count_trips(self.places)
        now = self.energies
        for low in range(self.parity, len(self.powers) - 1, 2):
            gap = self.powers[low + 1] - self.powers[low]
            offer_swap(self.places, low, gap * (now[low] - now[low + 1]), 1.0 - rng.random())
        self.parity = 1 - self.parity

    @property
    def coldest(self):
        """The replica at power 1 as it was moved last.

        Valid after :meth:`round`: swaps at the end of a round leave the target, too.
        """
        return self.replicas[self.places.at[-1]]
