"""Active sets by chain: their sizes, their members and the cusum diagnostic of Brooks.

Reached as ``bk.plots.active_sets``; the numbers are from
:mod:`bayeskernels.diagnostics.active_sets`.
"""

import numpy as np
from matplotlib.axes import Axes

from bayeskernels.diagnostics import active_sets
from bayeskernels.plots.plane import explain_plane, scatter_classes
from bayeskernels.plots.style import INK, QUIET, SERIES_COLORS, as_axes, legend_below
from bayeskernels.specification.base import specification_of
from bayeskernels.specification.draws import read_draws

__all__ = ["cusum", "hairiness", "inclusion", "inclusion_map", "trace", "visits"]


def trace(idata, *, var_name="gamma", max_active=None, ax=None) -> Axes:
    """Number of active points along each chain (GKM, Figure 2).

    Parameters
    ----------
    idata : DataTree
        With posterior draws of the indicators ``var_name``.
    var_name : str, default "gamma"
    max_active : int, optional
        Largest number that the model allows, drawn as a line.

    Examples
    --------
    >>> gamma = np.array([[[0, 1, 1], [0, 0, 1]]])
    >>> ax = bk.plots.active_sets.trace(az.from_dict({"posterior": {"gamma": gamma}}))
    """
    n_active = active_sets.sizes(idata, var_name=var_name)
    ax = as_axes(ax, figsize=(6.4, 3.6))
    if max_active is not None:
        ax.axhline(max_active, color=QUIET, linestyle="--", linewidth=1.0, label="largest allowed")
    _lines(ax, n_active, linewidth=0.8)
    ax.set(xlabel="draw", ylabel=r"active points $n_\gamma$")
    legend_below(ax, columns=4)
    return ax


def visits(idata, *, var_name="gamma", ax=None) -> Axes:
    """Share of the draws that each chain spends at each size of the active set.

    The draws are those that :func:`trace` takes.
    """
    counts = active_sets.visits(idata, var_name=var_name)
    shares = counts / counts.sum("size")
    ax = as_axes(ax)
    # Steps around whole numbers, so that chains that agree lie on top of each other.
    edges = np.append(counts["size"].values - 0.5, counts["size"].values[-1] + 0.5)
    for k, chain in enumerate(counts["chain"].values):
        ax.stairs(shares.values[k], edges, color=_color(k), linewidth=1.4, label=f"chain {chain}")
    ax.set(xlabel=r"active points $n_\gamma$", ylabel="share of the draws")
    ax.set_ylim(bottom=0.0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend_below(ax, columns=4)
    return ax


def inclusion(idata, *, var_name="gamma", max_points=40, ax=None) -> Axes:
    """Probability of each point to be active: bars over all chains, marks with errors by chain.

    The draws are those that :func:`trace` takes; the ``max_points`` points with the largest
    probabilities are shown, in this order.
    """
    if max_points < 1:
        raise ValueError(f"max_points must be at least 1, got {max_points}.")
    estimates = active_sets.inclusion(idata, var_name=var_name)
    probability = estimates["probability"]
    shown = np.argsort(-probability.values, kind="stable")[:max_points]
    names = probability[probability.dims[0]].values[shown]
    ax = as_axes(ax, figsize=(7.2, 3.8))
    places = np.arange(len(shown))
    ax.bar(places, probability.values[shown], color=QUIET, alpha=0.45, label="all chains")
    n_chains = estimates.sizes["chain"]
    for k, chain in enumerate(estimates["chain"].values):
        ax.errorbar(
            places + 0.6 * ((k + 0.5) / n_chains - 0.5),
            estimates["by_chain"].values[k, shown],
            # One draw has no error.
            yerr=np.nan_to_num(2 * estimates["mcse_by_chain"].values[k, shown]),
            color=_color(k),
            linestyle="none",
            marker=".",
            markersize=4,
            linewidth=1.0,
            label=f"chain {chain} (± 2 errors)",
        )
    ax.set_xticks(places, names, rotation=90, fontsize="x-small")
    ax.set(xlabel="point", ylabel="inclusion probability")
    ax.set_ylim(bottom=0.0)
    legend_below(ax, columns=3)
    return ax


def inclusion_map(model, idata, *, size=220.0, colorbar=True, ax=None) -> Axes:
    """Inclusion probabilities on the plane of a model with two inputs: the larger, the darker.

    Parameters
    ----------
    model : pm.Model
        A generalized kernel model with two inputs.
    idata : DataTree
        Its posterior draws.
    size : float
        Area of the mark of a point that is always active, in square points.
    colorbar : bool
        Whether to explain the colours.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> model = bk.models.generalized_kernel_model(X, y)
    >>> gamma = np.random.default_rng(1).binomial(1, 0.2, size=(2, 200, 30))
    >>> idata = az.from_dict({"posterior": {"gamma": gamma}})
    >>> ax = bk.plots.active_sets.inclusion_map(model, idata)
    """
    specification = specification_of(model)
    if specification.indicators is None:
        raise specification.refusal(
            "inclusion_map", "generalized kernel models, which have an active set"
        )
    X = specification.X
    if specification.is_precomputed or X.shape[1] != 2:
        found = f"an X with {X.shape[1]}"
        if specification.is_precomputed:
            found = "a precomputed Gram matrix"
        raise ValueError(
            f"This plot needs inputs with 2 columns, the model has {found}. Use "
            "bk.plots.active_sets.inclusion."
        )
    idata = read_draws(model, idata)
    estimates = active_sets.inclusion(
        idata, var_name=f"{specification.prefix}{specification.indicators}"
    )
    probability = estimates["probability"].values
    if len(probability) != len(X):
        raise ValueError(
            f"idata holds indicators of {len(probability)} points, the model has {len(X)}: they do "
            "not belong together."
        )
    ax = as_axes(ax, figsize=(5.6, 4.8))
    scatter_classes(ax, specification, size=12, alpha=0.6)
    order = np.argsort(probability, kind="stable")
    marks = ax.scatter(
        X[order, 0],
        X[order, 1],
        s=np.maximum(size * probability[order], 1.0),
        c=probability[order],
        cmap="Greys",
        vmin=0.0,
        vmax=max(probability.max(), 1e-12),
        edgecolors=INK,
        linewidths=0.5,
        alpha=0.8,
        zorder=2,
    )
    field = marks if colorbar else None
    explain_plane(ax, field=field, meaning="inclusion probability", columns=2)
    return ax


def cusum(result, *, ax=None) -> Axes:
    """Cusum path of each chain: hairy and close to zero where it mixes, smooth and far where not.

    Parameters
    ----------
    result : xarray.Dataset
        From :func:`bayeskernels.diagnostics.cusum.cusum`.

    Examples
    --------
    >>> series = np.random.default_rng(1).standard_normal((2, 300))
    >>> ax = bk.plots.active_sets.cusum(bk.active_sets.cusum(series))
    """
    ax = as_axes(ax, figsize=(6.4, 3.6))
    ax.axhline(0.0, color=QUIET, linewidth=0.8)
    _lines(ax, result["path"])
    ax.set(xlabel="draw", ylabel="cusum path $S_t$")
    legend_below(ax, columns=4)
    return ax


def hairiness(result, *, ax=None) -> Axes:
    """Hairiness of each chain's cusum path, with its limits and the burn-in length it suggests.

    It takes what :func:`cusum` takes.
    """
    ax = as_axes(ax, figsize=(6.4, 3.6))
    _lines(ax, result["hairiness"])
    draws = result["draw"].values
    for k, burn_in in enumerate(result["burn_in"].values):
        for limit in ("lower", "upper"):
            ax.plot(draws, result[limit].values[k], color=_color(k), linestyle=":", linewidth=1.0)
        if np.isfinite(burn_in):
            ax.axvline(draws[0] + burn_in, color=_color(k), linestyle="--", linewidth=1.0)
    ax.plot([], [], color=INK, linestyle=":", label=f"{result.attrs['confidence']:.0%} limits")
    ax.plot([], [], color=INK, linestyle="--", label="burn-in")
    ax.set(xlabel="draw", ylabel="hairiness $D_t$", ylim=(-0.02, 1.02))
    legend_below(ax, columns=4)
    return ax


def _lines(ax, series, *, linewidth=1.0):
    draws = series["draw"].values
    for k, chain in enumerate(series["chain"].values):
        ax.plot(
            draws, series.values[k], color=_color(k), linewidth=linewidth, label=f"chain {chain}"
        )


def _color(k):
    return SERIES_COLORS[k % len(SERIES_COLORS)]
