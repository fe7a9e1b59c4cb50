import numpy as np
import pymc as pm
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import bayeskernels as bk


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    return X, X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * rng.normal(size=60)


def linear(X, y, noise=0.7):
    return bk.models.gp_regression(X, y, kernel=pm.gp.cov.Linear(4, c=0.0), noise=noise)


def test_dual_is_primal_for_the_linear_kernel(data):
    X, y = data
    model = linear(X, y)
    a = bk.gp.dual_coefficients(model).values[0]
    w = np.linalg.solve(X.T @ X + 0.7**2 * np.eye(4), X.T @ y)
    np.testing.assert_allclose(X.T @ a, w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(w, Ridge(0.7**2, fit_intercept=False).fit(X, y).coef_, atol=1e-10)
    np.testing.assert_allclose(bk.predict(model, None, X)["mean"], X @ w, rtol=0, atol=1e-10)


def test_kernel_ridge_regression_is_the_mean(data):
    X, y = data
    kernel = pm.gp.cov.ExpQuad(4, ls=1.5)
    model = bk.models.gp_regression(X, y, kernel=kernel, noise=0.7)
    peer = KernelRidge(alpha=0.7**2, kernel="rbf", gamma=0.5 / 1.5**2).fit(X, y)
    np.testing.assert_allclose(bk.gp.dual_coefficients(model).values[0], peer.dual_coef_)
    np.testing.assert_allclose(bk.predict(model, None, X)["mean"], peer.predict(X))


def test_evidence_is_that_of_bayesian_linear_regression(data):
    # The linear kernel divided by alpha is the covariance of functions with weights N(0, 1/alpha).
    X, y = data
    alpha, noise = 0.6, 0.7
    kernel = (1 / alpha) * pm.gp.cov.Linear(4, c=0.0)
    process = bk.models.gp_regression(X, y, kernel=kernel, noise=noise)
    linear = bk.models.bayesian_linear_regression(X, y, alpha=alpha, beta=1 / noise**2)
    for form in ("primal", "dual"):
        expected = bk.specification_of(linear).posterior(form=form).log_evidence
        assert np.isclose(bk.gp.log_evidence(process), expected, rtol=0, atol=1e-8)
    ours, theirs = (bk.predict(model, None, X + 0.1) for model in (process, linear))
    for name in ("mean", "sd"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=0, atol=1e-8)
