r"""Leave-one-out predictive densities, by plain importance sampling where labels are noisy.

``az.loo`` smooths the tail of importance weights, which a likelihood with two values does not have.
Here plain importance sampling is sound: the weights :math:`1 / p(y_i \mid w, q)` lie between
:math:`1/(1-q)` and :math:`1/q`, so their variance is bounded.
"""

import numpy as np
import xarray as xr
from arviz_stats.utils import ELPDDataLOO

from bayeskernels.gp.leave_one_out import loo as loo_of_process
from bayeskernels.prediction.outputs import flip_rates, output_blocks
from bayeskernels.specification.base import specification_of
from bayeskernels.specification.draws import read_draws
from bayeskernels.specification.process import GaussianProcessSpecification

__all__ = ["loo"]


def loo(model, idata, *, progressbar=True):
    """Leave-one-out cross-validation of a label-noise classifier by plain importance sampling.

    Parameters
    ----------
    model : pm.Model
        A label-noise classifier with noise > 0; of a Gaussian process see
        :func:`bayeskernels.gp.loo`.
    idata : DataTree
        Its posterior draws.
    progressbar : bool
        Whether to show progress; only kernels with random hyperparameters take long.

    Returns
    -------
    ELPDDataLOO
        As ``az.compare`` takes it. ``n_eff_i`` holds the effective number of draws behind each
        point's estimate, which takes the place of Pareto k.

    Examples
    --------
    >>> import arviz as az
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> loos = {}
    >>> for width in (0.5, 5.0):
    ...     kernel = pm.gp.cov.ExpQuad(2, ls=width)
    ...     model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.05)
    ...     with model:
    ...         idata = pm.sample(200, chains=1, quiet=True, random_seed=1)
    ...     loos[f"width {width}"] = bk.diagnostics.loo(model, idata)
    >>> az.compare(loos).index[0]
    'width 0.5'
    """
    specification = specification_of(model)
    if isinstance(specification, GaussianProcessSpecification):
        return loo_of_process(model, idata, progressbar=progressbar)
    specification.require_two_classes("loo")
    specification.require_paired_data()
    idata = read_draws(model, idata)
    codes = specification.codes
    rates = [np.asarray(q, dtype=float) for q in flip_rates(specification, idata)]
    if min(q.min() for q in rates) == 0.0:
        raise ValueError(
            "With noise = 0 a point that was left out may be impossible under every draw: there is "
            "no leave-one-out estimate from these draws. Use noise > 0, or k-fold cross-validation."
        )
    elpd, lpd, n_eff = (np.empty(len(codes)) for _ in range(3))
    for part, outputs in output_blocks(specification, idata, progressbar=progressbar):
        positive = (codes[part] == 1)[:, None]
        right = np.where(positive, outputs > 0, outputs < 0)
        if_right = np.where(positive, 1 - rates[1], 1 - rates[0])
        if_wrong = np.where(positive, rates[0], rates[1])
        likelihood = np.where(right, if_right, if_wrong)
        weights = 1.0 / likelihood
        elpd[part] = -np.log(weights.mean(axis=1))
        lpd[part] = np.log(likelihood.mean(axis=1))
        n_eff[part] = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    n = len(codes)

    def by_point(values):
        return xr.DataArray(values, dims="obs", coords={"obs": np.arange(n)})

    return ELPDDataLOO(
        elpd=float(elpd.sum()),
        se=float(np.sqrt(n * elpd.var())),
        p=float((lpd - elpd).sum()),
        n_samples=int(outputs.shape[1]),
        n_data_points=n,
        scale="log",
        warning=bool(n_eff.min() < 100),
        good_k=None,
        elpd_i=by_point(elpd),
        n_eff_i=by_point(n_eff),
    )
