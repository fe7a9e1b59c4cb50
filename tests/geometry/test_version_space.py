import numpy as np
import pytest

from bayeskernels.geometry.version_space import find_consistent_direction
from bayeskernels.kernels.gram import factor_gram


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
    """Points 1 and 3 contradict each other; 0 and 2 agree with both sides of the argument."""
    features = np.array([[1.0, 1.0], [-1.0, 0.1], [1.0, 1.2], [1.0, -0.1]])
    with pytest.raises(ValueError, match=r"2 points that contradict each other are 1, 3\. Do"):
        find_consistent_direction(features, np.array([True] * 4), remedy="Do something.")
    with pytest.raises(ValueError, match="are 11, 13"):
        find_consistent_direction(features, np.array([True] * 4), points=np.arange(10, 14))


def test_thin_version_space_that_the_perceptron_cannot_find():
    """Two hundred points between two close walls: the sine of the widest direction is 1e-6."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(1e-6, np.pi - 1e-6, 200)
    angles[:2] = 0.0, np.pi - 2e-6
    features = np.column_stack([np.sin(angles), np.cos(angles)])
    features *= rng.exponential(size=(200, 1)) * rng.choice([-1, 1], size=(200, 1))
    inward = np.array([np.cos(1e-6), np.sin(1e-6)])
    is_positive = features @ inward > 0
    assert is_positive.any()
    assert not is_positive.all()
    w = find_consistent_direction(features, is_positive)
    np.testing.assert_array_equal(features @ w > 0, is_positive)


def test_zero_feature_vector():
    with pytest.raises(ValueError, match="Point 1 has a zero feature vector"):
        find_consistent_direction(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([True, False]))


def test_random_labels_under_a_smooth_kernel_are_refused_at_once():
    """The widest direction is within rounding errors; linear programming takes minutes for it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 2))
    gram = np.exp(-2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    features = factor_gram(gram).features
    with pytest.raises(ValueError, match="contradict each other"):
        find_consistent_direction(features, rng.random(500) < 0.5)
