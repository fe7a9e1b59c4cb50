"""Expectation propagation against exact values and against sampling."""

import numpy as np
import pytest
from scipy import integrate, stats

from bayeskernels.samplers import simulate_refractive_billiard
from bayeskernels.samplers.expectation_propagation import _tilted_moments, propagate_expectations
from bayeskernels.samplers.walls import WallGeometry, label_costs


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


@pytest.mark.parametrize("q", [0.0, 0.1])
def test_one_wall_is_exact(q):
    walls, _ = make_walls(1, 1, 3, q)
    posterior = propagate_expectations(walls)
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


def test_says_so_when_it_does_not_settle(caplog):
    walls, _ = make_walls(3, 20, 5, 0.1)
    posterior = propagate_expectations(walls, max_sweeps=1)
    assert not posterior.converged
    assert "did not settle" in caplog.text
