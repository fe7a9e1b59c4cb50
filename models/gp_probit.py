r"""Full Gaussian-process probit classifier, and what it shares with the Bayesian SVM.

Both have the predictor :math:`f(x) = u + h(x)`, where h is a Gaussian process with the covariance
:math:`k(x, x') / g` and u a Gaussian offset. With a Gram matrix :math:`K = A A^T` the process at
the data is :math:`A z / \sqrt g`, z a vector of independent standard normal numbers: in these
whitened coordinates the prior has no correlations for NUTS to struggle with, and neither z nor
its prior changes when g does. A singular K needs no jitter, A just has fewer columns.
"""

from numbers import Integral, Real
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from bayeskernels.distributions import ProbitLabel
from bayeskernels.features import FeatureMap
from bayeskernels.inputs import as_two_classes
from bayeskernels.kernels import read_inputs
from bayeskernels.models.generalized_kernel_model import ETA_PRIOR, G_PRIOR, mean_distance_kernel
from bayeskernels.models.kernel_classifier import random_features, register_inputs
from bayeskernels.specification import (
    LatentClassifierSpecification,
    attach_specification,
    refuse_second_specification,
)

__all__ = ["build_latent_classifier", "gp_probit", "rest_variances"]


def gp_probit(X, y, *, kernel=None, bias=0.0, g=None, eta=None, inducing=None):
    r"""Gaussian-process classifier of two classes with a probit link, sampled by NUTS.

    A label is positive with probability :math:`\Phi(u + h(x))`, h a Gaussian process with
    covariance :math:`k / g`. It is the comparator without sparsity: as K beta with
    :math:`\beta \sim N(0, (g K)^{-1})` has the covariance K / g, its posterior is the one of
    ``generalized_kernel_model(sparse=False)``, here by gradients instead of Gibbs steps.

    Parameters
    ----------
    X : array_like or DataFrame of shape (n, p)
        Training inputs; None where ``kernel`` is a Gram matrix.
    y : array_like of shape (n,)
        Labels of two classes, of any type. In sorted order the second is the positive class.
    kernel : pm.gp.cov.Covariance, callable or array of shape (n, n), optional
        By default a Gaussian kernel as wide as the mean distance of the inputs. A covariance may
        have random hyperparameters; every gradient then factors an n x n matrix.
    bias : float, default 0
        Constant added to the kernel. The model has an offset of its own.
    g : float or prior, optional
        Precision of the process; Gamma(2, 0.05) by default (shape and rate).
    eta : float or prior, optional
        Precision of the offset u; Gamma(0.5, 0.05) by default. A large number leaves no offset.
    inducing : int, optional
        Use the FITC approximation with so many inducing points, see the notes.

    Returns
    -------
    pm.Model
        With ``z`` (whitened coordinates, dim ``basis``), ``w`` (the same divided by the square root
        of g), ``u``, ``g``, ``eta``, the observed labels ``y`` and the inputs ``X`` as data. Where
        g or eta is a variable of yours with another name, the draws have it by both.

    Notes
    -----
    A few divergences are usual where the classes hardly overlap, as then only the priors bound the
    precisions; ``pm.sample(target_accept=0.95)`` avoids most of them.

    *FITC in PyMC.* ``pm.gp.MarginalApprox(approx="FITC")`` is for Gaussian noise only: it
    integrates the process out, and its only likelihood is normal (``marginal_likelihood`` asks for
    ``sigma``). ``pm.gp.Latent`` has no sparse form; ``pm.gp.HSGP`` is another approximation, for
    stationary kernels of few inputs. With a probit link FITC needs neither: given the process at
    the inducing points the outputs are independent with the variances
    :math:`\lambda_i / g = (k(x_i, x_i) - \|\phi(x_i)\|^2) / g`, and integrating over them gives

    .. math:: P(y_i = 1) = \Phi\Bigl(\frac{u + \langle w, \phi(x_i) \rangle}
        {\sqrt{1 + \lambda_i / g}}\Bigr).

    That is what ``inducing=`` does, here and in prediction, at O(n inducing) per gradient. Inducing
    points are training points, chosen as pivots of the Cholesky factor of K: each is the one
    that the others explain least. With as many as K has rank nothing is approximated.

    References
    ----------
    .. [1] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT
       Press, 2006, chapter 3.
    .. [2] E. Snelson and Z. Ghahramani, "Sparse Gaussian Processes using Pseudo-inputs", NIPS 18,
       2006.

    Examples
    --------
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> model = bk.models.gp_probit(X, y)
    >>> with model:
    ...     idata = pm.sample(
    ...         100, tune=200, chains=1, quiet=True, random_seed=1, nuts_sampler="pymc"
    ...     )
    >>> bk.predict(model, idata, [[0.0, 1.0], [1.0, -0.5]]).label.values.tolist()
    [-1, 1]
    """

    def add_labels(f, observed):
        ProbitLabel("y", f, observed=observed, dims="obs")

    return build_latent_classifier(
        "gp_probit",
        X,
        y,
        kernel=kernel,
        bias=bias,
        g=g,
        eta=eta,
        inducing=inducing,
        link="probit",
        add_labels=add_labels,
    )


def build_latent_classifier(kind, X, y, *, kernel, bias, g, eta, inducing=None, link, add_labels):
    """Put a Gaussian process with an offset and labels into the model in context, or a new one.

    Parameters
    ----------
    kind : str
        Name of the builder.
    X, y, kernel, bias, g, eta, inducing
        See :func:`gp_probit`; only a probit link can have inducing points.
    link : {"probit", "hinge"}
        How prediction turns outputs into probabilities.
    add_labels : callable
        Called within the model with outputs f and observed labels (0 and 1).

    Returns
    -------
    pm.Model
    """
    X, columns, kernel = read_inputs(X, kernel, bias, default=mean_distance_kernel)
    classes = as_two_classes(y, len(X))
    _check_inducing(inducing, kernel)
    _check_precision("g", g)
    _check_precision("eta", eta)
    model = pm.Model.get_context(error_if_none=False) or pm.Model()
    refuse_second_specification(model)
    feature_map = None
    if not kernel.is_random:
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
        eta = _add_precision("eta", eta, ETA_PRIOR)
        u = pm.Normal("u", 0.0, tau=eta)
        g = _add_precision("g", g, G_PRIOR)
        z = pm.Normal("z", 0.0, 1.0, dims="basis")
        w = pm.Deterministic("w", z / pt.sqrt(g), dims="basis")
        f = u + pt.dot(features, w)
        observed = pm.Data("y_data", classes.codes)
        add_labels(f if inducing is None else f / pt.sqrt(1.0 + rest / g), observed)
        attach_specification(
            model,
            LatentClassifierSpecification(
                kind=kind,
                class_names=classes.names,
                codes=classes.codes,
                X=X,
                kernel=kernel,
                feature_map=feature_map,
                outputs=f,
                link=link,
                fitc_precision=None if inducing is None else _as_found_later(g),
                prefix=model.name_for("u")[:-1],
            ),
        )
    return model


def rest_variances(kernel, features, X):
    """Variances that coordinates leave unexplained, k(x, x) - |phi(x)|^2.

    Parameters
    ----------
    kernel : Kernel
    features : array of shape (n, r)
        Coordinates of the rows of X.
    X : array of shape (n, p)

    Returns
    -------
    array of shape (n,)
    """
    return np.maximum(kernel.diagonal(X) - np.einsum("ij,ij->i", features, features), 0.0)


class _FeaturesWithRest:
    """Coordinates of inputs and, as the last column, the variance that they leave unexplained."""

    def __init__(self, feature_map, X):
        self.feature_map = feature_map
        self.kernel = feature_map.kernel
        self.factor = SimpleNamespace(features=self._append(feature_map.factor.features, X))

    def __call__(self, X):
        return self._append(self.feature_map(X), X)

    def _append(self, features, X):
        return np.column_stack([features, rest_variances(self.kernel, features, X)])


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


def _check_precision(name, value):
    """Refuse what is neither a positive number nor a prior, before the model is touched."""
    if value is None or isinstance(value, Variable):
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number or a prior, got {value!r}.")


def _add_precision(name, value, default):
    """A precision: fixed, with the user's prior, or Gamma.

    Not :class:`bayeskernels.distributions.Precision`: the reversible-jump step would claim it.
    """
    if value is None:
        return pm.Gamma(name, *default)
    if not isinstance(value, Variable):
        return pm.Data(name, float(value))
    model = pm.modelcontext(None)
    if value in model.named_vars.values():
        return value if value.name == model.name_for(name) else pm.Deterministic(name, value)
    if value.name is not None:
        raise ValueError(
            f"The prior {value.name!r} belongs to another model. Build this one inside "
            "`with model:`, or give an unnamed prior such as pm.Gamma.dist(2, 1)."
        )
    return model.register_rv(value, name)


def _as_found_later(g):
    """Data as they are, of all else the name of the draws."""
    return g if hasattr(g, "get_value") else g.name
