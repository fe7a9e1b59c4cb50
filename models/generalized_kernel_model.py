r"""The generalized kernel model with a sparse active set (GKM, section 3.1).

The predictor is :math:`f(x) = u + \sum_j \beta_j k(x, x_j)`; only the coefficients of *active*
points differ from zero, and which points are active is part of the posterior. Coefficients have
Silverman's g-prior, offset and coefficients have precisions with Gamma priors. A label is positive
with probability :math:`\Phi(f)`; the paper's auxiliary response is integrated out of the model, so
that ArviZ sees pointwise terms of the labels, and lives inside the step method.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.spatial.distance import pdist

from bayeskernels.distributions import ActiveSet, Offset, Precision, ProbitLabel, SilvermanG
from bayeskernels.inputs import as_two_classes
from bayeskernels.kernel_columns import ActiveGram, KernelColumns
from bayeskernels.kernels import read_inputs
from bayeskernels.models.grouped_kernel_model import build_grouped_kernel_model, is_grouped
from bayeskernels.models.precisions import ETA_PRIOR, G_PRIOR, add_precision, check_precision
from bayeskernels.specification import (
    GeneralizedKernelSpecification,
    attach_specification,
    refuse_second_specification,
)

__all__ = ["build_generalized_kernel_model", "generalized_kernel_model", "mean_distance_kernel"]


def mean_distance_kernel(X):
    r"""Gaussian kernel :math:`\exp(-|x - x'|^2 / \theta^2)`, theta the mean distance of the inputs.

    Parameters
    ----------
    X : array of shape (n, p)
        Beyond 2,000 rows the mean is taken over a random sample of them.

    Returns
    -------
    pm.gp.cov.ExpQuad

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskernels.models.generalized_kernel_model import mean_distance_kernel
    >>> kernel = mean_distance_kernel(np.array([[0.0], [2.0]]))
    >>> kernel(np.array([[0.0], [2.0]])).eval().round(4).tolist()  # exp(-1) off the diagonal
    [[1.0, 0.3679], [0.3679, 1.0]]
    """
    rng = np.random.default_rng(0)
    rows = X if len(X) <= 2000 else X[rng.choice(len(X), 2000, replace=False)]
    distance = pdist(rows).mean() if len(rows) > 1 else 1.0
    return pm.gp.cov.ExpQuad(X.shape[1], ls=max(distance, 1e-12) / np.sqrt(2.0))


def generalized_kernel_model(
    X,
    y,
    *,
    kernel=None,
    max_active=200,
    sparse=True,
    bias=0.0,
    g=None,
    eta=None,
    inclusion=(1.0, 1.0),
    kernel_off=0.5,
):
    r"""Fully Bayesian generalized kernel model for two or more classes, and one or more kernels.

    Parameters
    ----------
    X : array_like or DataFrame of shape (n, p)
        Training inputs; None where ``kernel`` is a Gram matrix.
    y : array_like of shape (n,)
        Labels of two classes, of any type. In sorted order the second is the positive class. More
        than two classes have a predictor each, see Notes.
    kernel : pm.gp.cov.Covariance, callable or array of shape (n, n), optional
        By default the paper's Gaussian kernel, see :func:`mean_distance_kernel`. A list of
        covariances and functions, or a dict with their names, gives a model of several kernels.
    max_active : int, default 200
        Largest number of active points; at most n is used. Kernel columns are computed for active
        and proposed points only, so far fewer than n keep large data sets feasible.
    sparse : bool, default True
        False makes all points active and keeps them so (the paper's BGKM).
    bias : float, default 0
        Constant added to the kernel. The model has an offset of its own.
    g : float or prior, optional
        Precision of the coefficients; Gamma(2, 0.05) by default (shape and rate). With several
        kernels a prior has one entry for each; that of the default stands for small weights, of
        about 0.16, which are hard to tell from none:
        ``bk.distributions.GroupedPrecision.dist(2, 2, shape=2)`` for weights of about one.
    eta : float or prior, optional
        Precision of the offset u; Gamma(0.5, 0.05) by default.
    inclusion : tuple of float, default (1, 1)
        Parameters of the Beta prior of the share of active points.
    kernel_off : float, default 0.5
        Of several kernels: prior probability of each being off (the paper's rho); 0 for none.

    Returns
    -------
    pm.Model
        With ``gamma`` (which points are active, dim ``obs``), ``beta`` (their coefficients), ``u``,
        ``g``, ``eta``, the observed labels ``y`` and the inputs ``X`` as data.

    Notes
    -----
    More than two classes (section 6.2 of the paper): ``beta`` and ``u`` also have the dim
    ``class``, over which they sum to zero; the label is the class with the largest predictor after
    standard normal noise. Several kernels (section 6.1): ``beta`` and ``g`` also have the dim
    ``kernel``, ``kernel_on`` says which kernels take part, and ``kernel_weight`` is 1 / sqrt(g) for
    these and zero for the others. Both are sampled by
    :class:`bayeskernels.samplers.GroupedReversibleJump`.

    References
    ----------
    .. [1] Z. Zhang, G. Dai and M. I. Jordan, "Bayesian Generalized Kernel Mixed Models", JMLR
       12:111-139, 2011.

    Examples
    --------
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(40, random_seed=1)
    >>> model = bk.models.generalized_kernel_model(X, y, max_active=20)
    >>> with model:
    ...     idata = pm.sample(50, tune=50, chains=1, quiet=True, random_seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['beta', 'eta', 'g', 'gamma', 'u']
    """
    if is_grouped(kernel, y):
        return build_grouped_kernel_model(
            "generalized_kernel_model",
            X,
            y,
            kernel=kernel,
            default=mean_distance_kernel,
            max_active=max_active,
            sparse=sparse,
            bias=bias,
            g=g,
            eta=eta,
            inclusion=inclusion,
            kernel_off=kernel_off,
        )
    return build_generalized_kernel_model(
        "generalized_kernel_model",
        X,
        y,
        kernel=kernel,
        max_active=max_active,
        sparse=sparse,
        bias=bias,
        g=g,
        eta=eta,
        inclusion=inclusion,
    )


def build_generalized_kernel_model(
    kind, X, y, *, kernel, max_active, sparse, bias, g, eta, inclusion
):
    """Put the model into the one in context, or into a new one; ``kind`` is the builder's name."""
    X, columns, kernel = read_inputs(X, kernel, bias, default=mean_distance_kernel)
    classes = as_two_classes(y, len(X))
    n = len(X)
    if isinstance(max_active, bool) or not isinstance(max_active, int | np.integer):
        raise TypeError(f"max_active must be a whole number, got {max_active!r}.")
    if max_active < 1:
        raise ValueError(f"max_active must be at least 1, got {max_active}.")
    if kernel.is_random:
        raise TypeError("A kernel with random hyperparameters is not supported here.")
    check_precision("g", g)
    check_precision("eta", eta)
    max_active = min(int(max_active), n) if sparse else n
    model = pm.Model.get_context(error_if_none=False) or pm.Model()
    refuse_second_specification(model)
    kernel_columns = KernelColumns(kernel, X)
    with model:
        model.add_coord("class", classes.names)
        second = "support" if kernel.is_precomputed else "feature"
        inputs = pm.Data("X", X, dims=("obs", second), coords={second: columns})
        eta = add_precision("eta", eta, ETA_PRIOR, Precision)
        u = Offset("u", 0.0, tau=eta)
        g = add_precision("g", g, G_PRIOR, Precision)
        if sparse:
            # A fixed shape: the active points are those of training, whatever X is set to.
            gamma = ActiveSet("gamma", max_active, *inclusion, shape=(n,), dims="obs")
        else:
            gamma = pm.Data("gamma", np.ones(n, dtype=np.int64), dims="obs")
        active = pt.nonzero(gamma)[0]
        active_gram = ActiveGram(kernel_columns)(active)
        beta = SilvermanG("beta", gamma, g, active_gram=active_gram, shape=(n,), dims="obs")
        f = u + pt.dot(kernel_columns(inputs, active), beta[active])
        labels = pm.Data("y_data", classes.codes)
        ProbitLabel("y", f, observed=labels, dims="obs")
        attach_specification(
            model,
            GeneralizedKernelSpecification(
                kind=kind,
                class_names=classes.names,
                codes=classes.codes,
                X=X,
                kernel=kernel,
                max_active=max_active,
                is_sparse=sparse,
                inclusion=tuple(map(float, inclusion)),
                prefix=model.name_for("u")[:-1],
            ),
        )
    return model
