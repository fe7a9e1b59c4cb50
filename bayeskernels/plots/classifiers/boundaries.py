"""Decision boundaries of drawn classifiers (KGS, Figure 3)."""

import numpy as np
from matplotlib.axes import Axes

from bayeskernels.plots.plane import explain_plane, plane_grid, scatter_classes, thin
from bayeskernels.plots.style import INK, as_axes
from bayeskernels.specification.base import specification_of

__all__ = ["decision_boundaries"]


def decision_boundaries(
    model, idata, *, n_boundaries=50, resolution=120, alpha=0.25, legend=True, ax=None
) -> Axes:
    """Boundaries f(x) = 0 of some drawn classifiers over the plane (KGS, Figure 3).

    Parameters
    ----------
    model, idata, resolution, legend
        As for :func:`bayeskernels.plots.vote_map`.
    n_boundaries : int, default 50
        How many draws to show, evenly spaced.
    alpha : float
        Opacity of one boundary.

    Examples
    --------
    >>> X, y = bk.data.make_kgs_surrogate(random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.1)
    >>> idata = bk.samplers.sample_directions(model, draws=100, chains=1, random_seed=1)
    >>> ax = bk.plots.decision_boundaries(model, idata, n_boundaries=10, resolution=40)
    """
    specification = specification_of(model)
    specification.require_classes("decision_boundaries", n_classes=2)
    grid = plane_grid(model, resolution=resolution)
    idata = thin(model, idata, n_boundaries)
    blocks = specification.output_blocks(idata, grid.points, progressbar=False)
    outputs = np.concatenate([values for _, values, _ in blocks])
    ax = as_axes(ax, figsize=(4.6, 4.6))
    for values in outputs.T:
        if values.min() < 0 < values.max():
            height = grid.image(values)
            ax.contour(
                grid.x, grid.y, height, levels=[0.0], colors=INK, linewidths=0.9, alpha=alpha
            )
    scatter_classes(ax, specification)
    ax.set(xlim=(grid.x[0], grid.x[-1]), ylim=(grid.y[0], grid.y[-1]))
    if legend:
        # Contours have no legend entry of their own.
        ax.plot([], [], color=INK, linewidth=0.9, label=f"{outputs.shape[1]} boundaries")
    explain_plane(ax, columns=3 if legend else 0)
    return ax
