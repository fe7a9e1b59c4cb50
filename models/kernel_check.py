"""A kernel that is not positive semidefinite is refused before anything is built on it."""

import numpy as np

from bayeskernels.gram import factor_gram
from bayeskernels.kernels import CovarianceKernel

__all__ = ["refuse_indefinite_kernel"]

#: So many points are enough to find most kernels that are not positive semidefinite.
CHECKED_POINTS = 500


def refuse_indefinite_kernel(kernel, X):
    """Refuse a kernel that is not symmetric and positive semidefinite on some of the points.

    Covariances of PyMC are by construction; of other kernels a sample of points has to do, as the
    whole matrix is never formed where there are many.

    Parameters
    ----------
    kernel : Kernel
    X : array of shape (n, p)

    Raises
    ------
    ValueError
    """
    if isinstance(kernel, CovarianceKernel):
        return
    rng = np.random.default_rng(0)
    points = np.sort(rng.choice(len(X), min(len(X), CHECKED_POINTS), replace=False))
    support = points if kernel.is_precomputed else X[points]
    # A factor of its Gram matrix is what a kernel that is not positive semidefinite has not.
    factor_gram(kernel(X[points], support))
