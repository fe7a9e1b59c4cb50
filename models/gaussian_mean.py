r"""The mean of a Gaussian, learnt from one observation after the other (LEC, part 3).

The lecture's first example of Bayesian learning: with a Gaussian prior the posterior is Gaussian
too, and is the prior for the next observation.
"""

import numpy as np
import pymc as pm
import scipy
import xarray as xr

from bayeskernels.inputs import as_floats, as_targets
from bayeskernels.models.parts.hyperparameter import REAL, Hyperparameter, as_number
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.linear import GaussianMeanSpecification

__all__ = ["gaussian_mean", "mean_evolution"]


def gaussian_mean(x, *, sd=1.0, prior_mean=0.0, prior_sd=1.0):
    r"""The mean of a Gaussian, with a Gaussian prior.

    Observations are :math:`x_n \sim N(\mu, \sigma^2)`, their mean is
    :math:`\mu \sim N(\mu_0, \sigma_0^2)`.

    Parameters
    ----------
    x : array_like of shape (n,)
        Observations.
    sd : float or prior, default 1
        Standard deviation of an observation, sigma.
    prior_mean, prior_sd : float
        Of the prior of mu.

    Returns
    -------
    pm.Model
        With ``mu`` and the observations ``x`` (dim ``obs``); ``sd`` is data or random.

    See Also
    --------
    mean_evolution : the posterior after each observation, in closed form.

    Examples
    --------
    >>> model = bk.models.gaussian_mean([1.0, 3.0], sd=1.0, prior_sd=1.0)
    >>> round(float(bk.laplace(model).mode["mu"]), 6)  # 4 / 3: the prior counts as a zero
    1.333333
    >>> prediction = bk.predict(model, None)  # of the next observation
    >>> round(float(prediction["mean"][0]), 4), round(float(prediction["sd"][0]), 4)
    (1.3333, 1.1547)
    """
    x = _observations(x)
    sd = Hyperparameter("sd", sd)
    prior_mean, prior_sd = _as_prior(prior_mean, prior_sd)
    model = open_model()
    with model:
        sd = sd.add()
        mu = pm.Normal("mu", prior_mean, prior_sd)
        observed = pm.Data("x_data", x, dims="obs")
        pm.Normal("x", mu, sd, observed=observed, dims="obs")
        specify(
            GaussianMeanSpecification,
            kind="gaussian_mean",
            training=None,
            prior_mean=prior_mean,
            prior_sd=prior_sd,
        )
    return model


def mean_evolution(x, *, sd=1.0, prior_mean=0.0, prior_sd=1.0):
    r"""Posterior of the mean of a Gaussian after each observation.

    The posterior after n observations is the prior of the next: its precision grows by
    :math:`1/\sigma^2`, its mean moves towards the observation by the gain
    :math:`\sigma_n^2 / (\sigma_n^2 + \sigma^2)`. The last one is the lecture's
    :math:`\mu_N = (N \sigma_0^2 \bar x + \sigma^2 \mu_0) / (N \sigma_0^2 + \sigma^2)`.

    Parameters
    ----------
    x : array_like of shape (n,)
        Observations in the order in which they come.
    sd : float
        Standard deviation of an observation.
    prior_mean, prior_sd : float

    Returns
    -------
    xarray.Dataset
        With the dim ``seen`` (from 0, the prior, to n): ``mean`` and ``sd`` of the posterior, and
        ``log_evidence`` of the observations so far, the sum of the log densities with which each
        was predicted.

    Examples
    --------
    >>> mean_evolution([1.0, 3.0], sd=1.0, prior_sd=1.0)["mean"].values.round(3).tolist()
    [0.0, 0.5, 1.333]
    """
    x = _observations(x)
    sd = as_number("sd", sd)
    mean, prior_sd = _as_prior(prior_mean, prior_sd)
    variance, log_evidence = prior_sd**2, 0.0
    rows = [(mean, variance, log_evidence)]
    for value in x:
        spread = variance + sd**2
        log_evidence += scipy.stats.norm.logpdf(value, mean, np.sqrt(spread))
        mean += variance / spread * (value - mean)
        variance = variance * sd**2 / spread
        rows.append((mean, variance, log_evidence))
    means, variances, evidences = np.array(rows).T
    return xr.Dataset(
        {
            "mean": ("seen", means),
            "sd": ("seen", np.sqrt(variances)),
            "log_evidence": ("seen", evidences),
        },
        coords={"seen": np.arange(len(x) + 1)},
    )


def _observations(x):
    values = np.zeros(0) if x is None else as_floats(x, "x")
    if values.ndim != 1 or values.size == 0:
        found = "None" if x is None else f"the shape {values.shape}"
        raise ValueError(f"x must be a non-empty sequence of numbers, got {found}.")
    return as_targets(values, len(values), name="x")


def _as_prior(mean, sd):
    return as_number("prior_mean", mean, REAL), as_number("prior_sd", sd)
