"""Distributions of generalized kernel models of several classes or kernels."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.stats import multivariate_normal

from bayeskernels.distributions import ClassOffsets, GroupedSilvermanG, KernelOn, ProbitClass
from bayeskernels.distributions.class_probability import label_log_probabilities, label_slopes
from bayeskernels.samplers.active_sets.links.classes import class_contrasts

RNG = np.random.default_rng(0)
A = RNG.standard_normal((5, 8))
GRAMS = [A @ A.T, np.eye(5)]
GAMMA = np.array([1, 0, 1, 1, 0])
ACTIVE = np.flatnonzero(GAMMA)
SMALL = [gram[np.ix_(ACTIVE, ACTIVE)] for gram in GRAMS]
FAST = {"mode": "FAST_COMPILE"}


def test_density_of_coefficients_is_that_of_independent_contrasts():
    beta = np.zeros((5, 3))
    contrast = RNG.standard_normal((3, 2))
    beta[ACTIVE] = contrast @ class_contrasts(3).T
    dist = GroupedSilvermanG.dist(GAMMA, [1.7], [1], SMALL[:1], n_classes=3)
    law = multivariate_normal(np.zeros(3), np.linalg.inv(1.7 * SMALL[0]))
    expected = law.logpdf(contrast.T).sum()
    assert np.isclose(pm.logp(dist, beta).eval(**FAST), expected, atol=1e-5)
    beta[1, 0] = 0.1  # of a point that is not active
    assert pm.logp(dist, beta).eval(**FAST) == -np.inf
    beta[1, 0] = 0.0
    beta[0, 0] += 0.1  # no longer sums to zero
    assert pm.logp(dist, beta).eval(**FAST) == -np.inf


def test_density_of_coefficients_of_kernels():
    beta = np.zeros((2, 5))
    beta[0, ACTIVE] = RNG.standard_normal(3)
    dist = GroupedSilvermanG.dist(GAMMA, [1.7, 0.5], [1, 0], SMALL, by_kernel=True)
    expected = multivariate_normal(np.zeros(3), np.linalg.inv(1.7 * SMALL[0])).logpdf(
        beta[0, ACTIVE]
    )
    assert np.isclose(pm.logp(dist, beta).eval(**FAST), expected, atol=1e-5)
    beta[1, 0] = 0.1  # of a kernel that is off
    assert pm.logp(dist, beta).eval(**FAST) == -np.inf


def test_draws_have_the_covariance_of_the_prior():
    """1,500 draws: a variance is off by 15 %, four standard errors, once in 16,000."""
    dist = GroupedSilvermanG.dist(GAMMA, [2.0, 0.5], [1, 1], SMALL, n_classes=3, by_kernel=True)
    draws = pm.draw(dist, draws=1500, random_seed=1, mode="FAST_COMPILE")
    assert draws.shape == (1500, 2, 5, 3)
    np.testing.assert_allclose(draws.sum(axis=-1), 0.0, atol=1e-9)
    assert (draws[:, :, GAMMA == 0] == 0).all()
    contrast = draws[:, 0][:, ACTIVE] @ class_contrasts(3)
    whitened = np.linalg.cholesky(2.0 * SMALL[0]).T @ contrast
    assert np.allclose(whitened.var(axis=0), 1.0, atol=0.15)
    with pytest.raises(ValueError, match="by_kernel=True"):
        GroupedSilvermanG.dist(GAMMA, [1.0, 1.0], [1, 1], SMALL)


def test_offsets_are_independent_contrasts():
    u = np.array([0.5, -1.2, 0.7])
    expected = multivariate_normal(np.zeros(2), 4.0 * np.eye(2)).logpdf(class_contrasts(3).T @ u)
    assert np.isclose(pm.logp(ClassOffsets.dist(2.0, shape=3), u).eval(**FAST), expected)


def test_kernels_are_on_with_their_probability():
    terms = pm.logp(KernelOn.dist(0.3, shape=3), np.array([0, 1, 2])).eval(**FAST)
    np.testing.assert_allclose(terms, [np.log(0.7), np.log(0.3), -np.inf])
    assert abs(pm.draw(KernelOn.dist(0.3, shape=4000), random_seed=1).mean() - 0.3) < 0.03


def test_labels_have_density_gradient_and_draws():
    f = 2.0 * RNG.standard_normal((4, 3))
    labels = np.array([0, 1, 2, 2])
    x = pt.matrix("x")
    logp = pm.logp(ProbitClass.dist(x), labels)
    values, gradient = pytensor.function([x], [logp, pt.grad(logp.sum(), x)], **FAST)(f)
    np.testing.assert_allclose(values, label_log_probabilities(f, labels))
    np.testing.assert_allclose(gradient, label_slopes(f, labels))
    assert pm.logp(ProbitClass.dist(f), np.array([0, 1, 2, 3])).eval(**FAST)[3] == -np.inf
    draws = pm.draw(ProbitClass.dist(f), draws=4000, random_seed=1, mode="FAST_COMPILE")
    for label in range(3):
        expected = np.exp(label_log_probabilities(f, np.full(4, label)))
        # Five standard errors at most.
        assert np.abs((draws == label).mean(axis=0) - expected).max() < 0.04
