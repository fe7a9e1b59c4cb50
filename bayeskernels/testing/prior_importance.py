r"""Importance sampling of the prior: an oracle for the posterior and the evidence of small models.

Draws of the prior, weighted by the likelihood, are draws of the posterior, and the mean of the
weights is the evidence. Nothing can go wrong with it but its variance, which grows with the amount
of data: labels of ten points or so are what it can take.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from bayeskernels.testing.calibration import PlainSample
from bayeskernels.testing.mean_comparison import mean_and_error, standard_score
from bayeskernels.testing.model_quantities import LOG_LIKELIHOOD, ModelQuantities

__all__ = ["PriorImportance", "check_posterior", "prior_importance"]

#: With fewer effective draws the standard errors are not to be trusted.
MIN_EFFECTIVE = 100


@dataclass(frozen=True)
class PriorImportance:
    """Posterior means and evidence, from weighted draws of the prior.

    Attributes
    ----------
    means, errors : dict of str to float
        Posterior mean of each quantity and its standard error.
    log_evidence, log_evidence_error : float
    effective_draws : float
        By the weights, ``sum(w)**2 / sum(w**2)``.
    quantities : ModelQuantities
        Evaluates the same quantities at other draws.
    """

    means: dict[str, float]
    errors: dict[str, float]
    log_evidence: float
    log_evidence_error: float
    effective_draws: float
    quantities: ModelQuantities = field(repr=False)

    def z_scores(self, posterior):
        """How far means of posterior draws are from these, in standard errors of the difference.

        The posterior is a Dataset with the dims ``chain`` and ``draw``.
        """
        shape = posterior.sizes["chain"], posterior.sizes["draw"]
        values = self.quantities(posterior).reshape(*shape, -1)
        scores = {}
        for k, name in enumerate(self.quantities.names):
            mean, error, _ = mean_and_error(name, values[..., k])
            error = np.hypot(error, self.errors[name])
            scores[name] = float(standard_score(mean - self.means[name], error))
        return scores


def prior_importance(model, quantities=None, *, draws=20_000, random_seed=None) -> PriorImportance:
    """Posterior means and evidence of a small model by draws of its prior.

    Parameters
    ----------
    model : pm.Model
        With a proper prior that PyMC can draw from, and few observations.
    quantities : dict of str to TensorVariable, optional
        See :class:`~bayeskernels.testing.model_quantities.ModelQuantities`. Give bounded functions
        of variables that may have no posterior mean, for example their logarithm.
    draws : int
        Takes about a second for each thousand.
    random_seed : int, optional

    Raises
    ------
    ValueError
        Where the data leave too few effective draws.

    Examples
    --------
    The mean of a Gaussian with one observation, which is in closed form:

    >>> model = bk.models.gaussian_mean([2.0])  # posterior mean 1, evidence N(2; 0, 2)
    >>> oracle = bk.testing.prior_importance(model, draws=5000, random_seed=1)
    >>> abs(oracle.means["mu"] - 1.0) < 4 * oracle.errors["mu"]
    True
    >>> abs(oracle.log_evidence + 2.2655) < 4 * oracle.log_evidence_error
    True
    """
    watched = ModelQuantities(model, quantities)
    drawn = watched.draw_prior(draws, np.random.default_rng(random_seed), observed=False)
    values = watched(drawn)
    log_weights = values[:, watched.names.index(LOG_LIKELIHOOD)]
    total = logsumexp(log_weights)
    if not np.isfinite(total):
        raise ValueError(
            f"None of {draws} draws of the prior has a likelihood: the data are too many, or "
            "impossible under the model."
        )
    weights = np.exp(log_weights - total)
    effective = 1.0 / float(np.sum(weights**2))
    if effective < MIN_EFFECTIVE:
        raise ValueError(
            f"{draws} draws of the prior are worth {effective:.0f} of the posterior, at least "
            f"{MIN_EFFECTIVE} are needed. Use more draws, or fewer observations."
        )
    # A draw without weight takes no part, whatever its log-likelihood of minus infinity.
    values, kept = values[weights > 0], weights[weights > 0, None]
    means = np.sum(kept * values, axis=0)
    errors = np.sqrt(np.sum((kept * (values - means)) ** 2, axis=0))
    return PriorImportance(
        dict(zip(watched.names, means.tolist(), strict=True)),
        dict(zip(watched.names, errors.tolist(), strict=True)),
        float(total - np.log(draws)),
        float(np.sqrt(1.0 / effective - 1.0 / draws)),
        effective,
        watched,
    )


def check_posterior(
    model,
    quantities=None,
    *,
    prior_draws=20_000,
    draws=1000,
    tune=500,
    chains=2,
    sample=None,
    estimate=None,
    false_alarm_rate=1e-3,
    random_seed=None,
):
    """Check ``pm.sample``, and an estimate of the evidence, against weighted draws of the prior.

    An AssertionError says what was expected and what came.

    Parameters
    ----------
    model, quantities
        See :func:`prior_importance`.
    prior_draws : int
    draws, tune, chains : int
        Of ``pm.sample``.
    sample : callable, optional
        ``sample(model, seed)`` returns posterior draws as a DataTree; ``pm.sample`` by default.
    estimate : callable, optional
        ``estimate(model, idata)`` returns an ``Evidence`` to be compared as well, for example
        ``bk.evidence.estimate``.
    false_alarm_rate : float
        Probability that right draws fail any of the comparisons, shared out by Bonferroni's rule.
    random_seed : int, optional

    Returns
    -------
    dict of str to float
        Deviation of each mean in standard errors; that of the evidence as ``log evidence``.

    Examples
    --------
    >>> model = bk.models.label_noise_classifier([[0.0], [1.0], [3.0]], [0, 1, 1])
    >>> scores = bk.testing.check_posterior(model, prior_draws=2000, random_seed=1)
    >>> sorted(scores)[:3]
    ['arctan of w, first entry', 'log likelihood', 'noise']
    """
    oracle = prior_importance(model, quantities, draws=prior_draws, random_seed=random_seed)
    if sample is None:
        sample = PlainSample(draws, tune, chains)
    idata = sample(model, random_seed)
    scores = oracle.z_scores(idata["posterior"].to_dataset())
    if estimate is not None:
        evidence = estimate(model, idata)
        error = np.hypot(oracle.log_evidence_error, evidence.mcse)
        difference = evidence.log_evidence - oracle.log_evidence
        scores["log evidence"] = float(standard_score(difference, error))
    limit = norm.isf(false_alarm_rate / 2 / len(scores))
    wrong = {name: z for name, z in scores.items() if not abs(z) <= limit}
    if wrong:
        raise AssertionError(
            f"expected means within {limit:.2f} standard errors of those of the weighted prior "
            f"({oracle.effective_draws:.0f} effective draws); got "
            + ", ".join(f"{name}: {z:+.2f}" for name, z in wrong.items())
        )
    return scores
