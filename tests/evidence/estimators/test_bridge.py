"""Bridge sampling of PyMC models whose evidence is known."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeskernels as bk
from bayeskernels.evidence.estimators.bridge import bridge_draws
from bayeskernels.evidence.estimators.unconstrained_draws import unconstrained_draws
from bayeskernels.graphs.unconstrained import UnconstrainedDensity
from bayeskernels.testing import (
    known_coin,
    known_correlated_gaussian,
    known_counts,
    known_eight_schools,
    known_funnel,
    known_normal,
)

QUIET = {"method": "bridge", "progressbar": False}


def tree(**values):
    """Draws of shape (chains, draws, ...) as a DataTree."""
    variables = {
        name: (("chain", "draw", *(f"{name}_dim_{k}" for k in range(np.ndim(value) - 2))), value)
        for name, value in values.items()
    }
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables)})


@pytest.mark.parametrize("proposal", ["normal", "warp3"])
@pytest.mark.parametrize("make", [known_coin, known_counts, known_normal])
def test_conjugate_models(make, proposal):
    known = make()
    evidence = bk.evidence.estimate(
        known.model, known.idata(1), proposal=proposal, random_seed=1, **QUIET
    )
    assert abs(evidence.log_evidence - known.log_evidence) < 0.02
    assert abs(evidence.log_evidence - known.log_evidence) < 3 * evidence.mcse
    assert 0 < evidence.mcse < 0.01
    assert not evidence.warning


@pytest.mark.parametrize("make", [known_correlated_gaussian, known_eight_schools, known_funnel])
def test_harder_models(make):
    """In 50, 10 and 7 dimensions."""
    known = make()
    evidence = bk.evidence.estimate(known.model, known.idata(1), random_seed=1, **QUIET)
    assert abs(evidence.log_evidence - known.log_evidence) < 3 * evidence.mcse
    assert 0.005 < evidence.mcse < 0.06
    assert evidence.n_evaluations == 8000
    assert evidence.diagnostics["overlap"] > 0.3


def test_gaussian_models_agree_with_the_closed_form():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.standard_normal(30)
    model = bk.models.bayesian_linear_regression(X, y, alpha=1.0, beta=1.0)
    exact = bk.evidence.estimate(model)
    idata = bk.laplace(model).sample(4000, random_seed=1)
    del idata["posterior"].attrs["is_mcmc"]  # exact here: the posterior is Gaussian
    evidence = bk.evidence.estimate(model, idata, random_seed=1, **QUIET)
    assert abs(evidence.log_evidence - exact.log_evidence) < 0.02
    assert evidence.data_digest == exact.data_digest


def test_draws_of_pm_sample_when_there_are_none():
    known = known_counts()
    evidence = bk.evidence.estimate(
        known.model, draws=300, tune=200, chains=2, cores=1, random_seed=1, progressbar=False
    )
    assert evidence.method == "bridge"  # by auto
    assert abs(evidence.log_evidence - known.log_evidence) < 0.02


@pytest.fixture(scope="module")
def transformed():
    """A prior with all kinds of transforms, draws of it, and data that know nothing of it."""
    with pm.Model() as model:
        end = pm.Gamma("end", 3.0, 1.0)
        pm.Uniform("inside", 0.0, end, shape=2)
        pm.Dirichlet("share", np.full(3, 2.0))
        pm.Normal("order", 0.0, 1.0, shape=3, transform=pm.distributions.transforms.ordered)
        pm.Normal("y", 0.0, 1.0, observed=0.0)
    rng = np.random.default_rng(1)
    end = rng.gamma(3.0, 1.0, (4, 1000))
    draws = tree(
        end=end,
        inside=end[..., None] * rng.random((4, 1000, 2)),
        share=rng.dirichlet(np.full(3, 2.0), (4, 1000)),
        order=np.sort(rng.standard_normal((4, 1000, 3)), axis=-1),
    )
    return model, draws


def test_draws_come_back_from_all_kinds_of_transforms(transformed):
    model, draws = transformed
    density = UnconstrainedDensity(model, what="test")
    points = unconstrained_draws(density, draws, np.random.default_rng(1))
    assert points.shape == (4, 1000, 1 + 2 + 2 + 3)
    back = density.constrain(points.reshape(4000, -1))
    for name, values in draws["posterior"].data_vars.items():
        np.testing.assert_allclose(
            back[name].reshape(values.shape), values.values, rtol=1e-6, atol=1e-9
        )


def test_data_that_know_nothing_of_the_prior(transformed):
    """The prior integrates to one, also where one order of three numbers is left of it."""
    evidence = bk.evidence.estimate(*transformed, random_seed=1, **QUIET)
    expected = -0.5 * np.log(2 * np.pi)
    assert abs(evidence.log_evidence - expected) < 3 * evidence.mcse
    assert evidence.mcse < 0.03


def test_directions_have_free_lengths():
    """Label noise in two dimensions, against the exact areas of the cells."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((6, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    y[0] = -y[0]
    model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.Linear(2, 0.0), noise=0.2)
    cells = bk.testing.label_noise_cells(X, y > 0, 0.2)
    idata = bk.samplers.sample_directions(model, draws=4000, random_seed=1)
    evidence = bk.evidence.estimate(model, idata, random_seed=1, **QUIET)
    assert abs(evidence.log_evidence - cells.log_evidence) < max(0.03, 3 * evidence.mcse)


def test_the_same_seed_gives_the_same_number():
    known = known_coin()
    first, second, third = (
        bk.evidence.estimate(known.model, known.idata(1), random_seed=seed, **QUIET).log_evidence
        for seed in (1, 1, 2)
    )
    assert first == second != third


def test_repetitions_share_the_draws():
    known = known_coin()
    one = bk.evidence.estimate(known.model, known.idata(1), random_seed=1, **QUIET)
    many = bk.evidence.estimate(known.model, known.idata(1), random_seed=1, repetitions=4, **QUIET)
    assert many.diagnostics["repetitions"].shape == (4,)
    # Half of the error is that of the draws, which repetitions do not touch.
    assert many.mcse > 0.5 * one.mcse
    assert abs(many.log_evidence - known.log_evidence) < 3 * many.mcse


def test_little_in_common_is_reported(caplog):
    """Two far modes: no Gaussian has much in common with them."""
    rng = np.random.default_rng(1)
    side = np.where(rng.random((4, 500, 1)) < 0.5, -60.0, 60.0)
    with pm.Model() as model:
        x = pm.Normal("x", 0.0, 100.0, shape=8)
        pm.Normal("y", pm.math.abs(x), 1.0, observed=np.full(8, 60.0))
    draws = side * np.where(rng.random((4, 500, 8)) < 0.5, -1.0, 1.0) + rng.standard_normal(
        (4, 500, 8)
    )
    evidence = bk.evidence.estimate(model, tree(x=draws), random_seed=1, **QUIET)
    assert "little in common" in evidence.warning
    assert "little in common" in caplog.text
    assert "Not to be trusted" in str(evidence)


def test_disagreeing_chains_are_reported():
    known = known_correlated_gaussian(3)
    idata = known.idata(1)
    idata["posterior"]["x"] = idata["posterior"]["x"] + 4 * (idata["posterior"]["chain"] == 0)
    evidence = bk.evidence.estimate(known.model, idata, random_seed=1, **QUIET)
    assert "chains disagree" in evidence.warning


def test_forgetting_the_jacobian_is_seen():
    """A planted error: the density of the scale itself instead of its logarithm."""
    known = known_counts()
    density = UnconstrainedDensity(known.model, what="test")
    rng = np.random.default_rng(1)
    points = unconstrained_draws(density, known.idata(1), rng)
    right = bridge_draws(points, density.values, 2000, rng)
    wrong = bridge_draws(points, lambda x: density.values(x) - x[:, 0], 2000, rng)
    assert abs(right.log_ratio - known.log_evidence) < 0.02
    assert abs(wrong.log_ratio - known.log_evidence) > 0.2


@pytest.mark.parametrize("spawned", [False, True])
def test_the_seed_of_the_draws_may_be_used_again(spawned):
    """In 50 dimensions normals shared with the draws bias the estimate by ten standard errors."""
    known = known_correlated_gaussian()
    rng = np.random.default_rng(1)
    idata = known.idata(rng.spawn(1)[0] if spawned else rng)
    evidence = bk.evidence.estimate(known.model, idata, random_seed=1, **QUIET)
    assert abs(evidence.log_evidence - known.log_evidence) < 3.5 * evidence.mcse


def covariance():
    """A prior of covariance matrices alone: its integral is one."""
    with pm.Model() as model:
        pm.LKJCholeskyCov(
            "L", n=2, eta=2.0, sd_dist=pm.HalfNormal.dist(1.0, shape=2), compute_corr=False
        )
        pm.Normal("y", observed=0.0)
    return model, -0.5 * np.log(2.0 * np.pi)


@pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
def test_covariances_from_independent_draws():
    """Mean of 20 estimates within four standard errors, and these as large as they should be.

    The mean and the standard deviation of z fail by chance once in 10,000.
    """
    model, exact = covariance()
    density = UnconstrainedDensity(model, what="test")
    drawn = pm.draw(model["L"], draws=20 * 2000, random_seed=1).reshape(20, 4, 500, 3)
    z = []
    for seed, draws in enumerate(drawn):
        rng = np.random.default_rng(seed)
        points = unconstrained_draws(density, tree(L=draws), rng)
        bridge = bridge_draws(points, density.values, 1000, rng)
        z.append((bridge.log_ratio - exact) / bridge.mcse)
    assert abs(np.mean(z)) < 4 / np.sqrt(20)
    assert 0.4 < np.std(z) < 1.7


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning")
def test_necks_that_nuts_hardly_enters_are_reported():
    """Where both entries of a row go to zero NUTS misses 3% of this prior, and the bridge too."""
    model, exact = covariance()
    for seed in range(3):
        evidence = bk.evidence.estimate(model, cores=1, random_seed=seed, **QUIET)
        assert "effective draws" in evidence.warning
        assert abs(evidence.log_evidence - exact) < 4 * evidence.mcse


@pytest.mark.parametrize(
    "make", [known_normal, known_eight_schools, known_funnel, known_correlated_gaussian]
)
def test_errors_are_calibrated(make):
    """At a true rate of 0.93 fewer than 43 of 50 runs are right with probability 0.02."""
    known = make()
    density = UnconstrainedDensity(known.model, what="test")
    z = []
    for seed in range(50):
        # A stream of its own: the draws have that of the seed.
        rng = np.random.default_rng([seed, 1])
        points = unconstrained_draws(density, known.idata(seed), rng)
        bridge = bridge_draws(points, density.values, 2000, rng)
        z.append((bridge.log_ratio - known.log_evidence) / bridge.mcse)
    assert np.mean(np.abs(z) < 2) >= 0.85
    assert np.std(z) < 1.4
    assert abs(np.mean(z)) < 0.6
