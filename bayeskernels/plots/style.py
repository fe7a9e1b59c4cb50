"""The look of all plots, in one place: colours that colour-blind readers can tell apart.

The qualitative colours are those of Okabe and Ito (2008, "Color universal design"). The two classes
have the blue and the vermilion among them, and a marker each, so that they differ in print too.
"""

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.transforms import ScaledTranslation

__all__ = [
    "CLASS_COLORS",
    "CLASS_MARKERS",
    "INK",
    "MANY_CLASS_COLORS",
    "MANY_CLASS_MARKERS",
    "PLANTED",
    "QUIET",
    "SERIES_COLORS",
    "SERIES_MARKERS",
    "VOTES",
    "as_axes",
    "as_text",
    "legend_below",
]

#: Negative class, positive class.
CLASS_COLORS = ("#0072B2", "#D55E00")
CLASS_MARKERS = ("o", "s")

#: The same for more than two classes, which begin again after the sixth.
MANY_CLASS_COLORS = (*CLASS_COLORS, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MANY_CLASS_MARKERS = (*CLASS_MARKERS, "^", "D", "v", "P")

#: Curves of a plot, in the order in which they are drawn.
SERIES_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
SERIES_MARKERS = ("o", "^", "v", "s", "D", "P")

#: Labels that are known to be wrong.
PLANTED = "#CC79A7"

#: Text, rings and reference lines; things in the background.
INK, QUIET = "#222222", "#9A9A9A"

#: Share of the votes: from the negative class through white to the positive one.
VOTES = LinearSegmentedColormap.from_list(
    "bayeskernels_votes",
    ["#0B4F7A", "#0072B2", "#7DB8DA", "#F7F7F7", "#EFA678", "#D55E00", "#8F3F00"],
)


def as_axes(ax, *, figsize=(5.2, 4.2), projection=None):
    """Return ``ax``, or the Axes of a new figure if it is None."""
    if ax is not None:
        return ax
    # pyplot chooses a back end when it is imported: not before somebody plots.
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(
        figsize=figsize, layout="constrained", subplot_kw={"projection": projection}
    )
    return ax


def as_text(name):
    r"""A name from the data, of a class or a column, to be shown letter by letter.

    Between two dollars matplotlib would look for a formula, and a legend leaves out what begins
    with an underscore.

    Examples
    --------
    >>> as_text("price in $"), as_text("_id")
    ('price in \\$', '$\\_$id')
    """
    text = str(name).replace("$", r"\$")
    return rf"$\_${text[1:]}" if text.startswith("_") else text


def legend_below(ax, *, columns=3):
    """Put the legend under the axes and their label, where it covers no data."""
    lines = ax.xaxis.label.get_size() + ax.xaxis.get_major_ticks()[0].label1.get_size()
    below = ScaledTranslation(0, -(1.25 * lines + 8) / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + below,
        ncols=columns,
        frameon=False,
        handletextpad=0.3,
        columnspacing=1.2,
        borderaxespad=0.0,
        fontsize="small",
    )
