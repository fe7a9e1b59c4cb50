"""Models side by side by their evidence, with the errors of the evidences carried through."""

import logging
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from arviz_stats import compare as compare_by_loo
from scipy.special import logsumexp

from bayeskernels.evidence.data_digest import digest_of_observations, same_inputs
from bayeskernels.evidence.result import Evidence

__all__ = ["beside_loo", "compare", "model_probabilities"]

_log = logging.getLogger(__name__)

#: Draws of the log evidences that carry their errors over to the probabilities.
DRAWS = 10_000


def compare(evidences, *, prior_weights=None, random_seed=0):
    """Rank models by their evidence.

    Parameters
    ----------
    evidences : dict
        From the name of a model to its :class:`Evidence`, or to a DataTree that holds one.
    prior_weights : dict or sequence, optional
        Prior probability of each model, up to a factor; equal by default.
    random_seed : int or numpy.random.Generator, default 0
        For carrying errors through.

    Returns
    -------
    DataFrame
        A row for each model, the best first: ``rank``; ``log_evidence`` and ``mcse``; ``delta``,
        the difference to the best one, and ``delta_mcse``; ``bayes_factor``, the evidence relative
        to the best one; ``probability`` of the model given the data and that one of these is true,
        and ``probability_sd``, how much that varies within the errors of the evidences; ``method``;
        and ``warning``, whether an estimate came with one.

    Raises
    ------
    ValueError
        If the models are of different data, an estimate has no error, or it is not a finite number
        (minus infinity is taken from ``exact`` only, which knows that the data are impossible).

    Notes
    -----
    Evidences are taken as independent and normally distributed around their estimates; a
    probability is the mean over draws of these. Where errors are large probabilities are drawn
    towards each other, as they should.

    Examples
    --------
    >>> x = [1.2, 0.8, 1.1, 1.4]
    >>> evidences = {
    ...     f"prior sd {sd:g}": bk.evidence.estimate(bk.models.gaussian_mean(x, prior_sd=sd))
    ...     for sd in (1.0, 100.0)
    ... }
    >>> table = bk.evidence.compare(evidences)
    >>> table[["rank", "bayes_factor", "probability"]].round(3).values.tolist()
    [[1.0, 1.0, 0.982], [2.0, 0.019, 0.018]]
    """
    evidences = _read(evidences)
    _refuse(evidences)
    names = list(evidences)
    values = np.array([evidences[name].log_evidence for name in names])
    errors = np.array([evidences[name].mcse for name in names])
    log_prior = _log_prior(prior_weights, names)
    probability, spread = model_probabilities(values, errors, log_prior, random_seed)
    order = np.argsort(-values, kind="stable")
    best = order[0]
    delta = values - values[best]
    delta_error = np.hypot(errors, errors[best])
    delta_error[best] = 0.0
    table = pd.DataFrame(
        {
            "rank": np.argsort(order) + 1,
            "log_evidence": values,
            "mcse": errors,
            "delta": delta,
            "delta_mcse": delta_error,
            "bayes_factor": np.exp(delta),
            "probability": probability,
            "probability_sd": spread,
            "method": [evidences[name].method for name in names],
            "warning": [bool(evidences[name].warning) for name in names],
        },
        index=pd.Index(names, name="model"),
    )
    for name in names:
        if evidences[name].warning:
            _log.warning("Evidence of %s: %s", name, evidences[name].warning)
    return table.iloc[order]


def beside_loo(evidences, loos, *, prior_weights=None, random_seed=0):
    """Compare models by evidence and by leave-one-out cross-validation, in one table.

    The two answer different questions: evidence, how well a model with its prior predicted the data
    before it had seen any of them; cross-validation, how well it predicts the next observation now
    that it has. A vague prior costs evidence and hardly any of the other.

    Parameters
    ----------
    evidences : dict
        As for :func:`compare`.
    loos : dict
        From the same names to what ``az.compare`` takes: draws with the group ``log_likelihood``,
        or results of ``az.loo`` or :func:`bayeskernels.diagnostics.loo`.
    prior_weights, random_seed
        As for :func:`compare`.

    Returns
    -------
    DataFrame
        ``evidence_rank``, ``log_evidence``, ``mcse``, ``probability``, ``loo_rank``, ``elpd``,
        ``elpd_diff``, ``dse`` (standard error of that difference), ``loo_weight`` (stacking) and
        ``agrees``, whether the ranks are the same.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(40, random_seed=1)
    >>> evidences, loos = {}, {}
    >>> for noise in (0.05, 0.3):
    ...     model = bk.models.label_noise_classifier(X, y, noise=noise)
    ...     idata = bk.samplers.sample_directions(model, draws=2000, random_seed=1)
    ...     evidences[noise] = bk.evidence.estimate(
    ...         model, idata, method="bridge", random_seed=1, progressbar=False
    ...     )
    ...     loos[noise] = bk.diagnostics.loo(model, idata)
    >>> bk.evidence.beside_loo(evidences, loos).agrees.tolist()
    [True, True]
    """
    table = compare(evidences, prior_weights=prior_weights, random_seed=random_seed)
    if not isinstance(loos, Mapping) or set(loos) != set(table.index):
        given = sorted(map(str, loos)) if isinstance(loos, Mapping) else type(loos).__name__
        raise ValueError(
            f"loos must be a dict with the names {sorted(map(str, table.index))}, got {given}."
        )
    _refuse_single_terms(loos)
    # In the order of the table, so that equal models do not depend on the order of the dict.
    other = compare_by_loo({name: loos[name] for name in table.index}, round_to="none").loc[
        table.index
    ]
    joined = pd.DataFrame(
        {
            "evidence_rank": table["rank"],
            "log_evidence": table["log_evidence"],
            "mcse": table["mcse"],
            "probability": table["probability"],
            "loo_rank": other["rank"].astype(int) + 1,
            "elpd": other["elpd"],
            "elpd_diff": other["elpd_diff"],
            "dse": other["dse"],
            "loo_weight": other["weight"],
        }
    )
    joined["agrees"] = joined["evidence_rank"] == joined["loo_rank"]
    return joined


def _refuse_single_terms(loos):
    """Leave-one-out of one observation is none: y of a Gaussian process is one vector."""
    for name, value in loos.items():
        n_terms = getattr(value, "n_data_points", None)
        if n_terms is None and "log_likelihood" in getattr(value, "children", {}):
            terms = value["log_likelihood"].to_dataset()
            n_terms = sum(
                math.prod(n for dim, n in terms[v].sizes.items() if dim not in ("chain", "draw"))
                for v in terms
            )
        if n_terms == 1:
            raise ValueError(
                f"The log-likelihood of {name!r} has one term for all observations together (as "
                "that of a Gaussian process with its outputs integrated out): there is nothing to "
                "leave out. Compare it by evidence alone."
            )


def model_probabilities(values, errors, log_prior, random_seed=0):
    """Posterior probabilities of models whose log evidences are known up to errors.

    Their means and standard deviations within the errors. All arrays have the shape (n_models,).

    Examples
    --------
    >>> mean, sd = model_probabilities(np.log([3.0, 1.0]), np.zeros(2), np.zeros(2))
    >>> mean.round(6).tolist(), sd.tolist()
    ([0.75, 0.25], [0.0, 0.0])
    """
    if np.isneginf(values).all():
        raise ValueError("No model has any evidence: all of them say that the data are impossible.")
    rng = np.random.default_rng(random_seed)
    # An error of minus infinity is zero: the product would be NaN.
    noise = np.where(errors > 0, rng.standard_normal((DRAWS, len(values))) * errors, 0.0)
    logs = values + log_prior + noise
    shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    spread = shares.std(axis=0) if (errors > 0).any() else np.zeros(len(values))
    return shares.mean(axis=0), spread


def _read(evidences):
    if not isinstance(evidences, Mapping):
        raise TypeError(
            f"evidences must be a dict from names to results, got {type(evidences).__name__}."
        )
    if len(evidences) < 2:
        raise ValueError(f"A comparison needs at least two models, got {len(evidences)}.")
    found = {}
    for name, value in evidences.items():
        if not isinstance(value, Evidence):
            if not hasattr(value, "children"):
                raise TypeError(
                    f"{name!r} is a {type(value).__name__}, not a result of bk.evidence.estimate."
                )
            value = Evidence.from_datatree(value)
        found[name] = value
    return found


def _refuse(evidences):
    bad = [f"{name} ({e.log_evidence})" for name, e in evidences.items() if not e.is_known]
    if bad:
        raise ValueError(
            f"The log evidence of {', '.join(bad)} is not a number that can be compared: its "
            "estimate has failed. Estimate it again, by another method."
        )
    without = [str(name) for name, e in evidences.items() if not math.isfinite(e.mcse)]
    if without:
        methods = sorted({evidences[n].method for n in evidences if str(n) in without})
        raise ValueError(
            f"The evidence of {', '.join(without)} has no error (by {', '.join(methods)}), so that "
            "nobody knows whether a difference means anything. Estimate it with a method that "
            "has one; method='auto' only takes these."
        )
    digests = {name: e.data_digest for name, e in evidences.items()}
    unknown = [str(name) for name, digest in digests.items() if not digest]
    if unknown:
        raise ValueError(
            f"The data of {', '.join(unknown)} are not known, so that nobody can tell whether they "
            "are the same. Use results of bk.evidence.estimate, and observed variables instead of "
            "potentials."
        )
    by_data = {}
    for name, digest in digests.items():
        by_data.setdefault(digest_of_observations(digest), []).append(str(name))
    if len(by_data) > 1:
        groups = "; ".join(", ".join(names) for names in by_data.values())
        raise ValueError(
            f"The models have different data, these have the same: {groups}. Evidences are "
            "probabilities of the data, and only those of the same observations (in the same "
            "order, number type and units) can be compared."
        )
    if not same_inputs(digests.values()):
        _log.info(
            "The models explain the same observations by different inputs. That is a fair "
            "comparison if it is what you want to compare."
        )


def _log_prior(prior_weights, names):
    if prior_weights is None:
        return np.zeros(len(names))
    if isinstance(prior_weights, Mapping):
        if set(prior_weights) != set(names):
            raise ValueError(
                f"prior_weights must have the names {sorted(map(str, names))}, it has "
                f"{sorted(map(str, prior_weights))}."
            )
        prior_weights = [prior_weights[name] for name in names]
    weights = np.asarray(prior_weights, dtype=np.float64)
    if weights.shape != (len(names),):
        raise ValueError(f"prior_weights must be {len(names)} numbers, got {weights.shape}.")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError(f"prior_weights must not be negative, nor all zero; got {weights}.")
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum())
