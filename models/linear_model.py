"""What linear models with basis functions share: their features as data of a PyMC model."""

import pytensor

from bayeskernels.models.kernel_classifier import register_inputs
from bayeskernels.models.precisions import add_precision, check_precision

__all__ = ["ALPHA_PRIOR", "BETA_PRIOR", "add_features", "add_precision", "check_precision"]

#: Shape and rate of the default priors: exponential with mean 10, for standardised data.
ALPHA_PRIOR = (1.0, 0.1)
BETA_PRIOR = (1.0, 0.1)


def add_features(model, X, columns, basis):
    """Add inputs to a model in context; setting them later sets their features too.

    Parameters
    ----------
    model : pm.Model
    X : array of shape (n, p)
    columns : list of str
    basis : Basis

    Returns
    -------
    SharedVariable of shape (n, M)
        The features; the model has the dim ``basis`` for the weights.
    """
    features = register_inputs(model, X, columns, basis).features
    # A symbolic length: what PyTensor compiles is then cached for all data sets.
    length = pytensor.shared(len(basis.names), name="n_weights")
    model.add_coord("basis", basis.names, length=length)
    return features
