"""Evidence by PyMC's sequential Monte Carlo, with its ways of failing made visible.

``pm.sample_smc`` gives one estimate for each chain and no error. Here the spread between chains is
the error; chains that end in NaN, disagree, or hardly move are reported instead of averaged away.
Chains may also agree on a wrong number, where the moves between stages do not mix: then estimates
rise with the number of particles, which a few smaller populations show.
"""

import math
from dataclasses import replace

import numpy as np
import pymc as pm
import pytensor
from scipy.stats import t

from bayeskernels.evidence.estimators.method import EvidenceMethod
from bayeskernels.evidence.model_checks import continuous_refusal
from bayeskernels.evidence.result import Evidence
from bayeskernels.graphs.numpy_graphs import WITHOUT_COMPILER, numpy_function
from bayeskernels.graphs.prior_mass import log_missing_of_data, unlike_draws

__all__ = ["SequentialMonteCarlo", "spread_error"]

#: Signs of a number that is not to be trusted: standard deviation between chains in nats, and share
#: of moves that are accepted in the last stage.
LARGEST_SPREAD, SMALLEST_ACCEPTANCE = 0.5, 0.02

#: Particles of the full populations for one of the smaller ones, and the difference of the two
#: estimates that is too large: in errors and in nats.
SHRINKAGE, LARGEST_DRIFT_ERRORS, LARGEST_DRIFT = 4, 2.0, 0.2


class SequentialMonteCarlo(EvidenceMethod):
    """Sequential Monte Carlo, see :func:`pymc.sample_smc`."""

    name = "smc"

    def refusal(self, model, idata):
        """Why PyMC's kernels do not fit."""
        reason = continuous_refusal(model)
        if reason is not None:
            return reason
        names = unlike_draws(model)
        if names:
            return (
                f"It starts from draws of the prior, and those of {', '.join(names)} are not "
                "draws of its density, which is ordered or periodic. Use 'bridge'."
            )
        return None

    def run(
        self,
        model,
        idata=None,
        *,
        draws=2000,
        chains=4,
        cores=1,
        random_seed=None,
        progressbar=False,
        **options,
    ) -> Evidence:
        """Run independent populations.

        Parameters
        ----------
        draws : int
            Particles of each population. As many smaller ones, with a quarter of them, show
            whether the estimate depends on that number.
        chains : int
            Populations, at least 2: their spread is the error.
        cores, **options
            Of ``pm.sample_smc``.
        """
        if chains < 2:
            raise ValueError(f"chains must be at least 2, for their spread; got {chains}.")
        rng = np.random.default_rng(random_seed)

        def populations(n_particles):
            return _populations(
                model,
                n_particles,
                chains=chains,
                cores=cores,
                random_seed=rng.integers(2**31, size=chains).tolist(),
                progressbar=progressbar,
                **options,
            )

        full = populations(draws)
        smaller = populations(max(draws // SHRINKAGE, 2))
        # Weights are likelihoods of draws: the constant of a prior does not matter here.
        constant = log_missing_of_data(model) + _lost_in_single_precision(model)
        evidence = smc_evidence(
            full["values"] + constant, full["acceptance"], full["stages"], draws
        )
        return with_drift(evidence, smaller["values"] + constant)


def _lost_in_single_precision(model):
    """Constants of the likelihood that PyMC rounds: the same at all points, so taken at one."""
    point, graph = model.initial_point(), model.datalogp
    inputs = model.value_vars
    theirs = pytensor.function(inputs, graph, mode=WITHOUT_COMPILER, on_unused_input="ignore")
    exact = numpy_function(inputs, graph)
    with np.errstate(all="ignore"):
        lost = float(exact(**point) - theirs(**point))
    # A start where the data are impossible tells nothing.
    return lost if math.isfinite(lost) else 0.0


def _populations(model, draws, *, chains, **options):
    """Last values of all stages, for each of several populations."""
    try:
        found = pm.sample_smc(
            draws, chains=chains, model=model, compute_convergence_checks=False, **options
        )
    except (ValueError, np.linalg.LinAlgError) as error:
        raise ValueError(
            f"pm.sample_smc failed: {error}. That happens where the log-likelihood is NaN or "
            "minus infinity at all draws of the prior, or draws are too few. Use 'bridge'."
        ) from error
    stats = found["sample_stats"]
    # By chain and stage; an array of lists where chains have different numbers of stages.
    return {
        "values": np.array([_last(v) for v in stats["log_marginal_likelihood"].values]),
        "acceptance": np.array([_last(v) for v in stats["accept_rate"].values]),
        "stages": np.array([np.size(v) for v in stats["beta"].values]),
    }


def smc_evidence(values, acceptance, stages, draws) -> Evidence:
    """One result of the estimates of several populations, arrays of shape (n_chains,).

    Log evidences that are not finite are left out and reported; ``acceptance`` is that of the last
    stage.
    """
    is_finite = np.isfinite(values)
    kept = values[is_finite]
    if len(kept) < 2:
        raise ValueError(
            f"{len(values) - len(kept)} of {len(values)} populations ended without a number: "
            "there is no estimate. Look at the log-likelihood for NaN, or use 'bridge'."
        )
    warnings = []
    if not is_finite.all():
        warnings.append(
            f"{(~is_finite).sum()} of {len(values)} populations ended without a number and were "
            "left out."
        )
    spread = float(kept.std(ddof=1))
    if spread > LARGEST_SPREAD:
        warnings.append(
            f"The populations disagree: their estimates have a standard deviation of {spread:.2g} "
            "nats. Use more draws, or another method."
        )
    smallest = float(np.min(acceptance))
    if smallest < SMALLEST_ACCEPTANCE:
        warnings.append(
            f"Only {100 * smallest:.1f}% of the moves of the last stage were accepted: the "
            "population hardly moves, and all estimates may be wrong together."
        )
    diagnostics = {
        "estimates": values,
        "spread": spread,
        "stages": int(stages.max()),
        "acceptance": smallest,
        "warning": " ".join(warnings),
    }
    return Evidence(
        float(kept.mean()),
        spread_error(kept),
        SequentialMonteCarlo.name,
        n_evaluations=int(draws * (stages + 1).sum()),
        diagnostics=diagnostics,
    )


def with_drift(evidence, smaller):
    """Result that also says how much estimates change with the number of particles.

    ``smaller`` are log evidences of populations with fewer particles. Where the change is more than
    chance, it is part of the error.
    """
    smaller = smaller[np.isfinite(smaller)]
    if len(smaller) < 2:
        return evidence
    drift = evidence.log_evidence - float(smaller.mean())
    diagnostics = {**evidence.diagnostics, "drift": drift}
    error = math.hypot(evidence.mcse, spread_error(smaller))
    if abs(drift) <= max(LARGEST_DRIFT, LARGEST_DRIFT_ERRORS * error):
        return replace(evidence, diagnostics=diagnostics)
    warning = (
        f"Estimates change with the number of particles (by {drift:+.2g} nats from a quarter of "
        "them), so all are biased; the error includes that change. Use another method, or many "
        "more draws."
    )
    diagnostics["warning"] = " ".join(filter(None, [evidence.warning, warning]))
    return replace(evidence, mcse=math.hypot(evidence.mcse, drift), diagnostics=diagnostics)


def spread_error(values):
    """Standard error of a mean of few values.

    It is widened such that twice the error covers what two standard errors of many values would:
    the spread of four values is itself uncertain (Student's t distribution).

    Examples
    --------
    >>> round(spread_error([1.0, 2.0, 3.0, 4.0]), 3)  # 0.645 without widening
    1.066
    """
    n = len(values)
    widening = t.ppf(0.9772, n - 1) / 2.0
    return float(np.std(values, ddof=1) / math.sqrt(n) * widening)


def _last(values):
    return float(np.ravel(np.asarray(values, dtype=np.float64))[-1])
