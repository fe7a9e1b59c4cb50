"""Problems that the classifiers of the zoo share: two moons, and data that are split at random."""

import numpy as np

from bayeskernels.data import flip_labels, make_two_moons
from bayeskernels.zoo.problem import Problem

__all__ = ["overlapping_moons", "split", "two_moons"]


def two_moons(n, *, scatter, seeds, flip_rate=None, name, description):
    """A problem of n points of two half circles and 1,000 test points with clean labels.

    Parameters
    ----------
    n : int
    scatter : float
    seeds : tuple of int
        Of the training points, of the test points and of the flips, where there are any.
    flip_rate : float or tuple of float, optional
        See :func:`bayeskernels.data.flip_labels`.
    name, description : str
        ``{flips}`` in the description becomes the number of labels that were flipped.
    """
    X, y = make_two_moons(n, scatter=scatter, random_seed=seeds[0])
    X_test, y_test = make_two_moons(1000, scatter=scatter, random_seed=seeds[1])
    flipped = None
    if flip_rate is not None:
        y, flipped = flip_labels(y, flip_rate, random_seed=seeds[2])
        description = description.format(flips=flipped.sum())
    return Problem(name, description, X, y, X_test, y_test, flipped)


def overlapping_moons():
    """Two moons that overlap."""
    return two_moons(
        100,
        scatter=0.3,
        seeds=(61, 62),
        name="two moons, overlapping",
        description="100 points of two half circles that overlap; no label was flipped.",
    )


def split(X, y, n_train, *, seed, standardise=False, **details):
    """A problem of ``n_train`` rows, drawn at random; the others are the test set.

    Parameters
    ----------
    X, y : array
    n_train : int
    seed : int
    standardise : bool
        By mean and standard deviation of the training rows.
    **details
        Name and description of the problem, and the shape of images.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    if standardise:
        X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    return Problem(X=X[train], y=y[train], X_test=X[test], y_test=y[test], **details)
