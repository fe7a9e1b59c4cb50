"""Evidence as a function: over the noise level, and over the grid of a scan."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from bayeskernels.plots.style import (
    INK,
    PLANTED,
    QUIET,
    SERIES_COLORS,
    as_axes,
    as_text,
    legend_below,
)

__all__ = ["noise_curve", "noise_posterior", "scan_map"]


def noise_curve(evidence, *, q=None, planted=None, label=None, color=None, ax=None) -> Axes:
    """Log evidence over the noise level, with a band of two standard errors.

    The dot is the largest evidence.

    Parameters
    ----------
    evidence : NoiseEvidence
        From tempering.
    q : array_like, optional
        Noise levels; by default from the lowest within reach to one half.
    planted : float, optional
        True noise level, where it is known; drawn as a line.
    label : str, optional
        For the legend, where several curves share axes.
    color : color, optional

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y)
    >>> evidence = bk.evidence.estimate(model, draws=100, random_seed=1, progressbar=False)
    >>> ax = bk.plots.evidence(evidence, planted=0.0)
    """
    curve = evidence.curve(q)
    ax = as_axes(ax, figsize=(5.6, 3.8))
    color = color or SERIES_COLORS[len(ax.lines) % len(SERIES_COLORS)]
    shown = np.isfinite(curve["log_evidence"].values)
    q, value, error = (curve[name].values[shown] for name in ("q", "log_evidence", "mcse"))
    if planted is not None:
        ax.axvline(planted, color=PLANTED, linewidth=1.4, linestyle="--", label="planted")
    ax.fill_between(q, value - 2 * error, value + 2 * error, color=color, alpha=0.25, linewidth=0)
    ax.plot(q, value, color=color, linewidth=1.6, label=label)
    best = int(np.argmax(value))
    ax.plot(q[best], value[best], "o", color=color, markersize=6)
    ax.set(xlabel="noise level q", ylabel="log evidence (nats)")
    ax.grid(color=QUIET, alpha=0.25)
    if label is not None or planted is not None:
        legend_below(ax)
    return ax


def noise_posterior(evidence, *, log_prior=None, planted=None, probability=0.94, ax=None) -> Axes:
    """Posterior density of the noise level, with its shortest interval shaded.

    Parameters
    ----------
    evidence, planted
        As for :func:`noise_curve`.
    log_prior, probability
        See :meth:`bayeskernels.evidence.NoiseEvidence.noise_posterior`.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y)
    >>> evidence = bk.evidence.estimate(model, draws=100, random_seed=1, progressbar=False)
    >>> ax = bk.plots.noise_posterior(evidence)
    """
    posterior = evidence.noise_posterior(log_prior, probability=probability)
    ax = as_axes(ax, figsize=(5.6, 3.8))
    q, density = posterior.q, posterior.density
    low, high = posterior.interval
    inside = (q >= low) & (q <= high)
    ax.fill_between(
        q[inside],
        density[inside],
        color=SERIES_COLORS[0],
        alpha=0.25,
        linewidth=0,
        label=f"{probability:.0%} interval",
    )
    ax.plot(q, density, color=SERIES_COLORS[0], linewidth=1.6)
    ax.plot(posterior.mean, 0.0, "^", color=INK, markersize=7, clip_on=False, label="mean")
    if planted is not None:
        ax.axvline(planted, color=PLANTED, linewidth=1.4, linestyle="--", label="planted")
    # As far as there is something to see.
    seen = q[density > 1e-3 * density.max()]
    ax.set_xlim(max(0.0, seen[0] - 0.02), min(0.5, seen[-1] + 0.02))
    ax.set_ylim(0.0)
    ax.set(xlabel="noise level q", ylabel="posterior density")
    ax.grid(color=QUIET, alpha=0.25)
    legend_below(ax)
    return ax


def scan_map(scan, *, along=None, ax=None) -> Axes:
    """Log evidence over the grid of a scan: a curve for one parameter, a heat map for two.

    Numbers that grow geometrically get a logarithmic axis. The heat map shows by how much each
    model falls short of the best, which a ring marks; gaps are models that could not be built.

    Parameters
    ----------
    scan : EvidenceScan
    along : sequence of str, optional
        One or two parameters to show, the others at their best; all by default.

    Examples
    --------
    >>> x = [0.9, 1.3, 0.7]
    >>> scan = bk.evidence.scan(
    ...     lambda prior_sd, sd: bk.models.gaussian_mean(x, prior_sd=prior_sd, sd=sd),
    ...     {"prior_sd": [0.1, 1.0, 10.0], "sd": [0.3, 1.0]},
    ...     progressbar=False,
    ... )
    >>> ax = bk.plots.evidence(scan)
    >>> ax = bk.plots.evidence(scan, along=["prior_sd"])
    """
    if along is not None:
        scan = scan.along(*([along] if isinstance(along, str) else along))
    dims = list(scan.dataset.dims)
    if len(dims) > 2:
        raise ValueError(
            f"The scan has {len(dims)} parameters; choose one or two of {', '.join(dims)} by along."
        )
    return (_curve if len(dims) == 1 else _heat_map)(scan, *dims, ax=ax)


def _curve(scan, name, *, ax):
    ax = as_axes(ax, figsize=(5.6, 3.8))
    data = scan.dataset
    labels, value, error = (data[key].values for key in (name, "log_evidence", "mcse"))
    shown = np.isfinite(value)
    is_number = labels.dtype.kind in "if"
    places = labels if is_number else np.arange(len(labels))
    ax.errorbar(
        places[shown],
        value[shown],
        yerr=2 * np.nan_to_num(error[shown]),
        color=SERIES_COLORS[0],
        marker="o",
        markersize=5,
        linewidth=1.4 if is_number else 0.0,
        elinewidth=1.2,
        capsize=3,
    )
    best = int(np.nanargmax(np.where(shown, value, np.nan)))
    ax.plot(places[best], value[best], "o", mfc="none", mec=INK, markersize=12)
    if not is_number:
        ax.set_xticks(places, [as_text(label) for label in labels])
        ax.margins(x=0.15)
    elif _is_geometric(labels):
        ax.set_xscale("log")
        shown = labels[:: -(-len(labels) // 10)]
        ax.set_xticks(shown, [_short(label) for label in shown])
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlabel=as_text(name), ylabel="log evidence (nats)")
    ax.grid(color=QUIET, alpha=0.25)
    return ax


def _heat_map(scan, vertical, horizontal, *, ax):
    ax = as_axes(ax, figsize=(5.8, 4.2))
    values = scan.dataset["log_evidence"].values
    values = np.where(np.isfinite(values), values, np.nan)
    short = values - np.nanmax(values)
    # Beyond twenty nats all models are equally hopeless, and would take up the colours.
    image = ax.imshow(
        short, vmin=max(np.nanmin(short), -20.0), vmax=0.0, cmap="viridis", origin="lower",
        aspect="auto",
    )  # fmt: skip
    best = np.unravel_index(np.nanargmax(values), values.shape)
    ax.plot(best[1], best[0], "o", mfc="none", mec=PLANTED, mew=2, markersize=16)
    for name, set_ticks, set_label in (
        (horizontal, ax.set_xticks, ax.set_xlabel),
        (vertical, ax.set_yticks, ax.set_ylabel),
    ):
        labels = scan.dataset[name].values
        every = -(-len(labels) // 10)
        shown = np.arange(0, len(labels), every)
        set_ticks(shown, [_short(labels[k]) for k in shown])
        set_label(as_text(name))
    bar = ax.figure.colorbar(image, ax=ax, extend="min" if np.nanmin(short) < -20.0 else "neither")
    bar.set_label("log evidence less the best (nats)")
    return ax


def _short(label):
    return f"{label:.3g}" if isinstance(label, float | np.floating) else as_text(label)


def _is_geometric(labels):
    """Whether positive numbers grow by factors rather than by steps."""
    if len(labels) < 3 or labels.min() <= 0:
        return False
    steps, factors = np.diff(labels), np.diff(np.log(labels))
    return np.ptp(factors) / np.abs(factors).mean() < np.ptp(steps) / np.abs(steps).mean()
