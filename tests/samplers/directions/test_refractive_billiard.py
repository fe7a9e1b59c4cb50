import logging

import numpy as np
import pymc as pm
import pytest
from random_walls import make_walls

import bayeskernels as bk
from bayeskernels.geometry.version_space import find_consistent_direction
from bayeskernels.samplers import (
    RefractiveBilliard,
    simulate_refractive_billiard,
)
from bayeskernels.samplers.directions.billiards import billiard_ball, wall_dynamics
from bayeskernels.samplers.directions.billiards.billiard_ball import BilliardBall
from bayeskernels.samplers.directions.billiards.wall_dynamics import (
    next_wall,
    velocity_behind,
    wall_gram,
)

Q = 0.1


def fly(walls, z, p, duration, max_events=100_000):
    """Position, velocity and counts after one trajectory, from the kernel's own kicks."""
    kicks, cotangents = np.empty((3, walls.n_walls)), np.empty(walls.n_walls)
    f, g = walls.normals @ z, walls.normals @ p
    gram, options = wall_gram(walls.normals), (duration, max_events, kicks, cotangents)
    events, reflections = wall_dynamics.fly(f, g, walls.normals, gram, walls.jumps, *options)
    position, velocity, _ = kicks @ walls.normals
    end_z = z * np.cos(duration) + p * np.sin(duration) + position
    end_p = p * np.cos(duration) - z * np.sin(duration) + velocity
    return end_z, end_p, f, g, events, reflections


def hamiltonian(walls, z, p):
    return (z @ z + p @ p) / 2 + walls.energy(walls.normals @ z)


@pytest.mark.parametrize("q", [0.05, 0.2])
def test_trajectory_keeps_energy_and_turns_back(q):
    walls, _, _ = make_walls(q=q)
    rng = np.random.default_rng(1)
    total_events = 0
    for _ in range(200):
        z, p = rng.standard_normal((2, walls.dimension))
        duration = rng.uniform(0.1, np.pi)
        end_z, end_p, f, g, events, _ = fly(walls, z, p, duration)
        total_events += events
        np.testing.assert_allclose(f, walls.normals @ end_z, atol=1e-10)
        np.testing.assert_allclose(g, walls.normals @ end_p, atol=1e-10)
        assert np.isclose(hamiltonian(walls, end_z, end_p), hamiltonian(walls, z, p), atol=1e-9)
        back_z, back_p, _, _, back_events, _ = fly(walls, end_z, -end_p, duration)
        assert back_events == events
        np.testing.assert_allclose(back_z, z, atol=1e-7)
        np.testing.assert_allclose(back_p, -p, atol=1e-7)
    assert total_events > 1000


def test_no_walls_in_the_way_is_a_rotation():
    walls, _, _ = make_walls(m=1)
    z = walls.normals[0] * 2.0
    p = np.random.default_rng(1).standard_normal(walls.dimension)
    p -= (p @ walls.normals[0]) * walls.normals[0]
    end_z, end_p, *_ = fly(walls, z, p, 1.0)
    np.testing.assert_allclose(end_z, z * np.cos(1) + p * np.sin(1))
    np.testing.assert_allclose(end_p, p * np.cos(1) - z * np.sin(1))


@pytest.mark.parametrize(
    ("velocity", "jump", "expected"),
    [
        (-2.0, 1.5, -1.0),  # downhill is below: 2^2 - 2 * 1.5 = 1^2 is left
        (2.0, 1.5, np.sqrt(7.0)),  # out of the error side: faster
        (-1.0, 1.5, 1.0),  # cannot pay
        (1.0, -1.5, -1.0),
        (2.0, -1.5, 1.0),
        (-2.0, -1.5, -np.sqrt(7.0)),
        (-9.0, np.inf, 9.0),
        (9.0, -np.inf, -9.0),
        (3.0, 0.0, 3.0),
    ],
)
def test_velocity_behind(velocity, jump, expected):
    assert np.isclose(velocity_behind(velocity, jump), expected)


def test_next_wall_is_the_largest_cotangent():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 50):
        for shift in (-10.0, 0.0, 10.0):
            cotangents = rng.standard_normal(n) + shift
            cotangents[rng.integers(n)] = -np.inf
            cotangents[0] = 0.1 + shift
            assert next_wall(cotangents, cotangents.view(np.int64)) == np.argmax(cotangents)


@pytest.mark.parametrize("q", [0.0, 0.05, 0.2])
def test_errors_equal_a_recount(q):
    walls, features, is_positive = make_walls(q=q, seed=3)
    start = find_consistent_direction(features, is_positive) if q == 0 else None
    start = np.ones(walls.dimension) if start is None else start
    path = simulate_refractive_billiard(walls, start, 3000, rng=np.random.default_rng(1))
    recount = np.sum((path.draws @ features.T > 0) != is_positive, axis=1)
    np.testing.assert_array_equal(path.errors, recount)
    if q == 0:
        assert (path.errors == 0).all()
    assert (path.reflections <= path.events).all()
    assert path.capped.sum() == 0


@pytest.mark.parametrize("q", [0.0, 0.1])
def test_outputs_do_not_drift(q, monkeypatch):
    """Thousands of trajectories without a refresh: carried outputs stay those of z."""
    monkeypatch.setattr(billiard_ball, "REFRESH_EVERY", 10**9)
    walls, features, is_positive = make_walls(q=q, seed=4)
    start = np.ones(walls.dimension)
    if q == 0:
        start = find_consistent_direction(features, is_positive)
    ball = BilliardBall(walls, start, sweeps=3)
    ball.run(np.random.default_rng(2), 2000)
    assert ball.since_refresh == 6000
    np.testing.assert_allclose(ball.outputs, walls.normals @ ball.z, atol=1e-10)


def test_refresh_counts_trajectories():
    walls, _, _ = make_walls()
    ball = BilliardBall(walls, np.ones(walls.dimension), sweeps=1)
    rng = np.random.default_rng(2)
    for _ in range(5):
        ball.run(rng, 32)
    assert ball.since_refresh == 32  # refreshed once, with the second block of 128 momenta


@pytest.mark.parametrize("q", [0.02, 0.1, 0.3])
def test_share_of_reflections(q):
    """In equilibrium 1 - 2q of the events are reflections: within 4.5 standard errors (1e-5)."""
    walls, _, _ = make_walls(q=q, seed=5)
    rng = np.random.default_rng(3)
    path = simulate_refractive_billiard(walls, np.ones(walls.dimension), 20_500, rng=rng)
    events, reflections = (
        a[500:].reshape(100, 200).sum(axis=1) for a in (path.events, path.reflections)
    )
    share = reflections.sum() / events.sum()
    # Blocks of 200 trajectories are independent for all purposes: their scatter is the error.
    error = np.std(reflections - share * events, ddof=1) * 10 / events.sum()
    assert error < 0.005
    assert abs(share - (1 - 2 * q)) < 4.5 * error


def test_reflections_only_in_the_version_space():
    walls, features, is_positive = make_walls(q=0.0)
    start = find_consistent_direction(features, is_positive)
    path = simulate_refractive_billiard(walls, start, 500, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(path.events, path.reflections)


def test_length_is_that_of_a_standard_normal():
    """|z|^2 is chi-square whatever the posterior of the direction (4.5 standard errors: 1e-5)."""
    walls, _, _ = make_walls(r=5, seed=6)
    path = simulate_refractive_billiard(
        walls, np.ones(5), 20_000, rng=np.random.default_rng(4), sweeps=4
    )
    squares = np.sum(path.draws**2, axis=1)
    assert abs(squares.mean() - 5) < 4.5 * np.sqrt(10 / 10_000)


def test_event_cap_is_counted_and_leaves_the_ball_in_place():
    walls, _, _ = make_walls(q=0.02, seed=7)
    path = simulate_refractive_billiard(
        walls, np.ones(walls.dimension), 2000, rng=np.random.default_rng(1), max_events=12
    )
    assert 0 < path.capped.sum() < 2000
    stayed = (np.diff(path.draws, axis=0) == 0).all(axis=1)
    np.testing.assert_array_equal(stayed, path.capped[1:] == 1)
    assert (path.events[path.capped == 1] == 12).all()
    np.testing.assert_array_equal(path.errors, walls.count_errors(path.draws @ walls.normals.T))


def test_gram_on_demand_equals_stored():
    walls, _, _ = make_walls()
    assert wall_gram(walls.normals, max_bytes=8 * 40**2 - 1).shape == (0, 0)
    gram = wall_gram(walls.normals, max_bytes=8 * 40**2)
    np.testing.assert_allclose(gram, walls.normals @ walls.normals.T)
    stored, on_demand = (
        simulate_refractive_billiard(
            walls, np.ones(8), 20, rng=np.random.default_rng(1), gram=given
        )
        for given in (gram, np.empty((0, 0)))
    )
    # Chaotic: rounding differences grow, so only a few trajectories can be compared.
    np.testing.assert_allclose(stored.draws, on_demand.draws, atol=1e-6)
    np.testing.assert_array_equal(stored.events, on_demand.events)


def test_start_in_the_forbidden_region_is_refused():
    walls, _, is_positive = make_walls(m=5, r=2, q=0.0)
    wrong = -walls.normals.T @ np.where(is_positive, 1.0, -1.0)
    with pytest.raises(ValueError, match="posterior is zero"):
        BilliardBall(walls, wrong)


def test_rounding_behind_an_infinite_wall_is_mended():
    walls, _, _ = make_walls(m=1, r=2, q=0.0)
    side = np.sign(walls.jumps[0])
    along = np.array([-walls.normals[0, 1], walls.normals[0, 0]])
    ball = BilliardBall(walls, along - 1e-14 * side * walls.normals[0])
    draws, _ = ball.run(np.random.default_rng(0), 100)
    assert (draws @ walls.normals[0] * side >= -1e-12).all()


@pytest.fixture
def model():
    X, y = bk.data.make_two_moons(20, random_seed=1)
    return bk.models.label_noise_classifier(X, y, noise=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"duration": (0.0, 1.0)},
        {"duration": (2.0, 1.0)},
        {"duration": (1.0, 4.0)},
        {"max_events": 0},
        {"sweeps": 0},
    ],
)
def test_bad_options(model, options):
    with model, pytest.raises(ValueError, match=next(iter(options))):
        RefractiveBilliard(**options)


def test_cap_is_reported_by_pymc(model, caplog):
    with model, caplog.at_level(logging.WARNING, logger="bayeskernels"):
        options = {"max_events": 3, "sweeps": 2, "duration": (1.0, 1.5), "circles": False}
        idata = pm.sample(50, tune=0, chains=1, quiet=True, refractive_billiard=options)
    stats = idata.sample_stats
    assert stats["refractive_capped"].sum() > 0
    assert stats["refractive_capped"].max() <= 2  # the option sweeps has arrived, too
    assert "given up" in caplog.text
    assert np.isfinite(idata.posterior["w"]).all()
