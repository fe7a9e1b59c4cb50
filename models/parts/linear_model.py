"""What linear models with basis functions share: their features as data of a PyMC model."""

import pymc as pm
import pytensor
import pytensor.tensor as pt

from bayeskernels.models.parts.kernel_classifier import register_inputs

__all__ = ["ALPHA_PRIOR", "add_features", "add_linear_targets"]

#: Shape and rate of the default priors: exponential with mean 10, for standardised data.
ALPHA_PRIOR = (1.0, 0.1)
BETA_PRIOR = (1.0, 0.1)


def add_features(model, X, columns, basis):
    """Add inputs to a model in context; setting them later sets their features too.

    Returns the features, a shared variable of shape (n, M); the model has the dim ``basis`` for the
    weights.
    """
    features = register_inputs(model, X, columns, basis).features
    # A symbolic length: what PyTensor compiles is then cached for all data sets.
    length = pytensor.shared(len(basis.names), name="n_weights")
    model.add_coord("basis", basis.names, length=length)
    return features


def add_linear_targets(features, y, alpha, beta, *, marginal):
    """Add Gaussian weights, and targets y that are linear in them, to the model in context.

    ``alpha`` and ``beta`` are the precisions of the weights and of the noise, as
    ``Hyperparameter``. If ``marginal`` the weights are left out: the targets then have their joint
    normal distribution.
    """
    alpha = alpha.add(pm.Gamma, *ALPHA_PRIOR)
    beta = beta.add(pm.Gamma, *BETA_PRIOR)
    observed = pm.Data("y_data", y)
    if marginal:
        n = features.shape[0]
        covariance = pt.dot(features, features.T) / alpha + pt.eye(n) / beta
        pm.MvNormal("y", pt.zeros(n), cov=covariance, observed=observed, dims="obs")
    else:
        w = pm.Normal("w", 0.0, tau=alpha, dims="basis")
        pm.Normal("y", pt.dot(features, w), tau=beta, observed=observed, dims="obs")
