r"""Leave-one-out cross-validation of a Gaussian process.

Given the hyperparameters a target and the others are jointly normal, so that its distribution given
the others is known in closed form (Rasmussen and Williams, 2006, equations 5.10 to 5.12): with
:math:`C = K + \sigma^2 I` and :math:`a = C^{-1} (t - \mu)`,

.. math:: t_i \mid t_{-i}, \theta \sim N\bigl(t_i - a_i / (C^{-1})_{ii},\; 1 / (C^{-1})_{ii}\bigr).

Draws of the hyperparameters know all targets. As
:math:`p(\theta \mid t_{-i}) \propto p(\theta \mid t) / p(t_i \mid t_{-i}, \theta)`, these densities
take the place of the likelihoods of independent targets in importance sampling (Bürkner, Gabry and
Vehtari, 2021).
"""

import numpy as np
import xarray as xr
from arviz_stats import loo as importance_sampling_loo
from arviz_stats.utils import ELPDDataLOO
from scipy.linalg import lapack
from scipy.stats import norm

from bayeskernels.gp.posteriors import each_posterior
from bayeskernels.specification.draws import read_draws
from bayeskernels.specification.process import process_of

__all__ = ["loo", "pointwise_log_likelihood"]


def pointwise_log_likelihood(model, idata=None, *, progressbar=True):
    """Log density of each target given all others, by draw of the hyperparameters.

    ``pm.compute_log_likelihood`` gives one number for all targets together, since the process has
    been integrated out of the model.

    Parameters
    ----------
    model : pm.Model
        An exact Gaussian process made by :func:`bayeskernels.models.gp_regression`.
    idata : DataTree, EvidenceMaximum or None
        Where the hyperparameters have their values from; None where nothing is random.
    progressbar : bool

    Returns
    -------
    DataTree
        With the groups ``posterior``, where there are draws, and ``log_likelihood``: ``y``, dims
        (chain, draw, obs). ``az.loo`` and ``az.compare`` take it where there are draws.
    """
    specification = process_of(model)
    if specification.approximation is not None:
        raise ValueError(
            "Leave-one-out densities are those of the exact process; this model has an "
            f"approximation ({specification.approximation}), in which a target is tied to the "
            "others by the inducing points only. Use bk.gp.log_predictive_density on points that "
            "were held out, or bk.gp.log_evidence."
        )
    values = []
    for process in each_posterior(model, idata, progressbar=progressbar):
        inverse = lapack.dpotri(process.posterior.factor, lower=1)[0]
        precision = np.diagonal(inverse)
        # The residual t_i - mean is a_i / precision.
        values.append(
            norm.logpdf(process.posterior.dual / precision, scale=1.0 / np.sqrt(precision))
        )
    tree = read_draws(model, idata)
    groups = {}
    coords = {"chain": [0], "draw": np.arange(len(values))}
    if tree is not None and model.free_RVs:
        groups["posterior"] = tree["posterior"].to_dataset()
        coords = {dim: groups["posterior"][dim] for dim in ("chain", "draw")}
    n = len(specification.y)
    values = np.reshape(values, (len(coords["chain"]), -1, n))
    groups["log_likelihood"] = xr.Dataset(
        {f"{specification.prefix}y": (("chain", "draw", "obs"), values)},
        coords={**coords, "obs": np.arange(n)},
    )
    return xr.DataTree.from_dict(groups)


def loo(model, idata=None, *, progressbar=True):
    """Expected log predictive density of a target given all others.

    Exact where the hyperparameters are fixed, by Pareto-smoothed importance sampling over their
    draws where not.

    Parameters
    ----------
    model : pm.Model
        An exact Gaussian process made by :func:`bayeskernels.models.gp_regression`.
    idata : DataTree, EvidenceMaximum or None
        Where the hyperparameters have their values from; None where nothing is random. At the
        maximum of the evidence all targets have had their say in the hyperparameters.
    progressbar : bool

    Returns
    -------
    ELPDDataLOO
        As ``az.compare`` takes it. Its number of parameters counts hyperparameters only.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> t = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=30)
    >>> elpds = [
    ...     bk.gp.loo(bk.models.gp_regression(X, t, kernel=pm.gp.cov.ExpQuad(1, ls=ls), noise=0.1))
    ...     for ls in (0.01, 0.3)
    ... ]
    >>> bool(elpds[0].elpd < elpds[1].elpd)
    True
    """
    tree = pointwise_log_likelihood(model, idata, progressbar=progressbar)
    [values] = tree["log_likelihood"].data_vars.values()
    if values.sizes["chain"] * values.sizes["draw"] > 1:
        return importance_sampling_loo(tree)
    by_point = values.isel(chain=0, draw=0, drop=True)
    n = by_point.sizes["obs"]
    return ELPDDataLOO(
        elpd=float(by_point.sum()),
        se=float(np.sqrt(n * by_point.var())),
        p=0.0,
        n_samples=1,
        n_data_points=n,
        scale="log",
        warning=False,
        good_k=None,
        elpd_i=by_point,
    )
