import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.blocking import DictToArrayBijection

import bayeskernels as bk
from bayeskernels.gp.hyperparameters.density import HyperparameterDensity
from bayeskernels.gp.hyperparameters.full_bayes import _distinct, _pulled_in
from bayeskernels.gp.hyperparameters.modes import Mode, find_modes
from bayeskernels.kernels.argument import WITHOUT_COMPILER

cov = pm.gp.cov
RNG = np.random.default_rng(1)
X = RNG.uniform(size=(25, 2))
Y = np.sin(6 * X[:, 0]) + 0.2 * RNG.normal(size=25)
QUIET = {"cores": 1, "quiet": True, "compute_convergence_checks": False}


def ard():
    return bk.models.gp_regression(X, Y, ard=True)


def hierarchy_with_another_likelihood():
    """A parent that the evidence does not see, an observed variable and a potential of the user."""
    with pm.Model(name="outer") as model:
        tau = pm.HalfNormal("tau", 1.0)
        ls = pm.LogNormal("ls", 0.0, tau, shape=2)
        pm.Normal("weighed", ls[0], 0.3, observed=0.5)
        pm.Potential("soft", -((ls[1] - 1.0) ** 2))
        kernel = cov.Matern52(2, ls=ls)
        bk.models.gp_regression(X, Y, kernel=kernel, mean=pm.Normal.dist(0, 1))
    return model


def sparse(approximation):
    """With another likelihood, which is a part of the density but not of the evidence."""

    def build():
        with pm.Model() as model:
            pm.Normal("other", pm.Normal("m"), 1.0, observed=2.0)
            bk.models.gp_regression(X, Y, inducing=X[::5], approximation=approximation)
        return model

    return build


@pytest.mark.parametrize(
    "build", [ard, hierarchy_with_another_likelihood, sparse("VFE"), sparse("FITC")]
)
def test_density_and_gradient_are_the_models_own(build):
    model = build()
    density = HyperparameterDensity(model)
    x = density.initial_point() + 0.1 * RNG.normal(size=len(density.initial_point()))
    point = DictToArrayBijection.map(model.initial_point())._replace(data=x)
    value, gradient = density(x)
    own = DictToArrayBijection.rmap(point)
    assert value == pytest.approx(float(model.compile_logp(mode=WITHOUT_COMPILER)(own)), abs=1e-7)
    expected = model.compile_dlogp(mode=WITHOUT_COMPILER)(own)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)
    assert density.value(x) == pytest.approx(value, abs=1e-9)


def test_mode_and_covariance():
    """Against differences of values; the mode has no gradient."""
    model = bk.models.gp_regression(X, Y)
    density = HyperparameterDensity(model)
    best = bk.gp.maximise_evidence(model, random_seed=1)
    found = find_modes(density, [density.initial_point(end) for end in best.ends])[0]
    mode, covariance = found.x, found.covariance
    assert np.abs(density(mode)[1]).max() < 1e-2
    assert found.log_density == density(mode)[0]
    h = 1e-3 * np.eye(len(mode))
    second = [
        [
            density(mode + a + b)[0]
            - density(mode + a - b)[0]
            - density(mode - a + b)[0]
            + density(mode - a - b)[0]
            for a in h
        ]
        for b in h
    ]
    np.testing.assert_allclose(
        np.linalg.inv(covariance), -np.array(second) / 4e-6, rtol=1e-2, atol=1e-2
    )


def test_draws_have_names_dims_and_the_same_prediction_call():
    model = ard()
    best = bk.gp.maximise_evidence(model, random_seed=1, progressbar=False)
    idata = bk.gp.sample_hyperparameters(
        model, best, draws=20, tune=20, chains=2, random_seed=1, **QUIET
    )
    assert idata["posterior"]["ls"].dims == ("chain", "draw", "feature")
    assert idata["posterior"].sizes["draw"] == 20
    by_draws, by_maximum = (bk.predict(model, d, X[:4], progressbar=False) for d in (idata, best))
    assert set(by_draws) == set(by_maximum)
    np.testing.assert_allclose(by_draws["mean"], by_maximum["mean"], atol=0.3)
    again = bk.gp.sample_hyperparameters(
        model, best, draws=20, tune=20, chains=2, random_seed=1, **QUIET
    )
    np.testing.assert_array_equal(idata["posterior"]["ls"], again["posterior"]["ls"])


def test_prior_draws_are_unconstrained():
    with pm.Model() as model:
        ls = pm.LogNormal("ls", [0.0, 3.0], 0.5)
        bk.models.gp_regression(X, Y, kernel=cov.ExpQuad(2, ls=ls), mean=pm.Normal.dist(2.0, 1.0))
    density = HyperparameterDensity(model)
    drawn = density.prior_draws(2000, seed=1)
    names = [v.name for v in model.value_vars]
    assert names == ["ls_log__", "noise_log__", "mean"]
    # Four standard errors; the logarithm of a half-normal has the mean log(s) - 0.635.
    np.testing.assert_allclose(drawn[:, :2].mean(axis=0), [0.0, 3.0], atol=4 * 0.5 / 2000**0.5)
    assert abs(drawn[:, 2].mean() - np.log(Y.std()) + 0.635) < 0.2
    assert abs(drawn[:, 3].mean() - 2.0) < 4 / 2000**0.5


def test_priors_without_draws_are_searched_around_the_initial_point():
    with pm.Model() as model:
        ls = pm.HalfFlat("ls")
        bk.models.gp_regression(X, Y, kernel=cov.ExpQuad(2, ls=ls), noise=0.2)
    assert HyperparameterDensity(model).prior_draws(3, seed=1) is None
    idata = bk.gp.sample_hyperparameters(
        model, draws=5, tune=5, chains=1, searches=3, random_seed=1, **QUIET
    )
    assert np.isfinite(idata["posterior"]["ls"]).all()


def mirrored():
    """A length scale |theta| with modes at both signs, of which the right one has 0.8 by design."""
    with pm.Model() as model:
        theta = pm.Normal("theta", 0.0, 2.0, initval=0.7)
        pm.Potential("tilt", pm.math.switch(theta > 0, np.log(0.8), np.log(0.2)))
        kernel = cov.ExpQuad(2, ls=pm.math.abs(theta))
        bk.models.gp_regression(X, Y, kernel=kernel, noise=0.2)
    return model


def test_jumps_visit_modes_in_proportion_to_their_masses():
    """Within 4 standard errors of 0.8, of chains that NUTS alone never lets across."""
    model = mirrored()
    options = {"draws": 300, "tune": 50, "chains": 4, "random_seed": 1, **QUIET}
    idata = bk.gp.sample_hyperparameters(model, **options)
    np.testing.assert_allclose(idata["posterior"].attrs["mode_masses"], [0.8, 0.2], atol=0.01)
    is_right = idata["posterior"]["theta"] > 0
    ess = float(az.ess(is_right.astype(float).values))
    assert ess > 100
    assert abs(float(is_right.mean()) - 0.8) < 4 * np.sqrt(0.16 / ess)
    # The heaviest mode has number 0.
    np.testing.assert_array_equal(idata["sample_stats"]["independence_mode"] == 0, is_right)
    size = np.abs(idata["posterior"]["theta"])
    assert abs(float(size.where(is_right).mean() - size.where(~is_right).mean())) < 0.1
    alone = bk.gp.sample_hyperparameters(model, jumps=0, **options)
    signs = (alone["posterior"]["theta"] > 0).mean("draw")
    assert set(signs.values.tolist()) <= {0.0, 1.0}


def test_chains_start_in_all_modes_that_matter(monkeypatch):
    """Of 40 chains those in the mode of 0.2 are between 2 and 20, but for one time in 1,000."""
    started = []

    def no_sampling(*args, initvals, **options):
        started.extend(float(point["theta"]) for point in initvals)
        return xr.DataTree.from_dict({"posterior": xr.Dataset()})

    monkeypatch.setattr(pm, "sample", no_sampling)
    bk.gp.sample_hyperparameters(mirrored(), chains=40, random_seed=1, quiet=True)
    assert 2 <= sum(theta < 0 for theta in started) <= 20


def test_starts_without_density_are_pulled_towards_a_mode():
    peak = Mode(np.zeros(1), 0.0, np.eye(1), 0.0)

    class Density:
        def value(self, x):
            return 0.0 if abs(x[0]) < 1.0 else np.nan

    assert _pulled_in(Density(), np.array([0.7]), [peak])[0] == 0.7
    assert _pulled_in(Density(), np.array([6.0]), [peak])[0] == 0.75


def test_ends_at_one_maximum_are_searched_from_once():
    points = np.array([[0.0, 1.0], [0.003, 1.002], [0.0, 2.0]])
    np.testing.assert_array_equal(_distinct(points), points[[0, 2]])


def test_one_mode_needs_no_jumps_and_several_cores_change_nothing():
    model = bk.models.gp_regression(X, Y)
    options = {"draws": 15, "tune": 15, "chains": 2, "random_seed": 1, "quiet": True}
    options["compute_convergence_checks"] = False
    one, two = (bk.gp.sample_hyperparameters(model, cores=c, **options) for c in (1, 2))
    assert one["posterior"].attrs["mode_masses"] == [1.0]
    assert "independence_mode" not in one["sample_stats"]
    np.testing.assert_array_equal(one["posterior"]["noise"], two["posterior"]["noise"])


@pytest.mark.slow
def test_posterior_of_two_hyperparameters_against_quadrature():
    """600 draws with a step that leaves an ESS of 200 at least: means within 4 standard errors.

    False alarms: less than one in 1,000 seeds (4 sigma, 4 numbers).
    """
    with pm.Model() as model:
        log_ls = pm.Normal("log_ls", np.log(0.3), 0.5)
        log_noise = pm.Normal("log_noise", np.log(0.2), 0.5)
        kernel = cov.ExpQuad(2, ls=pm.math.exp(log_ls))
        noise = pm.Deterministic("sigma", pm.math.exp(log_noise))
        bk.models.gp_regression(X, Y, kernel=kernel, noise=noise)
    idata = bk.gp.sample_hyperparameters(
        model, draws=300, tune=60, chains=2, random_seed=3, **QUIET
    )
    density = HyperparameterDensity(model)
    a, b = np.meshgrid(np.linspace(-3, 1.5, 40), np.linspace(-3.5, 0.5, 40))
    grid = np.column_stack([a.ravel(), b.ravel()])
    logp = np.array([density(x)[0] for x in grid])
    weights = np.exp(logp - logp.max())
    weights /= weights.sum()
    for k, name in enumerate(("log_ls", "log_noise")):
        drawn = idata["posterior"][name].values
        mean = weights @ grid[:, k]
        sd = np.sqrt(weights @ (grid[:, k] - mean) ** 2)
        assert abs(drawn.mean() - mean) < 4 * sd / np.sqrt(200)
        assert abs(np.log(drawn.std() / sd)) < 4 / np.sqrt(2 * 200)


def test_bad_options_are_refused():
    model = ard()
    with pytest.raises(TypeError, match="step is chosen by sample_hyperparameters"):
        bk.gp.sample_hyperparameters(model, step=None)
    for name, value in (("chains", 0), ("draws", "many"), ("searches", 2.5), ("jumps", -1)):
        with pytest.raises(ValueError, match=f"{name} must be a whole number"):
            bk.gp.sample_hyperparameters(model, **{name: value})
    with pytest.raises(ValueError, match="target_accept must lie between 0 and 1"):
        bk.gp.sample_hyperparameters(model, target_accept=1.0)
    other = bk.gp.maximise_evidence(bk.models.gp_regression(X, Y), starts=1, progressbar=False)
    with pytest.raises(ValueError, match="maximise_evidence returned for this model"):
        bk.gp.sample_hyperparameters(model, other)
    fixed = bk.models.gp_regression(X, Y, kernel=cov.ExpQuad(2, ls=1.0), noise=0.1)
    with pytest.raises(ValueError, match="Nothing is random"):
        bk.gp.sample_hyperparameters(fixed)
    with pm.Model() as discrete:
        scale = 1.0 + pm.Poisson("k", 1.0)
        bk.models.gp_regression(X, Y, kernel=cov.ExpQuad(2, ls=scale), noise=0.1)
    with pytest.raises(TypeError, match="k is discrete"):
        bk.gp.sample_hyperparameters(discrete)
