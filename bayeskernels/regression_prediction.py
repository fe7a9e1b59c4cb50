"""Mean and standard deviation of new targets, averaged over draws."""

import numpy as np
import xarray as xr

from bayeskernels.draws import posterior_draws

__all__ = ["moments_by_draw", "predict_targets"]


def moments_by_draw(specification, idata, X_new):
    """Mean and variance of the function for each draw, (n_new, n_draws), and that of the noise.

    Draws of all chains come one after the other; where nothing is random there is one.
    """
    values = {}
    for name, source in specification.needed.items():
        if hasattr(source, "get_value"):
            values[name] = np.asarray(source.get_value(), dtype=float)[None]
        else:
            draws = posterior_draws(idata, source)
            values[name] = draws.reshape(-1, *draws.shape[2:])
    return specification.moments(values, X_new)


def predict_targets(specification, idata, X_new):
    """Predict new targets of a regression.

    Every draw of the hyperparameters gives a Gaussian in closed form; the prediction is their
    mixture, of which mean and standard deviation are exact given the draws.

    Parameters
    ----------
    specification : RegressionSpecification
    idata : DataTree or None
        None where all hyperparameters are fixed.
    X_new : array of shape (n_new, p) or None

    Returns
    -------
    xarray.Dataset
        With the dim ``obs_new``: ``mean`` and ``sd`` of a new target, noise included, and
        ``latent_sd`` of the function without noise.
    """
    mean, variance, noise = moments_by_draw(specification, idata, X_new)
    # Variance of a mixture: the mean of the variances and the variance of the means.
    latent = variance.mean(axis=1) + mean.var(axis=1)
    return xr.Dataset(
        {
            "mean": ("obs_new", mean.mean(axis=1)),
            "sd": ("obs_new", np.sqrt(latent + noise.mean())),
            "latent_sd": ("obs_new", np.sqrt(latent)),
        },
        coords={"obs_new": np.arange(len(mean))},
    )
