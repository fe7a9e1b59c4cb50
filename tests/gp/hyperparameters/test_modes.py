import sys

import numpy as np
import pytest

from bayeskernels.gp.hyperparameters.modes import climb, find_modes, laplace_covariance

CENTRES = np.array([[0.0, 0.0], [6.0, -2.0], [-30.0, 0.0]])
PRECISIONS = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 9.0]], np.eye(2)])
HEIGHTS = np.array([0.0, 0.5, -20.0])  # the second hill is higher, the first one heavier


def three_hills(x):
    """Log density and gradient of a sum of three Gaussians, not normalised."""
    differences = x - CENTRES
    pulls = np.einsum("kij,kj->ki", PRECISIONS, differences)
    logs = HEIGHTS - 0.5 * (differences * pulls).sum(axis=1)
    value = np.logaddexp.reduce(logs)
    return value, -np.exp(logs - value) @ pulls


POINTS = [np.array(p) for p in ([0.5, 1.0], [-1.0, 0.0], [6.5, -2.0], [-29.0, 1.0], [5.0, -3.0])]


def test_modes_masses_and_order():
    first, second = find_modes(three_hills, POINTS)
    np.testing.assert_allclose(first.x, CENTRES[0], atol=1e-4)
    np.testing.assert_allclose(second.x, CENTRES[1], atol=1e-4)
    for mode, k in ((first, 0), (second, 1)):
        np.testing.assert_allclose(mode.covariance, np.linalg.inv(PRECISIONS[k]), atol=1e-3)
        determinant = np.linalg.det(PRECISIONS[k] / (2 * np.pi))
        assert np.isclose(mode.log_mass, HEIGHTS[k] - 0.5 * np.log(determinant), atol=1e-3)
        assert np.isclose(mode.log_density, HEIGHTS[k], atol=1e-6)
    assert np.isclose(first.distance(first.x + np.array([1.0, 0.0])), np.sqrt(2.0), atol=1e-3)


def test_light_modes_are_kept_and_negligible_ones_are_not(monkeypatch):
    for height, count in ((-7.0, 3), (-13.0, 2)):
        monkeypatch.setattr(sys.modules[__name__], "HEIGHTS", np.array([0.0, 0.5, height]))
        assert len(find_modes(three_hills, POINTS)) == count


def test_points_without_density_are_left_out():
    def cut(x):
        return three_hills(x) if x[0] < 3 else (-np.inf, np.zeros(2))

    [only] = find_modes(cut, POINTS)
    np.testing.assert_allclose(only.x, CENTRES[0], atol=1e-4)
    with pytest.raises(ValueError, match="not positive definite at the start"):
        find_modes(cut, POINTS[2:3])


def test_climb_returns_from_walls():
    def cut(x):
        return three_hills(x) if abs(x[1]) < 1.5 else (-np.inf, np.zeros(2))

    value, x = climb(cut, np.array([0.7, 1.4]))
    np.testing.assert_allclose(x, CENTRES[0], atol=1e-4)
    assert np.isclose(value, HEIGHTS[0], atol=1e-6)


def test_covariance_is_positive_definite_at_a_saddle():
    covariance = laplace_covariance(lambda x: (0.0, np.array([-2.0 * x[0], x[1]])), np.zeros(2))
    np.testing.assert_allclose(covariance, np.diag([0.5, 1.0]), rtol=1e-6)
