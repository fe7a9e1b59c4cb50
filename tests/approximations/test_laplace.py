"""The Laplace approximation: exact on Gaussians, honest elsewhere."""

import numpy as np
import pymc as pm
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

import bayeskernels as bk

LECTURE_X = np.array([[5.0, 5.0], [-5.0, -5.0], [0.0, 1.0], [1.0, 0.0]])
LECTURE_Y = np.array([1, 0, 0, 1])


def regression(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_exact_on_gaussian_models(scale):
    X, y = regression()
    X, y = X * scale, y * scale
    model = bk.models.bayesian_linear_regression(X, y, alpha=0.3, beta=4.0 / scale**2)
    covariance = X @ X.T / 0.3 + np.eye(12) * scale**2 / 4.0
    expected = multivariate_normal(np.zeros(12), covariance).logpdf(y)
    approximation = bk.laplace(model)
    assert approximation.log_evidence == pytest.approx(expected, abs=1e-8)
    exact = bk.specification_of(model).posterior()
    np.testing.assert_allclose(approximation.mode["w"], exact.mean, atol=1e-9)
    np.testing.assert_allclose(approximation.covariance, exact.covariance, rtol=1e-9)


def test_exact_on_a_correlated_gaussian_far_from_the_start():
    covariance = np.array([[1.0, 0.99], [0.99, 1.0]]) * 1e-4
    with pm.Model() as model:
        z = pm.MvNormal("z", [50.0, -80.0], cov=covariance, initval=[0.0, 0.0])
        pm.Normal("x", z.sum(), 2.0, observed=3.0)
    expected = norm(-30.0, np.sqrt(4.0 + covariance.sum())).logpdf(3.0)
    assert bk.laplace(model).log_evidence == pytest.approx(expected, abs=1e-8)


def test_jacobian_terms_are_included():
    """A log-normal scale is a Gaussian in unconstrained space: its mass is one there."""
    with pm.Model() as model:
        pm.LogNormal("s", 0.7, 0.4)
    approximation = bk.laplace(model)
    assert approximation.log_evidence == pytest.approx(0.0, abs=1e-10)
    # The mode there is the median; that of the constrained density is smaller by the variance.
    assert float(approximation.mode["s"]) == pytest.approx(np.exp(0.7))
    drawn = approximation.sample(20_000, random_seed=1)["posterior"]["s"].values
    assert (drawn > 0).all()
    # Standard error 0.003; five of them are passed once in two million seeds.
    assert np.log(drawn).mean() == pytest.approx(0.7, abs=0.015)


@pytest.mark.parametrize(("alpha", "gap"), [(0.1, -0.26), (0.01, -0.50)])
def test_error_on_the_four_points_of_the_lecture(alpha, gap):
    model = bk.models.logistic_regression(LECTURE_X, LECTURE_Y, alpha=alpha)
    approximation, exact = bk.laplace(model), bk.quadrature(model)
    assert exact.error < 1e-9
    assert approximation.log_evidence - exact.log_evidence == pytest.approx(gap, abs=0.005)


def test_prediction_on_the_four_points_of_the_lecture():
    model = bk.models.logistic_regression(LECTURE_X, LECTURE_Y, alpha=0.01)
    exact = bk.quadrature(model).expectation(lambda v: expit(v["w"] @ [1.0, 1.0]))
    draws = bk.laplace(model).sample(40_000, random_seed=2)
    approximate = bk.predict(model, draws, [[1.0, 1.0]])["probability"].values[0, 1]
    assert exact == pytest.approx(0.94, abs=0.005)
    # Standard error 0.002.
    assert approximate == pytest.approx(0.65, abs=0.012)


def test_mode_is_a_zero_of_the_gradient():
    model = bk.models.logistic_regression(LECTURE_X, LECTURE_Y, alpha=0.1)
    w = bk.laplace(model).mode["w"]
    gradient = LECTURE_X.T @ (LECTURE_Y - expit(LECTURE_X @ w)) - 0.1 * w
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


def test_draws_have_names_dims_and_moments():
    X, y = regression()
    model = bk.models.bayesian_linear_regression(X, y, alpha=0.3, basis=1)
    approximation = bk.laplace(model)
    idata = approximation.sample(5000, random_seed=3)
    posterior = idata["posterior"]
    assert posterior["w"].dims == ("chain", "draw", "basis")
    assert posterior["basis"].values.tolist() == ["1", "0", "1", "2"]
    assert (posterior["beta"] > 0).all()
    assert posterior.attrs["is_mcmc"] == 0
    assert approximation.names == ["beta_log__", "w[0]", "w[1]", "w[2]", "w[3]"]
    again = approximation.sample(5000, random_seed=3)["posterior"]
    assert (again["w"].values == posterior["w"].values).all()
    assert (approximation.sample(10, random_seed=4)["posterior"]["w"] != again["w"][:, :10]).any()
    mean = posterior["w"].mean(("chain", "draw")).values
    sd = posterior["w"].std(("chain", "draw")).values
    # Five standard errors.
    np.testing.assert_array_less(np.abs(mean - approximation.mode["w"]), 5 * sd / np.sqrt(5000))
    prediction = bk.predict(model, idata, X)
    assert np.corrcoef(prediction["mean"], y)[0, 1] > 0.95


def test_model_in_context_deterministics_and_start():
    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 10.0)
        pm.Deterministic("square", a**2)
        pm.Normal("x", a**2, 0.5, observed=4.0)
        right = bk.laplace(start={"a": 1.0})
    left = bk.laplace(model, start={"a": -1.0})
    assert right.mode["square"] == pytest.approx(left.mode["square"])
    assert float(right.mode["a"]) == pytest.approx(-float(left.mode["a"]))
    assert "square" in right.sample(3, random_seed=1)["posterior"]


def test_refusals():
    with pm.Model() as discrete:
        k = pm.Poisson("k", 3.0)
        pm.Normal("x", k, 1.0, observed=2.0)
    with pytest.raises(TypeError, match="k is discrete"):
        bk.laplace(discrete)
    with pm.Model() as flat:
        a, b = pm.Flat("a"), pm.Normal("b")
        pm.Normal("x", b, 1.0, observed=2.0)
        pm.Potential("nothing", 0.0 * a)
    with pytest.raises(ValueError, match=r"not positive definite.*along 'a'"):
        bk.laplace(flat)
    with pm.Model() as empty:
        pm.Normal("x", 0.0, 1.0, observed=2.0)
    with pytest.raises(ValueError, match="no free variables"):
        bk.laplace(empty)
    with pytest.raises(TypeError, match=r"needs a pm\.Model"):
        bk.laplace("model")
    with pm.Model() as model:
        pm.Normal("a")
    with pytest.raises(ValueError, match=r"start has values of \['b'\]"):
        bk.laplace(model, start={"b": 1.0})
    with pytest.raises(ValueError, match="shape"):
        bk.laplace(model, start={"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match="log density at the start"):
        bk.laplace(model, start={"a": np.inf})
    for draws in (0, 2.5):
        with pytest.raises(ValueError, match="draws must be a whole number of at least 1"):
            bk.laplace(model).sample(draws)
    with pm.Model() as all_flat:
        pm.Flat("a")
    with pytest.raises(ValueError, match=r"flat.*proper prior"):
        bk.laplace(all_flat)


def test_a_saddle_is_refused():
    """The start is a stationary point between two modes: there is no Gaussian around it."""
    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 10.0)
        pm.Normal("x", a**2, 0.5, observed=4.0)
    with pytest.raises(ValueError, match="not positive definite"):
        bk.laplace(model, start={"a": 0.0})


@pytest.mark.parametrize("iterations", [0, -1, 2.5, np.nan, None, "many"])
def test_numbers_of_iterations(iterations):
    with pm.Model() as model:
        pm.Normal("a")
    with pytest.raises(ValueError, match="max_iterations must be a whole number"):
        bk.laplace(model, max_iterations=iterations)
