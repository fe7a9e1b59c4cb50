"""Parallel tempering of generalized kernel models over powers of their likelihood, with evidence.

A runner beside ``pm.sample``: the chains are in
:mod:`bayeskernels.samplers.tempering.powered_chain`, their exchange in
:mod:`bayeskernels.samplers.tempering.power_ladder`, the evidence in
:mod:`bayeskernels.samplers.tempering.energy_reweighting`.
"""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from pymc.util import get_random_generator
from rich.progress import Progress
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from threadpoolctl import threadpool_limits

from bayeskernels.samplers.tempering.energy_reweighting import normalizer_with_error
from bayeskernels.samplers.tempering.ladder import even_rungs, ladder_warning, place_rungs
from bayeskernels.samplers.tempering.power_ladder import PowerLadder, largest_jump
from bayeskernels.samplers.tempering.power_smc import power_smc
from bayeskernels.samplers.tempering.tempered_model import draws_to_posterior, read_target

__all__ = ["PowerTempering", "TemperedDraws"]

_log = logging.getLogger(__name__)

#: The prior path is left where neighbours swap less often while tuning, or where the mean of log g
#: changes by more standard deviations from one rung to the next. Of rungs that are placed for half
#: of the swaps to pass, waveform (n = 300) has 0.33 and 1.9, ringnorm 0.09 and 2.8.
SWITCH_SWAP_RATE, SWITCH_JUMP = 0.15, 2.3

_PATHS = ("auto", "prior", "reference")


@dataclass(frozen=True)
class TemperedDraws:
    """Draws of the posterior and the evidence, from one run of parallel tempering.

    Attributes
    ----------
    idata : DataTree
        Groups ``posterior`` with the variables that ``pm.sample`` gives, ``sample_stats``
        (``tempering_active``, ``tempering_log_likelihood``), and ``tempering``: the energy of
        every rung after every round, powers, swap rates, round trips.
    log_evidence : float
        Logarithm of p(y). The prior of active sets is normalised on those allowed.
    mcse : float
        Its Monte Carlo error. Where round trips are few, it is too small.
    powers : array of shape (n_rungs,)
    swap_rates : array of shape (n_rungs - 1,)
        Mean acceptance probabilities of swaps between neighbours.
    round_trips : array of int, shape (n_chains,)
        How often a replica went from the prior to the posterior and back, in each ladder.
    path : {"prior", "reference"}
        What the likelihood's power starts from.
    warning : str
        What is wrong with the run; empty where nothing is.
    """

    idata: xr.DataTree = field(repr=False)
    log_evidence: float
    mcse: float
    powers: np.ndarray = field(repr=False)
    swap_rates: np.ndarray = field(repr=False)
    round_trips: np.ndarray
    path: str
    warning: str = ""

    @property
    def smallest_swap_rate(self):
        """Smallest of :attr:`swap_rates`: below 0.1 there is a gap in the ladder."""
        return float(self.swap_rates.min())


class PowerTempering:
    r"""Parallel tempering of a generalized kernel model over powers of its likelihood.

    Replicas of a chain sample :math:`p(\theta) p(y \mid \theta)^b` at powers b from 0, where they
    are redrawn from the prior, to 1, and exchange their places. The replica at 1 samples the
    posterior; the energies of all give the evidence. A short run of sequential Monte Carlo places
    the rungs, which are then evened out by the swap rates measured while tuning.

    Some posteriors have a first-order transition on that way (on ringnorm the precision g jumps),
    which shows in swaps that are hardly ever accepted, and in g itself. Priors of g and eta then
    move along, from Gamma distributions fitted to draws of the pilot to the true ones.

    Parameters
    ----------
    model : pm.Model
        From :func:`bayeskernels.models.generalized_kernel_model` or
        :func:`bayeskernels.models.sparse_gp_classifier`: probit link, sparse, precisions fixed or
        with Gamma priors.
    rungs : int, optional
        Number of powers, at least 3. By default as many as let about half of the swaps pass.
    path : {"auto", "prior", "reference"}
        ``auto`` starts with the prior and changes to the reference where, while tuning, the
        smallest swap rate is below 0.15 or g jumps from one rung to the next.
    windows : int, default 3
        Moves of the active set in each sweep.
    width : int, default 48
        Largest number of points by which one of them changes its size.
    steps, transports : int
        Moves of coefficients and of precisions in each sweep.

    References
    ----------
    .. [1] Z. Zhang, G. Dai and M. I. Jordan, "Bayesian Generalized Kernel Mixed Models", JMLR
       12:111-139, 2011.
    .. [2] S. Syed, A. Bouchard-Côté, G. Deligiannidis and A. Doucet, "Non-Reversible Parallel
       Tempering: a Scalable Highly Parallel MCMC Scheme", JRSS B 84:321-350, 2022.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(20, random_seed=1)
    >>> model = bk.models.generalized_kernel_model(X, y, max_active=6)
    >>> tempering = bk.samplers.PowerTempering(model)
    >>> result = tempering.sample(60, tune=30, chains=1, random_seed=1, progressbar=False)
    >>> sorted(result.idata.posterior.data_vars)
    ['beta', 'eta', 'g', 'gamma', 'u']
    >>> bool(result.log_evidence < 0), result.path
    (True, 'prior')
    """

    def __init__(
        self, model, *, rungs=None, path="auto", windows=3, width=48, steps=2, transports=1
    ):
        if rungs is not None and rungs < 3:
            raise ValueError(f"A ladder needs at least 3 rungs, got {rungs}.")
        if path not in _PATHS:
            raise ValueError(f"path must be one of {_PATHS}, got {path!r}.")
        if min(windows, width, steps) < 1 or transports < 0:
            raise ValueError("windows, width and steps must be at least 1, transports at least 0.")
        self.model = model
        self.target = read_target(model)
        has_free = any(isinstance(prior, tuple) for prior in self.target.priors)
        if path == "reference" and not has_free:
            raise ValueError("The reference path moves the priors of g and eta; both are fixed.")
        self.path = path if has_free else "prior"
        self.rungs = rungs
        self.options = {"windows": windows, "width": width}
        self.options |= {"steps": steps, "transports": transports}

    def sample(
        self,
        draws=1000,
        *,
        tune=200,
        chains=2,
        cores=None,
        particles=40,
        random_seed=None,
        progressbar=True,
    ) -> TemperedDraws:
        """Sample the posterior and estimate the evidence.

        Parameters
        ----------
        draws : int, default 1000
            Rounds, and draws of the posterior, of each ladder.
        tune : int, default 200
            Rounds before them; after the first half the rungs are evened out.
        chains : int, default 2
            Independent ladders. With several, the error of the evidence includes their spread.
        cores : int, optional
            Threads; by default one for each chain as far as there are processors, four at most.
        particles : int, default 40
            Of the pilot of each ladder.
        random_seed : int, optional
            The draws do not depend on ``cores``.
        progressbar : bool
        """
        for name, value, least in (
            ("draws", draws, 20),
            ("tune", tune, 4),
            ("chains", chains, 1),
            ("particles", particles, 8),
        ):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}.")
        self.target = read_target(self.model)  # with the data as they are now
        rngs = get_random_generator(random_seed).spawn(chains)
        cores = cores or min(chains, os.cpu_count() or 1, 4)
        # Matrices are small: threads of BLAS would cost more than they gain.
        with (
            threadpool_limits(1, "blas"),
            ThreadPoolExecutor(cores) as pool,
            Progress(disable=not progressbar) as progress,
        ):
            run = _Run(self, rngs, pool, progress, particles)
            ladders = run.tuned(tune)
            ladders, draws_of, energies = run.sampled(ladders, draws)
        return self._result(ladders, draws_of, energies, run.path)

    def smc_evidence(
        self, *, repetitions=4, particles=300, sweeps=2, random_seed=None, progressbar=True
    ):
        """Log-evidence by sequential Monte Carlo, for a cross-check.

        Parameters
        ----------
        repetitions : int, default 4
            Independent runs: only their spread is an honest error.
        particles, sweeps : int
            Particles, and sweeps of each at each power.
        random_seed : int, optional
        progressbar : bool

        Returns
        -------
        array of shape (repetitions,)
        """
        if repetitions < 1 or particles < 8 or sweeps < 1:
            raise ValueError("repetitions and sweeps must be at least 1, particles at least 8.")
        self.target = read_target(self.model)
        rngs = get_random_generator(random_seed).spawn(repetitions)
        options = {"n_particles": particles, "sweeps": sweeps, "keep": False, **self.options}
        with threadpool_limits(1, "blas"), Progress(disable=not progressbar) as progress:
            return np.array(
                [
                    power_smc(self.target, rng, **options).log_evidence
                    for rng in progress.track(rngs, description="Sequential Monte Carlo")
                ]
            )

    def _result(self, ladders, draws, energies, path):
        powers = ladders[0].powers
        evidence = normalizer_with_error(powers, energies)
        swap_rates = np.mean([ladder.places.swap_rates for ladder in ladders], axis=0)
        trips = np.array([ladder.places.round_trips for ladder in ladders])
        remedy = "more rungs, or path='reference'"
        warning = ladder_warning(swap_rates, int(trips.sum()), len(trips), remedy)
        if warning:
            _log.warning("Draws and evidence may be wrong: %s", warning)
        posterior = draws_to_posterior(self.model, draws)
        over = {name: posterior[name] for name in ("chain", "draw")}
        active = [[len(where.points) for where in path_of] for path_of in draws]
        likelihoods = [[where.log_likelihood for where in path_of] for path_of in draws]
        stats = {"tempering_active": active, "tempering_log_likelihood": likelihoods}
        stats = {name: (("chain", "draw"), np.array(values)) for name, values in stats.items()}
        tempering = xr.Dataset(
            {
                "energy": (("chain", "draw", "rung"), energies),
                "power": ("rung", powers),
                "swap_rate": ("lower_rung", swap_rates),
                "round_trips": ("chain", trips),
            },
            coords={**over, "rung": np.arange(len(powers))},
            attrs={"log_evidence": evidence.value, "mcse": evidence.mcse, "path": path},
        )
        idata = xr.DataTree.from_dict(
            {
                "posterior": posterior,
                "sample_stats": xr.Dataset(stats, coords=over),
                "tempering": tempering,
            }
        )
        return TemperedDraws(
            idata, evidence.value, evidence.mcse, powers, swap_rates, trips, path, warning
        )


class _Run:
    """Stages of one call of :meth:`PowerTempering.sample`; every ladder has its own randomness."""

    def __init__(self, tempering, rngs, pool, progress, particles):
        self.tempering = tempering
        self.rngs, self.pool, self.progress, self.particles = rngs, pool, progress, particles
        self.path = "prior"

    def tuned(self, tune):
        """Ladders in equilibrium, on the path that they need."""
        wanted = self.tempering.path
        target = self.tempering.target
        if wanted == "reference":
            pilots = self._pilots(target)
            places = [where for pilot in pilots for where in pilot.particles[-1]]
            return self._tuned_on(self._referred(target, places), tune)[0]
        ladders, places, rate, jump = self._tuned_on(target, tune)
        if wanted == "auto" and (rate < SWITCH_SWAP_RATE or jump > SWITCH_JUMP):
            _log.info(
                "Smallest swap rate %.3f, largest jump of log g %.1f standard deviations: priors "
                "of g and eta move along.",
                rate,
                jump,
            )
            ladders, *_ = self._tuned_on(self._referred(target, places), tune)
        return ladders

    def _referred(self, target, places):
        """Target with references fitted to places of the posterior."""
        self.path = "reference"
        return target.with_references(
            *(_fit_gamma([getattr(where, role) for where in places]) for role in ("g", "eta"))
        )

    def _pilots(self, target):
        options = {"n_particles": self.particles, "sweeps": 1, **self.tempering.options}
        task = self.progress.add_task("Pilots", total=None)
        pilots = list(self.pool.map(lambda rng: power_smc(target, rng, **options), self.rngs))
        self.progress.remove_task(task)
        return pilots

    def _tuned_on(self, target, tune):
        """Ladders on a path, places at power 1, smallest swap rate and largest jump of log g.

        Those before rungs are evened out count too: evened rungs crowd around a gap until swaps
        pass, but replicas on either side of it stay there.
        """
        pilots = self._pilots(target)
        powers = place_rungs([pilot.levels for pilot in pilots], n_rungs=self.tempering.rungs)
        ladders = [PowerLadder(target, powers, **self.tempering.options) for _ in pilots]
        for ladder, pilot, rng in zip(ladders, pilots, self.rngs, strict=True):
            ladder.start(pilot, rng)
        _, _, logs = self._rounds(ladders, tune // 2, "Tuning")
        rates = np.mean([ladder.places.swap_rates for ladder in ladders], axis=0)
        for ladder in ladders:
            ladder.powers = even_rungs(powers, rates)
            ladder.forget()
        places, _, evened_logs = self._rounds(ladders, tune - tune // 2, "Tuning")
        evened = np.mean([ladder.places.swap_rates for ladder in ladders], axis=0)
        smallest = float(min(rates.min(), evened.min()))
        # With g fixed there is no spread to compare with, and nothing that jumps.
        is_free = isinstance(target.priors[0], tuple)
        largest = max(map(largest_jump, [*logs, *evened_logs])) if is_free else 0.0
        return ladders, [where for path in places for where in path], smallest, largest

    def sampled(self, ladders, draws):
        """Ladders, their draws at power 1, and the energies of all rungs."""
        for ladder in ladders:
            ladder.forget()
        places, energies, _ = self._rounds(ladders, draws, "Sampling")
        return ladders, places, np.array(energies)

    def _rounds(self, ladders, rounds, what):
        """For each ladder: places at power 1; energies and log g of all rungs."""
        task = self.progress.add_task(what, total=rounds * len(ladders))

        def run(ladder, rng):
            places, energies, logs = [], [], []
            for _ in range(rounds):
                ladder.round(rng)
                places.append(ladder.coldest.state)
                energies.append(ladder.energies.copy())
                logs.append(ladder.log_g.copy())
                self.progress.advance(task)
            return places, energies, logs

        done = list(self.pool.map(run, ladders, self.rngs))
        self.progress.remove_task(task)
        return tuple(zip(*done, strict=True))


def _fit_gamma(values):
    """Shape and rate of the Gamma distribution with the mean and variance of the logarithms.

    The shape is halved: a reference that is too wide costs little, one that is too narrow much.
    """
    logs = np.log(values)
    variance = max(logs.var(), 1e-3)
    shape = brentq(lambda log_shape: polygamma(1, np.exp(log_shape)) - variance, -15, 15)
    shape = np.exp(shape)
    rate = np.exp(digamma(shape) - logs.mean())
    return 0.5 * shape, 0.5 * rate
