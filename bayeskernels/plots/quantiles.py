"""Two samples of one quantity, compared by their quantiles (BPM, Figure 4)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from bayeskernels.plots.style import INK, QUIET, SERIES_COLORS, as_axes, as_text

__all__ = ["quantiles"]


def quantiles(
    first, second, *, names=("first", "second"), n_quantiles=200, percent=True, ax=None
) -> Axes:
    """Quantile-quantile plot of two samples, for example of test errors (BPM, Figure 4).

    Where the points lie on a straight line the two distributions differ by shift and scale only;
    where they lie on the dotted diagonal they are equal.

    Parameters
    ----------
    first, second : array_like
        The samples, of any length and shape.
    names : tuple of str
        What the axes show.
    n_quantiles : int
        How many quantiles to compare; not more than the shorter sample has values.
    percent : bool
        Whether the values are shares, to be shown as percentages.

    Notes
    -----
    The line is the one through the means with the ratio of the standard deviations as its slope. A
    test error has few different values, so quantiles coincide: the larger a point, the more do.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ax = bk.plots.quantiles(rng.beta(2, 50, 500), rng.beta(3, 50, 400), names=("a", "b"))
    """
    samples = [np.ravel(np.asarray(sample, dtype=float)) for sample in (first, second)]
    shortest = min(map(len, samples))
    if shortest < 2:
        raise ValueError(f"Each sample needs at least 2 values, got {[len(s) for s in samples]}.")
    share = (np.arange(min(n_quantiles, shortest)) + 0.5) / min(n_quantiles, shortest)
    pairs = np.column_stack(
        [np.quantile(sample, share, method="inverted_cdf") for sample in samples]
    )
    places, counts = np.unique(pairs, axis=0, return_counts=True)
    ax = as_axes(ax, figsize=(4.6, 4.4))
    ends = np.array([pairs.min(), pairs.max()])
    ax.plot(ends, ends, color=QUIET, linewidth=1, linestyle=":", label="equal")
    (mean_x, sd_x), (mean_y, sd_y) = ((sample.mean(), sample.std()) for sample in samples)
    if sd_x > 0:
        x = np.array([pairs[:, 0].min(), pairs[:, 0].max()])
        line = mean_y + sd_y / sd_x * (x - mean_x)
        ax.plot(x, line, color=INK, linewidth=1, label="equal up to shift and scale")
    ax.scatter(
        *places.T,
        s=14 + 130 * counts / counts.sum(),
        c=SERIES_COLORS[0],
        edgecolors="white",
        linewidths=0.5,
        label="quantiles",
        zorder=3,
    )
    ax.set(xlabel=as_text(names[0]), ylabel=as_text(names[1]))
    ax.grid(color=QUIET, alpha=0.25)
    if percent:
        ax.xaxis.set_major_formatter(PercentFormatter(1))
        ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.legend(frameon=False, fontsize="small")
    return ax
