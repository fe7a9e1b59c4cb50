"""Mean and standard deviation of new targets, averaged over draws."""

import numpy as np
import xarray as xr

from bayeskernels.specification.draws import posterior_draws

__all__ = ["moments_by_draw", "outputs_by_draw", "predict_targets"]


def moments_by_draw(specification, idata, X_new):
    """Mean and variance of the function for each draw, (n_new, n_draws), and that of the noise.

    Draws of all chains come one after the other; where nothing is random there is one.
    """
    return specification.moments(_hyperparameters(specification, idata), X_new)


def outputs_by_draw(specification, idata, X):
    """The function that each draw stands for, (n, n_draws): its mean without weights in idata."""
    name = f"{specification.prefix}w"
    if name not in idata["posterior"]:
        return moments_by_draw(specification, idata, X)[0]
    w = posterior_draws(idata, name)
    w = w.reshape(-1, w.shape[-1])
    values = _hyperparameters(specification, idata)
    outputs = np.empty((len(X), len(w)))
    for s in range(len(w)):
        at = {name: v[s if len(v) > 1 else 0] for name, v in values.items()}
        outputs[:, s] = specification.features_at(X, **at) @ w[s]
    return outputs


def _hyperparameters(specification, idata):
    """Values of the hyperparameters, with the draws as the first axis."""
    values = {}
    for name, source in specification.needed.items():
        if isinstance(source, str):
            draws = posterior_draws(idata, source)
            values[name] = draws.reshape(-1, *draws.shape[2:])
        else:
            values[name] = np.asarray(source, dtype=float)[None]
    return values


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
