"""Logistic regression with a Gaussian prior on its weights (LEC, part 3)."""

import pymc as pm
import pytensor.tensor as pt

from bayeskernels.inputs import as_inputs, as_two_classes
from bayeskernels.linear.basis import as_basis
from bayeskernels.models.parts.hyperparameter import Hyperparameter
from bayeskernels.models.parts.linear_model import ALPHA_PRIOR, add_features
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.smooth import LogisticSpecification

__all__ = ["logistic_regression"]


def logistic_regression(X, y, *, alpha=None, basis=None):
    r"""Logistic regression: :math:`P(y = 1) = 1 / (1 + e^{-w^T \phi(x)})`, w Gaussian.

    Parameters
    ----------
    X : array_like or DataFrame of shape (n, p)
    y : array_like of shape (n,)
        Labels of two classes, of any type. In sorted order the second is the positive class.
    alpha : float or prior, optional
        Precision of the weights, which are :math:`N(0, \alpha^{-1})`. By default Gamma(1, 0.1),
        shape and rate, for standardised data.
    basis : callable or int, optional
        The functions phi, as for :func:`bayeskernels.models.bayesian_linear_regression`; by default
        the columns of X, without a constant as in the lecture. ``basis=1`` adds one.

    Returns
    -------
    pm.Model
        With ``w`` (dim ``basis``), ``alpha``, the observed labels ``y`` and the inputs ``X`` as
        data.

    Notes
    -----
    Three ways to its posterior: ``pm.sample`` (NUTS); ``bk.laplace(model)``, whose mode is the
    maximum a posteriori and whose ``sample()`` gives draws for ``bk.predict``; and, with up to
    three weights, ``bk.quadrature(model)``, exact to the digits of its ``error``. The last two have
    the evidence.

    Examples
    --------
    >>> X = [[5.0, 5.0], [-5.0, -5.0], [0.0, 1.0], [1.0, 0.0]]  # the lecture's
    >>> model = bk.models.logistic_regression(X, [1, 0, 0, 1], alpha=0.1)
    >>> approximation = bk.laplace(model)
    >>> approximation.mode["w"].round(2).tolist()
    [2.13, -1.22]
    >>> round(approximation.log_evidence, 2), round(bk.quadrature(model).log_evidence, 2)
    (-2.4, -2.13)
    >>> idata = approximation.sample(500, random_seed=1)
    >>> bk.predict(model, idata, [[1.0, 1.0], [-3.0, -1.0]]).label.values.tolist()
    [1, 0]
    """
    X, columns = as_inputs(X)
    classes = as_two_classes(y, len(X))
    alpha = Hyperparameter("alpha", alpha, words=(None,))
    basis = as_basis(basis, X, columns)
    model = open_model()
    with model:
        model.add_coord("class", classes.names)
        features = add_features(model, X, columns, basis)
        w = pm.Normal("w", 0.0, tau=alpha.add(pm.Gamma, *ALPHA_PRIOR), dims="basis")
        observed = pm.Data("y_data", classes.codes)
        pm.Bernoulli("y", logit_p=pt.dot(features, w), observed=observed, dims="obs")
        specify(
            LogisticSpecification,
            kind="logistic_regression",
            class_names=classes.names,
            training=X,
            kernel=basis.kernel,
            feature_map=basis,
        )
    return model
