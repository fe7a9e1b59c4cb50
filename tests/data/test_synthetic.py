import numpy as np
import pytest
from scipy import stats

from bayeskernels import data
from bayeskernels.geometry.version_space import find_consistent_direction

# Bounds on means of n independent terms are five standard errors wide: a false alarm has
# probability below 1e-6 per number, about 1e-4 for this file; the seeds are fixed besides.
WIDTH = 5
N = 40_000

GENERATORS = {
    "kgs_sphere": (data.make_kgs_sphere, 3),
    "kgs_surrogate": (data.make_kgs_surrogate, 2),
    "checkerboard": (data.make_checkerboard, 2),
    "linear_rule": (data.make_linear_rule, 3),
    "ringnorm": (data.make_ringnorm, 20),
    "twonorm": (data.make_twonorm, 20),
    "waveform": (data.make_waveform, 21),
    "two_moons": (data.make_two_moons, 2),
}


def assert_moments(sample, mean, sd):
    """Compare each column's mean and standard deviation (of a normal sample) with the truth."""
    n = len(sample)
    assert np.all(np.abs(sample.mean(axis=0) - mean) < WIDTH * sd / np.sqrt(n))
    assert np.all(np.abs(sample.std(axis=0) - sd) < WIDTH * sd / np.sqrt(2 * n))


def assert_share(hits, probability):
    sd = np.sqrt(probability * (1 - probability) / len(hits))
    assert abs(np.mean(hits) - probability) < WIDTH * sd


@pytest.mark.parametrize("name", GENERATORS)
def test_shapes_and_labels(name):
    make, n_features = GENERATORS[name]
    X, y = make(101, random_seed=1)
    assert X.shape == (101, n_features)
    assert X.dtype == np.float64
    assert y.shape == (101,)
    assert y.dtype.kind == "i"
    assert set(y.tolist()) == {-1, 1}


@pytest.mark.parametrize("name", GENERATORS)
def test_seeds_both_ways(name):
    make, _ = GENERATORS[name]
    X, y = make(50, random_seed=7)
    for seed in (7, np.random.default_rng(7)):
        again = make(50, random_seed=seed)
        np.testing.assert_array_equal(X, again[0])
        np.testing.assert_array_equal(y, again[1])
    assert not np.array_equal(X, make(50, random_seed=8)[0])
    assert not np.array_equal(make(50)[0], make(50)[0])


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("n", [0, -3, 2.5, True])
def test_bad_counts(name, n):
    with pytest.raises(ValueError, match="positive integer"):
        GENERATORS[name][0](n, random_seed=1)


def test_sphere_point_has_the_axes_of_figure_1():
    np.testing.assert_allclose(
        data.sphere_point(np.pi / 2, np.pi), data.KGS_SPHERE_CLASSIFIER, atol=1e-15
    )
    np.testing.assert_allclose(data.sphere_point(0.0, 1.0), [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(data.sphere_point(np.pi / 2, np.pi / 2), [0, 1, 0], atol=1e-15)
    grid = data.sphere_point(np.linspace(0, np.pi, 4)[:, None], np.linspace(0, 2 * np.pi, 5))
    assert grid.shape == (4, 5, 3)
    np.testing.assert_allclose(np.linalg.norm(grid, axis=-1), 1)


def test_kgs_sphere_angles_and_labels():
    X, y, y_clean = data.make_kgs_sphere(N, return_clean=True, random_seed=1)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    longitude = np.arccos(X[:, 2]) / np.pi
    # Angles near 2 pi round to the same point as angles near 0: fold the latitude at pi.
    folded = np.abs(np.arctan2(X[:, 1], X[:, 0])) / np.pi
    assert stats.kstest(longitude, stats.beta(5, 5).cdf).pvalue > 1e-6
    latitude = stats.beta(0.1, 0.1)
    for quarter in (0.25, 0.5, 0.75):
        assert_share(folded < quarter, 2 * latitude.cdf(quarter / 2))
    np.testing.assert_array_equal(y_clean, np.sign(X @ np.array(data.KGS_SPHERE_CLASSIFIER)))
    assert_share(y_clean == 1, latitude.cdf(0.75) - latitude.cdf(0.25))
    assert_share(y != y_clean, 0.05)


def test_kgs_sphere_noise_option():
    X, y, y_clean = data.make_kgs_sphere(500, noise=0.0, return_clean=True, random_seed=2)
    np.testing.assert_array_equal(y, y_clean)
    X_noisy, y_noisy = data.make_kgs_sphere(500, noise=1.0, random_seed=2)
    np.testing.assert_array_equal(X, X_noisy)
    np.testing.assert_array_equal(y_noisy, -y_clean)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        data.make_kgs_sphere(10, noise=1.5)


def test_kgs_surrogate_window_and_overlap():
    X, y = data.make_kgs_surrogate(random_seed=1)
    assert X.shape == (76, 2)
    assert y.sum() == 0
    X, y = data.make_kgs_surrogate(N, random_seed=1)
    inside = (X >= [-2, -2]).all(axis=1) & (X <= [1, 3]).all(axis=1)
    assert inside.mean() > 0.99
    boundary = 1.0 - 1.4 * ((X[:, 0] + 0.5) / 1.2) ** 2
    curved_error = np.mean(np.where(X[:, 1] > boundary, 1, -1) != y)
    flat_error = np.mean(np.where(X[:, 1] > np.median(X[:, 1]), 1, -1) != y)
    assert 0.02 < curved_error < 0.08
    assert flat_error > 2 * curved_error


def test_linear_rule():
    X, y = data.make_linear_rule(N, n_features=4, random_seed=1)
    assert_moments_uniform(X, -1.0, 1.0)
    # A rule through the origin: some direction has no errors on many points, so few on the others.
    w = find_consistent_direction(X[:1000], y[:1000] > 0)
    assert np.mean(np.sign(X @ w) == y) > 0.99
    fewer, fewer_labels = data.make_linear_rule(10, n_features=4, random_seed=1)
    np.testing.assert_array_equal(fewer, X[:10])
    np.testing.assert_array_equal(fewer_labels, y[:10])
    with pytest.raises(ValueError, match="n_features must be at least 1"):
        data.make_linear_rule(10, n_features=0)


def test_linear_rule_has_no_favourite_direction():
    signs = [data.make_linear_rule(1, n_features=1, random_seed=s) for s in range(400)]
    assert_share(np.array([np.sign(X[0, 0]) == y[0] for X, y in signs]), 0.5)


def test_checkerboard():
    X, y = data.make_checkerboard(N, cells=3, random_seed=1)
    assert_moments_uniform(X, -1.5, 1.5)
    square = np.floor(X + 1.5).astype(int)
    np.testing.assert_array_equal(y == 1, (square[:, 0] + square[:, 1]) % 2 == 0)
    X_noisy, y_noisy = data.make_checkerboard(N, cells=3, noise=0.1, random_seed=1)
    np.testing.assert_array_equal(X, X_noisy)
    assert_share(y != y_noisy, 0.1)
    with pytest.raises(ValueError, match="at least 2"):
        data.make_checkerboard(10, cells=1)


def assert_moments_uniform(sample, low, high):
    assert sample.min() >= low
    assert sample.max() <= high
    for column in sample.T:
        assert stats.kstest(column, stats.uniform(low, high - low).cdf).pvalue > 1e-6


def test_ringnorm_moments():
    X, y = data.make_ringnorm(N, random_seed=1)
    assert_share(y == 1, 0.5)
    assert_moments(X[y == 1], 0.0, 2.0)
    assert_moments(X[y == -1], 2 / np.sqrt(20), 1.0)


def test_twonorm_moments_and_bayes_error():
    X, y = data.make_twonorm(N, random_seed=1)
    assert_share(y == 1, 0.5)
    assert_moments(X[y == 1], 2 / np.sqrt(20), 1.0)
    assert_moments(X[y == -1], -2 / np.sqrt(20), 1.0)
    assert_share(np.sign(X.sum(axis=1)) != y, stats.norm.cdf(-2))


def test_waveform_moments():
    X, label = data.make_waveform(N, three_classes=True, random_seed=1)
    position = np.arange(1, 22)
    h1, h2, h3 = (np.clip(6 - np.abs(position - center), 0, None) for center in (7, 15, 11))
    for number, (first, second) in enumerate([(h1, h2), (h1, h3), (h2, h3)]):
        members = X[label == number]
        assert_share(label == number, 1 / 3)
        # Var(U first + (1 - U) second + noise) = (first - second)^2 / 12 + 1
        sd = np.sqrt((first - second) ** 2 / 12 + 1)
        assert_moments(members, (first + second) / 2, sd)
        covariance = np.cov(members[:, 6], members[:, 10])[0, 1]
        expected = (first - second)[6] * (first - second)[10] / 12
        assert abs(covariance - expected) < WIDTH * 2 * sd[6] * sd[10] / np.sqrt(len(members))


def test_waveform_two_classes():
    X, y = data.make_waveform(300, random_seed=1)
    X_three, label = data.make_waveform(300, three_classes=True, random_seed=1)
    np.testing.assert_array_equal(X, X_three)
    np.testing.assert_array_equal(y == 1, label == 1)


def test_two_moons():
    X, y = data.make_two_moons(200, scatter=0.0, random_seed=1)
    np.testing.assert_allclose(np.linalg.norm(X[y == -1], axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(X[y == 1] - [1, 0.5], axis=1), 1)
    with pytest.raises(ValueError, match="scatter"):
        data.make_two_moons(10, scatter=-1.0)
    with pytest.raises(ValueError, match="each moon"):
        data.make_two_moons(1)
