"""How many points of a generalized kernel model may be active, and how many it expects."""

import math

import numpy as np

__all__ = ["DEFAULT_LIMIT", "active_limit", "inclusion_parameters"]

#: Where nothing is said; the paper has from 100 to 400.
DEFAULT_LIMIT = 200


def active_limit(max_active, n, is_sparse=True):
    """Largest number of active points out of n; all of them in a model that is not sparse.

    Examples
    --------
    >>> active_limit(None, 1000), active_limit(None, 50), active_limit(20, 50)
    (200, 50, 20)
    """
    if max_active is None:
        return min(DEFAULT_LIMIT, n) if is_sparse else n
    if isinstance(max_active, bool) or not isinstance(max_active, int | np.integer):
        raise TypeError(f"max_active must be a whole number, got {max_active!r}.")
    if max_active < 1:
        raise ValueError(f"max_active must be at least 1, got {max_active}.")
    if max_active > n:
        raise ValueError(
            f"max_active is {max_active}, and there are only {n} points to be active. Leave it out "
            f"for {DEFAULT_LIMIT} or all points, whichever is less."
        )
    return int(max_active) if is_sparse else n


def inclusion_parameters(inclusion):
    """Parameters of the Beta prior of the share of active points, as two numbers.

    Examples
    --------
    >>> inclusion_parameters((1, 9))
    (1.0, 9.0)
    """
    try:
        alpha, beta = map(float, inclusion)
    except (TypeError, ValueError):
        raise TypeError(
            f"inclusion must be the two parameters of a Beta distribution, got {inclusion!r}."
        ) from None
    if not (0.0 < alpha < math.inf and 0.0 < beta < math.inf):
        raise ValueError(f"inclusion must be two positive numbers, got {inclusion!r}.")
    return alpha, beta
