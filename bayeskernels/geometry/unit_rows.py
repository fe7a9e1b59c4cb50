"""Rows of a matrix as directions: a wall, a constraint or a classifier has no length."""

import numpy as np

__all__ = ["unit_rows"]

#: Beyond these sizes of their largest entry rows are scaled first: squares over- or underflow.
SAFE_SIZES = (1e-140, 1e140)


def unit_rows(rows):
    """Scale rows of an array (m, r) to length one, whatever their lengths are; zero rows stay zero.

    The lengths, shape (m,), are the second result: zero for a row of zeros and for no other.

    Examples
    --------
    >>> units, lengths = unit_rows(np.array([[3e-200, 4e-200], [0.0, 0.0], [0.0, 2e300]]))
    >>> units.tolist(), lengths.tolist()
    ([[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]], [5e-200, 0.0, 2e+300])
    """
    rows = np.asarray(rows, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    is_extreme = (largest > 0.0) & ((largest < SAFE_SIZES[0]) | (largest > SAFE_SIZES[1]))
    scale = np.where(is_extreme, largest, 1.0)
    if is_extreme.any():
        rows = rows / scale[:, None]
    lengths = np.linalg.norm(rows, axis=1)
    return rows / np.where(lengths > 0.0, lengths, 1.0)[:, None], lengths * scale
