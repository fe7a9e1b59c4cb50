"""Regression on a line: mean, band of two standard deviations, data."""

import numpy as np
from matplotlib.axes import Axes

from bayeskernels.plots.style import INK, QUIET, SERIES_COLORS, as_axes

__all__ = ["regression_band"]


def regression_band(
    prediction, x, *, data=None, truth=None, width=2.0, color=None, label="mean", ax=None
) -> Axes:
    """Predictive mean with a band of standard deviations (lecture, the sinusoidal data set).

    Parameters
    ----------
    prediction : xarray.Dataset
        From :func:`bayeskernels.predict` of a regression, with ``mean`` and ``sd``. The dark band
        is that of the function (``latent_sd``, where it is there), the light one that of targets.
    x : array_like of shape (n_new,) or (n_new, 1)
        Where the prediction was made.
    data : tuple of array, optional
        Inputs and targets of training.
    truth : array_like of shape (n_new,), optional
        The true function at ``x``.
    width : float
        Half width of the bands in standard deviations.
    color : color, optional
    label : str
        What the mean is called in the legend.

    Examples
    --------
    >>> X = np.linspace(0, 1, 10)[:, None]
    >>> t = np.sin(6 * X[:, 0])
    >>> model = bk.models.gp_regression(X, t, kernel=pm.gp.cov.ExpQuad(1, ls=0.2), noise=0.1)
    >>> x = np.linspace(-0.2, 1.2, 50)[:, None]
    >>> ax = bk.plots.regression_band(bk.predict(model, None, x), x, data=(X, t))
    """
    if "mean" not in prediction:
        raise TypeError(
            "regression_band shows predictions of a regression, which have a mean; this one has "
            f"{', '.join(map(str, prediction.data_vars))}."
        )
    x = np.asarray(x, dtype=float)
    if x.ndim == 2 and x.shape[1] == 1:
        x = x[:, 0]
    if x.shape != (prediction.sizes["obs_new"],):
        raise ValueError(
            f"x must be one number for each of the {prediction.sizes['obs_new']} predictions, got "
            f"the shape {x.shape}."
        )
    color = SERIES_COLORS[0] if color is None else color
    ax = as_axes(ax, figsize=(6.0, 3.8))
    order = np.argsort(x, kind="stable")
    x, mean = x[order], prediction["mean"].values[order]
    for name, alpha in (("sd", 0.15), ("latent_sd", 0.25)):
        if name in prediction:
            half = width * prediction[name].values[order]
            ax.fill_between(x, mean - half, mean + half, color=color, alpha=alpha, linewidth=0)
    if truth is not None:
        truth = np.asarray(truth, dtype=float)[order]
        ax.plot(x, truth, color=SERIES_COLORS[2], linewidth=1.5, linestyle="--", label="truth")
    ax.plot(x, mean, color=color, linewidth=1.8, label=label)
    if data is not None:
        ax.scatter(*(np.ravel(values) for values in data), s=14, color=INK, zorder=3, label="data")
    ax.set(xlabel="input", ylabel="target")
    ax.grid(color=QUIET, alpha=0.25)
    ax.legend(frameon=False, fontsize="small")
    return ax
