"""Algorithm 2 of the Bayes point machine paper: operation and stopping rule."""

import numpy as np
import pytest

from bayeskernels.geometry.walls import WallGeometry, label_costs
from bayeskernels.samplers.directions.billiards.chord_billiard import (
    ChordBall,
    add_on_sphere,
    chord_billiard,
)


def make_walls(points, positive):
    geometry = WallGeometry.from_features(points, positive)
    return geometry.with_costs(label_costs(positive, 0.0, 0.0))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("angle", [0.01, 0.5, 2.0])
def test_addition_on_the_sphere(share, angle):
    # The properties from which the paper derives it: (35) and (36), and that it lies between.
    s, t = np.array([1.0, 0.0]), np.array([np.cos(angle), np.sin(angle)])
    rho_1, rho_2 = add_on_sphere(s @ t, share)
    result = rho_1 * s + rho_2 * t
    assert np.isclose(result @ result, 1)
    assert np.isclose(np.linalg.norm(t - result), share * np.linalg.norm(t - s))
    assert min(rho_1, rho_2) >= -1e-12


def test_stops_at_its_tolerance():
    walls = make_walls(np.eye(4), np.ones(4, dtype=bool))
    runs = [
        chord_billiard(walls, np.ones(4), rng=np.random.default_rng(1), tolerance=tolerance)
        for tolerance in (1e-2, 1e-3)
    ]
    assert all(run.converged for run in runs)
    assert runs[0].n_bounces < runs[1].n_bounces
    assert not chord_billiard(
        walls, np.ones(4), rng=np.random.default_rng(1), max_bounces=10
    ).converged


def test_centre_of_a_symmetric_version_space():
    # Symmetry hides the bias; the standard error is about 0.003.
    walls = make_walls(np.eye(3), np.ones(3, dtype=bool))
    rng = np.random.default_rng(2)
    result = chord_billiard(walls, [1.0, 2.0, 3.0], rng=rng, tolerance=0, max_bounces=30_000)
    np.testing.assert_allclose(result.centre, 1 / np.sqrt(3), atol=0.015)


def test_refuses_walls_that_can_be_passed():
    points, positive = np.eye(2), np.array([True, True])
    walls = WallGeometry.from_features(points, positive).with_costs(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="noise = 0"):
        chord_billiard(walls, np.ones(2), rng=np.random.default_rng(1))


def test_keeps_its_outputs_and_records_points_inside():
    rng = np.random.default_rng(3)
    points, w = rng.standard_normal((40, 12)), rng.standard_normal(12)
    walls = make_walls(points, points @ w > 0)
    ball = ChordBall(walls, w)
    draws, records = ball.run(rng, 2000)
    np.testing.assert_allclose(np.linalg.norm(draws, axis=1), 1.0)
    outputs = draws @ walls.normals.T * np.sign(walls.jumps)
    assert outputs.min() > 0
    np.testing.assert_allclose(ball.outputs, np.abs(walls.normals @ ball.b), atol=1e-12)
    inward = walls.normals * np.sign(walls.jumps)[:, None]
    np.testing.assert_allclose(ball.output_velocities, inward @ ball.v, atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(records[:, 3:], axis=1), 1.0)
    # Biased, but not far off.
    centre = draws.mean(axis=0)
    assert ball.centre @ centre / np.linalg.norm(centre) > 0.995
    assert records[:, 0].sum() > 1000  # bounces: the outputs were recomputed at least once


def test_step_rule_and_function_rule_are_the_same():
    walls = make_walls(np.eye(4), np.ones(4, dtype=bool))
    ball = ChordBall(walls, np.ones(4), tolerance=1e-3)
    _, records = ball.run(np.random.default_rng(1), 3000)
    n_bounces = chord_billiard(
        walls, np.ones(4), rng=np.random.default_rng(1), tolerance=1e-3
    ).n_bounces
    at_end = np.cumsum(records[:, 0])
    first = np.argmax(records[:, 2])
    assert 0 < first
    assert at_end[first - 1] <= n_bounces <= at_end[first]


def test_number_of_draws_at_a_time_does_not_change_them():
    walls = make_walls(np.eye(5), np.ones(5, dtype=bool))
    one, many = ChordBall(walls, np.ones(5)), ChordBall(walls, np.ones(5))
    rng_one, rng_many = np.random.default_rng(4), np.random.default_rng(4)
    draws, records = many.move(rng_many, 300)
    single = [one.move(rng_one) for _ in range(300)]
    np.testing.assert_array_equal(np.concatenate([d for d, _ in single]), draws)
    np.testing.assert_array_equal(np.concatenate([r for _, r in single]), records)


def test_says_so_when_no_wall_can_be_met():
    walls = make_walls(np.eye(3)[:1], np.ones(1, dtype=bool))
    with pytest.raises(ValueError, match="geodesic"):
        chord_billiard(walls, np.ones(3), rng=np.random.default_rng(1))


@pytest.mark.parametrize("seed", range(8))
def test_rounding_errors_do_not_grow_in_the_plane(seed):
    """In two dimensions a flight goes from wall to wall for ever, and errors used to explode."""
    rng = np.random.default_rng(seed)
    points, w = rng.standard_normal((3, 2)), rng.standard_normal(2)
    positive = points @ w > 0
    geometry = WallGeometry.from_features(points, positive)
    walls = geometry.with_costs(label_costs(positive, 0.0, 0.0))
    centre = chord_billiard(walls, w, rng=rng, tolerance=0, max_bounces=5000).centre
    assert np.isclose(np.linalg.norm(centre), 1.0)
    assert walls.energy(walls.normals @ centre) == 0.0
