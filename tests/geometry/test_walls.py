import numpy as np
import pytest

from bayeskernels.geometry.walls import COINCIDENCE_TOLERANCE
from bayeskernels.samplers import WallGeometry, label_costs
from bayeskernels.testing import label_noise_cells


def test_label_costs_by_class():
    """A positive label is an error of the negative class and costs log((1 - q+) / q-)."""
    costs = label_costs(np.array([True, False]), 0.1, 0.3)
    np.testing.assert_allclose(costs, [np.log(0.7 / 0.1), np.log(0.9 / 0.3)])
    np.testing.assert_array_equal(label_costs(np.array([True, False]), 0.0, 0.3) == np.inf, [1, 0])


def test_walls_of_points_in_general_position():
    features = np.random.default_rng(0).standard_normal((10, 4)) * 3
    is_positive = np.arange(10) % 2 == 0
    walls = WallGeometry.from_features(features, is_positive).with_costs(np.arange(1.0, 11.0))
    assert (walls.n_walls, walls.dimension, walls.constant_errors) == (10, 4, 0)
    np.testing.assert_allclose(
        walls.normals, features / np.linalg.norm(features, axis=1, keepdims=True)
    )
    np.testing.assert_allclose(walls.jumps, np.where(is_positive, 1, -1) * np.arange(1.0, 11.0))
    np.testing.assert_array_equal(walls.errors, [~is_positive, is_positive])


@pytest.mark.parametrize("seed", range(20))
def test_merged_walls_say_the_same_as_the_points(seed):
    """Energy and errors by walls equal those counted point by point, whatever coincides."""
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((6, 3))
    rows = rng.integers(6, size=25)
    scale = rng.choice([-2.0, -1.0, 0.0, 1.0, 0.3], size=25)
    features = base[rows] * scale[:, None]
    features += 1e-12 * rng.standard_normal((25, 3)) * (scale != 0)[:, None]
    is_positive = rng.random(25) < 0.5
    costs = label_costs(is_positive, 0.1, 0.25)
    walls = WallGeometry.from_features(features, is_positive).with_costs(costs)
    assert walls.n_walls <= 6
    z = rng.standard_normal((50, 3))
    outputs = z @ walls.normals.T
    is_error = np.where(is_positive, z @ features.T <= 0, z @ features.T >= 0)
    np.testing.assert_array_equal(walls.count_errors(outputs), is_error.sum(axis=1))
    energy = is_error @ costs
    np.testing.assert_allclose(
        walls.energy(outputs) - walls.energy(outputs)[0], energy - energy[0], atol=1e-9
    )


def test_nearly_equal_points_stay_apart():
    features = np.array([[1.0, 0.0], [1.0, 10 * COINCIDENCE_TOLERANCE]])
    geometry = WallGeometry.from_features(features, np.array([True, True]))
    assert len(geometry.normals) == 2


def test_many_coincident_points_in_many_dimensions():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((200, 100))
    features = np.concatenate([base, -base, 2 * base]) * (
        1 + 1e-13 * rng.standard_normal((600, 100))
    )
    geometry = WallGeometry.from_features(features, np.ones(600, bool))
    assert len(geometry.normals) == 200
    np.testing.assert_array_equal(geometry.wall_of_point, np.tile(np.arange(200), 3))
    np.testing.assert_array_equal(geometry.right_side, np.repeat([1, -1, 1], 200))


def test_opposite_labels_cancel_and_zero_rows_are_errors():
    features = np.array([[1.0, 0], [2.0, 0], [0, 0], [0, 1]])
    is_positive = np.array([True, False, True, True])
    geometry = WallGeometry.from_features(features, is_positive)
    np.testing.assert_array_equal(geometry.wall_of_point, [0, 0, -1, 1])
    walls = geometry.with_costs(label_costs(is_positive, 0.1, 0.1))
    assert (walls.n_walls, walls.constant_errors) == (1, 2)
    # Other rates, other heights: the same array of normals tells that no wall has moved.
    assert geometry.with_costs(label_costs(is_positive, 0.2, 0.2)).normals is walls.normals
    # With rates by class the labels do not cancel any more.
    assert geometry.with_costs(label_costs(is_positive, 0.1, 0.2)).n_walls == 2


def test_conflict_without_noise():
    features = np.array([[1.0, 0.0], [-2.0, 0.0]])
    geometry = WallGeometry.from_features(features, np.array([True, True]))
    with pytest.raises(ValueError, match="opposite labels"):
        geometry.with_costs(label_costs(np.array([True, True]), 0.0, 0.0))


def test_energy_is_infinite_behind_hard_walls():
    is_positive = np.array([True, False])
    walls = WallGeometry.from_features(np.eye(2), is_positive).with_costs(
        label_costs(is_positive, 0.0, 0.2)
    )
    energy = walls.energy(np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]]))
    assert np.isfinite(energy[:2]).all()
    assert np.isclose(energy[1] - energy[0], np.log(1 / 0.2))
    assert energy[2] == np.inf


@pytest.mark.parametrize("spread", [8, 200])
def test_a_wall_is_a_direction_however_long_its_row(spread):
    """Rows may be multiplied by positive numbers: walls, sides and cell probabilities stay."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((12, 3))
    lengths = 10.0 ** rng.permutation(np.linspace(-spread, spread, 12))
    is_positive = rng.random(12) < 0.5
    costs = label_costs(is_positive, 0.1, 0.2)
    plain = WallGeometry.from_features(features, is_positive)
    scaled = WallGeometry.from_features(features * lengths[:, None], is_positive)
    np.testing.assert_allclose(scaled.normals, plain.normals, rtol=1e-12)
    np.testing.assert_array_equal(scaled.right_side, plain.right_side)
    cells = label_noise_cells(features, is_positive, 0.1, 0.2)
    cells_of_scaled = label_noise_cells(features * lengths[:, None], is_positive, 0.1, 0.2)
    assert cells_of_scaled.log_evidence == pytest.approx(cells.log_evidence, rel=1e-12)
    # Walls know the posterior of the exact cells, up to a constant.
    outputs = cells.signs.astype(float)  # one wall for each point, in the same order
    energy = scaled.with_costs(costs).energy(outputs)
    prior = label_noise_cells(features, is_positive, 0.4999999).probabilities
    assert len(prior) == len(energy)
    weights = prior * np.exp(-(energy - energy.min()))
    np.testing.assert_allclose(weights / weights.sum(), cells.probabilities, rtol=1e-5)


def test_only_exact_zeros_are_zero_rows():
    features = np.array([[1e200, 0.0], [0.0, 0.0], [0.0, 5e-324], [-1e-200, 1e-200]])
    geometry = WallGeometry.from_features(features, np.ones(4, bool))
    np.testing.assert_array_equal(geometry.wall_of_point, [0, -1, 1, 2])
    root = np.sqrt(0.5)
    np.testing.assert_allclose(geometry.normals, [[1, 0], [0, 1], [-root, root]])
