"""Functions drawn from the prior of a Gaussian process."""

import numpy as np
import xarray as xr

from bayeskernels.inputs import as_count, as_inputs
from bayeskernels.kernels.argument import as_kernel
from bayeskernels.kernels.gram import factor_gram

__all__ = ["draw_prior"]


def draw_prior(kernel, X, *, draws=3, random_seed=None):
    r"""Draw functions from a Gaussian process with zero mean, at given points.

    The lecture shows the Gaussian kernel, whose draws are smooth, beside the Ornstein-Uhlenbeck
    kernel :math:`\exp(-\theta |x - x'|)`, whose draws are nowhere differentiable: in ``pm.gp.cov``
    they are ``ExpQuad`` and ``Matern12(1, ls=1 / theta)``.

    Parameters
    ----------
    kernel : pm.gp.cov.Covariance, callable or array of shape (n, n)
        With fixed hyperparameters.
    X : array_like of shape (n, p)
        Points; not looked at where the kernel is a Gram matrix.
    draws : int
    random_seed : int or numpy.random.Generator, optional

    Returns
    -------
    xarray.DataArray
        With the dims ``draw`` and ``obs``.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> smooth = bk.gp.draw_prior(pm.gp.cov.ExpQuad(1, ls=0.3), X, draws=5, random_seed=1)
    >>> rough = bk.gp.draw_prior(pm.gp.cov.Matern12(1, ls=0.3), X, draws=5, random_seed=1)
    >>> bool(np.abs(np.diff(smooth)).max() < 0.2 < np.abs(np.diff(rough)).max())
    True
    """
    draws = as_count(draws, "draws")
    if hasattr(kernel, "to_numpy"):
        kernel = kernel.to_numpy()
    if not isinstance(kernel, np.ndarray):
        X, _ = as_inputs(X)
    # The factor has as many columns as the matrix has rank: no jitter roughens smooth draws.
    factor = factor_gram(as_kernel(kernel, X).gram(X))
    normal = np.random.default_rng(random_seed).standard_normal((draws, factor.rank))
    return xr.DataArray(normal @ factor.features.T, dims=("draw", "obs"), name="f")
