"""Planted label noise: each label is turned over independently with a known probability."""

from collections.abc import Sequence

import numpy as np

from bayeskernels.inputs import as_labels

__all__ = ["flip_labels"]


def flip_labels(
    y: np.ndarray, rate: float | Sequence[float], random_seed=None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn each label over with probability `rate`, independently of the others.

    Parameters
    ----------
    y : array_like, shape (n,)
        Labels of at most two kinds. Labels -1 and +1 may come as one class only; of any other kind
        both must occur, since otherwise the second label is not known.
    rate : float or pair of float
        Flip probability in [0, 1]. A pair gives class-dependent rates: first that of the smaller
        label (-1), then that of the larger one (+1).
    random_seed : int, numpy.random.SeedSequence, numpy.random.Generator or None
        Seed of the flips.

    Returns
    -------
    y_noisy : ndarray, shape (n,)
        A copy of `y` with some labels turned over.
    flipped : ndarray of bool, shape (n,)
        True where the label was turned over.

    Examples
    --------
    >>> y_noisy, flipped = flip_labels([-1, -1, 1, 1], (0.0, 1.0), random_seed=1)
    >>> y_noisy.tolist(), flipped.tolist()
    ([-1, -1, -1, -1], [False, False, True, True])
    """
    if np.ndim(y) != 1:
        raise ValueError(f"y must be one-dimensional, got shape {np.shape(y)}.")
    y = as_labels(y, len(y))
    rates = np.atleast_1d(np.asarray(rate, dtype=float))
    if rates.shape not in ((1,), (2,)):
        raise ValueError(f"rate must be one number or a pair of numbers, got {rate!r}.")
    if not np.all((rates >= 0) & (rates <= 1)):
        raise ValueError(f"rate must lie in [0, 1], got {rate!r}.")
    smaller, larger = _two_labels(y)
    is_larger = y == larger
    flipped = np.random.default_rng(random_seed).random(y.size) < np.where(
        is_larger, rates[-1], rates[0]
    )
    y_noisy = y.copy()
    y_noisy[flipped & is_larger] = smaller
    y_noisy[flipped & ~is_larger] = larger
    return y_noisy, flipped


def _two_labels(y: np.ndarray) -> tuple:
    """Return the smaller and the larger label of `y`."""
    present = np.unique(y)
    if y.dtype.kind in "if" and np.all(np.abs(y) == 1):
        return -1, 1
    if present.size != 2:
        shown = ", ".join(repr(label) for label in present[:5].tolist())
        raise ValueError(
            f"y must hold two different labels, got {present.size} ({shown}); "
            "with one class only, code the labels as -1 and +1."
        )
    return present[0], present[1]
