import numpy as np
import pytest
from random_walls import make_walls

from bayeskernels.samplers import (
    WallGeometry,
    simulate_kernel_gibbs,
    simulate_refractive_billiard,
)
from bayeskernels.samplers.directions.billiards.billiard_ball import BilliardBall
from bayeskernels.samplers.directions.block_draws import (
    BLOCK_SIZE,
    DirectionBlock,
    fresh_outputs,
    outputs_at,
)
from bayeskernels.samplers.directions.kernel_gibbs import GreatCircleWalker


@pytest.fixture
def normals():
    return np.random.default_rng(0).standard_normal((7, 3))


@pytest.mark.parametrize("sweeps", [1, 5, 32, 100])
def test_block_is_used_up_in_order(normals, sweeps):
    block = DirectionBlock.draw(np.random.default_rng(1), normals, multiple_of=sweeps)
    size = len(block.directions)
    assert size % sweeps == 0
    assert size >= min(BLOCK_SIZE, sweeps)
    np.testing.assert_allclose(block.outputs, block.directions @ normals.T)
    parts = [block.take(sweeps) for _ in range(size // sweeps)]
    assert block.left == 0
    np.testing.assert_array_equal(np.concatenate([d for d, _ in parts]), block.directions)
    np.testing.assert_array_equal(np.concatenate([o for _, o in parts]), block.outputs)


def test_state_and_other_walls(normals):
    block = DirectionBlock.draw(np.random.default_rng(1), normals)
    block.take(3)
    copy = DirectionBlock(**block.state)
    assert copy.left == block.left
    copy.reproject(normals[:2])
    np.testing.assert_allclose(copy.outputs, block.outputs[:, :2])
    np.testing.assert_array_equal(copy.directions, block.directions)


def test_outputs_do_not_depend_on_the_number_of_threads(normals):
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(2)
    points, many = rng.standard_normal((32, 200)), rng.standard_normal((300, 200))
    results = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            results.append(outputs_at(points, many))
    np.testing.assert_array_equal(*results)


def test_a_point_on_a_wall_stands_beside_it():
    walls = WallGeometry.from_features(np.eye(3), np.array([True, False, True])).with_costs(
        np.array([1.0, 1.0, np.inf])
    )
    outputs = fresh_outputs(np.array([0.0, 0.0, -1e-15]), walls)
    np.testing.assert_array_equal(np.sign(outputs), [1, -1, 1])
    assert (np.abs(outputs) < 1e-12).all()
    assert fresh_outputs(np.array([1.0, 1.0, -1.0]), walls)[2] == -1.0


@pytest.mark.parametrize(
    ("simulate", "sampler"),
    [(simulate_kernel_gibbs, GreatCircleWalker), (simulate_refractive_billiard, BilliardBall)],
)
def test_one_by_one_equals_many_at_once(simulate, sampler):
    walls, _, _ = make_walls()
    whole = simulate(walls, np.ones(8), 200, rng=np.random.default_rng(1), sweeps=3)
    alone, rng = sampler(walls, np.ones(8), sweeps=3), np.random.default_rng(1)
    single = np.concatenate([alone.move(rng)[0] for _ in range(200)])
    np.testing.assert_array_equal(whole.draws, single)
