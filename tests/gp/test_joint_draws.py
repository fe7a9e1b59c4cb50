"""Joint draws of functions and targets against dense formulas, and their use by ArviZ."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.stats import multivariate_normal

import bayeskernels as bk

cov = pm.gp.cov
NOISE, MEAN = 0.3, 0.5
RNG = np.random.default_rng(1)
X = np.sort(RNG.uniform(0, 4, size=(12, 1)), axis=0)
Y = np.sin(2 * X[:, 0]) + MEAN + NOISE * RNG.normal(size=12)
X_NEW = np.array([[0.3], [1.9], [2.0], [3.7], [9.0]])
INDUCING = np.array([[0.2], [1.4], [2.6], [3.9]])


def gaussian(X, Z, width=0.6):
    return np.exp(-0.5 * ((X[:, None, 0] - Z[None, :, 0]) / width) ** 2)


def build(**options):
    kernel = cov.ExpQuad(1, ls=0.6)
    return bk.models.gp_regression(X, Y, kernel=kernel, noise=NOISE, mean=MEAN, **options)


def dense_moments(points, approximation):
    """Mean and covariance of the function, from inverses of whole matrices."""
    cross, own = gaussian(X, points), gaussian(points, points)
    if approximation is None:
        C = gaussian(X, X) + NOISE**2 * np.eye(len(X))
        mean = cross.T @ np.linalg.solve(C, Y - MEAN)
        return MEAN + mean, own - cross.T @ np.linalg.solve(C, cross)
    Kuu = gaussian(INDUCING, INDUCING)
    Kuf, Kup = gaussian(INDUCING, X), gaussian(INDUCING, points)
    scales = np.full(len(X), NOISE**2)
    if approximation == "FITC":
        scales = scales + 1.0 - np.einsum("ij,ij->j", Kuf, np.linalg.solve(Kuu, Kuf))
    inner = Kuu + (Kuf / scales) @ Kuf.T
    mean = Kup.T @ np.linalg.solve(inner, (Kuf / scales) @ (Y - MEAN))
    lost = Kup.T @ np.linalg.solve(Kuu, Kup)
    return MEAN + mean, own - lost + Kup.T @ np.linalg.solve(inner, Kup)


def assert_moments(values, mean, covariance):
    """5 standard errors of each mean, variance and covariance (30 to 100 of them)."""
    n = len(values)
    sd = np.sqrt(np.diag(covariance))
    assert (np.abs(values.mean(axis=0) - mean) < 5 * sd / np.sqrt(n) + 1e-4).all()
    error = np.sqrt((covariance**2 + np.outer(sd, sd) ** 2) / n)
    assert (np.abs(np.cov(values.T) - covariance) < 5 * error + 1e-4).all()


@pytest.mark.parametrize("points", [None, X_NEW])
@pytest.mark.parametrize("approximation", [None, "VFE", "FITC"])
def test_functions_and_targets_have_the_joint_distribution(approximation, points):
    options = {} if approximation is None else {"inducing": INDUCING}
    model = build(approximation=approximation, **options)
    drawn = bk.gp.posterior_predictive(model, None, points, draws=10_000, random_seed=1)
    mean, covariance = dense_moments(X if points is None else points, approximation)
    assert_moments(drawn["posterior"]["f"].values[0], mean, covariance)
    group = "posterior_predictive" if points is None else "predictions"
    noise = NOISE**2 * np.eye(len(mean))
    assert_moments(drawn[group]["y"].values[0], mean, covariance + noise)
    if points is None:
        np.testing.assert_array_equal(drawn["observed_data"]["y"], Y)
    else:
        assert set(drawn.children) == {"posterior", "predictions"}


def test_tiny_noise_and_repeated_points():
    """Where the posterior covariance is far below the rounding errors of the prior's."""
    X_twice = np.vstack([X, X[:3]])
    y = np.sin(X_twice[:, 0])
    model = bk.models.gp_regression(X_twice, y, kernel=cov.ExpQuad(1, ls=2.0), noise=1e-5)
    f = bk.gp.posterior_predictive(model, draws=50, random_seed=1)["posterior"]["f"].values[0]
    assert np.abs(f - y).max() < 1e-4
    f = bk.gp.posterior_predictive(model, None, X, draws=50, random_seed=1)["posterior"]["f"]
    assert np.abs(f.values[0] - np.sin(X[:, 0])).max() < 1e-4


@pytest.fixture(scope="module")
def random_noise():
    """A process of which the noise is random, with exact draws from a grid."""
    kernel = cov.ExpQuad(1, ls=0.6)
    model = bk.models.gp_regression(X, Y, kernel=kernel, noise=pm.HalfNormal.dist(1.0))
    log_joint = np.array([log_joint_density(q) for q in GRID])
    weights = np.exp(log_joint - log_joint.max())
    draws = np.random.default_rng(2).choice(GRID, size=(2, 300), p=weights / weights.sum())
    posterior = xr.Dataset(
        {"noise": (("chain", "draw"), draws)}, coords={"chain": [0, 1], "draw": np.arange(300)}
    )
    return model, xr.DataTree.from_dict({"posterior": posterior})


GRID = np.linspace(0.02, 2.0, 400)


def log_joint_density(noise, rows=slice(None)):
    """Of some targets and the standard deviation of their noise, up to a constant."""
    C = gaussian(X[rows], X[rows]) + noise**2 * np.eye(len(X[rows]))
    return multivariate_normal(cov=C).logpdf(Y[rows]) - 0.5 * noise**2


def build_zero_mean(noise, rows=slice(None)):
    return bk.models.gp_regression(X[rows], Y[rows], kernel=cov.ExpQuad(1, ls=0.6), noise=noise)


def test_draws_of_hyperparameters(random_noise):
    """One function for each of them, in its chain; or some, evenly spaced."""
    model, idata = random_noise
    options = {"random_seed": 1, "progressbar": False}
    drawn = bk.gp.posterior_predictive(model, idata, X_NEW, **options)
    assert dict(drawn["predictions"].sizes) == {"chain": 2, "draw": 300, "obs_new": 5}
    xr.testing.assert_equal(drawn["posterior"]["noise"], idata["posterior"]["noise"])
    predicted = bk.predict(model, idata, X_NEW, progressbar=False)
    y = drawn["predictions"]["y"].values.reshape(-1, 5)
    error = predicted["sd"].values / np.sqrt(len(y))
    assert (np.abs(y.mean(axis=0) - predicted["mean"].values) < 5 * error).all()
    np.testing.assert_allclose(y.std(axis=0), predicted["sd"], rtol=5 / np.sqrt(len(y)))
    few = bk.gp.posterior_predictive(model, idata, draws=7, **options)
    assert dict(few["posterior_predictive"].sizes) == {"chain": 1, "draw": 7, "obs": 12}
    assert few["posterior"]["noise"].values[0, -1] == idata["posterior"]["noise"].values[1, -1]
    best = bk.gp.maximise_evidence(model, random_seed=1, progressbar=False)
    at_best = bk.gp.posterior_predictive(model, best, draws=9, **options)
    assert (at_best["posterior"]["noise"] == best.point["noise"]).all()


def test_arviz_takes_them(random_noise):
    model, idata = random_noise
    drawn = bk.gp.posterior_predictive(model, idata, draws=50, random_seed=1, progressbar=False)
    az.plot_ppc_dist(drawn, num_samples=20)
    assert az.summary(drawn, var_names=["noise"]).shape[0] == 1


def test_leave_one_out_is_that_of_models_without_the_point():
    model = build_zero_mean(0.3)
    found = bk.gp.loo(model)
    expected = []
    for i in range(len(X)):
        rest = build_zero_mean(0.3, np.delete(np.arange(len(X)), i))
        expected.append(bk.gp.log_predictive_density(rest, None, X[[i]], Y[[i]])[0])
    np.testing.assert_allclose(found.elpd_i, expected, rtol=1e-8)
    assert found.elpd == pytest.approx(np.sum(expected))
    xr.testing.assert_allclose(bk.diagnostics.loo(model, None).elpd_i, found.elpd_i)


# Twelve targets say little of the noise: some of them have weights with a heavy tail.
@pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning")
def test_leave_one_out_over_draws_by_quadrature(random_noise):
    """p(t_i | others) is a ratio of two evidences, each a sum over the grid of the noise."""
    model, idata = random_noise
    tree = bk.gp.pointwise_log_likelihood(model, idata, progressbar=False)
    assert tree["log_likelihood"]["y"].dims == ("chain", "draw", "obs")
    found = az.loo(tree)

    def log_evidence(rows):
        return np.logaddexp.reduce([log_joint_density(q, rows) for q in GRID])

    settled = np.flatnonzero(found.pareto_k.values < 0.5)
    assert len(settled) > 6
    for i in settled:
        others = np.delete(np.arange(len(X)), i)
        exact = log_evidence(slice(None)) - log_evidence(others)
        assert float(found.elpd_i[i]) == pytest.approx(exact, abs=0.06)
    assert bk.gp.loo(model, idata, progressbar=False).elpd == pytest.approx(found.elpd)
    table = az.compare({"random": found, "fixed": bk.gp.loo(build_zero_mean(2.0))})
    assert table.index[0] == "random"


def test_refusals(monkeypatch):
    sparse = build(inducing=INDUCING)
    with pytest.raises(ValueError, match=r"approximation \(VFE\)"):
        bk.gp.loo(sparse)
    with pytest.raises(ValueError, match=r"approximation \(VFE\)"):
        bk.diagnostics.loo(sparse, None)
    gram = bk.models.gp_regression(None, Y, kernel=gaussian(X, X), noise=0.3)
    assert bk.gp.posterior_predictive(gram, draws=3)["posterior"]["f"].shape == (1, 3, 12)
    with pytest.raises(ValueError, match="no functions can be drawn there"):
        bk.gp.posterior_predictive(gram, None, gaussian(X_NEW, X))
    with pytest.raises(ValueError, match="draws must be"):
        bk.gp.posterior_predictive(sparse, draws=0)
    with pytest.raises(TypeError, match=r"made by bk\.models\.gp_regression"):
        bk.gp.posterior_predictive(bk.models.gaussian_mean([1.0, 2.0]))
    monkeypatch.setattr("bayeskernels.gp.joint_draws.MAX_POINTS", 10)
    with pytest.raises(ValueError, match="16 x 16 numbers"):
        bk.gp.posterior_predictive(sparse)
