"""Error against the share of points on which no decision is made (KGS, section 4)."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from bayeskernels.plots.style import QUIET, SERIES_COLORS, as_axes, as_text

__all__ = ["rejection"]


def rejection(curves, *, max_rejected=0.9, ax=None) -> Axes:
    """Error on the kept points against the share of rejected ones.

    Parameters
    ----------
    curves : DataFrame or dict of DataFrame
        From :func:`bayeskernels.rejection_curve`; several ones by name.
    max_rejected : float
        Where to stop: at the end the error is that of a handful of points.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> X_test, y_test = bk.data.make_two_moons(500, random_seed=2)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> idata = bk.samplers.sample_directions(model, draws=100, chains=1, random_seed=1)
    >>> curve = bk.rejection_curve(bk.predict(model, idata, X_test), y_test)
    >>> ax = bk.plots.rejection(curve)
    """
    named = {"": curves} if isinstance(curves, pd.DataFrame) else dict(curves)
    if not named:
        raise ValueError("There is no curve to draw.")
    ax = as_axes(ax)
    for k, (name, curve) in enumerate(named.items()):
        shown = curve[curve["rejected"] <= max_rejected]
        color = SERIES_COLORS[k % len(SERIES_COLORS)]
        ax.plot(
            shown["rejected"], shown["error"], color=color, linewidth=2, label=as_text(name) or None
        )
        ax.axhline(curve["error"].iloc[0], color=color, linewidth=1, linestyle=":", alpha=0.8)
    ax.set(xlabel="share of points rejected", ylabel="error on the rest")
    ax.set_xlim(0, max_rejected)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.grid(color=QUIET, alpha=0.25)
    if len(named) > 1:
        ax.legend(frameon=False, fontsize="small")
    return ax
