"""The log posterior of a linear classifier in three dimensions, over its sphere (KGS, Figure 1)."""

import numpy as np
from matplotlib.axes import Axes

from bayeskernels.data import sphere_point
from bayeskernels.plots.plane import thin
from bayeskernels.plots.style import CLASS_COLORS, INK, as_axes
from bayeskernels.specification.base import specification_of

__all__ = ["check_linear", "in_input_space", "log_posterior_sphere"]


def log_posterior_sphere(
    model,
    *,
    kind="map",
    idata=None,
    truth=None,
    resolution=180,
    max_draws=300,
    colorbar=True,
    ax=None,
) -> Axes:
    """Log posterior over the sphere of linear classifiers in three dimensions (KGS, Figure 1).

    Parameters
    ----------
    model : pm.Model
        With the kernel ``<x, x'>`` on inputs of three columns, and fixed noise > 0.
    kind : {"map", "surface"}
        Colours on the plane of the two angles, or a surface in perspective as in the paper.
    idata : DataTree, optional
        Posterior draws to put on the map.
    truth : array_like of shape (3,), optional
        Classifier to mark.
    resolution : int
        Grid points along the longitude; the latitude has twice as many.
    max_draws : int
        Show at most so many draws, evenly spaced.
    colorbar : bool
        Whether to explain the colours of a map.
    ax : matplotlib.axes.Axes, optional
        A new figure by default; for ``kind="surface"`` of the projection "3d".

    Notes
    -----
    The log posterior is divided by the number of points and lacks its constant, as in the paper:
    it is log(1 - q) - log((1 - q) / q) times the share of training errors. Longitude is the polar
    angle and latitude the azimuth there, see :func:`bayeskernels.data.sphere_point`.

    Examples
    --------
    >>> X, y = bk.data.make_kgs_sphere(10, noise=0.2, random_seed=1)
    >>> linear = pm.gp.cov.Linear(3, c=0)
    >>> model = bk.models.label_noise_classifier(X, y, kernel=linear, noise=0.2)
    >>> ax = bk.plots.log_posterior_sphere(model, resolution=30)
    """
    if kind not in ("map", "surface"):
        raise ValueError(f'kind must be "map" or "surface", got {kind!r}.')
    specification = specification_of(model)
    specification.require_directions("log_posterior_sphere", n_classes=2)
    if specification.noise is None or min(specification.noise) == 0.0:
        raise ValueError("The log posterior on the sphere needs a fixed noise > 0.")
    check_linear(specification, "The log posterior")
    longitude = np.linspace(0, np.pi, resolution)
    latitude = np.linspace(0, 2 * np.pi, 2 * resolution)
    w = sphere_point(longitude[:, None], latitude[None])
    values = _log_posterior(specification, w.reshape(-1, 3)).reshape(w.shape[:2])
    if kind == "surface":
        return _surface(longitude, latitude, values, ax)
    ax = as_axes(ax, figsize=(6.0, 3.4))
    field = ax.pcolormesh(
        latitude, longitude, values, cmap="viridis", shading="nearest", rasterized=True
    )
    if idata is not None:
        w = specification.directions(thin(model, idata, max_draws))
        _scatter(ax, in_input_space(specification, w), label="draws")
    if truth is not None:
        latitude_star, longitude_star = _angles(np.atleast_2d(np.asarray(truth, dtype=float)))
        ax.plot(
            latitude_star,
            longitude_star,
            linestyle="none",
            marker="*",
            markersize=12,
            markerfacecolor=CLASS_COLORS[1],
            markeredgecolor="white",
            label="true classifier",
            zorder=4,
        )
    ax.set(xlabel="latitude", ylabel="longitude", xlim=(0, 2 * np.pi), ylim=(0, np.pi))
    ax.set_xticks([0, np.pi, 2 * np.pi], ["0", "π", "2π"])
    ax.set_yticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    ax.grid(False)
    if colorbar:
        bar = ax.figure.colorbar(field, ax=ax, pad=0.02)
        bar.set_label("log posterior per point")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            loc="upper left", fontsize="small", frameon=True, facecolor="white", framealpha=0.9
        )
    return ax


def check_linear(specification, what):
    """Refuse models that are not linear in three inputs."""
    X = specification.X
    if specification.kernel.is_precomputed or X.shape[1] != 3:
        raise ValueError(
            f"{what} can be drawn on a sphere for inputs with 3 columns only, the model's X has "
            f"{X.shape[1]}."
        )
    some = X[:50]
    if specification.kernel.is_random or not np.allclose(
        specification.kernel(some, some), some @ some.T
    ):
        raise ValueError(
            "The sphere is that of linear classifiers: the kernel must be <x, x'>, which is "
            "pm.gp.cov.Linear(3, c=0) without bias."
        )


def _log_posterior(specification, w):
    """Mean log-likelihood of the labels under classifiers w, shape (n,)."""
    positive = specification.codes == 1
    q_negative, q_positive = specification.noise
    if_right = np.log(np.where(positive, 1 - q_positive, 1 - q_negative))
    if_wrong = np.log(np.where(positive, q_negative, q_positive))
    signs = np.where(positive, 1.0, -1.0)
    total = np.zeros(len(w))
    # Point by point: all outputs at once would take gigabytes for large m.
    for x, sign, right, wrong in zip(specification.X, signs, if_right, if_wrong, strict=True):
        total += np.where(sign * (w @ x) > 0, right, wrong)
    return total / len(signs)


def in_input_space(specification, w):
    """Weight vectors in a model's coordinates, shape (n, 3), as unit vectors of the inputs' R^3."""
    feature_map = specification.feature_map
    w = feature_map.factor.expansion(w) @ feature_map.support_inputs
    return w / np.linalg.norm(w, axis=1, keepdims=True)


def _angles(w):
    """Latitude (azimuth) and longitude (polar angle) of vectors."""
    w = w / np.linalg.norm(w, axis=1, keepdims=True)
    return np.arctan2(w[:, 1], w[:, 0]) % (2 * np.pi), np.arccos(np.clip(w[:, 2], -1, 1))


def _scatter(ax, w, label):
    latitude, longitude = _angles(w)
    ax.scatter(
        latitude, longitude, s=12, c="white", edgecolors=INK, linewidths=0.6, label=label, zorder=3
    )


def _surface(longitude, latitude, values, ax):
    ax = as_axes(ax, figsize=(5.2, 4.4), projection="3d")
    if ax.name != "3d":
        raise ValueError('kind="surface" needs Axes of the projection "3d".')
    ax.plot_surface(
        longitude[:, None],
        latitude[None],
        values,
        cmap="viridis",
        rcount=90,
        ccount=180,
        linewidth=0,
        antialiased=False,
        rasterized=True,
    )
    for axis, name in zip("xyz", ("longitude", "latitude", "log posterior per point"), strict=True):
        getattr(ax, f"set_{axis}label")(name, fontsize="medium")
    ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    ax.set_yticks([0, np.pi, 2 * np.pi], ["0", "π", "2π"])
    ax.tick_params(labelsize="small", pad=1)
    ax.view_init(elev=38, azim=-55)
    ax.set_box_aspect((1, 1.5, 0.8), zoom=0.9)
    return ax
