r"""Sparse Gaussian-process classifier by a random set of regressors (GKM, section 4).

The latent function is a Gaussian process with covariance :math:`k / g`, approximated on the span of
the active points' kernel functions (*subset of regressors*), with the active set part of the
posterior. In the paper the coefficients are latent here and parameters in the generalized kernel
model. As distributions of the labels the two models are the same, so differences between their
columns in the paper's tables are Monte Carlo errors.

Section 4.2 draws a response :math:`s_*` at a new point. Over all draws its mean is ``latent`` of
``bk.predict``, and its variance is 1 + ``latent_sd`` squared. The 1 is the noise of the probit
link, which the paper's variance v of :math:`s_*` rightly has once. The next sentence of the paper,
:math:`E(y_* | s_*) = \tau(s_*)`, counts this noise a second time. With the noise in :math:`s_*` the
label is certain, :math:`y_* = 1` exactly if :math:`s_* > 0`; :math:`\tau` belongs to the function
without noise. The paper's rule for the label is right all the same: it looks only at the sign of
:math:`s_*`.
"""

import pymc as pm

from bayeskernels.models.generalized_kernel_model import build_generalized_kernel_model
from bayeskernels.models.parts.kernel_widths import WidthOptions

__all__ = ["sparse_gp_classifier"]


def sparse_gp_classifier(
    X,
    y,
    *,
    kernel=None,
    theta=None,
    theta_bounds=None,
    ard=False,
    link="probit",
    max_active=None,
    bias=0.0,
    g=None,
    eta=None,
    inclusion=(1.0, 1.0),
) -> pm.Model:
    """Gaussian-process classifier on a random set of active points.

    Parameters
    ----------
    X, y, kernel, theta, theta_bounds, ard, max_active, bias, g, eta, inclusion
        As for :func:`bayeskernels.models.generalized_kernel_model`; 1 / g is the variance of the
        process.
    link : {"probit", "logistic"}

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(40, random_seed=1)
    >>> with bk.models.sparse_gp_classifier(X, y, max_active=20) as model:
    ...     idata = pm.sample(50, tune=50, chains=1, quiet=True, random_seed=1)
    >>> bool((bk.predict(model, idata, X).latent_sd > 0).all())
    True
    """
    if link == "identity":
        raise ValueError(
            "A classifier has the link 'probit' or 'logistic'; for regression use "
            "generalized_kernel_model(link='identity')."
        )
    return build_generalized_kernel_model(
        "sparse_gp_classifier",
        X,
        y,
        kernel=kernel,
        bias=bias,
        widths=WidthOptions(theta, theta_bounds, ard, kernel is not None),
        link=link,
        noise=None,
        max_active=max_active,
        sparse=True,
        g=g,
        eta=eta,
        inclusion=inclusion,
    )
