"""One call for the evidence of any model."""

import logging
from dataclasses import replace

import numpy as np
from pymc.util import get_random_generator

from bayeskernels.evidence.data_digest import data_digest
from bayeskernels.evidence.methods import METHODS, method_named, refusal_of
from bayeskernels.evidence.model_checks import (
    likelihood_warning,
    refuse_foreign_draws,
    refuse_no_data,
    refuse_unnormalised_likelihood,
    refuse_unpaired_data,
)
from bayeskernels.evidence.repetitions import combine
from bayeskernels.graphs.prior_mass import log_missing_constant
from bayeskernels.graphs.unconstrained import as_model
from bayeskernels.inputs import as_count
from bayeskernels.specification.draws import read_draws

__all__ = ["estimate", "suitable_methods"]

_log = logging.getLogger(__name__)

#: Part of the seed of all estimates, so that their random numbers are their own.
STREAM = 0x65766964


def estimate(
    model=None,
    idata=None,
    *,
    method="auto",
    repetitions=1,
    random_seed=None,
    progressbar=True,
    **options,
):
    """Log evidence of a model: the logarithm of the probability of its data.

    Parameters
    ----------
    model : pm.Model, optional
        The one in context by default. Any PyMC model, not only those of this package.
    idata : DataTree, optional
        Its posterior draws, for ``bridge``, which draws some with ``pm.sample`` otherwise.
    method : str, default "auto"
        ``auto`` takes the first of these that fits the model (``orthant`` gives way to the next
        where a version space turns out too thin for it):

        * ``exact``: Gaussian models, and those without unknowns, in closed form;
        * ``orthant``: version spaces (noise zero), by minimax exponential tilting;
        * ``tempering``: label-noise classifiers, with the evidence of all noise levels as a curve;
        * ``power-tempering``: sparse generalized kernel models with the probit link;
        * ``bridge``: any model with continuous variables, from draws of its posterior;
        * ``smc``: sequential Monte Carlo of PyMC.

        Only on request, because their error is not known: ``quadrature`` (up to three unknowns; a
        posterior with one mode), ``laplace`` and ``ep`` (expectation propagation).
    repetitions : int, default 1
        Independent estimates, of which the mean is returned; their spread is part of the error.
    random_seed : int or numpy.random.Generator, optional
    progressbar : bool
    **options
        Of the method.

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        If the model has no evidence (improper priors, no data, a likelihood that does not add up to
        one), the integral of a prior is not known (see :func:`declare_normalised`), the draws are
        not the model's, or the method is unknown. Also if the estimate is not finite; minus
        infinity is returned by ``exact`` only, for data that are impossible.
    TypeError
        If the method does not fit the model; the message says what to use.

    Examples
    --------
    >>> narrow = bk.models.gaussian_mean([1.0, 3.0], sd=1.0, prior_sd=1.0)
    >>> round(bk.evidence.estimate(narrow).log_evidence, 4)
    -4.7205
    """
    model = as_model(model, "estimate")
    repetitions = as_count(repetitions, "repetitions")
    chosen = None if method == "auto" else method_named(method)
    refuse_no_data(model)
    refuse_unpaired_data(model)
    log_missing_constant(model)  # raises where it is not known
    refuse_unnormalised_likelihood(model)
    idata = read_draws(model, idata)
    refuse_foreign_draws(model, idata)
    if chosen is None:
        candidates = _methods_that_fit(model, idata)
    else:
        reason = refusal_of(chosen, model, idata)
        if reason is not None:
            raise TypeError(f"The method {method!r} does not fit this model. {reason}")
        candidates = iter([chosen])

    def run(candidate, rngs):
        results = [
            candidate.run(model, idata, random_seed=rng, progressbar=progressbar, **options)
            for rng in rngs
        ]
        shares_draws = candidate.uses_draws and idata is not None
        return combine(results, is_independent=not shares_draws)

    rngs = _own_streams(random_seed, repetitions)
    first = next(candidates)
    result = run(first, rngs)
    # Options belong to the first method: with some given, it is the one that is wanted.
    if result.warning and first.gives_way and not options:
        another = next(candidates, None)
        if another is not None:
            _log.info("%s gives way to %s: %s", first.name, another.name, result.warning)
            result = run(another, rngs)
    _refuse_infinite(result)
    warning = " ".join(filter(None, [result.warning, likelihood_warning(model)]))
    if warning:
        result = replace(result, diagnostics={**result.diagnostics, "warning": warning})
        _log.warning("Evidence by %s: %s", result.method, result.warning)
    return replace(result, data_digest=result.data_digest or data_digest(model))


def _refuse_infinite(result):
    """An estimate that is no number has failed; an exact zero of the evidence has not."""
    if result.is_known:
        return
    reason = (
        "the density of the data is infinite, as at a pole of a Beta density. Data that were "
        "rounded to such a point are the usual reason"
        if result.log_evidence == np.inf
        else "no point with a density above zero was found, or one without a number. Either the "
        "data are impossible under the model, or the method has failed: try another one"
    )
    raise ValueError(f"The log evidence by {result.method} is {result.log_evidence}: {reason}.")


def suitable_methods(model=None, idata=None):
    """Which methods fit a model, and why the others do not.

    From the name of each method to an empty text, or to the reason against it. The first one with
    an empty text is not always what ``auto`` takes: approximations are never taken.

    Examples
    --------
    >>> model = bk.models.gaussian_mean([1.0, 3.0])
    >>> bk.evidence.suitable_methods(model)["exact"]
    ''
    """
    model = as_model(model, "suitable_methods")
    idata = read_draws(model, idata)
    return {method.name: _reason_against(method, model, idata) or "" for method in METHODS}


def _reason_against(method, model, idata):
    """Why a method does not fit: its own reason, or what came up while it was looked for."""
    try:
        refuse_unpaired_data(model)
        reason = refusal_of(method, model, idata)
        if reason is None:
            log_missing_constant(model)  # raises where it is not known
        return reason
    except (TypeError, ValueError) as error:
        return str(error)


def _own_streams(random_seed, n):
    """Generators that share nothing with those of a sampler that was given the same seed.

    Draws made with the seed 1 and a proposal drawn with the seed 1 could else be the same normal
    numbers, which biases a bridge by many of its standard errors.
    """
    key = get_random_generator(random_seed).integers(2**63, size=2).tolist()
    return np.random.default_rng([STREAM, *key]).spawn(n)


def _methods_that_fit(model, idata):
    """Methods that ``auto`` may use, best first."""
    reasons = []
    for method in METHODS:
        if not method.is_automatic:
            continue
        reason = refusal_of(method, model, idata)
        if reason is None:
            yield method
        else:
            reasons.append(f"{method.name}: {reason}")
    if len(reasons) == sum(method.is_automatic for method in METHODS):
        raise TypeError("No method fits this model. " + " ".join(reasons))
