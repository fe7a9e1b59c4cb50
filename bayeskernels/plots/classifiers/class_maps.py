"""Probabilities of several classes over the plane."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from bayeskernels.plots.plane import explain_plane, plane_grid, scatter_classes, thin
from bayeskernels.plots.style import INK, MANY_CLASS_COLORS, as_axes
from bayeskernels.prediction.predict import predict
from bayeskernels.specification.base import specification_of

__all__ = ["class_map"]

#: How far colours of the ground are from white.
STRENGTH = 0.6


def class_map(model, idata, *, resolution=120, max_draws=1000, legend=True, ax=None) -> Axes:
    """Which class is how probable over the plane: colours of the classes, mixed accordingly.

    Lines divide the regions where one class is the most probable. The classifier has two inputs
    and any number of classes; all else is as for :func:`bayeskernels.plots.vote_map`.

    Examples
    --------
    >>> X = np.random.default_rng(1).standard_normal((30, 2))
    >>> y = np.digitize(X[:, 0], [-0.5, 0.5])
    >>> model = bk.models.bayes_point_machine(X, y)
    >>> idata = bk.samplers.sample_directions(model, draws=50, chains=1, random_seed=1)
    >>> ax = bk.plots.class_map(model, idata, resolution=30)
    """
    specification = specification_of(model)
    specification.require_classes("class_map")
    grid = plane_grid(model, resolution=resolution)
    prediction = predict(model, thin(model, idata, max_draws), grid.points, progressbar=False)
    shares = prediction["probability" if "probability" in prediction else "vote"].values
    n_classes = shares.shape[1]
    colours = np.array(
        [to_rgb(MANY_CLASS_COLORS[k % len(MANY_CLASS_COLORS)]) for k in range(n_classes)]
    )
    side = len(grid.x)
    ground = 1.0 - STRENGTH * (1.0 - shares @ colours).reshape(side, side, 3)
    ax = as_axes(ax, figsize=(5.6, 4.8))
    extent = (grid.x[0], grid.x[-1], grid.y[0], grid.y[-1])
    ax.imshow(np.clip(ground, 0, 1), origin="lower", extent=extent, aspect="auto")
    for k in range(n_classes):
        others = np.delete(shares, k, axis=1).max(axis=1)
        lead = grid.image(shares[:, k] - others)
        if lead.min() < 0 < lead.max():
            ax.contour(grid.x, grid.y, lead, levels=[0.0], colors=INK, linewidths=0.8)
    scatter_classes(ax, specification, size=30)
    explain_plane(ax, columns=min(n_classes, 3) if legend else 0)
    return ax
