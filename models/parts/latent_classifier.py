r"""What the full Gaussian-process classifier and the Bayesian SVM share.

Both have the predictor :math:`f(x) = u + h(x)`, where h is a Gaussian process with the covariance
:math:`k(x, x') / g` and u a Gaussian offset. With a Gram matrix :math:`K = A A^T` the process at
the data is :math:`A z / \sqrt g`, z a vector of independent standard normal numbers: in these
whitened coordinates the prior has no correlations for NUTS to struggle with, and neither z nor
its prior changes when g does. A singular K needs no jitter, A just has fewer columns.
"""

from numbers import Integral

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

from bayeskernels.inputs import as_two_classes
from bayeskernels.kernels.argument import read_inputs
from bayeskernels.kernels.check import refuse_indefinite_kernel
from bayeskernels.kernels.features import FeatureMap
from bayeskernels.models.generalized_kernel_model import mean_distance_kernel
from bayeskernels.models.parts.hyperparameter import ETA_PRIOR, G_PRIOR, Hyperparameter
from bayeskernels.models.parts.kernel_classifier import random_features, register_inputs
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.smooth import LatentClassifierSpecification

__all__ = ["build_latent_classifier"]


def build_latent_classifier(
    kind, X, y, *, kernel, bias, g, eta, inducing=None, link, labels
) -> pm.Model:
    """Put a Gaussian process with an offset and labels into the model in context, or a new one.

    Parameters
    ----------
    kind : str
        Name of the builder.
    X, y, kernel, bias, g, eta, inducing
        See :func:`bayeskernels.models.gp_probit`; only a probit link can have inducing points.
    link : {"probit", "hinge"}
        How prediction turns outputs into probabilities.
    labels : Distribution
        Of the observed labels (0 and 1), given outputs f.
    """
    X, columns, kernel = read_inputs(X, kernel, bias, default=mean_distance_kernel)
    classes = as_two_classes(y, len(X))
    _check_inducing(inducing, kernel)
    g = Hyperparameter("g", g, words=(None,))
    eta = Hyperparameter("eta", eta, words=(None,))
    model = open_model()
    feature_map = None
    if kernel.is_random:
        refuse_indefinite_kernel(kernel, X)
    else:
        rank = None if inducing is None else min(int(inducing), len(X))
        feature_map = FeatureMap(kernel, X, rank=rank)
    with model:
        model.add_coord("class", classes.names)
        if kernel.is_random:
            inputs = pm.Data("X", X, dims=("obs", "feature"), coords={"feature": columns})
            features = random_features(kernel, inputs, X, 0.0)
        elif inducing is None:
            features = register_inputs(model, X, columns, feature_map).features
        else:
            with_rest = _FeaturesWithRest(feature_map, X)
            both = register_inputs(model, X, columns, with_rest).features
            features, rest = both[:, :-1], both[:, -1]
        n_coordinates = len(X) if feature_map is None else feature_map.rank
        # A symbolic length: what PyTensor compiles is then cached for all data sets.
        model.add_coord("basis", length=pytensor.shared(n_coordinates, name="n_coordinates"))
        u = pm.Normal("u", 0.0, tau=eta.add(pm.Gamma, *ETA_PRIOR))
        g = g.add(pm.Gamma, *G_PRIOR)
        z = pm.Normal("z", 0.0, 1.0, dims="basis")
        w = pm.Deterministic("w", z / pt.sqrt(g), dims="basis")
        f = u + pt.dot(features, w)
        observed = pm.Data("y_data", classes.codes)
        outputs = f if inducing is None else f / pt.sqrt(1.0 + rest / g)
        labels("y", outputs, observed=observed, dims="obs")
        specify(
            LatentClassifierSpecification,
            kind=kind,
            class_names=classes.names,
            training=X,
            kernel=kernel,
            feature_map=feature_map,
            link=link,
            is_fitc=inducing is not None,
        )
    return model


class _FeaturesWithRest:
    """Coordinates of inputs and, as the last column, the variance that they leave unexplained."""

    def __init__(self, feature_map, X):
        self.feature_map = feature_map
        self.kernel = feature_map.kernel
        self.at_training = self._append(feature_map.at_training, X)

    def __call__(self, X):
        return self._append(self.feature_map(X), X)

    def _append(self, features, X):
        rest = self.feature_map.rest(features, self.kernel.diagonal(X))
        return np.column_stack([features, rest])


def _check_inducing(inducing, kernel):
    if inducing is None:
        return
    if isinstance(inducing, bool) or not isinstance(inducing, Integral):
        raise TypeError(f"inducing must be a whole number or None, got {inducing!r}.")
    if inducing < 1:
        raise ValueError(f"inducing must be at least 1, got {inducing}.")
    if kernel.is_random:
        raise ValueError("inducing needs a kernel with fixed hyperparameters.")
    if kernel.is_precomputed:
        raise ValueError(
            "inducing needs k(x, x) at new points, which a Gram matrix does not have. Give X and a "
            "kernel function."
        )
