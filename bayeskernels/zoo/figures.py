"""Figures of the report: each takes a result of the zoo and returns a figure, or None."""

from collections.abc import Callable
from dataclasses import dataclass

import arviz as az
import numpy as np
import xarray as xr
from sklearn.metrics import roc_auc_score

from bayeskernels.plots import decision_boundaries, flip_ranking, rejection, vote_map
from bayeskernels.plots.style import CLASS_COLORS, QUIET, as_text
from bayeskernels.prediction.flips import flip_probability
from bayeskernels.prediction.rejection import rejection_curve

__all__ = ["CLASSIFIER_FIGURES", "FigureOf", "flip_auc", "headline_quantities"]

#: Draws per chain that a trace shows; more would be ink, not information.
MAX_TRACE = 250


@dataclass(frozen=True)
class FigureOf:
    """A kind of figure.

    Attributes
    ----------
    draw : callable
        ``draw(result)`` returns a matplotlib figure, or None where it makes no sense.
    title, caption : str
    wide : bool
        Whether it takes the whole width of the page.
    coloured_ground : bool
        Whether it brings a background of its own, so that its dark lines stay dark on dark pages.
    """

    draw: Callable
    title: str
    caption: str
    wide: bool = False
    coloured_ground: bool = False


def votes_over_the_plane(result):
    """Vote map, for inputs in the plane."""
    if result.problem.n_features != 2:
        return None
    ax = vote_map(
        result.model,
        result.idata,
        planted=result.problem.flipped,
        suspicious=0.5 if result.problem.flipped is not None else None,
        resolution=90,
        max_draws=400,
        ax=_axes(4.9, 4.7),
    )
    return ax.figure


def drawn_boundaries(result):
    """Boundaries of some drawn classifiers, where no ranking of labels takes this place."""
    if result.problem.n_features != 2 or result.problem.flipped is not None:
        return None
    ax = decision_boundaries(result.model, result.idata, resolution=90, ax=_axes(4.9, 4.7))
    return ax.figure


def rejected_points(result):
    """Error against the share of rejected test points."""
    curve = rejection_curve(result.prediction, result.problem.y_test)
    return rejection(curve, ax=_axes(4.9, 3.6)).figure


def calibration(result):
    """How often a class occurs among points that get it with a given vote share."""
    names = result.prediction["class"].values
    # Of two classes the second says it all; of more, each counts against the rest.
    shown = slice(1, 2) if len(names) == 2 else slice(None)
    vote = result.prediction["vote"].values[:, shown].ravel()
    positive = (result.problem.y_test[:, None] == names[shown]).ravel()
    bins = np.clip((vote * 10).astype(int), 0, 9)
    present = [k for k in range(10) if (bins == k).sum() >= 5]
    share = np.array([vote[bins == k].mean() for k in present])
    rate = np.array([positive[bins == k].mean() for k in present])
    count = np.array([(bins == k).sum() for k in present])
    # Wilson's interval, at one standard error: defined at rates of 0 and 1 too.
    centre = (rate + 0.5 / count) / (1 + 1 / count)
    half = np.sqrt(rate * (1 - rate) / count + 0.25 / count**2) / (1 + 1 / count)
    ax = _axes(4.9, 3.6)
    ax.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle="--")
    ax.vlines(share, centre - half, centre + half, color=CLASS_COLORS[0], linewidth=1.6)
    ax.scatter(share, rate, s=12 + 60 * np.sqrt(count / count.max()), c=CLASS_COLORS[0], zorder=3)
    shown_class = f"class {as_text(names[1])}" if len(names) == 2 else "a class"
    ax.set(
        xlabel=f"share of votes for {shown_class}",
        ylabel="share of test points",
        xlim=(-0.03, 1.03),
        ylim=(-0.03, 1.03),
    )
    ax.grid(color=QUIET, alpha=0.25)
    return ax.figure


def least_certain_images(result):
    """The test images with the smallest winning outputs, with their true and predicted classes."""
    shape = result.problem.image_shape
    if shape is None:
        return None
    order = np.argsort(result.prediction["margin"].values)[:12]
    figure = _axes(4.9, 3.9).figure
    figure.clear()
    for k, point in enumerate(order):
        ax = figure.add_subplot(3, 4, k + 1)
        ax.imshow(result.problem.X_test[point].reshape(shape), cmap="gray_r")
        true, given = result.problem.y_test[point], result.prediction["label"].values[point]
        wrong = true != given
        ax.set_title(
            f"{true}, taken for {given}" if wrong else f"{true}",
            fontsize="small",
            color=CLASS_COLORS[1] if wrong else QUIET,
        )
        ax.set(xticks=[], yticks=[])
    return figure


def suspicious_labels(result):
    """Ranking of the training labels, where some were flipped on purpose."""
    flipped = result.problem.flipped
    if flipped is None:
        return None
    probability = flip_probability(result.model, result.idata, progressbar=False)
    ax = flip_ranking(probability, planted=flipped, max_points=40, ax=_axes(4.9, 4.4))
    ax.set_title("")
    return ax.figure


def flip_auc(result):
    """Area under the ROC curve of the flip probabilities; None without planted flips."""
    flipped = result.problem.flipped
    if flipped is None or not 0 < flipped.sum() < len(flipped):
        return None
    probability = flip_probability(result.model, result.idata, progressbar=False)
    return float(roc_auc_score(flipped, probability.values))


def traces(result):
    """Distribution and trace of the headline quantities."""
    shown = headline_quantities(result)
    step = max(1, shown.sizes["draw"] // MAX_TRACE)
    n_rows = sum(values[0, 0].size for values in shown.data_vars.values())
    plot = az.plot_trace_dist(
        xr.DataTree.from_dict({"posterior": shown.isel(draw=slice(None, None, step))}),
        compact=False,
        kind="ecdf",
        backend="matplotlib",
        figure_kwargs={"figsize": (10.4, 0.3 + 1.55 * n_rows), "layout": "constrained"},
    )
    return plot.viz["figure"].item()


def ranks(result):
    """Rank plot of the headline quantities."""
    shown = headline_quantities(result)
    if "errors" in shown:
        # Ties of a count would look like a deviation from uniform ranks: they are broken by chance.
        rng = np.random.default_rng(0)
        shown["errors"] = shown["errors"] + rng.uniform(-0.5, 0.5, size=shown["errors"].shape)
    plot = az.plot_rank(
        xr.DataTree.from_dict({"posterior": shown}),
        thin=True,
        backend="matplotlib",
        figure_kwargs={"figsize": (10.4, 2.7), "layout": "constrained"},
    )
    return plot.viz["figure"].item()


def headline_quantities(result):
    """Error count, output at the most disputed watched point, and scalars; what varies of it."""
    shown = result.watched.transpose("chain", "draw", ...)
    if "output" in shown:
        disputed = np.abs((shown["output"] > 0).mean(("chain", "draw")) - 0.5)
        shown = shown.isel(disputed.argmin([*disputed.dims]), drop=True)
    if "errors" in shown:
        shown["errors"] = shown["errors"].astype(int)
    # Ranks of an entry that never changes are undefined: a kernel that is always on, for example.
    spread = shown.std(("chain", "draw"))
    return shown[[name for name in shown if float(spread[name].min()) > 0]]


def _axes(width, height):
    """Axes of a figure that pyplot does not know."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


CLASSIFIER_FIGURES = (
    FigureOf(
        votes_over_the_plane,
        "Votes over the plane",
        "Share of the drawn classifiers that vote for either class; the line is where they are "
        "divided evenly.",
        coloured_ground=True,
    ),
    FigureOf(
        drawn_boundaries,
        "Drawn classifiers",
        "Boundaries of 50 draws from the posterior: where they spread, the data leave it open.",
    ),
    FigureOf(
        suspicious_labels,
        "Which labels are wrong",
        "Posterior probability that a training label was flipped, the 40 most suspicious points.",
    ),
    FigureOf(
        least_certain_images,
        "The hardest test images",
        "Those whose winning output is smallest: the first to be rejected.",
        coloured_ground=True,
    ),
    FigureOf(
        rejected_points,
        "Rejection",
        "Test error when the least certain points are left undecided: those with the closest "
        "votes, or with the smallest winning output where there are several classes.",
    ),
    FigureOf(
        calibration,
        "Calibration",
        "Share of test points of a class against the share of votes that it got; bars are one "
        "standard error, dots grow with the number of points.",
    ),
    FigureOf(
        traces,
        "Traces",
        "By chain, thinned for display: output at the most disputed test point, training errors, "
        "scalar unknowns.",
        wide=True,
    ),
    FigureOf(
        ranks,
        "Ranks",
        "Deviation of the ranks of each chain from uniform, on draws thinned until they are nearly "
        "independent: flat where the chains agree.",
        wide=True,
    ),
)
