"""Bayesian linear regression with precisions that are fixed, found by evidence, or sampled."""

from bayeskernels.inputs import as_inputs, as_targets
from bayeskernels.linear.basis import as_basis
from bayeskernels.linear.gaussian import maximise_evidence
from bayeskernels.models.parts.hyperparameter import Hyperparameter
from bayeskernels.models.parts.linear_model import add_features, add_linear_targets
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.linear import LinearSpecification

__all__ = ["bayesian_linear_regression"]


def bayesian_linear_regression(X, y, *, alpha=None, beta=None, basis=None, marginal=False):
    r"""Linear regression with Gaussian weights: :math:`t = w^T \phi(x) + \epsilon`.

    Weights are :math:`N(0, \alpha^{-1})`, the noise is :math:`N(0, \beta^{-1})`.

    Parameters
    ----------
    X : array_like or DataFrame of shape (n, p)
    y : array_like of shape (n,)
        Targets.
    alpha, beta : float, prior or "evidence", optional
        Precisions of the weights and of the noise. A number is fixed, a prior is sampled, and
        ``"evidence"`` stands for the number that maximises the evidence given the other one (or
        both, which must then not be random). By default Gamma(1, 0.1), shape and rate: meant for
        standardised data.
    basis : callable or int, optional
        The functions phi: from an array (n, p) to an array (n, M); or a degree d, for a constant
        and the powers 1 to d of each column. By default the columns of X, without a constant.
    marginal : bool, default False
        Integrate the weights out of the model, so that only precisions are sampled: quick mixing,
        at O(n^3) for each gradient.
        Then ``pm.sample_posterior_predictive`` replicates targets of the prior, and
        ``pm.compute_log_likelihood`` gives one number for all targets: for checks and leave-one-out
        keep the weights.

    Returns
    -------
    pm.Model
        With ``w`` (dim ``basis``; not if marginal), ``alpha``, ``beta``, the targets ``y`` and the
        inputs ``X`` as data.

    Notes
    -----
    ``bk.predict`` integrates the weights in closed form for each draw of the precisions; where both
    are fixed it needs no draws, ``bk.predict(model, None, X_new)``. The specification of the model
    gives the posterior of the weights and the evidence in closed form, primal or dual:
    ``bk.specification_of(model).posterior(form="dual")``.

    References
    ----------
    .. [1] C. M. Bishop, "Pattern Recognition and Machine Learning", Springer, 2006, sections 3.3
       to 3.5.
    .. [2] D. J. C. MacKay, "Bayesian Interpolation", Neural Computation 4:415-447, 1992.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> noise = np.random.default_rng(1).normal(size=30)
    >>> model = bk.models.bayesian_linear_regression(
    ...     x, 1 + 2 * x[:, 0] + 0.1 * noise, alpha="evidence", beta="evidence", basis=1
    ... )
    >>> prediction = bk.predict(model, None, [[0.5]])
    >>> round(float(prediction["mean"][0]), 1), round(float(prediction["sd"][0]), 1)
    (2.0, 0.1)
    >>> bk.specification_of(model).posterior().mean.round(1).tolist()
    [1.0, 2.0]
    """
    X, columns = as_inputs(X)
    y = as_targets(y, len(X))
    basis = as_basis(basis, X, columns)
    found = None
    given = [
        Hyperparameter(name, value, words=(None, "evidence"))
        for name, value in (("alpha", alpha), ("beta", beta))
    ]
    known = [one for one in given if one.is_variable or one.value != "evidence"]
    if len(known) < 2:
        for one in known:
            if one.number is None:
                raise ValueError(
                    f"{one.name} is random: where one precision is found by evidence, the other "
                    f'must be fixed or found too, {one.name}="evidence" or a number.'
                )
        numbers = {one.name: one.number for one in known}
        found = maximise_evidence(basis.at_training, y, **numbers)
        given = [Hyperparameter(name, getattr(found, name)) for name in ("alpha", "beta")]
    model = open_model()
    with model:
        features = add_features(model, X, columns, basis)
        add_linear_targets(features, y, *given, marginal=marginal)
        specify(
            LinearSpecification,
            kind="bayesian_linear_regression",
            training=X,
            basis=basis,
            evidence_maximum=found,
        )
    return model
