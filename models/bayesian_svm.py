r"""The Bayesian support vector machine (Sollich 2001; Mallick, Ghosh and Ghosh 2005).

The hinge loss of a support vector machine as the negative logarithm of a likelihood, the squared
norm of its predictor as that of a Gaussian prior: its solution is the posterior mode for fixed g,
with :math:`1 / g` in the place of the cost C. Here the whole posterior counts.
"""

from bayeskernels.distributions import CompleteHingeLabel, HingeLabel
from bayeskernels.models.parts.latent_classifier import build_latent_classifier

__all__ = ["bayesian_svm"]


def bayesian_svm(X, y, *, kernel=None, complete=False, bias=0.0, g=None, eta=None):
    r"""Support vector machine with a posterior: BSVM, or CSVM with ``complete=True``.

    The predictor is :math:`f = u + K \beta` with :math:`\beta \sim N(0, (g K)^{-1})` and
    :math:`u \sim N(0, 1/\eta)`.

    Parameters
    ----------
    X, y, kernel, bias, g, eta
        As for :func:`bayeskernels.models.gp_probit`; g is the precision of the coefficients.
    complete : bool, default False
        False takes :math:`\exp(-\max(1 - y f, 0))`, :math:`y = \pm 1`, for the likelihood although
        it is not normalised over y (BSVM); True normalises it (CSVM):
        :math:`p(y = 1 \mid f)` is logistic with the log-odds 2 f within the margin and
        :math:`f + \operatorname{sgn} f` outside.

    Returns
    -------
    pm.Model
        With the variables of :func:`bayeskernels.models.gp_probit`.

    Notes
    -----
    NUTS samples it. The hinge has kinks, at :math:`y f = 1` and, in the complete form, at
    :math:`y f = -1`, where the density is continuous but its gradient jumps. NUTS stays exact, as
    it accepts by the density; a trajectory across a kink loses some accuracy, which the adaptation
    of the step size makes up for.

    The posterior of the BSVM is proper, as its likelihood is at most one. But the values for the
    two labels add up to between 0.74 and 1.14, depending on f, so the terms in the group
    ``log_likelihood`` are no log-probabilities: ``az.loo`` computes something, but the result must
    not be compared with that of another model. With ``complete=True`` they are, and may.
    Prediction and posterior predictive draws use the complete form in both cases.

    Mallick et al. add independent normal residuals to f and give the coefficients independent
    priors; here f has no residuals and the prior of Sollich, a Gaussian process with the covariance
    K / g, the same as in the other models of the zoo. At new points the process has a variance that
    the expansion :math:`K \beta` lacks; :func:`bayeskernels.predict` integrates over it.

    References
    ----------
    .. [1] P. Sollich, "Bayesian Methods for Support Vector Machines: Evidence and Predictive Class
       Probabilities", Machine Learning 46:21-52, 2002.
    .. [2] B. K. Mallick, D. Ghosh and M. Ghosh, "Bayesian classification of tumours by using gene
       expression data", Journal of the Royal Statistical Society B 67:219-234, 2005.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> with bk.models.bayesian_svm(X, y, complete=True) as model:
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1, nuts_sampler="pymc")
    >>> bk.predict(model, idata, [[0.0, 1.0], [1.0, -0.5]]).label.values.tolist()
    [-1, 1]
    """
    if not isinstance(complete, bool):
        raise TypeError(f"complete must be True or False, got {complete!r}.")
    labels = CompleteHingeLabel if complete else HingeLabel
    return build_latent_classifier(
        "bayesian_svm", X, y, kernel=kernel, bias=bias, g=g, eta=eta, link="hinge", labels=labels
    )
