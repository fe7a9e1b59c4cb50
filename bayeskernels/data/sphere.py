"""The sphere problem of the Kernel Gibbs Sampler paper (KGS, section 5 and Figures 1 and 4)."""

import numpy as np

from bayeskernels.data.label_noise import flip_labels
from bayeskernels.data.synthetic import check_count

__all__ = ["KGS_SPHERE_CLASSIFIER", "make_kgs_sphere", "sphere_point"]

#: The classifier w* that labels the sphere problem: longitude pi/2, latitude pi.
KGS_SPHERE_CLASSIFIER = (-1.0, 0.0, 0.0)


def sphere_point(longitude, latitude) -> np.ndarray:
    """Map the angles of KGS Figure 1 to points on the unit sphere of R^3.

    On the figure's axes the longitude runs from 0 to pi and the latitude from 0 to 2 pi, so the
    longitude is the polar angle and the latitude the azimuth (the other way round than on a globe).

    Parameters
    ----------
    longitude, latitude : array_like
        Angles in radians; they broadcast against each other.

    Returns
    -------
    ndarray, shape (..., 3)
        ``(sin(lon) cos(lat), sin(lon) sin(lat), cos(lon))``.

    Examples
    --------
    >>> (sphere_point(np.pi / 2, np.pi).round(12) + 0.0).tolist()
    [-1.0, 0.0, 0.0]
    """
    longitude, latitude = np.broadcast_arrays(longitude, latitude)
    return np.stack(
        [
            np.sin(longitude) * np.cos(latitude),
            np.sin(longitude) * np.sin(latitude),
            np.cos(longitude),
        ],
        axis=-1,
    )


def make_kgs_sphere(
    n: int = 100, *, noise: float = 0.05, return_clean: bool = False, random_seed=None
) -> tuple[np.ndarray, ...]:
    """Draw the label-noise problem on the sphere of KGS Figure 4.

    The paper draws "longitude and latitude from a Beta(5, 5) and Beta(0.1, 0.1) distribution"
    without saying how they are scaled to angles. Read here on the axes of its Figure 1: longitude
    is ``pi * Beta(5, 5)``, latitude ``2 * pi * Beta(0.1, 0.1)``. The labels are those of
    ``w* = (-1, 0, 0)``, each flipped with probability `noise`. About 9 in 10 points are of class -1
    before the flips.

    Parameters
    ----------
    n : int
        Number of points (the paper: 100 for training, 1000 for test).
    noise : float
        Label flip rate q*, in [0, 1].
    return_clean : bool
        Return the labels before the flips as a third array.
    random_seed : int, numpy.random.SeedSequence, numpy.random.Generator or None
        Seed of points and flips.

    Returns
    -------
    X : ndarray, shape (n, 3)
        Points of unit length.
    y : ndarray of int, shape (n,)
        Noisy labels, -1 or +1.
    y_clean : ndarray of int, shape (n,)
        Labels before the flips; only with ``return_clean=True``.

    References
    ----------
    Graepel and Herbrich, "The Kernel Gibbs Sampler", NIPS 13, 2001, section 5.

    Examples
    --------
    >>> X, y, y_clean = make_kgs_sphere(100, return_clean=True, random_seed=1)
    >>> X.shape, bool(np.all((X[:, 0] < 0) == (y_clean > 0)))
    ((100, 3), True)
    """
    check_count(n)
    rng = np.random.default_rng(random_seed)
    longitude = np.pi * rng.beta(5.0, 5.0, size=n)
    latitude = 2 * np.pi * rng.beta(0.1, 0.1, size=n)
    X = sphere_point(longitude, latitude)
    y_clean = np.where(X @ np.asarray(KGS_SPHERE_CLASSIFIER) > 0, 1, -1)
    y, _ = flip_labels(y_clean, noise, random_seed=rng)
    return (X, y, y_clean) if return_clean else (X, y)
