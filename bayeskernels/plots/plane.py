"""A grid over the plane of two-dimensional inputs, and the training points on it."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from bayeskernels.plots.style import MANY_CLASS_COLORS, MANY_CLASS_MARKERS, as_text, legend_below
from bayeskernels.specification.base import specification_of
from bayeskernels.specification.draws import read_draws

__all__ = [
    "PlaneGrid",
    "explain_plane",
    "plane_grid",
    "planted_mask",
    "scatter_classes",
    "thin",
]


@dataclass(frozen=True)
class PlaneGrid:
    """Points of a regular grid.

    Attributes
    ----------
    x, y : array of shape (resolution,)
        Positions of columns and rows.
    points : array of shape (resolution**2, 2)
    """

    x: np.ndarray
    y: np.ndarray
    points: np.ndarray

    def image(self, values):
        """Bring values at the points into the form that ``contour`` and ``pcolormesh`` take."""
        return np.reshape(values, (len(self.y), len(self.x)))


def plane_grid(model, *, resolution, margin=0.12):
    """Grid around the training points of a model with two inputs.

    Parameters
    ----------
    model : pm.Model
    resolution : int
        Points per side.
    margin : float
        What to add on every side, as a share of the range of the data.
    """
    specification = specification_of(model)
    X = specification.X
    if specification.is_precomputed:
        raise ValueError(
            "This plot needs the inputs themselves, and the model has a precomputed Gram matrix. "
            "Build it with X and a kernel function."
        )
    if X.shape[1] != 2:
        raise ValueError(f"This plot needs inputs with 2 columns, the model's X has {X.shape[1]}.")
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution}.")
    low, high = X.min(axis=0), X.max(axis=0)
    room = margin * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(low[k] - room[k], high[k] + room[k], resolution) for k in (0, 1))
    return PlaneGrid(x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2))


def planted_mask(planted, n_points):
    """Labels that are known to be wrong, as an array of booleans; None stays None."""
    if planted is None:
        return None
    mask = np.asarray(planted)
    if mask.dtype != bool or mask.shape != (n_points,):
        raise ValueError(
            f"planted must be an array of {n_points} booleans, one for each training point, got "
            f"{mask.dtype} of the shape {mask.shape}."
        )
    return mask


def scatter_classes(ax, specification, *, size=26, alpha=1.0):
    """Draw the training points, a colour and a marker for each class."""
    for code, name in enumerate(specification.class_names.tolist()):
        X = specification.X[specification.codes == code]
        ax.scatter(
            X[:, 0],
            X[:, 1],
            s=size,
            c=MANY_CLASS_COLORS[code % len(MANY_CLASS_COLORS)],
            marker=MANY_CLASS_MARKERS[code % len(MANY_CLASS_MARKERS)],
            edgecolors="white",
            linewidths=0.7,
            alpha=alpha,
            label=f"class {as_text(name)}",
            zorder=3,
        )


def explain_plane(ax, *, field=None, meaning="", columns=3):
    """Name the axes; what the colours of a field mean stands beside, a legend below.

    Without ``field`` there are no colours to explain, and without ``columns`` no legend.
    """
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.grid(False)
    if field is not None:
        ax.figure.colorbar(field, ax=ax, pad=0.02, shrink=0.9).set_label(meaning)
    if columns:
        legend_below(ax, columns=columns)


def thin(model, idata, n_draws):
    """Take at most ``n_draws`` posterior draws of a model, evenly spaced over all chains."""
    if n_draws < 1:
        raise ValueError(f"At least one draw is needed, got {n_draws}.")
    idata = read_draws(model, idata)
    if idata is None:
        return None
    posterior = idata["posterior"].to_dataset()
    stacked = posterior.stack(sample=("chain", "draw"))
    total = stacked.sizes["sample"]
    if n_draws >= total:
        return idata
    keep = np.linspace(0, total - 1, n_draws).round().astype(int)
    kept = stacked.isel(sample=keep).drop_vars(["sample", "chain", "draw"])
    kept = kept.rename(sample="draw").expand_dims("chain")
    return xr.DataTree.from_dict({"posterior": kept.transpose("chain", "draw", ...)})
