r"""Points inside a version space: weight vectors that classify every training point correctly.

The dual perceptron comes first: about 1 / margin^2 updates of O(m) each. Where the margin is too
thin for it, the hard-margin support vector machine takes over, as the point of a convex hull that
is nearest to the origin (:mod:`bayeskernels.geometry.hard_margin`). It finds version spaces in
which decomposition methods give up, and where there is none its solution says why: non-negative
weights of points with :math:`\sum_i \lambda_i y_i u_i = 0` (u: unit feature vectors), which no
direction can all have on its side.
"""

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.geometry.hard_margin import hull_weights
from bayeskernels.geometry.unit_rows import unit_rows

__all__ = ["find_consistent_direction"]

#: The perceptron goes on until every point is at least this far (as a sine) from the boundary.
SAFE_MARGIN = 1e-5

#: A version space thinner than this is not told from an empty one: features have rounding errors.
SMALLEST_MARGIN = 1e-7


@numba.njit(**JIT)
def _dual_perceptron(gram, max_updates):
    """Perceptron that always corrects the worst point; O(m) per update with one Gram column.

    ``gram`` is that of unit vectors already multiplied by their labels. Returns the counts of
    updates by point.
    """
    m = len(gram)
    alpha = np.zeros(m)
    outputs = np.zeros(m)
    squared_length = 0.0
    for _ in range(max_updates):
        worst = np.argmin(outputs)
        if outputs[worst] > SAFE_MARGIN * np.sqrt(squared_length):
            break
        alpha[worst] += 1.0
        squared_length += 2.0 * outputs[worst] + 1.0
        outputs += gram[worst]
    return alpha


def find_consistent_direction(
    features, is_positive, *, max_updates=None, points=None, remedy="Use noise > 0."
):
    """Find a direction that classifies every point correctly.

    Parameters
    ----------
    features : array of shape (m, r)
        Coordinates of the points.
    is_positive : array of bool, shape (m,)
    max_updates : int, optional
        When the perceptron gives up; 50 updates per point by default.
    points : array of int, shape (m,), optional
        What to call the points in an error; their numbers by default.
    remedy : str
        What an error advises.

    Returns
    -------
    array of shape (r,)
        Unit vector with positive output at positive points and negative output at the others.

    Raises
    ------
    ValueError
        If there is none, or none that rounding errors leave room for; the message names points that
        contradict each other.

    Examples
    --------
    >>> w = find_consistent_direction(np.array([[1.0, 0.2], [-1.0, 0.3]]), np.array([True, False]))
    >>> bool(w[0] > 0)
    True
    """
    points = np.arange(len(features)) if points is None else points
    units, lengths = unit_rows(features)
    if (lengths == 0).any():
        raise ValueError(
            f"Point {points[np.argmin(lengths)]} has a zero feature vector (k(x, x) = 0), so all "
            f"classifiers err on it. Use bias > 0. {remedy}"
        )
    units = units * np.where(is_positive, 1.0, -1.0)[:, None]
    max_updates = 50 * len(units) if max_updates is None else max_updates
    w = _dual_perceptron(units @ units.T, max_updates) @ units
    if _margin(units, w) < SMALLEST_MARGIN:
        weights = hull_weights(units)
        w = weights @ units
        if _margin(units, w) < SMALLEST_MARGIN:
            # The points with most weight in the contradiction; single ones can be many.
            shown = points[np.sort(np.argsort(-weights, kind="stable")[:10][: _support(weights)])]
            raise ValueError(
                "No classifier in this feature space labels all points rightly (or none that "
                f"rounding errors leave room for): among {_support(weights)} points that "
                f"contradict each other are {', '.join(map(str, shown))}. {remedy}"
            )
    return w / np.linalg.norm(w)


def _support(weights):
    return int(np.count_nonzero(weights > 1e-9))


def _margin(units, w):
    """Sine of the angle between w and the nearest wall; negative outside of the version space."""
    length = np.linalg.norm(w)
    return (units @ w).min() / length if length > 0.0 else -1.0
