import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from pytensor.graph.traversal import ancestors
from scipy.stats import multivariate_normal, norm

import bayeskernels as bk
from bayeskernels.graphs.numpy_graphs import numpy_function
from bayeskernels.linear.gaussian import linear_posterior
from bayeskernels.linear.rbf_units import RBFUnits, lower_factor
from bayeskernels.models import rbf_network
from bayeskernels.models.rbf_network import _hidden

RNG = np.random.default_rng(6)
X = RNG.uniform(-1, 1, size=(30, 2))
Y = np.exp(-2 * (X[:, 0] + X[:, 1]) ** 2) + 0.05 * RNG.normal(size=30)
X_NEW = RNG.uniform(-1, 1, size=(5, 2))


def random_units(m=3):
    factors = np.tril(RNG.normal(size=(m, 2, 2)))
    factors[:, [0, 1], [0, 1]] = np.abs(factors[:, [0, 1], [0, 1]]) + 0.5
    return RBFUnits(RNG.uniform(-1, 1, size=(m, 2)), factors)


def test_graph_is_the_hidden_layer():
    """Evidence of the marginal model against the density with features computed elsewhere."""
    units = random_units()
    model = rbf_network(X, Y, centers=units, alpha=0.5, beta=40.0, marginal=True)
    features = np.column_stack([np.ones(30), units(X)])
    covariance = features @ features.T / 0.5 + np.eye(30) / 40.0
    expected = multivariate_normal(np.zeros(30), covariance).logpdf(Y)
    quick = Mode(linker="py", optimizer="fast_compile")
    assert float(model.compile_logp(mode=quick)({})) == pytest.approx(expected, abs=1e-8)
    whole = rbf_network(X, Y, centers=units, alpha=0.5, beta=40.0)
    assert bk.laplace(whole).log_evidence == pytest.approx(expected, abs=1e-8)


def test_prediction_without_draws():
    units = random_units()
    model = rbf_network(X, Y, centers=units, alpha=0.5, beta=40.0, bias=False)
    mean, sd = linear_posterior(units(X), Y, 0.5, 40.0).predict(units(X_NEW))
    prediction = bk.predict(model, None, X_NEW)
    np.testing.assert_allclose(prediction["mean"], mean, atol=1e-10)
    np.testing.assert_allclose(prediction["sd"], sd, atol=1e-10)
    np.testing.assert_allclose(prediction["latent_sd"] ** 2, sd**2 - 1 / 40.0, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-9, 1e8])
def test_prediction_does_not_depend_on_the_units_of_measurement(scale):
    """Widths of 1e8 were cut to e^15 in prediction, but not in the model."""
    options = {"centers": 5, "alpha": 0.5, "beta": 40.0}
    prediction = bk.predict(rbf_network(X, Y, **options), None, X_NEW)
    scaled = bk.predict(rbf_network(X * scale, Y, **options), None, X_NEW * scale)
    np.testing.assert_allclose(scaled["mean"], prediction["mean"], atol=1e-10)
    np.testing.assert_allclose(scaled["sd"], prediction["sd"], atol=1e-10)


@pytest.mark.parametrize(("alpha", "beta"), [(1e-6, 1e8), (1e-10, 1e6)])
def test_prediction_with_units_that_overlap_nearly_wholly(alpha, beta):
    """A Cholesky factor of the normal equations does not exist here."""
    x = np.linspace(-2, 2, 40)[:, None]
    centers = np.linspace(-2, 2, 12)[:, None]
    model = rbf_network(x, np.sin(3 * x[:, 0]), centers=centers, width=1.6, alpha=alpha, beta=beta)
    prediction = bk.predict(model, None, x)
    np.testing.assert_allclose(prediction["mean"], np.sin(3 * x[:, 0]), atol=0.01)


@pytest.mark.parametrize("shared", [False, True])
def test_prediction_by_draws(shared):
    model = rbf_network(X, Y, centers=3, width=0.7, adapt="all", shared=shared)
    of_metric = () if shared else (3,)
    draws = {
        "centers": RNG.normal(size=(1, 2, 3, 2)),
        "log_scale": 0.3 * RNG.normal(size=(1, 2, *of_metric, 2)),
        "shear": RNG.normal(size=(1, 2, *of_metric, 1)),
        "alpha": np.array([[1.0, 2.0]]),
        "beta": np.array([[5.0, 9.0]]),
    }
    posterior = xr.Dataset(
        {
            k: (("chain", "draw", *(f"{k}{j}" for j in range(v.ndim - 2))), v)
            for k, v in draws.items()
        }
    )
    prediction = bk.predict(model, xr.DataTree.from_dict({"posterior": posterior}), X_NEW)
    means, variances = [], []
    for s in range(2):
        factors = np.zeros((3, 2, 2))
        factors[:, [0, 1], [0, 1]] = np.exp(draws["log_scale"][0, s])
        factors[:, 1, 0] = draws["shear"][0, s][..., 0]
        units = RBFUnits(draws["centers"][0, s], factors)
        features = [np.column_stack([np.ones(len(Z)), units(Z)]) for Z in (X, X_NEW)]
        exact = linear_posterior(features[0], Y, draws["alpha"][0, s], draws["beta"][0, s])
        mean, sd = exact.predict(features[1])
        means.append(mean)
        variances.append(sd**2)
    np.testing.assert_allclose(prediction["mean"], np.mean(means, axis=0), atol=1e-10)
    total = np.mean(variances, axis=0) + np.var(means, axis=0)
    np.testing.assert_allclose(prediction["sd"], np.sqrt(total), atol=1e-10)
    latent = total - np.mean(1 / draws["beta"])
    np.testing.assert_allclose(prediction["latent_sd"] ** 2, latent, atol=1e-10)


@pytest.mark.parametrize(
    ("adapt", "random"),
    [
        ("none", set()),
        ("centers", {"centers"}),
        ("metric", {"log_scale", "shear"}),
        ("all", {"centers", "log_scale", "shear"}),
    ],
)
def test_what_is_random(adapt, random):
    with pm.Model(name="net") as model:
        rbf_network(X, Y, centers=4, adapt=adapt, beta=10.0)
    free = {v.name.removeprefix("net::") for v in model.free_RVs}
    assert free == random | {"alpha", "w"}
    assert model.named_vars_to_dims["net::centers"][-1].endswith("feature")


def test_priors_around_the_start():
    """Centres vary by a width, shears by ``metric_sd`` in units of 1 / width, scales by it."""
    model = rbf_network(X, Y, centers=3, width=0.2, adapt="all", metric_sd=0.3)
    start = model.initial_point()
    expected = {"centers": 0.2, "log_scale": 0.3, "shear": 0.3 / 0.2}
    for name, sd in expected.items():
        found = pm.logp(model[name], start[name] + 0.1).eval()
        np.testing.assert_allclose(found, norm(0.0, sd).logpdf(0.1), rtol=1e-6)
    wide = rbf_network(X, Y, centers=3, width=0.2, adapt="centers", center_sd=2.0)
    found = pm.logp(wide["centers"], start["centers"]).eval()
    np.testing.assert_allclose(found, norm(0.0, 2.0).logpdf(0.0), rtol=1e-6)


def test_laplace_draws_predict():
    x = np.linspace(-2, 2, 40)[:, None]
    y = np.sin(3 * x[:, 0]) + 0.05 * np.random.default_rng(1).normal(size=40)
    fit = bk.fit_rbf_network(x, y, centers=6, width=0.5, ridge=1e-2, adapt="centers")
    model = rbf_network(x, y, centers=fit.units, adapt="centers", alpha=1.0, beta=400.0)
    idata = bk.laplace(model).sample(200, random_seed=1)
    prediction = bk.predict(model, idata, x)
    assert np.sqrt(np.mean((prediction["mean"].values - np.sin(3 * x[:, 0])) ** 2)) < 0.06


@pytest.mark.slow
def test_sampled_network():
    """Draws of centres and metric: the prediction follows the curve within its own error."""
    x = np.linspace(-2, 2, 40)[:, None]
    y = np.sin(3 * x[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=40)
    model = rbf_network(x, y, centers=5, adapt="all", alpha=0.5, center_sd=0.2)
    with model:
        idata = pm.sample(
            400, tune=400, chains=2, cores=1, random_seed=1, quiet=True, nuts_sampler="pymc"
        )
    prediction = bk.predict(model, idata, x)
    error = prediction["mean"].values - np.sin(3 * x[:, 0])
    assert np.sqrt(np.mean(error**2)) < 0.08
    assert 0.07 < float(prediction["sd"].mean()) < 0.2


def test_bad_data():
    with pytest.raises(ValueError, match="different metrics"):
        rbf_network(X, Y, centers=random_units(), shared=True)
    model = rbf_network(X, Y, adapt="centers")
    with pytest.raises(ValueError, match="idata"):
        bk.predict(model, None, X_NEW)
    with pytest.raises(ValueError, match="1 columns"):
        bk.predict(model, None, X_NEW[:, :1])
    with pytest.raises(TypeError, match="is for classifiers"):
        bk.flip_probability(model, None)


@pytest.mark.parametrize("shared", [False, True])
def test_hidden_layer_of_many_columns(shared):
    """The graph does not grow with the number of columns, and says what the units say."""
    rng = np.random.default_rng(0)
    p, m = 40, 3
    X, centers = rng.standard_normal((7, p)), rng.standard_normal((m, p))
    log_scale = 0.3 * rng.standard_normal(p if shared else (m, p)) - 1.0
    shear = 0.05 * rng.standard_normal((*log_scale.shape[:-1], p * (p - 1) // 2))
    factors = np.broadcast_to(lower_factor(log_scale, shear), (m, p, p))
    graph = _hidden(*map(pt.as_tensor, (X, centers, log_scale, shear)), p, False)
    assert len(list(ancestors([graph]))) < 60
    np.testing.assert_allclose(numpy_function([], graph)(), RBFUnits(centers, factors)(X))


@pytest.mark.parametrize("centers", [10, "array"])
def test_too_many_columns_are_refused_at_once(centers):
    X = np.random.default_rng(0).standard_normal((20, 10_000))
    centers = X[:10] if centers == "array" else centers
    for build in (bk.models.rbf_network, bk.fit_rbf_network):
        with pytest.raises(ValueError, match=r"10000 columns.* 7.5 GiB"):
            build(X, X[:, 0], centers=centers)
