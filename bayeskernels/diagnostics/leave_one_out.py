r"""Leave-one-out predictive densities, by plain importance sampling where labels are noisy.

A model says with which densities its draws are to be weighted; they are those of single
observations, given the others where these depend on each other.

``az.loo`` smooths the tail of importance weights, which a likelihood with two values does not have.
Here plain importance sampling is sound: the weights :math:`1 / p(y_i \mid w, q)` lie between
:math:`1/(1-q)` and :math:`1/q`, so their variance is bounded.
"""

import numpy as np
import xarray as xr
from arviz_stats import loo as importance_sampling_loo
from arviz_stats.utils import ELPDDataLOO

from bayeskernels.specification.base import specification_of
from bayeskernels.specification.draws import read_draws

__all__ = ["held_out_likelihood", "loo"]

#: With fewer draws of equal weight behind a point there is a warning.
FEWEST_EFFECTIVE = 100


def loo(model, idata, *, progressbar=True):
    """Leave-one-out cross-validation, of a label-noise classifier by plain importance sampling.

    Parameters
    ----------
    model : pm.Model
        A label-noise classifier with noise > 0; of a Gaussian process see
        :func:`bayeskernels.gp.loo`. Models with smooth likelihoods have ``az.loo``.
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
    specification.require_paired_data()
    idata = read_draws(model, idata)
    if specification.has_directions:
        # A label has at least the probability of its flip rate, so that weights are bounded.
        return _plain_loo(specification.held_out_densities(idata, progressbar=progressbar))
    tree = held_out_likelihood(model, idata, progressbar=progressbar)
    [values] = tree["log_likelihood"].data_vars.values()
    if values.sizes["chain"] * values.sizes["draw"] > 1:
        return importance_sampling_loo(tree)
    exact = values.isel(chain=0, draw=0, drop=True)
    return _result(exact, exact, n_samples=1, warning=False)


def held_out_likelihood(model, idata, *, progressbar=True):
    """Log densities with which draws are weighted to leave single observations out.

    A DataTree with the groups ``posterior``, where there are draws, and ``log_likelihood``: the
    observed variable, dims (chain, draw, obs). ``idata`` may also be an EvidenceMaximum, or None.
    """
    specification = specification_of(model)
    idata = read_draws(model, idata)
    blocks = specification.held_out_densities(idata, progressbar=progressbar)
    values = np.concatenate([densities for _, densities in blocks]).T
    groups = {}
    coords = {"chain": [0], "draw": np.arange(len(values))}
    if idata is not None and model.free_RVs:
        groups["posterior"] = idata["posterior"].to_dataset()
        coords = {dim: groups["posterior"][dim] for dim in ("chain", "draw")}
    n = values.shape[1]
    values = np.reshape(values, (len(coords["chain"]), -1, n))
    groups["log_likelihood"] = xr.Dataset(
        {
            f"{specification.prefix}{specification.observed_name}": (
                ("chain", "draw", "obs"),
                values,
            )
        },
        coords={**coords, "obs": np.arange(n)},
    )
    return xr.DataTree.from_dict(groups)


def _plain_loo(blocks):
    """Importance sampling without smoothing."""
    elpd, lpd, n_eff = [], [], []
    for _, densities in blocks:
        weights = np.exp(-densities)
        elpd.append(-np.log(weights.mean(axis=1)))
        lpd.append(np.log(np.exp(densities).mean(axis=1)))
        n_eff.append(weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1))
    elpd, lpd, n_eff = (_by_point(np.concatenate(parts)) for parts in (elpd, lpd, n_eff))
    n_samples = int(densities.shape[1])
    warning = bool(n_eff.min() < FEWEST_EFFECTIVE)
    return _result(elpd, lpd, n_samples=n_samples, warning=warning, n_eff_i=n_eff)


def _by_point(values):
    return xr.DataArray(values, dims="obs", coords={"obs": np.arange(len(values))})


def _result(elpd, lpd, **others):
    n = elpd.size
    return ELPDDataLOO(
        elpd=float(elpd.sum()),
        se=float(np.sqrt(n * elpd.var())),
        p=float((lpd - elpd).sum()),
        n_data_points=n,
        scale="log",
        good_k=None,
        elpd_i=elpd,
        **others,
    )
