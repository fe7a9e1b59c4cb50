"""The vote of the drawn classifiers over the plane, with the labels that it doubts."""

from matplotlib.axes import Axes

from bayeskernels.plots.plane import explain_plane, plane_grid, planted_mask, scatter_classes, thin
from bayeskernels.plots.style import INK, VOTES, as_axes, as_text
from bayeskernels.prediction.flips import flip_probability
from bayeskernels.prediction.predict import predict
from bayeskernels.specification.base import specification_of

__all__ = ["vote_map"]


def vote_map(
    model,
    idata,
    *,
    planted=None,
    suspicious=0.5,
    resolution=120,
    max_draws=1000,
    colorbar=True,
    legend=True,
    ax=None,
) -> Axes:
    """Share of the votes over the plane (Bayesian transduction, KGS, section 4).

    Parameters
    ----------
    model : pm.Model
        A classifier with two inputs.
    idata : DataTree
        Its posterior draws.
    planted : array of bool, shape (m,), optional
        Labels that are known to be wrong; they are crossed out.
    suspicious : float or None, default 0.5
        Ring the training points whose label was flipped with more than this posterior probability.
    resolution : int
        Grid points per side.
    max_draws : int
        Use at most so many draws, evenly spaced.
    colorbar, legend : bool
        Whether to explain colours and markers.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> idata = bk.samplers.sample_directions(model, draws=100, chains=1, random_seed=1)
    >>> ax = bk.plots.vote_map(model, idata, resolution=40)
    """
    specification = specification_of(model)
    specification.require_classes("vote_map", n_classes=2, remedy="Use bk.plots.class_map.")
    grid = plane_grid(model, resolution=resolution)
    mask = planted_mask(planted, len(specification.codes))
    idata = thin(model, idata, max_draws)
    prediction = predict(model, idata, grid.points, progressbar=False)
    vote = grid.image(prediction["vote"].values[:, 1])
    ax = as_axes(ax, figsize=(5.6, 4.8))
    field = ax.pcolormesh(
        grid.x, grid.y, vote, cmap=VOTES, vmin=0, vmax=1, shading="gouraud", rasterized=True
    )
    if vote.min() < 0.5 < vote.max():
        ax.contour(grid.x, grid.y, vote, levels=[0.5], colors=INK, linewidths=1.4)
    scatter_classes(ax, specification, size=30)
    if suspicious is not None:
        doubt = flip_probability(model, idata, progressbar=False).values > suspicious
        _ring(ax, specification.X[doubt], f"doubted (P(flipped) > {suspicious:g})")
    if mask is not None:
        X = specification.X[mask]
        ax.scatter(
            X[:, 0], X[:, 1], s=34, c=INK, marker="x", linewidths=1.6, label="flipped", zorder=4
        )
    meaning = f"share of votes for class {as_text(specification.class_names[1])}"
    field = field if colorbar else None
    explain_plane(ax, field=field, meaning=meaning, columns=2 if legend else 0)
    return ax


def _ring(ax, X, label):
    """Black on white, so that it shows on every colour."""
    ring = {"s": 150, "facecolors": "none"}
    ax.scatter(*X.T, **ring, edgecolors="white", linewidths=3.6, zorder=4)
    ax.scatter(*X.T, **ring, edgecolors=INK, linewidths=1.6, label=label, zorder=5)
