import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.linear_model import BayesianRidge, Ridge

import bayeskernels as bk
from bayeskernels.linear_gaussian import SpectralRegression, linear_posterior, maximize_evidence


def problem(n, m, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, m))
    return features, features @ rng.normal(size=m) + 0.4 * rng.normal(size=n)


SHAPES = [(10, 3), (8, 8), (5, 20)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.01, 30.0), (20.0, 0.1)])
def test_evidence_is_the_density_of_the_targets(shape, alpha, beta):
    features, targets = problem(*shape)
    covariance = features @ features.T / alpha + np.eye(len(targets)) / beta
    expected = multivariate_normal(np.zeros(len(targets)), covariance).logpdf(targets)
    for form in ("primal", "dual"):
        found = linear_posterior(features, targets, alpha, beta, form=form).log_evidence
        assert found == pytest.approx(expected, abs=1e-8)
    spectral, _ = SpectralRegression(features, targets).log_evidence(np.log(alpha), np.log(beta))
    assert spectral == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_dual_equals_primal(shape):
    features, targets = problem(*shape)
    new = np.random.default_rng(1).normal(size=(7, shape[1]))
    primal = linear_posterior(features, targets, 0.5, 4.0, form="primal")
    dual = linear_posterior(features, targets, 0.5, 4.0, form="dual")
    np.testing.assert_allclose(primal.mean, dual.mean, atol=1e-10)
    np.testing.assert_allclose(primal.covariance, dual.covariance, atol=1e-10)
    assert primal.log_evidence == pytest.approx(dual.log_evidence, abs=1e-10)
    for one, other in zip(primal.predict(new), dual.predict(new), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    mean, variance = SpectralRegression(features, targets).predict(
        new, np.array([0.5, 1.0]), np.array([4.0, 2.0])
    )
    np.testing.assert_allclose(mean[:, 0], primal.predict(new)[0], atol=1e-10)
    np.testing.assert_allclose(np.sqrt(variance[:, 0]), primal.predict(new)[1], atol=1e-10)


def test_mean_is_the_ridge_solution():
    features, targets = problem(10, 3)
    ridge = Ridge(alpha=0.5 / 4.0, fit_intercept=False).fit(features, targets)
    found = linear_posterior(features, targets, 0.5, 4.0).mean
    np.testing.assert_allclose(found, ridge.coef_, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_of_the_evidence(shape):
    model = SpectralRegression(*problem(*shape))
    x = np.array([0.3, -0.7])
    _, gradient = model.log_evidence(*x)
    numeric = approx_fprime(x, lambda x: model.log_evidence(*x)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, atol=1e-4)


def test_maximum_of_the_evidence_by_two_ways_and_scikit_learn():
    features, targets = problem(60, 5)
    best = maximize_evidence(features, targets)
    mackay = maximize_evidence(features, targets, method="fixed_point")
    assert best.converged
    assert mackay.converged
    assert best.alpha == pytest.approx(mackay.alpha, rel=1e-6)
    assert best.beta == pytest.approx(mackay.beta, rel=1e-6)
    peer = BayesianRidge(
        fit_intercept=False, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-12, max_iter=10000
    ).fit(features, targets)
    # Scikit-learn calls the precision of the noise alpha and that of the weights lambda.
    assert best.alpha == pytest.approx(peer.lambda_, rel=1e-6)
    assert best.beta == pytest.approx(peer.alpha_, rel=1e-6)
    np.testing.assert_allclose(best.gradient, 0.0, atol=1e-4)


def test_one_precision_may_be_fixed():
    features, targets = problem(60, 5)
    for method in ("gradient", "fixed_point"):
        best = maximize_evidence(features, targets, beta=2.0, method=method)
        assert best.beta == pytest.approx(2.0)
        assert best.converged
        values = [
            linear_posterior(features, targets, best.alpha * f, 2.0).log_evidence
            for f in (0.99, 1.0, 1.01)
        ]
        assert values[1] == max(values)
        assert np.isnan(best.gradient[1])


def test_effective_number_of_weights():
    features, targets = problem(60, 5)
    assert linear_posterior(features, targets, 1e-9, 1.0).effective_weights == pytest.approx(5.0)
    assert linear_posterior(features, targets, 1e9, 1.0).effective_weights < 1e-5


def test_pure_noise_wants_no_weights(caplog):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(200, 3))
    targets = rng.normal(size=200)
    targets -= features @ np.linalg.lstsq(features, targets)[0]
    best = maximize_evidence(features, targets)
    assert not best.converged
    assert "no maximum within reach" in caplog.text


def test_bad_input():
    features, targets = problem(10, 3)
    with pytest.raises(ValueError, match="alpha must be a positive"):
        linear_posterior(features, targets, -1.0, 1.0)
    with pytest.raises(ValueError, match="form must be"):
        linear_posterior(features, targets, 1.0, 1.0, form="both")
    with pytest.raises(ValueError, match="features of the shape"):
        linear_posterior(features, targets[:5], 1.0, 1.0)
    with pytest.raises(ValueError, match="finite"):
        linear_posterior(features, np.full(10, np.nan), 1.0, 1.0)
    with pytest.raises(ValueError, match="method must be"):
        maximize_evidence(features, targets, method="guess")
    with pytest.raises(ValueError, match="All targets are zero"):
        maximize_evidence(features, np.zeros(10))
    assert bk.linear_gaussian.linear_posterior is linear_posterior
