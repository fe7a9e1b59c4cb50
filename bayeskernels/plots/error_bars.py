"""Errors of several methods over one shared parameter (KGS, Figure 4)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from bayeskernels.plots.style import (
    INK,
    QUIET,
    SERIES_COLORS,
    SERIES_MARKERS,
    as_axes,
    as_text,
    legend_below,
)

__all__ = ["generalisation"]


def generalisation(results, *, x="noise", reference=None, reference_label=None, ax=None) -> Axes:
    """Mean error with its standard error, by method and parameter (KGS, Figure 4).

    Parameters
    ----------
    results : DataFrame
        One row per method, parameter and repetition: columns ``method``, ``error`` and the one
        that ``x`` names.
    x : str
        Column of the parameter.
    reference : float, optional
        Error at which to draw a dotted line.
    reference_label : str, optional
        What the line stands for.

    Examples
    --------
    >>> results = pd.DataFrame(
    ...     {"method": "BPM", "noise": [0.1, 0.1, 0.2, 0.2], "error": [0.05, 0.06, 0.06, 0.06]}
    ... )
    >>> ax = bk.plots.generalisation(results)
    """
    missing = {"method", "error", x} - set(results.columns)
    if missing:
        raise ValueError(f"results lacks the columns {sorted(missing)}.")
    ax = as_axes(ax, figsize=(6.0, 4.2))
    methods = list(dict.fromkeys(results["method"]))
    places = np.sort(results[x].unique())
    step = np.diff(places).min() if len(places) > 1 else 1.0
    for k, method in enumerate(methods):
        groups = results[results["method"] == method].groupby(x)["error"]
        mean, standard_error = groups.mean(), groups.sem().fillna(0.0)
        # Side by side, so that the bars of one place do not hide each other.
        shift = 0.12 * step * (k - (len(methods) - 1) / 2)
        ax.errorbar(
            mean.index + shift,
            mean,
            yerr=standard_error,
            color=SERIES_COLORS[k % len(SERIES_COLORS)],
            marker=SERIES_MARKERS[k % len(SERIES_MARKERS)],
            markersize=6,
            linewidth=1.2,
            capsize=3,
            label=as_text(method),
        )
    if reference is not None:
        ax.axhline(reference, color=INK, linewidth=1, linestyle=":", label=reference_label)
    ax.set(xlabel=as_text(x), ylabel="generalisation error")
    ax.grid(color=QUIET, alpha=0.25)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    legend_below(ax, columns=2)
    return ax
