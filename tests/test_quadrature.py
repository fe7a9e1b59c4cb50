import numpy as np
import pymc as pm
import pytest
from scipy.special import betaln, expit
from scipy.stats import multivariate_normal

import bayeskernels as bk


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_gaussian_models(dimension):
    rng = np.random.default_rng(dimension)
    X = rng.normal(size=(6, dimension))
    y = rng.normal(size=6)
    model = bk.models.bayesian_linear_regression(X, y, alpha=0.5, beta=2.0)
    result = bk.quadrature(model)
    exact = bk.specification_of(model).posterior()
    covariance = X @ X.T / 0.5 + np.eye(6) / 2.0
    expected = multivariate_normal(np.zeros(6), covariance).logpdf(y)
    assert result.log_evidence == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(result.expectation("w"), exact.mean, atol=1e-9)
    np.testing.assert_allclose(
        result.expectation(lambda v: np.einsum("ni,nj->nij", v["w"], v["w"])),
        exact.covariance + np.outer(exact.mean, exact.mean),
        atol=1e-9,
    )


# Not 0.5 and 3.0: PyMC keeps such numbers in few bits and their gammaln in single precision, so
# that its own log density is off by 4e-8.
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.7, 2.3)])
def test_beta_binomial(a, b):
    with pm.Model() as model:
        p = pm.Beta("p", a, b)
        pm.Bernoulli("x", p, observed=[1, 1, 0, 1, 1, 1, 1])
    result = bk.quadrature(model)
    expected = betaln(a + 6, b + 1) - betaln(a, b)
    assert result.log_evidence == pytest.approx(expected, abs=1e-8)
    assert result.expectation("p") == pytest.approx((a + 6) / (a + b + 7), abs=1e-8)


def test_against_a_grid_of_its_own():
    """The lecture's four points, by a plain sum over a fixed grid."""
    X = np.array([[5.0, 5.0], [-5.0, -5.0], [0.0, 1.0], [1.0, 0.0]])
    y = np.array([1, 0, 0, 1])
    grid = np.linspace(-80, 80, 1601)
    w = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    log_density = -0.005 * (w**2).sum(-1) + np.log(0.01 / (2 * np.pi))
    log_density -= np.logaddexp(0.0, -(w @ X.T) * (2 * y - 1)).sum(-1)
    density = np.exp(log_density) * 0.01
    model = bk.models.logistic_regression(X, y, alpha=0.01)
    result = bk.quadrature(model)
    assert result.log_evidence == pytest.approx(np.log(density.sum()), abs=1e-6)
    expected = (density * expit(w @ [1.0, 1.0])).sum() / density.sum()
    found = result.expectation(lambda v: expit(v["w"] @ [1.0, 1.0]))
    assert found == pytest.approx(expected, abs=1e-6)
    assert result.weights.sum() == pytest.approx(1.0)


def test_refusals():
    large = bk.models.bayesian_linear_regression(np.eye(5), np.ones(5), alpha=1.0, beta=1.0)
    with pytest.raises(ValueError, match="at most 3 unknowns"):
        bk.quadrature(large)
    with pm.Model() as discrete:
        pm.Bernoulli("k", 0.5)
    with pytest.raises(TypeError, match="discrete"):
        bk.quadrature(discrete)
    with pm.Model() as heavy:
        pm.Cauchy("a", 0.0, 1.0)
    with pytest.raises(ValueError, match=r"does not die out.*along 'a'.*tails are too heavy"):
        bk.quadrature(heavy)
    # The lecture's points with a random precision: a proper prior with heavy tails.
    X = [[5.0, 5.0], [-5.0, -5.0], [0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(ValueError, match=r"tails are too heavy.*Fix a hyperparameter"):
        bk.quadrature(bk.models.logistic_regression(X, [1, 0, 0, 1]))


def test_draws_predict_and_the_result_itself_is_refused():
    X = [[5.0, 5.0], [-5.0, -5.0], [0.0, 1.0], [1.0, 0.0]]
    model = bk.models.logistic_regression(X, [1, 0, 0, 1], alpha=0.01)
    grid = bk.quadrature(model)
    exact = grid.expectation(lambda v: expit(v["w"] @ [1.0, 1.0]))
    drawn = bk.predict(model, grid.sample(10_000, random_seed=1), [[1.0, 1.0]])
    # Standard error at most 0.005, since a probability has a standard deviation of at most 1/2.
    assert float(drawn["probability"][0, 1]) == pytest.approx(exact, abs=0.025)
    with pytest.raises(ValueError, match="draws must be a whole number"):
        grid.sample(0.5)
    for result in (grid, bk.laplace(model)):
        with pytest.raises(TypeError, match=r"got an object of the type .*draws of it, \.sample"):
            bk.predict(model, result, [[1.0, 1.0]])
    with pytest.raises(TypeError, match=r"type int: give that of pm\.sample"):
        bk.predict(model, 3, [[1.0, 1.0]])
    with pytest.raises(TypeError, match=r"type int: give that of pm\.sample"):
        bk.predict(bk.models.bayesian_linear_regression(X, [1.0, 2.0, 3.0, 4.0]), 3, X)
    with pytest.raises(ValueError, match="no posterior draws of 'w'"):
        bk.predict(model, {}, [[1.0, 1.0]])
