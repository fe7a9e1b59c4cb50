"""Rejection curves: how the error falls when the least certain predictions are not made."""

import numpy as np
import pandas as pd

from bayeskernels.inputs import as_known_labels, as_labels

__all__ = ["rejection_curve"]


def rejection_curve(prediction, y_true, *, by=None):
    """Error on the points that are kept, for every share of rejected points.

    Points are rejected in the order of a certainty, the closest decisions first: the majority's
    share of the votes (KGS, section 4) or the size of the winning output (BPM, section 4.3). Points
    of equal certainty are taken in random order: the curve has the error that is to be expected
    then, whatever the order of the data.

    Parameters
    ----------
    prediction : xarray.Dataset
        From :func:`bayeskernels.predict`.
    y_true : array_like of shape (n,)
        True labels, in the coding of the model's classes.
    by : {"vote", "margin", "probability"}, optional
        The certainty: share of votes (the default for two classes), winning output over the length
        of the point in feature space (the default for more), or the largest posterior predictive
        probability, which also knows points far from all data as uncertain.

    Returns
    -------
    pandas.DataFrame
        Columns ``rejected`` (share of the points), ``error`` (among the rest) and ``threshold``
        (smallest certainty that is kept).

    Examples
    --------
    >>> votes = np.array([[0.1, 0.9], [0.45, 0.55], [0.8, 0.2]])
    >>> prediction = xr.Dataset(
    ...     {"vote": (("obs_new", "class"), votes), "label": ("obs_new", [1, 1, -1])}
    ... )
    >>> rejection_curve(prediction, [1, -1, -1]).error.round(2).tolist()
    [0.33, 0.0, 0.0]
    """
    if "label" not in getattr(prediction, "data_vars", ()):
        raise TypeError(
            "prediction must be that of a classifier, a Dataset with labels from bk.predict; got "
            f"{_kind(prediction)}."
        )
    labels = prediction["label"].values
    y_true = _true_labels(y_true, prediction)
    if by is None:
        by = "vote" if prediction.sizes["class"] == 2 else "margin"
    if by == "vote":
        # Rounded, so that a share of 0.7 ties with one less 0.3.
        certainty = prediction["vote"].max("class").values.round(12)
    elif by == "probability":
        certainty = prediction["probability"].max("class").values.round(12)
    elif by == "margin":
        certainty = prediction["margin"].values
    else:
        raise ValueError(f'by must be "vote", "margin" or "probability", got {by!r}.')
    if np.isnan(certainty).any():
        point = int(np.flatnonzero(np.isnan(certainty))[0])
        raise ValueError(f"prediction has NaN as the {by} of point {point}: it cannot be ranked.")
    order = np.argsort(certainty, kind="stable")
    wrong = (labels != y_true)[order].astype(float)
    n = len(wrong)
    # Spread the errors of a group of ties evenly over it.
    _, group = np.unique(certainty[order], return_inverse=True)
    wrong = (np.bincount(group, wrong) / np.bincount(group))[group]
    errors_kept = wrong[::-1].cumsum()[::-1]
    return pd.DataFrame(
        {
            "rejected": np.arange(n) / n,
            "error": errors_kept / np.arange(n, 0, -1),
            "threshold": certainty[order],
        }
    )


def _true_labels(y_true, prediction):
    """True labels, which must be in the coding of the predicted ones."""
    n = prediction.sizes["obs_new"]
    if "class" in prediction.coords:
        names = prediction["class"].values
        return as_known_labels(y_true, names, n, name="y_true", inputs="X_new")
    return as_labels(y_true, n, name="y_true", inputs="X_new")


def _kind(prediction):
    """What a prediction is that has no labels."""
    if "mean" in getattr(prediction, "data_vars", ()):
        return "that of a regression"
    return type(prediction).__name__
