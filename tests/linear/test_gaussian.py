import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.linear_model import BayesianRidge, Ridge

import bayeskernels as bk
from bayeskernels.linear.gaussian import SpectralRegression, linear_posterior, maximise_evidence


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


def rational_posterior(features, targets, alpha, beta, new):
    """Weights, mean and variance of the function at new features, and evidence, without rounding.

    Gauss-Jordan elimination of A = alpha I + beta Phi'Phi in fractions.
    """
    n, m = features.shape
    columns = [[Fraction(v) for v in column] for column in features.T.tolist()]
    rows = [[Fraction(v) for v in row] for row in new.tolist()]
    t = [Fraction(v) for v in targets.tolist()]
    a, b = Fraction(alpha), Fraction(beta)

    def dot(u, v):
        return sum(x * y for x, y in zip(u, v, strict=True))

    system = [
        [b * dot(columns[i], columns[j]) + a * (i == j) for j in range(m)]
        + [b * dot(columns[i], t)]
        + [row[i] for row in rows]
        for i in range(m)
    ]
    determinant = Fraction(1)
    for i in range(m):
        determinant *= system[i][i]
        system[i] = [v / system[i][i] for v in system[i]]
        for k in range(m):
            if k != i:
                by = system[k][i]
                system[k] = [u - by * v for u, v in zip(system[k], system[i], strict=True)]
    w = [row[m] for row in system]
    residuals = [t[k] - dot([column[k] for column in columns], w) for k in range(n)]
    misfit = b * dot(residuals, residuals) + a * dot(w, w)
    log_determinant = math.log(determinant.numerator) - math.log(determinant.denominator)
    log_evidence = 0.5 * (
        m * math.log(alpha) + n * math.log(beta / (2 * math.pi)) - float(misfit) - log_determinant
    )
    variance = [dot(row, [s[m + 1 + q] for s in system]) for q, row in enumerate(rows)]
    return (
        np.array(w, dtype=float),
        np.array([dot(row, w) for row in rows], dtype=float),
        np.array(variance, dtype=float),
        log_evidence,
    )


def gaussian_units(x):
    """Twelve units that overlap nearly wholly, and a constant."""
    outputs = np.exp(-0.5 * ((x[:, None] - np.linspace(-2, 2, 12)) / 1.6) ** 2)
    return np.column_stack([np.ones(len(x)), outputs])


def powers(x):
    """Powers 0 to 15 of inputs brought to [0, 1]."""
    return ((x[:, None] + 2) / 4) ** np.arange(16)


# Tolerances are 1e-16 times the condition number s_max sqrt(beta / alpha), with a factor of ten.
@pytest.mark.parametrize(
    ("basis", "n", "alpha", "beta", "tolerance"),
    [
        (gaussian_units, 40, 1e-6, 1e8, 2e-7),
        (gaussian_units, 40, 1e-10, 1e6, 2e-6),
        (gaussian_units, 40, 1e-6, 1e4, 2e-9),
        (powers, 30, 1e-8, 1e6, 1e-7),
        (powers, 8, 1e-8, 1e6, 1e-7),
    ],
)
def test_accuracy_where_the_normal_equations_have_none(basis, n, alpha, beta, tolerance):
    """Against exact rational arithmetic; Cholesky factors of A and C failed or were off by 10%."""
    x = np.linspace(-2.0, 2.0, n)
    features, new = basis(x), basis(np.array([-2.2, 0.1, 1.77]))
    targets = np.sin(3 * x) + 0.01 * np.random.default_rng(1).normal(size=n)
    w, mean, variance, log_evidence = rational_posterior(features, targets, alpha, beta, new)
    for form in ("primal", "dual"):
        found = linear_posterior(features, targets, alpha, beta, form=form)
        np.testing.assert_allclose(found.mean, w, rtol=0, atol=tolerance * np.abs(w).max())
        np.testing.assert_allclose(found.predict_function(new)[0], mean, rtol=tolerance)
        np.testing.assert_allclose(found.predict_function(new)[1], variance, rtol=tolerance)
        np.testing.assert_allclose(found.predict(new)[1] ** 2, variance + 1 / beta, rtol=tolerance)
        assert found.log_evidence == pytest.approx(log_evidence, rel=tolerance)
    spectral = SpectralRegression(features, targets)
    moments = spectral.predict_function(new, np.array([alpha]), np.array([beta]))
    np.testing.assert_allclose(moments[0][:, 0], mean, rtol=tolerance)
    np.testing.assert_allclose(moments[1][:, 0], variance, rtol=tolerance)
    value, _ = spectral.log_evidence(np.log(alpha), np.log(beta))
    assert value == pytest.approx(log_evidence, rel=tolerance)


def test_a_hopeless_condition_is_told(caplog):
    x = np.linspace(-2.0, 2.0, 40)
    linear_posterior(np.column_stack([x, x]), x, 1e-20, 1e12)
    assert "primal form of this posterior has a condition number" in caplog.text


def test_next_to_no_prior_on_independent_features_is_no_problem(caplog):
    features = np.linalg.qr(np.random.default_rng(1).normal(size=(10, 3)))[0]
    targets = np.arange(10.0)
    found = linear_posterior(features, targets, 1e-30, 1.0)
    np.testing.assert_allclose(found.mean, features.T @ targets, atol=1e-13)
    np.testing.assert_allclose(found.covariance, np.eye(3), atol=1e-14)
    assert not caplog.records


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
    best = maximise_evidence(features, targets)
    mackay = maximise_evidence(features, targets, method="fixed_point")
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
        best = maximise_evidence(features, targets, beta=2.0, method=method)
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
    best = maximise_evidence(features, targets)
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
        maximise_evidence(features, targets, method="guess")
    with pytest.raises(ValueError, match="All targets are zero"):
        maximise_evidence(features, np.zeros(10))
    with pytest.raises(ValueError, match="All features are zero"):
        maximise_evidence(np.zeros((10, 3)), targets)
    assert bk.linear_gaussian.linear_posterior is linear_posterior
