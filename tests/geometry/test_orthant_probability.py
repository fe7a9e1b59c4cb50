"""Orthant probabilities by minimax tilting: closed forms, Genz, refusals, calibration."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bayeskernels.geometry.orthant_probability import log_orthant_probability, orthant_of_features


def _rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("m", [1, 2, 3, 20, 100])
def test_equicorrelated(m):
    found = log_orthant_probability(0.5 * np.eye(m) + 0.5, rng=_rng())
    assert abs(found.value + np.log(m + 1)) < 0.02
    assert abs(found.value + np.log(m + 1)) < 5 * found.mcse + 1e-9
    assert found.bound >= -np.log(m + 1) - 1e-9


def test_independent_outputs_are_exact_and_scales_do_not_matter():
    found = log_orthant_probability(np.diag(np.arange(1.0, 31.0) ** 2), rng=_rng())
    assert found.value == pytest.approx(-30 * np.log(2), abs=1e-10)
    assert found.mcse < 1e-10
    covariance = 0.3 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    scales = np.geomspace(1e-3, 1e3, 8)
    one = log_orthant_probability(covariance, rng=_rng())
    two = log_orthant_probability(covariance * np.outer(scales, scales), rng=_rng())
    assert one.value == pytest.approx(two.value, abs=1e-9)


@pytest.mark.parametrize("rho", [-0.7, 0.2, 0.9])
def test_two_and_three_dimensions(rho):
    """Sheppard's formula, and its extension to three variables."""
    pair = log_orthant_probability([[1.0, rho], [rho, 1.0]], rng=_rng())
    assert np.exp(pair.value) == pytest.approx(0.25 + np.arcsin(rho) / (2 * np.pi), abs=1e-4)
    correlations = np.array([rho, 0.3, 0.3 * rho])
    covariance = np.eye(3)
    covariance[[0, 0, 1], [1, 2, 2]] = covariance[[1, 2, 2], [0, 0, 1]] = correlations
    three = log_orthant_probability(covariance, rng=_rng())
    exact = 0.125 + np.arcsin(correlations).sum() / (4 * np.pi)
    assert np.exp(three.value) == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("rho", [-0.4, 0.8])
def test_autoregressive_by_a_transfer_operator(rho):
    """The density of the last of k outputs, all positive so far, goes from one to the next."""
    m, (nodes, weights) = 40, np.polynomial.legendre.leggauss(400)
    x, weights = 5.0 * (nodes + 1.0), 5.0 * weights
    step = np.exp(-0.5 * (x[:, None] - rho * x) ** 2 / (1 - rho**2))
    step /= np.sqrt(2 * np.pi * (1 - rho**2))
    density, log_scale = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi), 0.0
    for _ in range(m - 1):
        density = step @ (weights * density)
        log_scale += np.log(density.max())
        density /= density.max()
    exact = np.log(weights @ density) + log_scale
    covariance = rho ** np.abs(np.subtract.outer(np.arange(m), np.arange(m))).astype(float)
    found = log_orthant_probability(covariance, rng=_rng())
    assert abs(found.value - exact) < 0.02
    assert abs(found.value - exact) < 5 * found.mcse


def test_agrees_with_genz_at_twenty():
    rng = _rng(3)
    for _ in range(3):
        root = rng.standard_normal((20, 25))
        covariance = root @ root.T
        found = log_orthant_probability(covariance, rng=rng)
        genz = multivariate_normal.cdf(
            np.zeros(20), np.zeros(20), covariance, maxpts=400_000, rng=rng
        )
        assert abs(found.value - np.log(genz)) < 0.02


def test_negatively_correlated_outputs_with_a_tiny_orthant():
    """Differences of exchangeable variables: an order of m + 1 of them, 1 / (m + 1)!."""
    m = 30
    differences = np.eye(m, m + 1, 1) - np.eye(m, m + 1)
    found = orthant_of_features(differences, rng=_rng())
    exact = -np.log(np.arange(1.0, m + 2)).sum()
    assert abs(found.value - exact) < max(0.02, 5 * found.mcse)
    assert found.mcse < 0.02


@pytest.mark.slow
def test_errors_are_calibrated():
    """The truth lies within two errors in at least 85% of 50 runs."""
    exact = -np.log(41)
    covariance = 0.5 * np.eye(40) + 0.5
    found = [log_orthant_probability(covariance, n_draws=512, rng=_rng(s)) for s in range(50)]
    within = [abs(one.value - exact) < 2 * one.mcse for one in found]
    assert np.mean(within) >= 0.85
    assert max(one.mcse for one in found) < 0.1


def test_dependent_outputs_are_refused():
    with pytest.raises(ValueError, match="not positive definite"):
        log_orthant_probability(np.ones((2, 2)))
    with pytest.raises(ValueError, match="3 outputs in 2 dimensions"):
        orthant_of_features(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(ValueError, match="but for rounding errors"):
        orthant_of_features(np.array([[1.0, 0.0], [1.0, 1e-12]]))
    with pytest.raises(ValueError, match="at least 32"):
        log_orthant_probability(np.eye(2), n_draws=3)
