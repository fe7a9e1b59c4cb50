"""Bridge sampling: the evidence of any model with continuous variables, from its draws."""

import math
from dataclasses import replace

import numpy as np
import pymc as pm
from pymc.exceptions import SamplingError
from rich.progress import Progress

from bayeskernels.evidence.data_digest import observed_values
from bayeskernels.evidence.estimators.bridge_equation import r_hat, solve_bridge, tail_effective
from bayeskernels.evidence.estimators.bridge_proposals import PROPOSALS
from bayeskernels.evidence.estimators.method import EvidenceMethod
from bayeskernels.evidence.estimators.unconstrained_draws import unconstrained_draws
from bayeskernels.evidence.model_checks import continuous_refusal
from bayeskernels.evidence.result import Evidence
from bayeskernels.graphs.unconstrained import BLOCK, UnconstrainedDensity

__all__ = ["BridgeSampling", "TooFewDraws", "bridge_draws"]

#: Signs of a number that is not to be trusted.
LARGEST_PARETO_K, LARGEST_R_HAT, SMALLEST_OVERLAP, LARGEST_MCSE = 0.7, 1.05, 0.02, 0.5

#: The terms of the bridge are bounded by about twice their mean over the overlap: where that is
#: large they are nearly equal, and the shape of their tail says nothing.
TELLING_OVERLAP = 0.2

SMALLEST_ESS = 100

#: For each chain, as Vehtari et al. (2021) have it. NUTS in the neck of a funnel stays far below,
#: and the mass that it misses there is missing in the evidence.
SMALLEST_TAIL_ESS = 100

#: Numbers that an evaluation at several points may hold at once, if it makes an (n, n) matrix.
MAX_NUMBERS = 2**24

#: Fewer draws cannot be halved into something of use.
FEWEST_DRAWS = 100


class TooFewDraws(ValueError):
    """There are not enough draws to fit a proposal to."""


class BridgeSampling(EvidenceMethod):
    """Bridge sampling from posterior draws; half of them fit the proposal, the others are used."""

    name = "bridge"
    uses_draws = True

    def refusal(self, model, idata):
        """Why there is no bridge."""
        reason = continuous_refusal(model)
        if reason is not None:
            return reason
        if idata is not None and idata["posterior"].attrs.get("is_mcmc", 1) == 0:
            return (
                "The draws are of an approximation (Laplace, expectation propagation or "
                "perceptrons), not of the posterior. Use draws of pm.sample."
            )
        return None

    def run(
        self,
        model,
        idata=None,
        *,
        proposal="warp3",
        n_proposal=None,
        draws=1000,
        tune=1000,
        chains=4,
        cores=None,
        random_seed=None,
        progressbar=False,
    ) -> Evidence:
        """Estimate from draws, which are made by ``pm.sample`` where there are none.

        Parameters
        ----------
        proposal : {"warp3", "normal"}
        n_proposal : int, optional
            Draws of the proposal; by default as many as posterior draws are left.
        draws, tune, chains, cores : int
            Of ``pm.sample``.
        """
        if proposal not in PROPOSALS:
            known = ", ".join(map(repr, PROPOSALS))
            raise ValueError(f"proposal must be one of {known}; got {proposal!r}.")
        if n_proposal is not None and n_proposal < FEWEST_DRAWS:
            raise ValueError(f"n_proposal must be at least {FEWEST_DRAWS}, got {n_proposal}.")
        rng = np.random.default_rng(random_seed)
        if idata is None:
            seed = int(rng.integers(2**31))
            try:
                idata = pm.sample(
                    draws,
                    tune=tune,
                    chains=chains,
                    cores=cores,
                    model=model,
                    random_seed=seed,
                    progressbar=progressbar,
                    quiet=not progressbar,
                )
            except SamplingError as error:
                raise ValueError(
                    "pm.sample finds no start: the posterior has no density there. Are the data "
                    f"impossible under the model? Else give draws of your own. {error}"
                ) from error
        density = UnconstrainedDensity(model, what="bridge", centres=_centres(model, idata))
        points = unconstrained_draws(density, idata, rng)
        n_chains, n_draws, d = points.shape
        if n_chains * n_draws < FEWEST_DRAWS or n_chains * (n_draws // 2) <= d + 1:
            raise TooFewDraws(
                f"{n_chains * n_draws} draws are too few for {d} unknowns: half of them have to "
                "fit a Gaussian, the others to estimate. Draw more."
            )
        n_used = n_chains * (n_draws - n_draws // 2)
        n_proposal = n_proposal or n_used
        with Progress(disable=not progressbar) as progress:
            log_density = _Evaluations(density, progress)
            bridge = bridge_draws(points, log_density, n_proposal, rng, proposal=proposal)
        diagnostics = {
            "proposal": proposal,
            "dimension": d,
            "posterior_draws": n_used,
            "proposal_draws": n_proposal,
            "ess": bridge.ess,
            "tail_ess": bridge.tail_ess,
            "overlap": bridge.overlap,
            "pareto_k_posterior": bridge.pareto_k_posterior,
            "pareto_k_proposal": bridge.pareto_k_proposal,
            "r_hat": max(bridge.r_hat, *(r_hat(points[..., j]) for j in range(d))),
        }
        diagnostics["warning"] = _warning(bridge, diagnostics["r_hat"], n_chains)
        return Evidence(
            bridge.log_ratio,
            bridge.mcse,
            self.name,
            n_evaluations=log_density.count,
            diagnostics=diagnostics,
        )


def bridge_draws(points, log_density, n_proposal, rng, *, proposal="warp3"):
    """Bridge from draws of a density to a Gaussian that half of them fit.

    Parameters
    ----------
    points : array of shape (n_chains, n_draws, d)
        The first half of each chain fits the proposal, the second is used.
    log_density : callable
        Of the posterior without its constant: from (n, d) to (n,).
    n_proposal, proposal
        See :meth:`BridgeSampling.run`.
    rng : numpy.random.Generator

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> points = rng.standard_normal((4, 1000, 2))
    >>> bridge = bridge_draws(points, lambda x: -0.5 * (x**2).sum(axis=1), 2000, rng)
    >>> round(bridge.log_ratio, 1)  # log 2 pi = 1.84
    1.8
    """
    n_chains, n_draws, d = points.shape
    half = n_draws // 2
    fitted = PROPOSALS[proposal](points[:, :half].reshape(-1, d), log_density)
    at_posterior = fitted.at_draws(points[:, half:].reshape(-1, d)).reshape(n_chains, -1)
    tail_ess = tail_effective(points)
    most = tail_ess * (n_draws - half) / n_draws
    bridge = solve_bridge(at_posterior, fitted.at_own_draws(n_proposal, rng), most=most)
    return replace(bridge, tail_ess=tail_ess)


def _centres(model, idata):
    """Mean direction of the draws of each angle, around which its period is laid."""
    names = UnconstrainedDensity.angles(model)
    centres = {}
    for value in model.value_vars:
        if value.name in names:
            drawn = idata["posterior"][model.values_to_rvs[value].name]
            mean = np.exp(1j * drawn.transpose("chain", "draw", ...).values).mean(axis=(0, 1))
            centres[value.name] = np.angle(mean)
    return centres


class _Evaluations:
    """Log density at many points, in blocks that fit into memory, counted."""

    def __init__(self, density, progress):
        n = max([v.size for v in observed_values(density.model).values()], default=1)
        self.density, self.progress = density, progress
        self.block = int(np.clip(MAX_NUMBERS // max(n, 1) ** 2, 16, BLOCK))
        self.count = 0

    def __call__(self, points):
        task = self.progress.add_task("Log density", total=len(points))
        parts = []
        for start in range(0, len(points), self.block):
            part = points[start : start + self.block]
            parts.append(self.density.values(part))
            self.progress.advance(task, len(part))
        self.progress.remove_task(task)
        self.count += len(points)
        return np.concatenate(parts)


def _warning(bridge, largest_r_hat, n_chains):
    """What speaks against the number, in a sentence or more."""
    found = []
    # One of them may be NaN where nearly all terms are zero.
    k = float(np.fmax(bridge.pareto_k_posterior, bridge.pareto_k_proposal))
    has_tail = k > LARGEST_PARETO_K and bridge.overlap < TELLING_OVERLAP
    if has_tail or bridge.overlap < SMALLEST_OVERLAP:
        found.append(
            f"Posterior and proposal have little in common (overlap {bridge.overlap:.2g}, Pareto "
            f"k {k:.2f}), so that few draws decide. Reparametrise, or use more draws."
        )
    if largest_r_hat > LARGEST_R_HAT:
        found.append(f"The chains disagree (R-hat {largest_r_hat:.2f}). Draw longer chains.")
    if bridge.ess < SMALLEST_ESS:
        found.append(
            f"There are {bridge.ess:.0f} effective draws only; {SMALLEST_ESS} would be few."
        )
    elif bridge.tail_ess < SMALLEST_TAIL_ESS * n_chains:
        found.append(
            f"The tails of some unknown have {bridge.tail_ess:.0f} effective draws, "
            f"{SMALLEST_TAIL_ESS} a chain are needed: what the chains miss there is missing in the "
            "evidence. Reparametrise, or draw longer chains."
        )
    if not bridge.mcse <= LARGEST_MCSE or math.isnan(bridge.mcse):
        found.append(f"The error of {bridge.mcse:.2g} nats is large.")
    return " ".join(found)
