r"""The version space of a linear classifier in three dimensions, on its sphere (BPM, Figures 2, 6).

Every training point is a great circle, and the version space the polygon that is left when each of
them has cut off its wrong side. It is found by looking from a point inside in all directions: along
:math:`c \cos t + u \sin t` the first wall is met at the smallest angle t whose output is zero.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from bayeskernels.geometry.unit_rows import unit_rows
from bayeskernels.geometry.version_space import find_consistent_direction
from bayeskernels.plots.classifiers.sphere import check_linear, in_input_space
from bayeskernels.plots.plane import thin
from bayeskernels.plots.style import (
    CLASS_COLORS,
    INK,
    QUIET,
    SERIES_COLORS,
    as_axes,
    as_text,
    legend_below,
)
from bayeskernels.specification.base import specification_of

__all__ = ["version_space"]

#: Directions in which to look for the boundary.
N_RAYS = 2880

#: How far the globe is turned away from the version space, in radians.
TILT = 0.45

_FILL, _MARKERS = "#F3DFA8", ("D", "X", "*", "P", "^")


def version_space(
    model,
    *,
    kind="map",
    classifiers=None,
    inscribed=None,
    idata=None,
    max_draws=300,
    legend=True,
    ax=None,
) -> Axes:
    """Version space of linear classifiers in three dimensions (BPM, Figures 2 and 6).

    Parameters
    ----------
    model : pm.Model
        Without label noise, with the kernel ``<x, x'>`` on inputs of three columns.
    kind : {"map", "globe"}
        The neighbourhood of the version space, with true areas, or the whole sphere.
    classifiers : dict of callable, optional
        Linear functions of inputs to mark, by name: ``bk.bayes_point(...).decision_function``, or
        ``lambda X: X @ w``.
    inscribed : str, optional
        Name of a classifier around which to draw the largest ball that fits into the version space.
    idata : DataTree, optional
        Posterior draws to show.
    max_draws : int
        Show at most so many draws, evenly spaced.
    legend : bool

    Notes
    -----
    The map is Lambert's azimuthal equal-area projection: uniform draws look uniform.

    Examples
    --------
    >>> X, y = bk.data.make_linear_rule(10, random_seed=47)
    >>> model = bk.models.bayes_point_machine(X, y, kernel=pm.gp.cov.Linear(3, c=0))
    >>> idata = bk.samplers.sample_directions(model, draws=200, chains=1, random_seed=1)
    >>> point = bk.bayes_point(model, idata)
    >>> ax = bk.plots.version_space(model, classifiers={"Bayes point": point.decision_function})
    """
    if kind not in ("map", "globe"):
        raise ValueError(f'kind must be "map" or "globe", got {kind!r}.')
    specification = specification_of(model)
    specification.require_directions("version_space")
    normals = _inward_normals(specification)
    marked = {name: _direction(f, name) for name, f in (classifiers or {}).items()}
    if inscribed is not None and inscribed not in marked:
        raise ValueError(f"inscribed must name one of {list(marked)}, got {inscribed!r}.")
    centre, boundary = _boundary(normals)
    project = _Map(centre) if kind == "map" else _Globe(_turned(centre))
    ax = as_axes(ax, figsize=(4.6, 4.6))
    ax.set_aspect("equal")
    if kind == "globe":
        ax.add_patch(Circle((0, 0), 1, facecolor="#F4F4F4", edgecolor=QUIET, zorder=0))
    ax.fill(*project(boundary), facecolor=_FILL, zorder=1)
    # Walls that do not touch the version space tell nothing new.
    touching = np.abs(boundary @ normals.T).min(axis=0) < 1e-6
    for normal, touches in zip(normals, touching, strict=True):
        ax.plot(
            *project(_great_circle(normal)),
            color=INK if touches else QUIET,
            linewidth=1.3 if touches else 0.7,
            zorder=2,
        )
    if idata is not None:
        w = in_input_space(specification, specification.directions(thin(model, idata, max_draws)))
        ax.scatter(*project(w), s=5, c=QUIET, linewidths=0, label="draws", zorder=3)
    for k, (name, w) in enumerate(marked.items()):
        color = (CLASS_COLORS[1], CLASS_COLORS[0], *SERIES_COLORS[2:])[k % 6]
        if name == inscribed:
            ball = _largest_ball(w, normals, name)
            ax.plot(*project(ball), color=color, linewidth=1.6, linestyle="--", zorder=4)
        ax.scatter(
            *project(w[None]),
            s=70,
            c=color,
            marker=_MARKERS[k % len(_MARKERS)],
            edgecolors="white",
            linewidths=0.8,
            label=as_text(name),
            zorder=5,
        )
    if kind == "map":
        _zoom(ax, *project(boundary))
    else:
        ax.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03))
    ax.set_axis_off()
    if legend:
        ax.add_line(Line2D([], [], color=INK, linewidth=1.3, label="training points"))
        legend_below(ax)
    return ax


def _inward_normals(specification):
    """Unit normals of the walls, shape (m, 3), pointing to the right side of each point."""
    if specification.n_classes != 2 or specification.noise != (0.0, 0.0):
        raise ValueError("There is a version space where two classes have no label noise only.")
    if specification.softness != 0.0:
        raise ValueError("With softness the version space has a dimension for every point.")
    check_linear(specification, "The version space")
    signs = np.where(specification.codes == 1, 1.0, -1.0)
    return unit_rows(specification.X)[0] * signs[:, None]


def _direction(function, name):
    """Unit normal of a linear function."""
    w = np.asarray(function(np.eye(3)), dtype=float)
    if w.shape != (3,):
        raise ValueError(
            f"The classifier {name!r} must return one output for each row of X: expected the shape "
            f"(3,) at three points, got {w.shape}."
        )
    return w / np.linalg.norm(w)


def _boundary(normals):
    """Centre of mass and boundary, shape (N_RAYS, 3), of the version space."""
    centre = find_consistent_direction(normals, np.ones(len(normals), bool))
    # Seen from the perceptron's classifier the far end may be coarse: look again from the middle.
    for _ in range(2):
        rays = _circle(*_tangents(centre), N_RAYS)
        angles = np.arctan2(normals @ centre, -(rays @ normals.T)).min(axis=1)[:, None]
        boundary = np.cos(angles) * centre + np.sin(angles) * rays
        # The integral of the position over each thin triangle, up to a common factor.
        middle = np.sin(angles) ** 2 * centre + (angles - np.sin(2 * angles) / 2) * rays
        centre = middle.sum(axis=0) / np.linalg.norm(middle.sum(axis=0))
    return centre, boundary


def _tangents(w):
    """Two unit vectors that are orthogonal to w and to each other."""
    first = np.cross(w, np.eye(3)[np.abs(w).argmin()])
    first /= np.linalg.norm(first)
    return first, np.cross(w, first)


def _circle(first, second, n):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)[:, None]
    return np.cos(angle) * first + np.sin(angle) * second


def _great_circle(normal):
    points = _circle(*_tangents(normal), 720)
    return np.concatenate([points, points[:1]])


def _largest_ball(w, normals, name):
    """Circle around w that touches the nearest wall."""
    sine = (normals @ w).min()
    if sine <= 0:
        raise ValueError(f"The classifier {name!r} is not in the version space: no ball fits.")
    circle = np.sqrt(1 - sine**2) * w + sine * _circle(*_tangents(w), 361)
    return np.concatenate([circle, circle[:1]])


def _turned(centre):
    """Where to look from: above and beside the version space, so that it is seen at a slant."""
    first, second = _tangents(centre)
    return np.cos(TILT) * centre + np.sin(TILT) * (first + second) / np.sqrt(2)


class _Map:
    """Lambert's azimuthal equal-area projection around a direction, without what is opposite."""

    def __init__(self, centre):
        self.centre = centre
        self.first, self.second = _tangents(centre)

    def __call__(self, w):
        cosine = w @ self.centre
        scale = np.sqrt(2 / np.maximum(1 + cosine, 1e-12))
        scale = np.where(cosine > -0.9, scale, np.nan)
        return scale * (w @ self.first), scale * (w @ self.second)


class _Globe(_Map):
    """The sphere from afar; what is behind it is left out."""

    def __call__(self, w):
        scale = np.where(w @ self.centre >= 0, 1.0, np.nan)
        return scale * (w @ self.first), scale * (w @ self.second)


def _zoom(ax, x, y, room=0.18):
    """A square window around the version space."""
    half = (0.5 + room) * max(np.ptp(x), np.ptp(y))
    middle = (x.max() + x.min()) / 2, (y.max() + y.min()) / 2
    ax.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
