r"""Sequential Monte Carlo over powers of the likelihood (Del Moral, Doucet and Jasra 2006).

Particles are drawn from the prior; the power goes up by steps that leave half of them effective,
then they are resampled and moved by the chain of
:mod:`bayeskernels.samplers.tempering.powered_chain`. This is the pilot that places the rungs of
parallel tempering, and an estimate of the evidence that shares nothing with it but the moves. Its
own error, from one run, would be far too small: repeat it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from bayeskernels.samplers.tempering.ladder import resample
from bayeskernels.samplers.tempering.powered_chain import PoweredChain

__all__ = ["PowerSMC", "power_smc"]


@dataclass(frozen=True)
class PowerSMC:
    """What a run of :func:`power_smc` found.

    Attributes
    ----------
    powers : array of shape (n_powers,)
        From 0 to 1.
    particles : list of list of PoweredState
        At each power, after their moves.
    log_evidence : float
    """

    powers: np.ndarray
    particles: list
    log_evidence: float

    @property
    def energies(self):
        """E of the particles, (n_powers, n_particles)."""
        return np.array([[where.energy for where in cloud] for cloud in self.particles])

    @property
    def levels(self):
        """What :func:`bayeskernels.samplers.tempering.ladder.place_rungs` needs of a pilot."""
        return self.powers, -self.energies


def power_smc(
    target, rng, *, n_particles=300, sweeps=2, share=0.5, keep=True, **options
) -> PowerSMC:
    """Run particles from the prior to the posterior.

    Parameters
    ----------
    target : PoweredTarget
    rng : numpy.random.Generator
    n_particles : int
    sweeps : int
        Sweeps of each particle at each power.
    share : float
        Effective share of the particles after each step of the power.
    keep : bool
        Whether particles of all powers are kept, or only those of the last.
    **options
        Passed to :class:`bayeskernels.samplers.tempering.powered_chain.PoweredChain`.

    Examples
    --------
    >>> from bayeskernels.samplers.tempering.powered_chain import PoweredTarget
    >>> X = np.linspace(-1, 1, 8)
    >>> target = PoweredTarget(X > 0, 4, gram=np.exp(-((X[:, None] - X) ** 2)))
    >>> result = power_smc(target, np.random.default_rng(1), n_particles=50)
    >>> result.powers[0], result.powers[-1], bool(result.log_evidence < 0)
    (np.float64(0.0), np.float64(1.0), True)
    """
    chain = PoweredChain(target, **options)
    cloud = []
    for _ in range(n_particles):
        chain.draw_prior(rng)
        cloud.append(chain.state)
    powers, clouds, log_evidence = [0.0], [cloud], 0.0
    while powers[-1] < 1.0:
        energies = np.array([where.energy for where in cloud])
        power = _next_power(energies, powers[-1], share)
        tilt = (power - powers[-1]) * energies
        log_evidence += logsumexp(tilt) - np.log(n_particles)
        chosen = resample(np.exp(tilt - logsumexp(tilt)), rng)
        moved = []
        for number in chosen:
            chain.place(cloud[number])
            for _ in range(sweeps):
                chain.sweep(power, rng)
            moved.append(chain.state)
        cloud = moved
        powers.append(power)
        clouds = [*clouds, cloud] if keep else [cloud]
    return PowerSMC(np.array(powers), clouds, float(log_evidence))


def _next_power(energies, power, share):
    """Largest power at which that share of the particles is effective."""

    def effective(step):
        tilt = step * energies
        return np.exp(2 * logsumexp(tilt) - logsumexp(2 * tilt)) / len(energies)

    low, high = 0.0, 1.0 - power
    if effective(high) >= share:
        return 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective(middle) >= share else (low, middle)
    # Where no step is small enough, half of the particles share an energy: go on all the same.
    return min(1.0, power + max(low, 1e-12))
