"""The geodesic billiard without PyMC: geometry, and centres of mass known in closed form."""

import numpy as np
import pytest

from bayeskernels.geometry.walls import WallGeometry, label_costs
from bayeskernels.samplers import simulate_billiard, simulate_refractive_billiard
from bayeskernels.samplers.directions.billiards.chord_billiard import chord_billiard
from bayeskernels.samplers.directions.billiards.rolling_ball import RollingBall


def version_space(rng, m, r):
    points, w = rng.uniform(-1, 1, (m, r)), rng.standard_normal(r)
    positive = points @ w > 0
    geometry = WallGeometry.from_features(points, positive)
    return geometry.with_costs(label_costs(positive, 0.0, 0.0)), w


def polygon(inward):
    """Vertices in order of {w : inward @ w > 0} on the sphere of R^3."""
    vertices = []
    for i in range(len(inward)):
        for j in range(i):
            corner = np.cross(inward[i], inward[j])
            corner /= np.linalg.norm(corner)
            for vertex in (corner, -corner):
                outputs = np.delete(inward @ vertex, [i, j])
                if (outputs > 0).all():
                    vertices.append(vertex)
    vertices = np.array(vertices)
    middle = vertices.mean(axis=0)
    first = np.cross(middle, vertices[0])
    second = np.cross(middle, first) / np.linalg.norm(middle)
    return vertices[np.argsort(np.arctan2(vertices @ second, vertices @ first))]


def centre_and_area(vertices):
    """Half the sum of edge angle times inward edge normal, over the area by angle excess."""
    centre, angles = np.zeros(3), 0.0
    for k in range(len(vertices)):
        before, here, after = vertices[k - 1], vertices[k], vertices[(k + 1) % len(vertices)]
        normal = np.cross(here, after)
        length = np.linalg.norm(normal)
        normal *= np.sign(normal @ vertices.mean(axis=0)) / length
        centre += 0.5 * np.arctan2(length, here @ after) * normal
        u, v = np.cross(here, before), np.cross(here, after)
        angles += np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
    area = angles - (len(vertices) - 2) * np.pi
    return centre / area, area


@pytest.mark.parametrize("seed", range(12))
def test_centre_of_mass_in_three_dimensions(seed):
    # Twelve polygons, 4e5 bounces each; the standard error is about 0.0005 sqrt(area).
    rng = np.random.default_rng(seed)
    walls, w = version_space(rng, 10, 3)
    exact, area = centre_and_area(polygon(walls.normals * np.sign(walls.jumps)[:, None]))
    n_draws = int(4e5 / simulate_billiard(walls, w, 500, rng=rng).bounces.mean())
    path = simulate_billiard(walls, w, n_draws, rng=rng)
    assert 3e5 < path.bounces.sum() < 5e5
    assert np.linalg.norm(path.centres.mean(axis=0) - exact) < 0.002 * np.sqrt(area)


def test_chord_billiard_is_biased_where_the_geodesic_one_is_not():
    # The paper's scheme misses this centre by 0.026 sqrt(area); the standard error is about 0.001.
    rng = np.random.default_rng(6)
    walls, w = version_space(rng, 10, 3)
    exact, area = centre_and_area(polygon(walls.normals * np.sign(walls.jumps)[:, None]))
    exact /= np.linalg.norm(exact)
    chord = chord_billiard(walls, w, rng=rng, tolerance=0, max_bounces=400_000).centre
    assert np.linalg.norm(chord - exact) > 0.015 * np.sqrt(area)
    geodesic = simulate_billiard(walls, w, 80_000, rng=rng).centres.mean(axis=0)
    geodesic /= np.linalg.norm(geodesic)
    assert np.linalg.norm(geodesic - exact) < 0.002 * np.sqrt(area)


def test_half_circle_and_point():
    """One wall in the plane leaves a half circle, one on the line a point."""
    walls = WallGeometry.from_features(np.eye(2)[:1], [True]).with_costs(np.array([np.inf]))
    path = simulate_billiard(walls, [1.0, 2.0], 4000, rng=np.random.default_rng(1))
    # Standard errors of about 0.003.
    np.testing.assert_allclose(path.centres.mean(axis=0), [2 / np.pi, 0.0], atol=0.02)
    walls = WallGeometry.from_features(np.eye(1), [False]).with_costs(np.array([np.inf]))
    path = simulate_billiard(walls, [-3.0], 5, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(path.draws, -1.0)
    np.testing.assert_allclose(path.centres, -1.0)


@pytest.mark.parametrize("r", [2, 3, 10, 30])
def test_stays_inside_on_the_sphere_and_keeps_its_outputs(r):
    rng = np.random.default_rng(r)
    walls, w = version_space(rng, 2 * r, r)
    ball = RollingBall(walls, w)
    for _ in range(300):
        draws, _ = ball.move(rng, 3)
        assert walls.energy(ball.outputs) == 0.0
        np.testing.assert_array_equal(draws[-1], ball.w)
    assert np.isclose(ball.w @ ball.w, 1, rtol=1e-12)
    assert np.isclose(ball.v @ ball.v, 1, rtol=1e-12)
    assert abs(ball.w @ ball.v) < 1e-12
    np.testing.assert_allclose(ball.outputs, walls.normals @ ball.w, atol=1e-12)
    np.testing.assert_allclose(ball.output_velocities, walls.normals @ ball.v, atol=1e-12)


def test_number_of_draws_at_a_time_does_not_change_them():
    walls, w = version_space(np.random.default_rng(3), 30, 12)
    one, many = RollingBall(walls, w), RollingBall(walls, w)
    rng_one, rng_many = np.random.default_rng(4), np.random.default_rng(4)
    draws, records = many.move(rng_many, 600)
    assert records[:, 1].sum() > 128  # more than one block of directions
    single = [one.move(rng_one) for _ in range(600)]
    np.testing.assert_array_equal(np.concatenate([d for d, _ in single]), draws)
    np.testing.assert_array_equal(np.concatenate([r for _, r in single]), records)


def test_centre_is_the_mean_of_the_position():
    rng = np.random.default_rng(1)
    walls, w = version_space(rng, 12, 4)
    coarse = RollingBall(walls, w, path_length=2.0)
    fine = RollingBall(walls, w, path_length=2.0 / 4000)
    _, [record] = coarse.move(np.random.default_rng(2))
    positions, records = fine.run(np.random.default_rng(2), 4000)
    assert record[0] > 3
    assert record[0] == records[:, 0].sum()
    # Half a step of the sum is the error of the rectangle rule; the means of the pieces have none.
    np.testing.assert_allclose(record[3:], positions.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(record[3:], records[:, 3:].mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(coarse.w, fine.w, atol=1e-9)


def test_agrees_with_the_refractive_billiard_at_zero_noise():
    # Ten coordinates of the centre of mass; |z| < 4.5 fails by chance in 7 runs of 100,000.
    rng = np.random.default_rng(5)
    walls, w = version_space(rng, 25, 10)
    centres = simulate_billiard(walls, w, 8000, rng=rng).centres
    draws = simulate_refractive_billiard(walls, w, 8000, rng=rng).draws
    draws /= np.linalg.norm(draws, axis=1, keepdims=True)
    assert largest_z(centres, draws) < 4.5


def test_event_cap_keeps_the_distribution_of_the_draws():
    """One segment in two given up: the ball turns round where it was. False alarms: 3e-5."""
    walls = WallGeometry.from_features(np.eye(3), [True] * 3).with_costs(np.full(3, np.inf))
    rng = np.random.default_rng(6)
    path = simulate_billiard(walls, [3.0, 2.0, 1.0], 160_000, rng=rng, max_events=1)
    assert np.mean(path.capped) > 0.3
    # Moments of the positive octant: E w = 1/2, E w^2 = 1/3, E w_i w_j = 2 / (3 pi).
    w = path.draws
    moments = np.column_stack([w, w[:, :2] ** 2, w * np.roll(w, 1, axis=1)])
    exact = np.array([1 / 2] * 3 + [1 / 3] * 2 + [2 / (3 * np.pi)] * 3)
    batches = moments.reshape(80, -1, 8).mean(axis=1)
    z = (batches.mean(axis=0) - exact) / (batches.std(axis=0, ddof=1) / np.sqrt(80))
    assert np.abs(z).max() < 4.8


def largest_z(x, other):
    """Largest difference of means in standard errors, from 80 batches of each."""

    def mean_and_error(x):
        batches = x.reshape(80, -1, x.shape[1]).mean(axis=1)
        return x.mean(axis=0), batches.std(axis=0) / np.sqrt(80)

    (a, error_a), (b, error_b) = mean_and_error(x), mean_and_error(other)
    return np.abs((a - b) / np.hypot(error_a, error_b)).max()


def test_refuses_walls_that_can_be_passed():
    points, positive = np.eye(2), np.array([True, True])
    walls = WallGeometry.from_features(points, positive).with_costs(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="RefractiveBilliard"):
        RollingBall(walls, np.ones(2))


def test_refuses_a_start_outside():
    walls, w = version_space(np.random.default_rng(7), 10, 3)
    with pytest.raises(ValueError, match="10 of its walls are on the wrong side"):
        RollingBall(walls, -w)
