"""Points inside a version space: weight vectors that classify every training point correctly."""

import warnings

import numba
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

__all__ = ["find_consistent_direction"]


@numba.njit(cache=True, error_model="numpy")
def _dual_perceptron(gram, max_updates):
    """Perceptron that always corrects the worst point; O(m) per update with one Gram column.

    ``gram`` is that of unit vectors already multiplied by their labels. Returns the counts of
    updates by point and whether all points are right.
    """
    m = len(gram)
    alpha = np.zeros(m)
    outputs = np.zeros(m)
    for _ in range(max_updates):
        worst = np.argmin(outputs)
        if outputs[worst] > 0.0:
            return alpha, True
        alpha[worst] += 1.0
        outputs += gram[worst]
    return alpha, False


def find_consistent_direction(features, is_positive, *, max_updates=None):
    """Find a direction that classifies every point correctly.

    The dual perceptron comes first: it needs about 1 / margin^2 updates of O(m) each. Where the
    margin is too thin for it, a hard-margin support vector machine takes over.

    Parameters
    ----------
    features : array of shape (m, r)
        Coordinates of the points.
    is_positive : array of bool, shape (m,)
    max_updates : int, optional
        When the perceptron gives up; 50 updates per point by default.

    Returns
    -------
    array of shape (r,)
        Unit vector with positive output at positive points and negative output at the others.

    Raises
    ------
    ValueError
        If there is none, or none that rounding errors leave room for; the message names the points
        that could not be separated.

    Examples
    --------
    >>> import numpy as np
    >>> w = find_consistent_direction(np.array([[1.0, 0.2], [-1.0, 0.3]]), np.array([True, False]))
    >>> bool(w[0] > 0)
    True
    """
    signs = np.where(is_positive, 1.0, -1.0)
    lengths = np.linalg.norm(features, axis=1)
    if (lengths == 0).any():
        point = int(np.argmin(lengths))
        raise ValueError(
            f"Point {point} has a zero feature vector (k(x, x) = 0), so all classifiers err on it "
            "and noise = 0 is impossible. Use bias > 0 or noise > 0."
        )
    units = features * (signs / lengths)[:, None]
    gram = units @ units.T
    alpha, _ = _dual_perceptron(gram, 50 * len(gram) if max_updates is None else max_updates)
    w = alpha @ units
    if not (units @ w > 0).all():
        svm = SVC(kernel="precomputed", C=1e10, tol=1e-6, max_iter=10_000_000)
        with warnings.catch_warnings():
            # Whether it got anywhere is seen from the signs below.
            warnings.simplefilter("ignore", ConvergenceWarning)
            svm.fit(gram * np.outer(signs, signs), signs)
        alpha = np.zeros(len(gram))
        alpha[svm.support_] = np.abs(svm.dual_coef_[0])
        w = alpha @ units
    wrong = np.flatnonzero(~(units @ w > 0))
    if len(wrong):
        shown = ", ".join(map(str, wrong[:10])) + (", ..." if len(wrong) > 10 else "")
        raise ValueError(
            "No classifier in this feature space labels all points rightly (or none that rounding "
            f"errors leave room for): points {shown} could not be separated. Use noise > 0."
        )
    return w / np.linalg.norm(w)
