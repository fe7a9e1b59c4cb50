"""Expectation propagation against exact values and against sampling."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import integrate, stats

import bayeskernels as bk
from bayeskernels.distributions import LabelNoise, UniformSphere
from bayeskernels.geometry.walls import WallGeometry, label_costs
from bayeskernels.samplers import ExpectationPropagation, simulate_refractive_billiard
from bayeskernels.samplers.approximations.moment_matching import (
    _tilted_moments,
    propagate_expectations,
)
from bayeskernels.testing import label_noise_cells


def make_walls(seed, m, r, q):
    rng = np.random.default_rng(seed)
    points, w = rng.standard_normal((m, r)), rng.standard_normal(r)
    positive = points @ w > 0
    if q > 0:
        positive ^= rng.random(m) < q
    geometry = WallGeometry.from_features(points, positive)
    return geometry.with_costs(label_costs(positive, q, q)), w


@pytest.mark.parametrize("mean", [-3.0, -0.2, 0.7, 2.5])
@pytest.mark.parametrize(("above", "below"), [(1.0, 0.0), (1.0, 0.3), (0.0, 1.0), (0.2, 1.0)])
def test_tilted_moments(mean, above, below):
    def level(mu):
        return above * stats.norm.sf(0, mu, 1.3) + below * stats.norm.cdf(0, mu, 1.3)

    log_level, slope, curvature = _tilted_moments(mean, 1.69, above, below)
    step = 1e-4
    logs = np.log([level(mean - step), level(mean), level(mean + step)])
    assert np.isclose(log_level, logs[1])
    assert np.isclose(slope, (logs[2] - logs[0]) / (2 * step), rtol=1e-5)
    assert np.isclose(curvature, (logs[2] - 2 * logs[1] + logs[0]) / step**2, atol=1e-5)


def test_tilted_moments_far_in_the_tail():
    """Where the probability itself is no number any more; the asymptotic error is of order u^-4."""
    for sign, (above, below) in [(-1, (1.0, 0.0)), (1, (0.0, 1.0))]:
        log_level, slope, curvature = _tilted_moments(sign * 40.0, 1.0, above, below)
        assert np.isclose(log_level, stats.norm.logcdf(-40.0), rtol=1e-5)
        hazard = np.exp(stats.norm.logpdf(40.0) - stats.norm.logcdf(-40.0))
        assert np.isclose(slope, -sign * hazard, rtol=1e-5)
        assert np.isclose(curvature, -hazard * (hazard - 40.0), rtol=1e-2)


@pytest.mark.parametrize("form", ["dual", "feature"])
@pytest.mark.parametrize("q", [0.0, 0.1])
def test_one_wall_is_exact(q, form):
    walls, _ = make_walls(1, 1, 3, q)
    posterior = propagate_expectations(walls, form=form)
    ratio = q / (1 - q)
    assert np.isclose(np.exp(posterior.log_mass), 0.5 + 0.5 * ratio)
    density = lambda f: stats.norm.pdf(f) * f  # noqa: E731
    half = integrate.quad(density, 0, np.inf)[0]
    expected = (half - ratio * half) / (0.5 + 0.5 * ratio)
    assert np.isclose(abs(posterior.output_means[0]), expected)
    assert np.isclose(np.linalg.norm(posterior.mean), expected)


@pytest.mark.parametrize(("m", "r", "q"), [(10, 3, 0.0), (20, 5, 0.1), (60, 40, 0.05), (50, 50, 0)])
def test_direction_agrees_with_sampling(m, r, q):
    walls, w = make_walls(m + r, m, r, q)
    posterior = propagate_expectations(walls)
    assert posterior.converged
    rng = np.random.default_rng(1)
    draws = simulate_refractive_billiard(walls, w, 6000, rng=rng).draws[100:]
    centre = (draws / np.linalg.norm(draws, axis=1, keepdims=True)).mean(axis=0)
    assert posterior.direction @ centre / np.linalg.norm(centre) > 0.99


def test_evidence_is_close_to_the_exact_one():
    # A plain Monte Carlo estimate with a relative error of 0.3%; EP itself is off by about 0.1.
    for seed, q in [(1, 0.0), (2, 0.1)]:
        walls, _ = make_walls(seed, 12, 3, q)
        z = np.random.default_rng(2).standard_normal((400_000, 3))
        energy = walls.energy(z @ walls.normals.T)
        lowest = np.minimum(walls.jumps[np.isfinite(walls.jumps)], 0).sum()
        exact = np.log(np.mean(np.exp(-(energy - lowest))))
        assert abs(propagate_expectations(walls).log_mass - exact) < 0.2


@pytest.mark.parametrize(
    ("m", "r", "q"), [(10, 3, 0.0), (20, 5, 0.1), (150, 40, 0.05), (40, 60, 0.0), (200, 20, 0.0)]
)
def test_both_forms_agree(m, r, q):
    walls, _ = make_walls(m * r, m, r, q)
    dual, feature = (propagate_expectations(walls, form=form) for form in ("dual", "feature"))
    assert dual.converged
    assert dual.n_sweeps == feature.n_sweeps
    assert np.isclose(dual.log_mass, feature.log_mass, rtol=0, atol=1e-8)
    for name in ("mean", "output_means", "output_variances"):
        np.testing.assert_allclose(getattr(dual, name), getattr(feature, name), atol=1e-8)
    factor = dual.covariance_factor(walls.normals)
    variances = np.sum((walls.normals @ factor) ** 2, axis=1)
    np.testing.assert_allclose(variances, dual.output_variances, rtol=1e-8)


def test_blocks_do_not_change_the_order_of_visits(monkeypatch):
    """After one sweep, which is far from convergence."""
    walls, _ = make_walls(5, 30, 12, 0.1)
    whole = propagate_expectations(walls, max_sweeps=1)
    for form in ("dual", "feature"):
        monkeypatch.setattr(
            "bayeskernels.samplers.approximations.moment_matching.BLOCK_SIZE", 7, raising=True
        )
        blocked = propagate_expectations(walls, max_sweeps=1, form=form)
        np.testing.assert_allclose(blocked.mean, whole.mean, atol=1e-12)


def label_noise_model(features, labels, rates):
    with pm.Model() as model:
        w = UniformSphere("w", features.shape[1])
        LabelNoise("y", pt.dot(features, w), *rates, observed=labels)
    return model


#: Orthogonal walls, for which EP is exact; the last with repeated points, with and without opposite
#: labels, and a zero feature vector.
ORTHOGONAL = {
    "plane": (np.eye(2), [0, 1]),
    "space": (3.0 * np.eye(3), [0, 1, 1]),
    "merged": (
        np.array([[1, 0, 0], [2, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 3.0]]),
        [0, 1, 1, 1, 0, 1, 0],
    ),
}


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.1, 0.1), (0.05, 0.3)])
@pytest.mark.parametrize("case", ORTHOGONAL)
def test_evidence_of_independent_outputs_is_exact(case, rates):
    features, labels = ORTHOGONAL[case]
    labels = np.array(labels)
    if case == "merged" and rates[0] == 0:
        return
    exact = label_noise_cells(features, labels == 1, *rates)
    posterior = ExpectationPropagation(label_noise_model(features, labels, rates)).fit()
    assert np.isclose(posterior.log_evidence, exact.log_evidence, rtol=0, atol=1e-9)


@pytest.mark.parametrize("r", [2, 3])
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.1, 0.1), (0.05, 0.2)])
def test_evidence_is_close_to_that_of_all_cells(r, rates):
    """Off by 0.25 at most in these problems: an approximation, but of the right quantity."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((8, r))
        labels = (features @ rng.standard_normal(r) > 0).astype(int)
        exact = label_noise_cells(features, labels == 1, *rates)
        posterior = ExpectationPropagation(label_noise_model(features, labels, rates)).fit()
        assert posterior.converged
        assert abs(posterior.log_evidence - exact.log_evidence) < 0.25


def test_bayes_point_and_draws_of_a_classifier():
    X, y = bk.data.make_two_moons(60, scatter=0.1, random_seed=1)
    kernel = pm.gp.cov.ExpQuad(2, ls=0.5)
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.0)
    posterior = ExpectationPropagation(model).fit()
    idata = posterior.sample(2000, random_seed=1)
    sampled = bk.samplers.sample_directions(model, draws=4000, chains=1, random_seed=1)
    assert idata.posterior["w"].dims == sampled.posterior["w"].dims
    assert idata.posterior.attrs["sampler"] == "ExpectationPropagation"
    assert idata.posterior.attrs["is_mcmc"] == 0
    np.testing.assert_allclose(np.linalg.norm(idata.posterior["w"], axis=-1), 1.0)
    centre = sampled.posterior["w"].mean(("chain", "draw")).values
    assert np.isclose(np.linalg.norm(posterior.direction), 1.0)
    assert posterior.direction @ centre / np.linalg.norm(centre) > 0.995
    # The honest length: the same as that of the exact centre of mass up to a few percent.
    assert abs(np.linalg.norm(posterior.bayes_point) / np.linalg.norm(centre) - 1) < 0.1
    draws = idata.posterior["w"].mean(("chain", "draw")).values
    assert draws @ centre / np.linalg.norm(draws) / np.linalg.norm(centre) > 0.99
    new, _ = bk.data.make_two_moons(50, scatter=0.1, random_seed=2)
    by_ep = bk.predict(model, idata, new)
    by_sampling = bk.predict(model, sampled, new)
    assert float(np.abs(by_ep["probability"] - by_sampling["probability"]).max()) < 0.15
    again = posterior.sample(2000, random_seed=1)
    np.testing.assert_array_equal(again.posterior["w"], idata.posterior["w"])
    assert not np.array_equal(
        posterior.sample(2000, random_seed=2).posterior["w"], again.posterior["w"]
    )


def test_draws_have_the_moments_of_the_gaussian():
    """Outputs of unnormalised draws; 20 means at 4.5 standard errors: 1.4e-4 false alarms."""
    walls, _ = make_walls(8, 10, 20, 0.1)
    posterior = propagate_expectations(walls)
    factor = posterior.covariance_factor(walls.normals)
    z = posterior.mean + np.random.default_rng(1).standard_normal((20_000, 20)) @ factor.T
    f = z @ walls.normals.T
    deviation = np.sqrt(posterior.output_variances)
    assert np.abs((f.mean(axis=0) - posterior.output_means) / deviation).max() < 4.5 / np.sqrt(2e4)
    assert np.abs(f.var(axis=0) / deviation**2 - 1).max() < 4.5 * np.sqrt(2 / 2e4)


def test_directions_by_row():
    rng = np.random.default_rng(3)
    features, W = rng.standard_normal((20, 4)), rng.standard_normal((3, 4))
    codes = (features @ W.T > 0).astype(int)
    with pm.Model(coords={"class": list("abc"), "basis": range(4)}) as model:
        w = UniformSphere("w", dims=("class", "basis"))
        LabelNoise("y", pt.dot(features, w.T), 0.1, observed=codes)
    together = ExpectationPropagation(model).fit()
    parts = [
        ExpectationPropagation(label_noise_model(features, codes[:, k], (0.1,))).fit()
        for k in range(3)
    ]
    np.testing.assert_allclose(together.mean, [part.mean for part in parts])
    assert np.isclose(together.log_evidence, sum(part.log_evidence for part in parts))
    assert together.covariance_factor.shape == (3, 4, 4)
    assert together.bayes_point.shape == (3, 4)
    w = together.sample(500, random_seed=1).posterior["w"]
    assert w.dims == ("chain", "draw", "class", "basis")
    assert list(w["class"].values) == list("abc")
    mean = w.mean(("chain", "draw")).values
    cosines = np.sum(mean * together.direction, axis=1) / np.linalg.norm(mean, axis=1)
    assert cosines.min() > 0.99


def test_refuses_what_it_cannot_do():
    X, y = bk.data.make_two_moons(16, random_seed=1)
    with pytest.raises(TypeError, match="noise"):
        ExpectationPropagation(bk.models.label_noise_classifier(X, y, noise="infer"))
    features = np.array([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="zero feature vector"):
        ExpectationPropagation(label_noise_model(features, [1, 1], (0.0, 0.0))).fit()
    walls, _ = make_walls(3, 5, 3, 0.1)
    for option in ({"form": "primal"}, {"damping": 0.0}, {"max_sweeps": 0}):
        with pytest.raises(ValueError, match=next(iter(option))):
            propagate_expectations(walls, **option)


def test_says_so_when_it_does_not_settle(caplog):
    walls, _ = make_walls(3, 20, 5, 0.1)
    posterior = propagate_expectations(walls, max_sweeps=1)
    assert not posterior.converged
    assert "did not settle" in caplog.text
