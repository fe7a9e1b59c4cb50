r"""The generalized kernel model with a sparse active set (GKM, section 3.1).

The predictor is :math:`f(x) = u + \sum_j \beta_j k(x, x_j)`; only the coefficients of *active*
points differ from zero, and which points are active is part of the posterior. Coefficients have
Silverman's g-prior, offset and coefficients have precisions with Gamma priors. The link says what
is observed: labels that are positive with probability :math:`\Phi(f)` (probit) or
:math:`1 / (1 + e^{-f})` (logistic), or targets f plus noise (identity). The paper's auxiliary
response is integrated out of the model, so that ArviZ sees pointwise terms of the observations, and
lives inside the step method.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayeskernels.distributions import ActiveSet, Offset, Precision, SilvermanG
from bayeskernels.inputs import as_inputs
from bayeskernels.kernels.argument import as_kernel, check_bias, read_inputs
from bayeskernels.kernels.check import refuse_indefinite_kernel
from bayeskernels.kernels.columns import ActiveGram, KernelColumns
from bayeskernels.models.parts.active_set_options import active_limit, inclusion_parameters
from bayeskernels.models.parts.grouped_kernel_model import build_grouped_kernel_model, is_grouped
from bayeskernels.models.parts.hyperparameter import Hyperparameter
from bayeskernels.models.parts.kernel_widths import WidthOptions, mean_distance_kernel
from bayeskernels.models.parts.observations import read_observations
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.expansions import GeneralizedKernelSpecification

__all__ = ["build_generalized_kernel_model", "generalized_kernel_model", "mean_distance_kernel"]


def generalized_kernel_model(
    X,
    y,
    *,
    kernel=None,
    theta=None,
    theta_bounds=None,
    ard=False,
    link="probit",
    noise=None,
    max_active=None,
    sparse=True,
    bias=0.0,
    g=None,
    eta=None,
    inclusion=(1.0, 1.0),
    kernel_off=0.5,
):
    r"""Fully Bayesian generalized kernel model: two classes or more, or regression.

    Parameters
    ----------
    X : array_like or DataFrame of shape (n, p)
        Training inputs; None where ``kernel`` is a Gram matrix.
    y : array_like of shape (n,)
        Labels of two classes, of any type; in sorted order the second is the positive class. More
        than two classes have a predictor each, see Notes. With ``link="identity"`` numbers, the
        targets of a regression.
    kernel : pm.gp.cov.Covariance, callable or array of shape (n, n), optional
        By default the paper's Gaussian kernel :math:`\exp(-\sum_l (x_l - x'_l)^2 / \theta_l^2)`. A
        covariance may have random hyperparameters: the step learns those that are
        ``bk.distributions.KernelWidth`` variables, others are left to PyMC's own steps. A list of
        covariances and functions, or a dict with their names, gives a model of several kernels.
    theta : float, array of shape (p,), "learn" or prior, optional
        Width of the default kernel: the mean distance of the inputs by default, another number (or
        one for each column), ``"learn"``, or an unnamed prior such as ``pm.LogNormal.dist(0, 1)``.
    theta_bounds : tuple of float, optional
        Learn the width with a uniform prior between these; a tenth of the mean distance and ten
        times the mean distance by default.
    ard : bool, default False
        With ``theta="learn"`` or ``theta_bounds``: a width for each column (automatic relevance
        determination).
    link : {"probit", "logistic", "identity"}
        How labels or targets depend on the predictor.
    noise : float or prior, optional
        Standard deviation of a regression; half-normal with the scale of the targets by default.
    max_active : int, optional
        Largest number of active points; 200 by default, or all n points if there are fewer. Kernel
        columns are computed for active and proposed points only, so far fewer than n keep large
        data sets feasible. Not used with ``sparse=False``.
    sparse : bool, default True
        False makes all points active and keeps them so (the paper's BGKM).
    bias : float, default 0
        Constant added to the kernel. The model has an offset of its own.
    g : float or prior, optional
        Precision of the coefficients; Gamma(2, 0.05) by default (shape and rate), in a regression
        Gamma(1, v) with the variance v of the targets. With several kernels a prior has one entry
        for each; that of the default stands for small weights, of about 0.16, which are hard to
        tell from none: ``bk.distributions.GroupedPrecision.dist(2, 2, shape=2)`` for weights of
        about one.
    eta : float or prior, optional
        Precision of the offset u; Gamma(0.5, 0.05) by default, in a regression Gamma(0.5, m / 2)
        with the mean square m of the targets.
    inclusion : tuple of float, default (1, 1)
        Parameters of the Beta prior of the share of active points.
    kernel_off : float, default 0.5
        Of several kernels: prior probability of each being off (the paper's rho); 0 for none.

    Returns
    -------
    pm.Model
        With ``gamma`` (which points are active, dim ``obs``), ``beta`` (their coefficients), ``u``,
        ``g``, ``eta``, ``theta`` (dim ``feature`` with ``ard``) where it is learned, ``noise`` in a
        regression, the observations ``y`` and the inputs ``X`` as data.

    Notes
    -----
    More than two classes (section 6.2 of the paper): ``beta`` and ``u`` also have the dim
    ``class``, over which they sum to zero; the label is the class with the largest predictor after
    standard normal noise. Several kernels (section 6.1): ``beta`` and ``g`` also have the dim
    ``kernel``, ``kernel_on`` says which kernels take part, and ``kernel_weight`` is 1 / sqrt(g) for
    these and zero for the others.

    References
    ----------
    .. [1] Z. Zhang, G. Dai and M. I. Jordan, "Bayesian Generalized Kernel Mixed Models", JMLR
       12:111-139, 2011.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(40, random_seed=1)
    >>> with bk.models.generalized_kernel_model(X, y, max_active=20):
    ...     idata = pm.sample(50, tune=50, chains=1, quiet=True, random_seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['beta', 'eta', 'g', 'gamma', 'u']

    A regression that learns the width of its kernel:

    >>> t = X[:, 0] ** 2
    >>> with bk.models.generalized_kernel_model(X, t, link="identity", theta="learn") as model:
    ...     idata = pm.sample(50, tune=50, chains=1, quiet=True, random_seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['beta', 'eta', 'g', 'gamma', 'noise', 'theta', 'u']
    >>> sorted(bk.predict(model, idata, X).data_vars)
    ['latent_sd', 'mean', 'sd']
    """
    shared = {"kernel": kernel, "bias": bias, "max_active": max_active, "sparse": sparse}
    shared |= {"g": g, "eta": eta, "inclusion": inclusion}
    kind = "generalized_kernel_model"
    if is_grouped(kernel, None if link == "identity" else y):
        _refuse_for_groups(link, theta, theta_bounds, ard, noise)
        return build_grouped_kernel_model(
            kind, X, y, default=mean_distance_kernel, kernel_off=kernel_off, **shared
        )
    widths = WidthOptions(theta, theta_bounds, ard, kernel is not None)
    return build_generalized_kernel_model(
        kind, X, y, widths=widths, link=link, noise=noise, **shared
    )


def _refuse_for_groups(link, theta, theta_bounds, ard, noise):
    """Refuse options that models of several classes or kernels do not have."""
    if link != "probit" or noise is not None:
        raise ValueError(
            f"Several classes or kernels have the probit link, got link={link!r}"
            f"{'' if noise is None else ' and noise'}. Give two classes and one kernel, or "
            'link="probit".'
        )
    if theta is not None or theta_bounds is not None or ard:
        raise ValueError(
            "theta, theta_bounds and ard belong to models of two classes and one kernel. Give "
            "kernels with the widths you want, as pm.gp.cov covariances."
        )


def build_generalized_kernel_model(
    kind, X, y, *, kernel, bias, widths, link, noise, max_active, sparse, g, eta, inclusion
):
    """Put the model into the one in context, or into a new one; ``kind`` is the builder's name."""
    if widths.is_learned:
        check_bias(bias)
        X, columns = as_inputs(X)
    else:
        X, columns, kernel = read_inputs(X, kernel, bias, default=widths.fixed_kernel)
    observations = read_observations(y, len(X), link, noise)
    n = len(X)
    max_active, inclusion = active_limit(max_active, n, sparse), inclusion_parameters(inclusion)
    g = Hyperparameter("g", g, words=(None,))
    eta = Hyperparameter("eta", eta, words=(None,))
    model = open_model()
    if not widths.is_learned:
        refuse_indefinite_kernel(kernel, X)
    with model:
        observations.add_coords(model)
        second = "feature" if widths.is_learned or not kernel.is_precomputed else "support"
        inputs = pm.Data("X", X, dims=("obs", second), coords={second: columns})
        if widths.is_learned:
            kernel = as_kernel(widths.add(X), X, bias=bias)
        u = Offset("u", 0.0, tau=eta.add(Precision, *observations.eta_prior))
        g = g.add(Precision, *observations.g_prior)
        if sparse:
            # A fixed shape: the active points are those of training, whatever X is set to.
            gamma = ActiveSet("gamma", max_active, *inclusion, shape=(n,), dims="obs")
        else:
            gamma = pm.Data("gamma", np.ones(n, dtype=np.int64), dims="obs")
        active = pt.nonzero(gamma)[0]
        if kernel.is_random:
            # A constant: of a shared array PyMC would suspect that it had been set anew.
            support = pt.constant(X, name="X_train")[active]
            active_gram, cross = kernel.graph(support), kernel.graph(inputs, support)
        else:
            kernel_columns = KernelColumns(kernel, X)
            active_gram = ActiveGram(kernel_columns)(active)
            cross = kernel_columns(inputs, active)
        beta = SilvermanG("beta", gamma, g, active_gram=active_gram, shape=(n,), dims="obs")
        observations.add(u + pt.dot(cross, beta[active]))
        specify(
            GeneralizedKernelSpecification,
            kind=kind,
            training=X,
            kernel=kernel,
            max_active=max_active,
            is_sparse=sparse,
            inclusion=inclusion,
            **observations.specification,
        )
    return model
