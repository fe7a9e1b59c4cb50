"""The ladder over prices of an error: equilibrium on every rung, exact levels, placed rungs."""

import numpy as np
import pytest

from bayeskernels.geometry.walls import WallGeometry, label_costs
from bayeskernels.samplers.directions.billiards.noise_ladder import (
    ErrorLandscape,
    NoiseLadder,
    descend,
)
from bayeskernels.samplers.tempering.ladder import place_rungs
from bayeskernels.samplers.tempering.level_density import LevelDensity, error_of_mean
from bayeskernels.testing import sign_cells


def _landscape(features, is_positive, costs=None):
    geometry = WallGeometry.from_features(features, is_positive)
    return ErrorLandscape.from_geometry(
        geometry, np.ones(len(features)) if costs is None else costs
    )


def _awkward_features(rng):
    """Repeats, an antipode, a point of another length, a zero row, opposite labels."""
    features = rng.standard_normal((9, 3))
    features[3] = features[0]
    features[4] = -2.0 * features[1]
    features[5] = 0.0
    features[6] = features[2]
    is_positive = rng.random(9) < 0.5
    is_positive[6] = not is_positive[2]
    return features, is_positive


def _exact_energies(features, is_positive, costs):
    cells = sign_cells(features)
    wrong = cells.signs != np.where(is_positive, 1, -1)
    return wrong @ costs, cells.probabilities


@pytest.mark.parametrize("by_class", [False, True])
def test_energies_on_every_rung_have_their_exact_means(by_class):
    # 16 means of 8,000 rounds with about 3,000 effective draws; false alarms 16 x 6e-5 (4 sigma).
    rng = np.random.default_rng(5)
    for _ in range(4):
        features, is_positive = _awkward_features(rng)
        costs = label_costs(is_positive, 0.3, 0.1) if by_class else np.ones(9)
        landscape = _landscape(features, is_positive, costs)
        betas = np.array([0.0, 0.5, 1.0, 2.0])
        ladder = NoiseLadder(landscape, betas, landscape.draw_outputs(rng, 4))
        ladder.run(rng, 50)
        run = ladder.run(rng, 8000)
        energies, probabilities = _exact_energies(features, is_positive, costs)
        for beta, drawn in zip(betas, run.energies.T, strict=True):
            tilted = probabilities * np.exp(-beta * energies)
            exact = tilted @ energies / tilted.sum()
            error = error_of_mean((drawn - drawn.mean())[None], 10**6)
            assert abs(drawn.mean() - exact) < 4 * error
            # A level that no cell has is a bug, not bad luck.
            assert np.isclose(np.unique(drawn)[:, None], energies).any(axis=1).all()


def test_levels_have_their_exact_prior_probabilities():
    # 5 levels, 4 sigma each.
    rng = np.random.default_rng(1)
    features, is_positive = _awkward_features(rng)
    landscape = _landscape(features, is_positive)
    betas = np.array([0.0, 1.0, 2.0])
    runs = [
        NoiseLadder(landscape, betas, landscape.draw_outputs(rng, 3)).run(rng, 4000)
        for _ in range(2)
    ]
    density = LevelDensity.from_energies(betas, np.stack([r.energies for r in runs]), 1000)
    energies, probabilities = _exact_energies(features, is_positive, np.ones(9))
    prices = np.array([0.0, 0.5, 1.5, 3.0])
    exact = np.log(np.exp(-prices[:, None] * energies) @ probabilities)
    error = density.mcse(density.parts(prices))
    assert density.log_ratio(prices)[0] == pytest.approx(0.0, abs=1e-12)
    assert error[0] < 1e-9
    assert np.all(np.abs(density.log_ratio(prices) - exact)[1:] < 4 * error[1:])
    assert set(density.levels) <= set(energies)


def test_parts_are_derivatives_of_the_estimate():
    """Repeating one round shifts the estimate by its part, to first order."""
    rng = np.random.default_rng(2)
    betas = np.array([0.0, 0.5, 1.0])
    energies = rng.binomial(8, 1 / (1 + np.exp(betas)), size=(1, 200, 3)).astype(float)
    density = LevelDensity.from_energies(betas, energies, 10)
    many = np.concatenate([energies] * 200 + [energies[:, 7:8]], axis=1)
    shifted = LevelDensity.from_energies(betas, many, 10)
    prices = [0.3, 1.0, 1.2]
    shift = (shifted.log_ratio(prices) - density.log_ratio(prices)) * (200 * 200 + 1)
    np.testing.assert_allclose(shift, density.parts(prices)[:, 0, 7], rtol=2e-3, atol=1e-4)
    mixture = np.array([[0.2, 0.5, 0.3]])
    np.testing.assert_allclose(
        density.parts(prices, mixture)[0], np.tensordot(mixture[0], density.parts(prices), 1)
    )


def test_few_round_trips_and_disagreeing_ladders_widen_the_error():
    parts = np.random.default_rng(3).standard_normal((4, 500))
    assert error_of_mean(parts, 2) > 1.3 * error_of_mean(parts, 200)
    apart = parts + np.array([[-1.0], [1.0], [-1.0], [1.0]])
    assert error_of_mean(apart, 200) > 0.5


def test_pilot_places_rungs_that_swap_evenly():
    rng = np.random.default_rng(4)
    m = 40
    landscape = _landscape(rng.standard_normal((m, 5)), rng.random(m) < 0.5)
    end = np.log(9)
    pilot = descend(landscape, rng, lambda betas, _: betas[-1] >= end, end=end)
    assert pilot.betas[-1] == pytest.approx(end)
    betas = place_rungs([pilot.levels])
    assert betas[0] == 0.0
    assert betas[-1] == pytest.approx(end)
    assert np.all(np.diff(betas) > 0)
    ladder = NoiseLadder.from_descent(landscape, betas, pilot, rng)
    ladder.run(rng, 100)
    run = ladder.run(rng, 2000)
    assert 0.3 < run.swap_rates.min() <= run.swap_rates.max() < 0.75
    assert run.round_trips > 20
    assert run.capped == 0


def test_carried_outputs_stay_outputs_of_a_direction():
    """Without a position to recompute them from, rounding errors must die out by themselves."""
    rng = np.random.default_rng(6)
    features = rng.standard_normal((30, 4))
    landscape = _landscape(features, rng.random(30) < 0.5)
    ladder = NoiseLadder(landscape, [0.0, 1.0, 3.0], landscape.draw_outputs(rng, 3))
    ladder.run(rng, 20_000)
    z, *_ = np.linalg.lstsq(landscape.normals, ladder.balls.outputs.T)
    assert np.abs(landscape.normals @ z - ladder.balls.outputs.T).max() < 1e-11


def test_given_up_trajectories_stay_and_are_counted():
    rng = np.random.default_rng(7)
    landscape = _landscape(np.eye(6), np.ones(6, dtype=bool))
    ladder = NoiseLadder(landscape, [0.0, 1.0], landscape.draw_outputs(rng, 2), max_events=2)
    run = ladder.run(rng, 3000)
    assert run.capped > 0
    # Exact nevertheless; 4 sigma.
    q = 1 / (1 + np.e)
    error = error_of_mean((run.energies[:, 1] - run.energies[:, 1].mean())[None], 10**6)
    assert abs(run.energies[:, 1].mean() - 6 * q) < 4 * error
