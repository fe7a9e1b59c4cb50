import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy.special import betaln, expit, logsumexp
from scipy.stats import multivariate_normal, norm, vonmises

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
    with pytest.raises(TypeError, match="got an object of the type dict"):
        bk.predict(model, {}, [[1.0, 1.0]])


def test_points_that_cannot_be_evaluated():
    """The corner of a grid holds correlations beyond one, where a covariance is none."""
    with pm.Model() as model:
        r = pm.Normal("r", 0.0, 0.3)
        s = pm.LogNormal("s", 0.0, 0.3)
        covariance = pt.stack([pt.stack([1.0, r]), pt.stack([r, 1.0])])
        pm.MvNormal("x", [0.0, 0.0], s * covariance, observed=[0.5, 0.4])
    result = bk.quadrature(model, tolerance=1e-4)
    grid = np.linspace(-1.0, 1.0, 4001)[1:-1]
    u = np.linspace(-3.0, 3.0, 601)
    R, U = np.meshgrid(grid, u, indexing="ij")
    determinant = 1.0 - R**2
    square = (0.41 - 0.4 * R) / determinant * np.exp(-U)
    log_likelihood = -0.5 * square - 0.5 * np.log(determinant) - U - np.log(2 * np.pi)
    log_prior = norm(0.0, 0.3).logpdf(R) + norm(0.0, 0.3).logpdf(U)
    total = np.exp(log_likelihood + log_prior).sum() * (grid[1] - grid[0]) * (u[1] - u[0])
    # The density falls to zero at the end of the correlations with a slope of its own.
    assert result.log_evidence == pytest.approx(np.log(total), abs=1e-3)


def test_points_that_matter_and_cannot_be_evaluated():
    """An operation that raises where the posterior is large: the error says where."""
    with pm.Model() as model:
        a = pm.Normal("a", 1.0, 1.0)
        factor = pt.linalg.cholesky(pt.stack([pt.stack([1.0, a]), pt.stack([a, 4.0])]))
        pm.Normal("x", factor[1, 1], 1.0, observed=1.0)
    with pytest.raises(ValueError, match=r"cannot be evaluated at a = .*below the mode"):
        bk.quadrature(model)


@pytest.mark.parametrize("tolerance", [0.0, -1e-9, np.nan, np.inf, "fine", None, True])
def test_tolerances(tolerance):
    with pm.Model() as model:
        pm.Normal("a")
    with pytest.raises(ValueError, match="tolerance must be a positive number"):
        bk.quadrature(model, tolerance=tolerance)


def test_models_without_data():
    """A proper prior integrates to one."""
    with pm.Model() as model:
        pm.Gamma("a", 2.2, 1.4)
    assert bk.quadrature(model).log_evidence == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("tool", [bk.quadrature, bk.laplace])
def test_improper_priors_have_no_evidence(tool, caplog):
    """The posterior is proper and can be had; the evidence is not defined."""
    with pm.Model() as model:
        mu = pm.Flat("mu")
        pm.Normal("x", mu, 1.0, observed=[1.0, 2.0])
    result = tool(model)
    assert np.isnan(result.log_evidence)
    assert "prior of mu is improper" in caplog.text
    draws = result.sample(2000, random_seed=1)["posterior"]["mu"].values
    # Five standard errors.
    assert abs(draws.mean() - 1.5) < 5 * np.sqrt(0.5 / 2000)


@pytest.mark.parametrize("prior", [pm.Flat, pm.HalfFlat])
def test_improper_posteriors(prior):
    with pm.Model() as model:
        prior("a")
    with pytest.raises(ValueError, match=r"not positive definite|no mode|does not die out"):
        bk.quadrature(model)


@pytest.mark.parametrize("centre", [0.5, 3.1])
def test_angles(centre):
    """One period counts, wherever the posterior lies on the circle."""
    with pm.Model() as model:
        a = pm.VonMises("a", centre, 4.0)
        pm.Normal("x", pm.math.cos(a), 0.4, observed=[0.2, -0.5])
    t = np.linspace(-np.pi, np.pi, 4001)[:-1]
    log_density = vonmises(4.0, loc=centre).logpdf(t)
    log_density += sum(norm(np.cos(t), 0.4).logpdf(x) for x in (0.2, -0.5))
    expected = logsumexp(log_density) + np.log(t[1] - t[0])
    assert bk.quadrature(model).log_evidence == pytest.approx(expected, abs=1e-7)
    if centre == 3.1:
        rng = np.random.default_rng(1)
        weights = np.exp(log_density - logsumexp(log_density))
        draws = rng.choice(t, (4, 2000), p=weights) + (t[1] - t[0]) * rng.uniform(
            -0.5, 0.5, (4, 2000)
        )
        posterior = xr.Dataset({"a": (("chain", "draw"), draws)})
        idata = xr.DataTree.from_dict({"posterior": posterior})
        found = bk.evidence.estimate(
            model, idata, method="bridge", random_seed=2, progressbar=False
        )
        # False alarms in fewer than one of 10,000 seeds.
        assert abs(found.log_evidence - expected) < 4 * found.mcse + 1e-3
        with pytest.raises(TypeError, match=r"'smc' does not fit.*periodic"):
            bk.evidence.estimate(model, method="smc")
