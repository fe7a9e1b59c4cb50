"""Evidence by PyMC's sequential Monte Carlo, with its ways of failing made visible.

``pm.sample_smc`` gives one estimate for each chain and no error. Here the spread between chains is
the error; chains that end in NaN, disagree, or hardly move are reported instead of averaged away.
"""

import math

import numpy as np
import pymc as pm
from scipy.stats import t

from bayeskernels.evidence.result import Evidence

__all__ = ["SequentialMonteCarlo", "spread_error"]

#: Signs of a number that is not to be trusted: standard deviation between chains in nats, and share
#: of moves that are accepted in the last stage.
LARGEST_SPREAD, SMALLEST_ACCEPTANCE = 0.5, 0.02


class SequentialMonteCarlo:
    """Sequential Monte Carlo, see :func:`pymc.sample_smc`."""

    name = "smc"
    is_automatic = True
    uses_draws = False

    def refusal(self, model, idata):
        """Why PyMC's kernels do not fit."""
        discrete = [v.name for v in model.discrete_value_vars]
        if discrete:
            return (
                f"PyMC's kernels propose real numbers, and {', '.join(discrete)} "
                f"{'is' if len(discrete) == 1 else 'are'} discrete. Sum over what is discrete in "
                "the model; sparse generalized kernel models have 'power-tempering'."
            )
        if not model.free_RVs:
            return "The model has no unknowns. Use 'exact'."
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
    ):
        """Run independent populations.

        Parameters
        ----------
        model : pm.Model
        idata : None
            Not used.
        draws : int
            Particles of each population.
        chains : int
            Populations, at least 2: their spread is the error.
        cores : int
        random_seed : numpy.random.Generator
        progressbar : bool
        **options
            Of ``pm.sample_smc``.

        Returns
        -------
        Evidence
        """
        if chains < 2:
            raise ValueError(f"chains must be at least 2, for their spread; got {chains}.")
        seeds = np.random.default_rng(random_seed).integers(2**31, size=chains).tolist()
        try:
            found = pm.sample_smc(
                draws,
                chains=chains,
                cores=cores,
                model=model,
                random_seed=seeds,
                progressbar=progressbar,
                compute_convergence_checks=False,
                **options,
            )
        except (ValueError, np.linalg.LinAlgError) as error:
            raise ValueError(
                f"pm.sample_smc failed: {error}. That happens where the log-likelihood is NaN or "
                "minus infinity at all draws of the prior, or draws are too few. Use 'bridge'."
            ) from error
        stats = found["sample_stats"]
        # By chain and stage; an array of lists where chains have different numbers of stages.
        values = np.array([_last(v) for v in stats["log_marginal_likelihood"].values])
        accepted = np.array([_last(v) for v in stats["accept_rate"].values])
        stages = np.array([np.size(v) for v in stats["beta"].values])
        return smc_evidence(values, accepted, stages, draws)


def smc_evidence(values, acceptance, stages, draws):
    """One result of the estimates of several populations.

    Parameters
    ----------
    values : array of shape (n_chains,)
        Log evidences; those that are not finite are left out and reported.
    acceptance : array of shape (n_chains,)
        Accepted moves of the last stage.
    stages : array of int, shape (n_chains,)
    draws : int

    Returns
    -------
    Evidence
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
    }
    if warnings:
        diagnostics["warning"] = " ".join(warnings)
    return Evidence(
        float(kept.mean()),
        spread_error(kept),
        SequentialMonteCarlo.name,
        n_evaluations=int(draws * (stages + 1).sum()),
        diagnostics=diagnostics,
    )


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
