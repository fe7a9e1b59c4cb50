"""Matplotlib figures as SVG that takes its colours and fonts from the page around it."""

import io
import re
from contextlib import contextmanager

from bayeskernels.plots.style import INK, SERIES_COLORS

__all__ = ["figure_style", "inline_svg"]

#: Stands for the text colour of the page while matplotlib draws.
PAGE_INK = "#010203"

_IDS = re.compile(r' id="[A-Za-z]+[A-Za-z0-9]*_\d+"')
_FONTS = re.compile(r"font-family: [^;\"]*|(?<=px )('[^;\"]*)(?=[;\"])")
_OPENING = re.compile(r'<svg [^>]*viewBox="([^"]*)"[^>]*>')
_LEGEND = re.compile(r'<g id="legend_\d+">.*?(?=<g id="axes_|</svg>)', re.DOTALL)
_MARKER = re.compile(rf'(<path id="m[0-9a-f]+"[^>]*style=")stroke: {INK.lower()}; ')
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


@contextmanager
def figure_style():
    """Matplotlib settings under which the figures of a report are drawn."""
    import matplotlib.pyplot as plt
    from cycler import cycler

    settings = {
        "axes.prop_cycle": cycler(color=SERIES_COLORS),
        "axes.edgecolor": PAGE_INK,
        "axes.labelcolor": PAGE_INK,
        "axes.linewidth": 0.7,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": "medium",
        "figure.dpi": 100,
        "font.size": 10,
        "legend.labelcolor": PAGE_INK,
        "lines.linewidth": 1.3,
        "svg.fonttype": "none",
        "svg.hashsalt": "bayeskernels",
        "text.color": PAGE_INK,
        "xtick.color": PAGE_INK,
        "ytick.color": PAGE_INK,
    }
    with plt.rc_context(settings):
        yield
    plt.close("all")


def inline_svg(figure, *, follow_ink=True):
    """Turn a figure into an ``<svg>`` element.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn under :func:`figure_style`.
    follow_ink : bool
        Whether dark lines of the plot also take the colour of the page's text; not where they lie
        on a coloured ground.

    Returns
    -------
    str
        Without fixed size or background: it fills the width of its parent.
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, dpi=120)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = _METADATA.sub("", text)
    text = _OPENING.sub(r'<svg viewBox="\1" role="img">', text, count=1)
    text = _FONTS.sub(lambda match: "sans-serif" if match[1] else "font-family: inherit", text)
    # A marker's own colour would win over that of its uses, which differ in legend and plot.
    text = _MARKER.sub(r"\1", text)
    text = _LEGEND.sub(lambda match: match[0].replace(INK.lower(), "currentColor"), text)
    text = _IDS.sub("", text)
    text = text.replace(PAGE_INK, "currentColor").replace("stroke: #000000", "stroke: currentColor")
    return text.replace(INK.lower(), "currentColor") if follow_ink else text
