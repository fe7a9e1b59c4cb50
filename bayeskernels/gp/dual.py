r"""Dual (kernel ridge) regression, whose solution is the mean of a Gaussian process.

Ridge regression with features :math:`\phi` minimises
:math:`\tfrac12 \sum_i (w^T \phi(x_i) - t_i)^2 + \tfrac\lambda2 w^T w`. Its solution is
:math:`w = (\Phi^T \Phi + \lambda I)^{-1} \Phi^T t` in primal form, and :math:`w = \Phi^T a` with
:math:`a = (K + \lambda I)^{-1} t` in dual form, which needs the kernel only (lecture, slides "Dual
Representation of Linear Regression"). The same a gives the posterior mean of a Gaussian process
whose noise has the variance :math:`\lambda`.
"""

import xarray as xr

from bayeskernels.specification.posterior_process import each_posterior
from bayeskernels.specification.process import process_of

__all__ = ["dual_coefficients"]


def dual_coefficients(model, idata=None, *, progressbar=True):
    r"""Coefficients a of the posterior mean :math:`m(x) = \mu + \sum_i a_i k(x_i, x)`.

    They are the solution :math:`(K + \sigma^2 I)^{-1} (t - \mu)` of kernel ridge regression with
    the noise variance as its ridge; one Gaussian process per draw has one kernel ridge solution.
    The process must be an exact one; all else is as in :func:`bayeskernels.gp.log_evidence`. The
    result has the dims ``sample`` and ``obs``.

    Examples
    --------
    >>> X = np.linspace(0, 1, 5)[:, None]
    >>> kernel = pm.gp.cov.ExpQuad(1, ls=0.2)
    >>> model = bk.models.gp_regression(X, np.sin(6 * X[:, 0]), kernel=kernel, noise=0.1)
    >>> a = bk.gp.dual_coefficients(model).values[0]
    >>> mean = np.exp(-0.5 * ((0.3 - X[:, 0]) / 0.2) ** 2) @ a
    >>> bool(np.isclose(mean, bk.predict(model, None, [[0.3]])["mean"].values[0]))
    True
    """
    specification = process_of(model)
    if specification.approximation is not None:
        raise ValueError(
            "Dual coefficients belong to the exact process; this model has an approximation "
            f"({specification.approximation}), expanded in its own points."
        )
    processes = each_posterior(specification, idata, progressbar=progressbar)
    coefficients = [process.posterior.dual for process in processes]
    return xr.DataArray(coefficients, dims=("sample", "obs"), name="dual")
