import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy.integrate import trapezoid

import bayeskernels as bk
from bayeskernels.testing import label_noise_cells


@pytest.fixture(scope="module")
def plane():
    """A linear problem in the plane, of which everything is known exactly."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((10, 2))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)
    y[[2, 7]] *= -1
    return X, y


def linear_model(X, y, noise):
    return bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.Linear(2, c=0), noise=noise)


def exact_elpd(log_evidence, n):
    """log p(y_i | the others) = log Z(all) - log Z(all but i)."""
    everything = np.arange(n)
    whole = log_evidence(everything)
    return np.array([whole - log_evidence(np.delete(everything, i)) for i in range(n)])


@pytest.mark.parametrize("noise", [0.1, (0.05, 0.3)])
def test_loo_against_leaving_out_one_by_one(plane, noise):
    X, y = plane
    pair = noise if isinstance(noise, tuple) else (noise, noise)
    exact = exact_elpd(lambda rows: label_noise_cells(X[rows], y[rows] > 0, *pair).log_evidence, 10)
    model = linear_model(X, y, noise)
    idata = bk.samplers.sample_directions(model, draws=20_000, chains=2, random_seed=1)
    loo = bk.diagnostics.loo(model, idata)
    np.testing.assert_allclose(loo.elpd_i.values, exact, atol=0.05)
    assert loo.elpd == pytest.approx(exact.sum(), abs=0.1)
    assert loo.se == pytest.approx(np.sqrt(10 * np.var(loo.elpd_i.values)))
    assert not loo.warning


def test_loo_with_inferred_noise(plane):
    X, y = plane
    rates = np.linspace(1e-4, 0.5 - 1e-4, 100)

    def log_evidence(rows):
        given = [label_noise_cells(X[rows], y[rows] > 0, q).log_evidence for q in rates]
        return np.log(trapezoid(np.exp(given), rates))

    model = linear_model(X, y, "infer")
    with model:
        idata = pm.sample(4000, chains=2, random_seed=1, quiet=True, progressbar=False)
    loo = bk.diagnostics.loo(model, idata)
    np.testing.assert_allclose(loo.elpd_i.values, exact_elpd(log_evidence, 10), atol=0.1)


def test_in_sample_part(plane):
    """The effective number of parameters is the in-sample log score less the one left out."""
    X, y = plane
    model = linear_model(X, y, 0.1)
    idata = bk.samplers.sample_directions(model, draws=500, chains=2, random_seed=1)
    loo = bk.diagnostics.loo(model, idata)
    flipped = bk.flip_probability(model, idata).values
    log_score = np.log(0.1 * flipped + 0.9 * (1 - flipped)).sum()
    assert loo.p == pytest.approx(log_score - loo.elpd)
    assert loo.n_samples == 1000
    assert loo.n_data_points == 10


def test_compare_takes_it(plane):
    X, y = plane
    loos = {}
    for noise in (0.1, 0.45):
        model = linear_model(X, y, noise)
        idata = bk.samplers.sample_directions(model, draws=1000, chains=2, random_seed=1)
        loos[str(noise)] = bk.diagnostics.loo(model, idata)
    table = az.compare(loos)
    assert table.index.tolist() == sorted(loos, key=lambda name: -loos[name].elpd)


def test_few_effective_draws_are_reported(plane):
    model = linear_model(*plane, 0.1)
    idata = bk.samplers.sample_directions(model, draws=40, chains=1, random_seed=1)
    assert bk.diagnostics.loo(model, idata).warning


@pytest.mark.parametrize("noise", [0.0, (0.1, 0.0)])
def test_no_loo_without_noise(noise):
    X, y = bk.data.make_two_moons(20, scatter=0.05, random_seed=1)
    kernel = pm.gp.cov.ExpQuad(2, ls=0.4)
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=noise)
    idata = bk.samplers.sample_directions(model, draws=10, chains=1, random_seed=1)
    with pytest.raises(ValueError, match=r"noise > 0, or k-fold"):
        bk.diagnostics.loo(model, idata)


def test_monitor():
    X, y = bk.data.make_two_moons(40, random_seed=1)
    X_test, _ = bk.data.make_two_moons(7, random_seed=2)
    model = bk.models.label_noise_classifier(X, y, noise=0.1)
    idata = bk.samplers.sample_directions(model, draws=300, chains=2, random_seed=1)
    watched = bk.diagnostics.monitor(model, idata, X_test)["posterior"]
    assert watched["output"].dims == ("chain", "draw", "point")
    latent = bk.predict(model, idata, X_test)["latent"].values
    np.testing.assert_allclose(watched["output"].mean(["chain", "draw"]), latent)
    by_chain = bk.predict(model, idata.isel(chain=[1]), X_test)["latent"].values
    np.testing.assert_allclose(watched["output"].sel(chain=1).mean("draw"), by_chain)
    np.testing.assert_array_equal(watched["errors"], idata["sample_stats"]["refractive_errors"])


def test_monitor_chooses_points_evenly_and_keeps_other_unknowns():
    X, y = bk.data.make_two_moons(41, random_seed=1)
    model = bk.models.label_noise_classifier(X, y, noise=("infer", "infer"))
    with model:
        idata = pm.sample(20, tune=5, chains=1, quiet=True, progressbar=False, random_seed=1)
    watched = bk.diagnostics.monitor(model, idata, max_points=5)["posterior"]
    assert watched["point"].values.tolist() == [0, 10, 20, 30, 40]
    assert set(watched.data_vars) == {"output", "errors", "noise"}
    with pytest.raises(ValueError, match="max_points must be at least 1"):
        bk.diagnostics.monitor(model, idata, max_points=0)
    with pytest.raises(ValueError, match="3 columns"):
        bk.diagnostics.monitor(model, idata, np.ones((2, 3)))
