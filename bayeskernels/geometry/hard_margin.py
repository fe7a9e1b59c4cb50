"""The hard-margin support vector machine: the rival of the Bayes point in every comparison.

Its weight vector is the centre of the largest ball in version space, where the points have unit
length in feature space.
"""

import numpy as np
import scipy

from bayeskernels.geometry.unit_rows import unit_rows

__all__ = ["FREE_OFFSET", "hard_margin", "hull_weights"]

#: A constant feature as large as this is an offset that costs next to nothing.
FREE_OFFSET = 30.0


def hull_weights(vectors):
    r"""Weights of the point of a convex hull that is nearest to the origin.

    With vectors :math:`y_i u_i`, shape (m, r), that point is a multiple of the hard-margin SVM's
    weight vector, and its length the margin. Where it is the origin itself, no direction has a
    positive product with all vectors, and those with positive weights say why: they cancel. The m
    weights are not negative and have the sum one.

    Examples
    --------
    >>> hull_weights(np.array([[1.0, 1.0], [1.0, -1.0], [5.0, 0.0]])).round(6).tolist()
    [0.5, 0.5, 0.0]
    """
    weights, offsets = _weights_of_units(*unit_rows(vectors))
    weights = weights * offsets
    return weights / weights.sum()


def _weights_of_units(units, lengths):
    """Weights as above, but of unit vectors, and the smallest length over that of each vector."""
    is_zero = lengths == 0.0
    shortest = lengths.min(where=~is_zero, initial=np.inf)
    offsets = np.where(is_zero, 1.0, shortest / np.where(is_zero, 1.0, lengths))
    # Scaled so that the last residual, 1 / (1 + |w|^2 / 1e6), is not lost beside the target.
    system = np.vstack([units.T, 1e-3 * offsets])
    target = np.append(np.zeros(units.shape[1]), 1.0)
    weights, _ = scipy.optimize.nnls(system, target, maxiter=50 * len(units))
    return weights, offsets


def hard_margin(features, y, *, constant=0.0):
    r"""Hard-margin SVM: the shortest w with :math:`y_i \langle w, a_i \rangle \ge 1`.

    This is a least-distance problem, which non-negative least squares solves exactly (Lawson and
    Hanson 1974, chapter 23), also where margins are so thin that decomposition methods give up.

    Parameters
    ----------
    features : array of shape (m, r)
        Coordinates a of the training points.
    y : array of shape (m,)
        Labels -1 and +1.
    constant : float
        Value of a further feature. Zero means no bias; :data:`FREE_OFFSET` a bias as good as free.

    Returns
    -------
    w : array of shape (r,)
    offset : float

    Raises
    ------
    ValueError
        If no hyperplane separates the classes.

    Examples
    --------
    >>> w, _ = hard_margin(np.array([[2.0, 0.0], [0.0, -4.0]]), np.array([1, -1]))
    >>> w.round(6).tolist()
    [0.5, 0.25]
    """
    signed = np.column_stack([features, np.full(len(features), constant)]) * y[:, None]
    units, lengths = unit_rows(signed)
    weights, offsets = _weights_of_units(units, lengths)
    # Which points are support vectors is reliable; w itself is better solved for once more.
    support = weights > 0.0
    w = np.linalg.lstsq(units[support], offsets[support], rcond=None)[0]
    # Rounding may be all that a point has which is far longer than the shortest one.
    if not (units @ w > 0.99 * offsets - 1e-13 * np.linalg.norm(w)).all():
        raise ValueError(
            "No hyperplane separates the classes, or none that rounding errors leave room for: the "
            "version space is empty."
        )
    w = w / lengths.min()
    return w[:-1], float(constant * w[-1])
