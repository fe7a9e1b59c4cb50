"""Contests between samplers of one posterior: rounds that alternate, scored by ESS per second.

A machine is never equally busy all the time. So contenders take turns in short rounds (A B A B
...), which lets every disturbance hit all of them alike. Every round of a contender is a chain of
its own that starts from an independent draw of the posterior: nobody pays for burn-in, and a
contender that hardly moves is found out by the differences between its chains.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from arviz_stats.base import array_stats

__all__ = ["QUIET", "TRUSTED_ESS", "Contender", "Score", "Stretch", "bulk_ess", "contest"]

#: For ``pm.sample``: one core, one seed, and nothing beside the draws.
QUIET = {"cores": 1, "random_seed": 1, "progressbar": False, "compute_convergence_checks": False}

#: CPU seconds rather than wall-clock: colleagues on the same machine disturb them less.
clock = time.process_time

#: Effective draws per round below which an ESS is a guess, and too high rather than too low: even
#: a chain that does not move counts for the one independent draw from which it starts.
TRUSTED_ESS = 10


@dataclass
class Stretch:
    """What a contender did in one round.

    Attributes
    ----------
    outputs : array of shape (n_draws, n_outputs)
        Outputs of the unit-length classifier at the test points.
    errors : array of shape (n_draws,)
        Training errors.
    seconds : float
    steps : int
        Elementary steps (trajectories, great circles, proposals, ...).
    events : int
        Whatever else the contender counts.
    variance : array of shape (n_outputs,), optional
        Where ``outputs`` are means over parts of a path: variance of the output itself. The ESS is
        then that of the path, the number of independent draws whose mean is as accurate.
    """

    outputs: np.ndarray
    errors: np.ndarray
    seconds: float
    steps: int
    events: int = 0
    variance: np.ndarray | None = None


@dataclass
class Contender:
    """A sampler that can run from a given place for a given number of draws.

    Attributes
    ----------
    name : str
    run : callable
        ``run(start, n_draws, rng)`` gives a :class:`Stretch`.
    seconds : float
        How long one round should take.
    pilot : int
        Draws of the warm-up from which the length of a round is computed.
    min_draws, max_draws : int
        Limits of a round.
    """

    name: str
    run: Callable
    seconds: float
    pilot: int = 50
    min_draws: int = 100
    max_draws: int = 100_000


@dataclass
class Score:
    """Result of one contender.

    Attributes
    ----------
    output_ess : array of shape (n_outputs,)
    error_ess : float
    seconds : float
    steps, events, draws, rounds : int
    mean_errors : float
    mean_outputs : array of shape (n_outputs,)
    """

    output_ess: np.ndarray
    error_ess: float
    seconds: float
    steps: int
    events: int
    draws: int
    rounds: int
    mean_errors: float
    mean_outputs: np.ndarray = field(repr=False)

    @property
    def typical_ess(self):
        """ESS of the median output."""
        return float(np.median(self.output_ess))

    @property
    def output_rate(self):
        """Effective draws of the median output per second."""
        return self.typical_ess / self.seconds

    @property
    def error_rate(self):
        """Effective draws of the error count per second."""
        return self.error_ess / self.seconds

    @property
    def step_rate(self):
        """Elementary steps per second."""
        return self.steps / self.seconds

    @property
    def output_is_trusted(self):
        """Whether the ESS of the median output is more than a guess."""
        return self.typical_ess >= TRUSTED_ESS * self.rounds

    @property
    def error_is_trusted(self):
        """Whether the ESS of the error count is more than a guess."""
        return self.error_ess >= TRUSTED_ESS * self.rounds

    def as_dict(self):
        """Numbers for JSON."""
        return {
            "median_output_ess": self.typical_ess,
            "min_output_ess": float(np.min(self.output_ess)),
            "error_ess": self.error_ess,
            "seconds": self.seconds,
            "steps": self.steps,
            "events": self.events,
            "draws": self.draws,
            "rounds": self.rounds,
            "mean_errors": self.mean_errors,
        }


def bulk_ess(chains):
    """Bulk ESS of one quantity.

    Parameters
    ----------
    chains : array of shape (n_chains, n_draws)

    Returns
    -------
    float
        ArviZ's rank-normalised split ESS. A chain that never moves would make ArviZ call its draws
        independent; with any such chain each chain counts for its starting point only.
    """
    chains = np.asarray(chains, dtype=float)
    if (np.ptp(chains, axis=1) == 0).any():
        return float(len(chains))
    return float(array_stats.ess(chains, chain_axis=0, draw_axis=1, method="bulk"))


def contest(contenders, starts, rounds, *, rng, advance=lambda name: None):
    """Let contenders take turns and score them.

    Parameters
    ----------
    contenders : list of Contender
    starts : array of shape (at least rounds, r)
        Independent draws of the posterior; round k of every contender starts from number k.
    rounds : int
    rng : numpy.random.Generator
    advance : callable
        Called with the contender's name before every turn, for a progress bar.

    Returns
    -------
    dict
        Score by name.
    """
    lengths = {}
    for contender in contenders:
        contender.run(starts[0], contender.pilot, rng)  # compiles, fills caches
        seconds = contender.run(starts[0], contender.pilot, rng).seconds
        wanted = int(contender.seconds / max(seconds, 1e-6) * contender.pilot)
        lengths[contender.name] = int(np.clip(wanted, contender.min_draws, contender.max_draws))
    stretches = {contender.name: [] for contender in contenders}
    for k in range(rounds):
        for contender in contenders:
            advance(contender.name)
            stretch = contender.run(starts[k], lengths[contender.name], rng)
            stretches[contender.name].append(stretch)
    return {name: _score(parts) for name, parts in stretches.items()}


def _score(stretches):
    outputs = np.array([part.outputs for part in stretches])
    errors = np.array([part.errors for part in stretches])
    output_ess = np.array([bulk_ess(outputs[:, :, i]) for i in range(outputs.shape[2])])
    if stretches[0].variance is not None:
        variance = np.mean([part.variance for part in stretches], axis=0)
        output_ess *= variance / outputs.var(axis=(0, 1))
    return Score(
        output_ess=output_ess,
        error_ess=bulk_ess(errors),
        seconds=float(sum(part.seconds for part in stretches)),
        steps=int(sum(part.steps for part in stretches)),
        events=int(sum(part.events for part in stretches)),
        draws=int(errors.size),
        rounds=len(stretches),
        mean_errors=float(errors.mean()),
        mean_outputs=outputs.mean(axis=(0, 1)),
    )
