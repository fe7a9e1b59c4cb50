"""How many points of a generalized kernel model may be active."""

import numpy as np

__all__ = ["DEFAULT_LIMIT", "active_limit"]

#: Where nothing is said; the paper has from 100 to 400.
DEFAULT_LIMIT = 200


def active_limit(max_active, n):
    """Largest number of active points out of n.

    Examples
    --------
    >>> active_limit(None, 1000), active_limit(None, 50), active_limit(20, 50)
    (200, 50, 20)
    """
    if max_active is None:
        return min(DEFAULT_LIMIT, n)
    if isinstance(max_active, bool) or not isinstance(max_active, int | np.integer):
        raise TypeError(f"max_active must be a whole number, got {max_active!r}.")
    if max_active < 1:
        raise ValueError(f"max_active must be at least 1, got {max_active}.")
    if max_active > n:
        raise ValueError(
            f"max_active is {max_active}, and there are only {n} points to be active. Leave it out "
            f"for {DEFAULT_LIMIT} or all points, whichever is less."
        )
    return int(max_active)
