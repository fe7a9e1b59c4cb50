"""Where the rungs of a ladder should stand, by how often neighbours were seen to swap."""

import numpy as np
from scipy.interpolate import PchipInterpolator

__all__ = ["even_rungs"]


def even_rungs(powers, swap_rates, n_rungs=None):
    """Powers at which, by rates measured at others, all neighbours swap equally often.

    Parameters
    ----------
    powers : array of shape (n,)
    swap_rates : array of shape (n - 1,)
    n_rungs : int, optional
        How many to place; n by default. First and last stay where they are.

    Returns
    -------
    array of shape (n_rungs,)

    Examples
    --------
    >>> import numpy as np
    >>> even_rungs(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5])).tolist()
    [0.0, 0.5, 1.0]
    >>> bool(even_rungs(np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.8]))[1] < 0.5)
    True
    """
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(1.0 - swap_rates, 1e-3))])
    wanted = np.linspace(0.0, barrier[-1], n_rungs or len(powers))
    rungs = PchipInterpolator(barrier, powers)(wanted)
    rungs[0], rungs[-1] = powers[0], powers[-1]
    return rungs
