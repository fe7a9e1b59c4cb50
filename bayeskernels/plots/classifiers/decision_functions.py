"""The output of one classifier over the plane (BPM, Figure 7)."""

import numpy as np
from matplotlib.axes import Axes

from bayeskernels.plots.plane import explain_plane, plane_grid, scatter_classes
from bayeskernels.plots.style import INK, VOTES, as_axes
from bayeskernels.specification.base import specification_of

__all__ = ["decision_function"]


def decision_function(
    model, function, *, limit=None, n_lines=9, resolution=120, colorbar=True, legend=True, ax=None
) -> Axes:
    """Output of one classifier over the plane, with lines of equal height (BPM, Figure 7).

    Parameters
    ----------
    model : pm.Model
        A classifier of two classes with two inputs; its training points are shown.
    function : callable
        From inputs of shape (n, 2) to n outputs, such as ``bk.bayes_point(...).decision_function``.
    limit : float, optional
        Output at which the colours end; the largest size of an output by default. Give the same to
        plots that are to be compared.
    n_lines : int
        Lines of equal height between zero and the limit, on each side.
    resolution, colorbar, legend
        As for :func:`bayeskernels.plots.vote_map`.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(40, scatter=0.1, random_seed=1)
    >>> model = bk.models.bayes_point_machine(X, y)
    >>> idata = bk.samplers.sample_directions(model, draws=100, chains=1, random_seed=1)
    >>> point = bk.bayes_point(model, idata)
    >>> ax = bk.plots.decision_function(model, point.decision_function, resolution=40)
    """
    specification = specification_of(model)
    specification.require_classes("decision_function", n_classes=2)
    grid = plane_grid(model, resolution=resolution)
    outputs = np.asarray(function(grid.points), dtype=float)
    if outputs.shape != (len(grid.points),):
        raise ValueError(
            f"function must return one output for each row of X: expected the shape "
            f"{(len(grid.points),)}, got {outputs.shape}."
        )
    outputs = grid.image(outputs)
    limit = np.abs(outputs).max() if limit is None else limit
    if not limit > 0:
        raise ValueError(f"limit must be positive, got {limit}.")
    ax = as_axes(ax, figsize=(5.6, 4.8))
    field = ax.pcolormesh(
        grid.x,
        grid.y,
        outputs,
        cmap=VOTES,
        vmin=-limit,
        vmax=limit,
        shading="gouraud",
        rasterized=True,
    )
    heights = np.linspace(-limit, limit, 2 * n_lines + 1)
    shown = heights[(heights > outputs.min()) & (heights < outputs.max())]
    if len(shown):
        ax.contour(
            grid.x,
            grid.y,
            outputs,
            levels=shown,
            colors=INK,
            linestyles="solid",
            linewidths=np.where(np.isclose(shown, 0.0, atol=1e-9 * limit), 1.8, 0.5),
        )
    scatter_classes(ax, specification, size=30)
    field = field if colorbar else None
    explain_plane(ax, field=field, meaning="output f(x)", columns=3 if legend else 0)
    return ax
