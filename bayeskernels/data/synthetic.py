"""Synthetic two-class problems; every function takes a count and a seed and returns ``X, y``.

Inputs X have the shape (n, number of features), labels y are whole numbers of the shape (n,). The
seed is an int, a ``numpy.random.SeedSequence``, a ``numpy.random.Generator`` or None.
"""

import numpy as np

from bayeskernels.data.label_noise import flip_labels

__all__ = [
    "make_checkerboard",
    "make_kgs_surrogate",
    "make_linear_rule",
    "make_ringnorm",
    "make_two_moons",
    "make_twonorm",
    "make_waveform",
]


def check_count(n: int) -> None:
    """Refuse a sample size that is not a positive integer."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a positive integer, got {n!r}.")


def _draw_labels(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw labels -1 and +1 with equal probability."""
    check_count(n)
    return np.where(rng.random(n) < 0.5, 1, -1)


def make_kgs_surrogate(n: int = 76, *, random_seed=None) -> tuple[np.ndarray, np.ndarray]:
    """Draw a stand-in for the 76 points in the plane of KGS Figure 3.

    The paper's points were not published. These are two overlapping arches, one above the other,
    that fill about the window of the figure, [-2, 1] x [-2, 3]: a curved boundary with some points
    on its wrong side.

    Parameters
    ----------
    n : int
        Number of points; the classes differ by at most one point. The label is +1 for the upper
        arch and -1 for the lower one.

    Examples
    --------
    >>> X, y = make_kgs_surrogate(random_seed=1)
    >>> X.shape, int(y.sum())
    ((76, 2), 0)
    """
    check_count(n)
    rng = np.random.default_rng(random_seed)
    y = rng.permutation(np.where(np.arange(n) % 2 == 0, 1, -1))
    along = rng.uniform(-1.0, 1.0, size=n)
    middle = np.where(y > 0, 1.8, 0.2)
    X = np.column_stack(
        [
            -0.5 + 1.2 * along + rng.normal(0.0, 0.1, size=n),
            middle - 1.4 * along**2 + rng.normal(0.0, 0.45, size=n),
        ]
    )
    return X, y


def make_checkerboard(
    n: int, *, cells: int = 4, noise: float = 0.0, random_seed=None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw points uniformly on a board of ``cells x cells`` unit squares of alternating class.

    Parameters
    ----------
    n : int
        Number of points.
    cells : int
        Squares per side, at least 2; the board is [-cells/2, cells/2] squared.
    noise : float
        Label flip rate, in [0, 1].
    random_seed : seed
        Seed of points and flips. Labels are +1 on squares of the lower left corner's colour.

    Examples
    --------
    >>> X, y = make_checkerboard(200, random_seed=1)
    >>> squares = np.floor(X + 2).sum(axis=1)
    >>> bool(np.all((squares % 2 == 0) == (y == 1)))
    True
    """
    check_count(n)
    if cells < 2:
        raise ValueError(f"cells must be at least 2, else there is one class only; got {cells}.")
    rng = np.random.default_rng(random_seed)
    position = rng.uniform(0.0, cells, size=(n, 2))
    y = np.where(np.floor(position).sum(axis=1) % 2 == 0, 1, -1)
    y, _ = flip_labels(y, noise, random_seed=rng)
    return position - cells / 2, y


def make_linear_rule(
    n: int, *, n_features: int = 3, random_seed=None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw points of a cube, labelled by a random hyperplane through its centre (BPM, section 4.1).

    Parameters
    ----------
    n : int
        Number of points; the paper has 10 for training and 10,000 for test. Draw both at once: the
        rule depends on the seed alone, and the first points do not depend on `n`.
    n_features : int
        Dimension of the cube [-1, 1]^n_features, in which points are uniform.
    random_seed : seed
        Seed of rule and points. All directions of the rule are equally likely.

    References
    ----------
    Herbrich, Graepel and Campbell, "Bayes Point Machines", JMLR 1:245-279, 2001, section 4.1.

    Examples
    --------
    >>> X, y = make_linear_rule(10_010, random_seed=1)
    >>> X_train, y_train, X_test, y_test = X[:10], y[:10], X[10:], y[10:]
    >>> X_test.shape, np.unique(y).tolist()
    ((10000, 3), [-1, 1])
    """
    check_count(n)
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}.")
    rng = np.random.default_rng(random_seed)
    w = rng.standard_normal(n_features)
    X = rng.uniform(-1.0, 1.0, size=(n, n_features))
    return X, np.where(X @ w > 0, 1, -1)


def make_ringnorm(n: int, *, random_seed=None) -> tuple[np.ndarray, np.ndarray]:
    """Draw Breiman's ringnorm problem: a narrow Gaussian inside a wide one, 20 features.

    Class +1 is N(0, 4 I), class -1 is N((a, ..., a), I) with a = 2 / sqrt(20). Signs are those of
    the IDA benchmark files; its values are standardised over all rows, these are not.

    Parameters
    ----------
    n : int
        Number of points; classes have equal probability.

    References
    ----------
    Breiman, "Bias, variance, and arcing classifiers", TR 460, UC Berkeley, 1996.

    Examples
    --------
    >>> X, y = make_ringnorm(400, random_seed=1)
    >>> X.shape, bool(X[y == 1].std() > X[y == -1].std())
    ((400, 20), True)
    """
    rng = np.random.default_rng(random_seed)
    y = _draw_labels(n, rng)
    wide = (y > 0)[:, None]
    X = rng.normal(size=(n, 20))
    return np.where(wide, 2.0 * X, X + 2 / np.sqrt(20)), y


def make_twonorm(n: int, *, random_seed=None) -> tuple[np.ndarray, np.ndarray]:
    """Draw Breiman's twonorm problem: two unit Gaussians, 20 features.

    Class +1 is N((a, ..., a), I), class -1 is N((-a, ..., -a), I) with a = 2 / sqrt(20); the best
    possible error is Phi(-2) = 2.3%. Classes have equal probability; the source is that of
    :func:`make_ringnorm`.

    Examples
    --------
    >>> X, y = make_twonorm(400, random_seed=1)
    >>> bool(np.mean(np.sign(X.sum(axis=1)) == y) > 0.95)
    True
    """
    rng = np.random.default_rng(random_seed)
    y = _draw_labels(n, rng)
    return rng.normal(size=(n, 20)) + y[:, None] * (2 / np.sqrt(20)), y


def make_waveform(
    n: int, *, three_classes: bool = False, random_seed=None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw Breiman's waveform problem: noisy mixtures of two of three triangles, 21 features.

    The triangles are ``h(i) = max(6 - |i - c|, 0)`` for i = 1, ..., 21 with c = 7, 15, 11. A point
    is ``U h_a + (1 - U) h_b`` plus standard normal noise, U uniform on (0, 1), with
    (a, b) = (1, 2), (1, 3), (2, 3) for the classes 0, 1, 2.

    Parameters
    ----------
    n : int
        Number of points; the three classes have equal probability.
    three_classes : bool
        Return the classes 0, 1, 2 rather than the two-class problem of the IDA benchmark, which
        has +1 for class 1 and -1 for classes 0 and 2.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984, section 2.6.2.

    Examples
    --------
    >>> X, y = make_waveform(300, random_seed=1)
    >>> X.shape, np.unique(y).tolist()
    ((300, 21), [-1, 1])
    """
    check_count(n)
    rng = np.random.default_rng(random_seed)
    centers = np.array([7, 15, 11])
    triangles = np.maximum(6 - np.abs(np.arange(1, 22) - centers[:, None]), 0)
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    label = rng.integers(3, size=n)
    first, second = triangles[pairs[label]].swapaxes(0, 1)
    share = rng.random((n, 1))
    X = share * first + (1 - share) * second + rng.normal(size=(n, 21))
    return X, label if three_classes else np.where(label == 1, 1, -1)


def make_two_moons(
    n: int, *, scatter: float = 0.2, random_seed=None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw scikit-learn's two interleaved half circles, labelled -1 and +1.

    Parameters
    ----------
    n : int
        Number of points, at least 2; the classes differ by at most one point.
    scatter : float
        Standard deviation of the Gaussian noise on the points (not on the labels, which are -1
        for the upper moon and +1 for the lower one).

    Examples
    --------
    >>> X, y = make_two_moons(100, random_seed=1)
    >>> X.shape, int(y.sum())
    ((100, 2), 0)
    """
    from sklearn.datasets import make_moons

    check_count(n)
    if n < 2:
        raise ValueError(f"n must be at least 2, one point for each moon; got {n}.")
    if not scatter >= 0:
        raise ValueError(f"scatter must not be negative, got {scatter}.")
    # scikit-learn takes no Generator, so one integer drawn from ours seeds it.
    seed = int(np.random.default_rng(random_seed).integers(2**32))
    X, y = make_moons(int(n), noise=scatter, random_state=seed)
    return X, np.where(y == 1, 1, -1)
