import numpy as np
import pytest

from bayeskernels.version_space import find_consistent_direction


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("max_updates", [None, 1])
def test_all_points_are_right(seed, max_updates):
    """With a single update the perceptron fails and the support vector machine takes over."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((60, 5)) * rng.exponential(size=(60, 1))
    is_positive = features @ rng.standard_normal(5) > 0
    w = find_consistent_direction(features, is_positive, max_updates=max_updates)
    assert np.isclose(np.linalg.norm(w), 1.0)
    np.testing.assert_array_equal(features @ w > 0, is_positive)


def test_thin_version_space():
    features = np.array([[1.0, 1e-4], [-1.0, 1e-4], [0.0, 1.0]])
    w = find_consistent_direction(features, np.array([True, True, True]))
    assert (features @ w > 0).all()


def test_one_sided_labels():
    features = np.random.default_rng(0).standard_normal((5, 8))
    w = find_consistent_direction(features, np.ones(5, bool))
    assert (features @ w > 0).all()


def test_no_such_direction():
    features = np.array([[1.0, 1.0], [-1.0, -1.1], [1.0, -1.2], [-1.0, 1.3]])
    with pytest.raises(ValueError, match="could not be separated"):
        find_consistent_direction(features, np.array([True, True, False, False]))


def test_zero_feature_vector():
    with pytest.raises(ValueError, match="Point 1 has a zero feature vector"):
        find_consistent_direction(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([True, False]))
