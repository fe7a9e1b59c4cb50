"""Predictions of several models as one, each with its probability as weight."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import entropy

from bayeskernels.evidence.comparison import compare

__all__ = ["average_predictions"]


def average_predictions(weights, predictions):
    """Bayesian model averaging: mixture of the predictions of several models.

    Parameters
    ----------
    weights : DataFrame or dict
        Table of :func:`bayeskernels.evidence.compare`, a dict of :class:`Evidence`, or a dict of
        probabilities by name.
    predictions : dict
        From the same names to what :func:`bayeskernels.predict` gives, all at the same points.

    Returns
    -------
    xarray.Dataset
        For classifiers ``probability`` of each class, ``label`` (the most probable one), and where
        all have them ``vote`` and its ``entropy`` in bits. For regressions ``mean`` and ``sd`` of
        the mixture. Outputs and margins of different models have no common scale and are left out.
        The attribute ``weights`` names the weights.

    Examples
    --------
    >>> x = [1.2, 0.8, 1.1, 1.4]
    >>> models = {sd: bk.models.gaussian_mean(x, prior_sd=sd) for sd in (0.1, 1.0)}
    >>> evidences = {sd: bk.evidence.estimate(model) for sd, model in models.items()}
    >>> predictions = {sd: bk.predict(model, None) for sd, model in models.items()}
    >>> averaged = bk.evidence.average_predictions(evidences, predictions)
    >>> each = [float(p["mean"][0]) for p in predictions.values()]
    >>> bool(min(each) < float(averaged["mean"][0]) < max(each))
    True
    """
    shares = _shares(weights)
    if not isinstance(predictions, Mapping) or set(predictions) != set(shares):
        given = sorted(map(str, predictions)) if isinstance(predictions, Mapping) else predictions
        raise ValueError(
            f"predictions must be a dict with the names {sorted(map(str, shares))}, got {given}."
        )
    names = list(shares)
    parts = [predictions[name] for name in names]
    try:
        parts = xr.align(*parts, join="exact")
    except ValueError as error:
        raise ValueError(
            f"The predictions are not of the same points and classes: {error}"
        ) from error
    share = xr.DataArray(list(shares.values()), dims="model")
    together = {
        name: xr.concat([part[name] for part in parts], dim="model", coords="minimal")
        for name in ("probability", "vote", "mean", "sd")
        if all(name in part for part in parts)
    }
    attributes = {"weights": ", ".join(f"{name}: {shares[name]:.3g}" for name in names)}
    if "probability" in together:
        averaged = _classes(together, share, parts[0])
    elif "mean" in together and "sd" in together:
        averaged = _targets(together, share)
    else:
        raise ValueError(
            "The predictions have neither 'probability' nor 'mean' and 'sd' in common: classifiers "
            "and regressions cannot be averaged."
        )
    return averaged.assign_attrs(attributes)


def _classes(together, share, first):
    probability = (share * together["probability"]).sum("model")
    averaged = xr.Dataset({"probability": probability})
    winner = probability.argmax("class")
    averaged["label"] = ("obs_new", np.asarray(first["class"].values)[winner.values])
    if "vote" in together:
        vote = (share * together["vote"]).sum("model")
        averaged["vote"] = vote
        axis = vote.get_axis_num("class")
        averaged["entropy"] = ("obs_new", entropy(vote.values, base=2, axis=axis))
    return averaged


def _targets(together, share):
    mean = (share * together["mean"]).sum("model")
    # Variance of a mixture: the mean of the variances and the variance of the means.
    variance = (share * (together["sd"] ** 2 + (together["mean"] - mean) ** 2)).sum("model")
    return xr.Dataset({"mean": mean, "sd": np.sqrt(variance)})


def _shares(weights):
    if isinstance(weights, pd.DataFrame):
        if "probability" not in weights:
            raise ValueError("The table has no column 'probability': use that of compare.")
        return weights["probability"].to_dict()
    if not isinstance(weights, Mapping) or not weights:
        raise TypeError("weights must be a table of compare, or a dict by name.")
    if all(isinstance(value, int | float | np.number) for value in weights.values()):
        values = np.array(list(weights.values()), dtype=np.float64)
        if not ((values >= 0).all() and np.isclose(values.sum(), 1.0)):
            raise ValueError(f"Weights must not be negative and must add up to 1, got {weights}.")
        return dict(weights)
    return compare(weights)["probability"].to_dict()
