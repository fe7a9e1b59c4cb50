"""Predictive density of a Gaussian process, averaged over the draws of its hyperparameters."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from bayeskernels.inputs import as_new_inputs, as_targets
from bayeskernels.specification.posterior_process import each_posterior
from bayeskernels.specification.process import process_of

__all__ = ["log_predictive_density"]


def log_predictive_density(model, idata, X_new, y_new, *, progressbar=True):
    """Logarithm of the posterior predictive density at each of some new points.

    With draws of the hyperparameters it is that of a mixture of normal distributions, one for each
    draw, not of a normal one with its mean and variance.

    Parameters
    ----------
    model, idata, progressbar
        As for :func:`bayeskernels.gp.log_evidence`.
    X_new : array_like of shape (n_new, p)
    y_new : array_like of shape (n_new,)
        Targets that were observed.

    Examples
    --------
    >>> kernel = pm.gp.cov.ExpQuad(1, ls=0.2)
    >>> model = bk.models.gp_regression([[0.0]], [1.0], kernel=kernel, noise=0.1)
    >>> bk.gp.log_predictive_density(model, None, [[0.0]], [1.0]).round(2)
    array([1.04])
    """
    specification = process_of(model)
    if specification.kernel.is_precomputed:
        raise ValueError(
            "A Gram matrix as kernel does not know the variance at new points, so there is no "
            "predictive density. Give gp_regression a covariance function or k(X, Z)."
        )
    X_new = as_new_inputs(X_new, specification.X.shape[1])
    y_new = as_targets(y_new, len(X_new), name="y_new", inputs="X_new")
    terms = []
    for process in each_posterior(specification, idata, progressbar=progressbar):
        mean, variance = process(X_new)
        terms.append(norm.logpdf(y_new, mean, np.sqrt(variance + process.noise**2)))
    return logsumexp(terms, axis=0) - np.log(len(terms))
