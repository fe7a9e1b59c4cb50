"""Full Gaussian-process probit classifier: the comparator without sparsity."""

from bayeskernels.distributions import ProbitLabel
from bayeskernels.models.parts.latent_classifier import build_latent_classifier

__all__ = ["gp_probit"]


def gp_probit(X, y, *, kernel=None, bias=0.0, g=None, eta=None, inducing=None):
    r"""Gaussian-process classifier of two classes with a probit link, sampled by NUTS.

    A label is positive with probability :math:`\Phi(u + h(x))`, h a Gaussian process with
    covariance :math:`k / g`. It is the comparator without sparsity: as K beta with
    :math:`\beta \sim N(0, (g K)^{-1})` has the covariance K / g, its posterior is the one of
    ``generalized_kernel_model(sparse=False)``, here by gradients instead of Gibbs steps. The two
    differ at new points, where a process has a variance that an expansion in the training points
    lacks: :func:`bayeskernels.predict` adds :math:`(k(x, x) - \|\phi(x)\|^2) / g`.

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

    That is what ``inducing=`` does, here and in prediction, at O(n inducing) per gradient. (Without
    it, :func:`bayeskernels.predict` does the same at new points, but PyMC's own route,
    ``pm.set_data`` with ``pm.sample_posterior_predictive``, leaves the variance out.) Inducing
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
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> with bk.models.gp_probit(X, y) as model:
    ...     idata = pm.sample(
    ...         100, tune=200, chains=1, quiet=True, random_seed=1, nuts_sampler="pymc"
    ...     )
    >>> bk.predict(model, idata, [[0.0, 1.0], [1.0, -0.5]]).label.values.tolist()
    [-1, 1]
    """
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
        labels=ProbitLabel,
    )
