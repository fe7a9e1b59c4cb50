import numpy as np
import pytest
from scipy.stats import kstest, multivariate_t, t

from bayeskernels.samplers import LaplaceMixture

MODES = np.array([[-2.0, 0.0], [3.0, 1.0]])
COVARIANCES = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.2, 0.0], [0.0, 2.0]]])
LOG_DENSITIES = np.array([-1.0, -2.5])


@pytest.fixture
def mixture():
    return LaplaceMixture(MODES, COVARIANCES, LOG_DENSITIES)


def test_masses_are_those_of_the_gaussians(mixture):
    masses = np.exp(LOG_DENSITIES) * np.sqrt(np.linalg.det(2 * np.pi * COVARIANCES))
    np.testing.assert_allclose(mixture.masses, masses / masses.sum())


def test_density_is_that_of_the_parts(mixture):
    points = np.random.default_rng(1).normal(size=(5, 2)) * 3
    shares = 0.9 * mixture.masses + 0.05
    expected = sum(
        share * multivariate_t(mode, covariance, df=6).pdf(points)
        for share, mode, covariance in zip(shares, MODES, COVARIANCES, strict=True)
    )
    np.testing.assert_allclose(np.exp(mixture.log_density(points)), expected)


def test_draws_follow_the_density(mixture):
    """Kolmogorov and Smirnov on each coordinate: a false alarm in 1,000 seeds."""
    points = mixture.draw(np.random.default_rng(2), 4000)
    shares = 0.9 * mixture.masses + 0.05
    for axis in range(2):
        scales = np.sqrt(COVARIANCES[:, axis, axis])

        def cdf(x, axis=axis, scales=scales):
            parts = [t(6, MODES[k, axis], scales[k]).cdf(x) for k in range(2)]
            return shares @ parts

        assert kstest(points[:, axis], cdf).pvalue > 0.0005


def test_nearest_mode(mixture):
    assert [mixture.nearest(mode) for mode in MODES] == [0, 1]


def test_one_dimension_and_one_mode():
    mixture = LaplaceMixture([[1.0]], [[[4.0]]], [0.0])
    points = mixture.draw(np.random.default_rng(3), 7)
    assert points.shape == (7, 1)
    np.testing.assert_allclose(mixture.log_density(points), t(6, 1.0, 2.0).logpdf(points[:, 0]))
    assert mixture.masses == [1.0]
