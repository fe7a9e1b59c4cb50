"""Evidences of several models as dots with error bars."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from bayeskernels.evidence.comparison import compare
from bayeskernels.plots.style import INK, QUIET, SERIES_COLORS, as_axes, as_text

__all__ = ["evidence_dots"]


def evidence_dots(evidences, *, relative=False, ax=None) -> Axes:
    """Log evidences with two standard errors, the best model on top.

    Posterior probabilities of the models are written on the right. A hollow dot is an estimate
    that came with a warning.

    Parameters
    ----------
    evidences : DataFrame or dict
        Table of :func:`bayeskernels.evidence.compare`, or what that function takes.
    relative : bool
        Show differences to the best model.

    Examples
    --------
    >>> x = [1.2, 0.8, 1.1, 1.4]
    >>> ax = bk.plots.evidence(
    ...     {
    ...         f"prior sd {sd:g}": bk.evidence.estimate(bk.models.gaussian_mean(x, prior_sd=sd))
    ...         for sd in (1.0, 10.0)
    ...     }
    ... )
    """
    table = compare(evidences) if isinstance(evidences, Mapping) else evidences
    missing = {"log_evidence", "mcse", "delta", "probability"} - set(table.columns)
    if missing:
        raise ValueError(f"The table lacks the columns {sorted(missing)}: use that of compare.")
    table = table.sort_values("log_evidence", ascending=False)
    n = len(table)
    ax = as_axes(ax, figsize=(6.0, 1.3 + 0.42 * n))
    values = table["delta" if relative else "log_evidence"].to_numpy()
    rows = np.arange(n)[::-1]
    # A model without any evidence has no place on the axis.
    shown = np.isfinite(values)
    ax.axvline(values[0], color=QUIET, linewidth=1, linestyle=":", zorder=0)
    ax.errorbar(
        values[shown],
        rows[shown],
        xerr=2.0 * table["mcse"].to_numpy()[shown],
        fmt="none",
        ecolor=INK,
        elinewidth=1.2,
        capsize=3,
        zorder=1,
    )
    warned = table["warning"].to_numpy() if "warning" in table else np.zeros(n, dtype=bool)
    face = np.where(warned[shown], "white", SERIES_COLORS[0])
    ax.scatter(values[shown], rows[shown], s=46, c=face, edgecolors=SERIES_COLORS[0], zorder=2)
    for row, probability in zip(rows, table["probability"], strict=True):
        ax.annotate(
            _percent(probability),
            (1.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    ax.set_yticks(rows, [as_text(name) for name in table.index])
    ax.set_ylim(-0.6, n - 0.4)
    ax.margins(x=0.12)
    ax.set_xlabel("log evidence, relative to the best" if relative else "log evidence (nats)")
    ax.set_title("probability", loc="right", fontsize="small", color=INK)
    ax.grid(axis="x", color=QUIET, alpha=0.25)
    return ax


def _percent(probability):
    if 0.0 < probability < 0.001:
        return "< 0.1%"
    if 0.999 < probability < 1.0:
        return "> 99.9%"
    return f"{100 * probability:.1f}%"
