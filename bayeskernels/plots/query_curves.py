"""Error against the number of labels that were asked for (KGS, section 4)."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from bayeskernels.plots.style import QUIET, SERIES_COLORS, as_axes, as_text

__all__ = ["active_learning"]


def active_learning(curves, *, ax=None) -> Axes:
    """Error against the number of labels, for several ways of choosing them.

    Curves are means over repetitions, with a band of two standard errors.

    Parameters
    ----------
    curves : dict
        From the name of a strategy to what
        :func:`bayeskernels.prediction.active_learning.learn_actively` returned: one DataFrame, or a
        list of one for each repetition.

    Examples
    --------
    >>> curve = pd.DataFrame({"n_labels": [4, 5, 6], "query": [-1, 3, 7], "error": [0.3, 0.2, 0.1]})
    >>> ax = bk.plots.active_learning({"entropy": curve})
    """
    if not curves:
        raise ValueError("There is no curve to draw.")
    ax = as_axes(ax)
    for k, (name, repetitions) in enumerate(curves.items()):
        if isinstance(repetitions, pd.DataFrame):
            repetitions = [repetitions]
        errors = pd.concat([r.set_index("n_labels")["error"] for r in repetitions], axis=1)
        mean = errors.mean(axis=1)
        color = SERIES_COLORS[k % len(SERIES_COLORS)]
        ax.plot(mean.index, mean, color=color, linewidth=2, label=as_text(name))
        if errors.shape[1] > 1:
            half = 2 * errors.std(axis=1) / np.sqrt(errors.shape[1])
            ax.fill_between(
                mean.index, mean - half, mean + half, color=color, alpha=0.2, linewidth=0
            )
    ax.set(xlabel="number of labels", ylabel="test error")
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.grid(color=QUIET, alpha=0.25)
    ax.legend(frameon=False, title="queries by")
    return ax
