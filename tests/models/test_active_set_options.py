"""Options of generalized kernel models that make no sense are refused, whatever the classes."""

import numpy as np
import pytest

import bayeskernels as bk
from bayeskernels.distributions import ActiveSet

rng = np.random.default_rng(1)
X = rng.standard_normal((30, 2))
NO_KERNEL = r"positive semidefinite|symmetric"
LABELS = {"two": X[:, 0] > 0, "three": np.digitize(X[:, 0], [-0.4, 0.4])}


def _not_positive(a, b):
    return np.tanh(5 * a @ b.T - 1)


def _negative(a, b):
    return -np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2))


def _not_symmetric(a, b):
    return np.exp(-((a[:, None] - 2 * b[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("classes", ["two", "three"])
@pytest.mark.parametrize("kernel", [_not_positive, _negative, _not_symmetric])
def test_kernels_that_are_none(classes, kernel):
    y = LABELS[classes]
    with pytest.raises(ValueError, match=NO_KERNEL):
        bk.models.generalized_kernel_model(X, y, kernel=kernel)
    with pytest.raises(ValueError, match=NO_KERNEL):
        bk.models.generalized_kernel_model(None, y, kernel=kernel(X, X))
    with pytest.raises(ValueError, match=NO_KERNEL):
        bk.models.generalized_kernel_model(X, y, kernel=[lambda a, b: a @ b.T, kernel])


@pytest.mark.parametrize("classes", ["two", "three"])
@pytest.mark.parametrize("inclusion", [(-1, 1), (0, 1), (np.nan, 1), (1, np.inf)])
def test_inclusion_is_two_positive_numbers(classes, inclusion):
    with pytest.raises(ValueError, match="inclusion must be two positive numbers"):
        bk.models.generalized_kernel_model(X, LABELS[classes], inclusion=inclusion)


@pytest.mark.parametrize("inclusion", [3, (1, 2, 3), "ab"])
def test_inclusion_is_a_pair(inclusion):
    with pytest.raises(TypeError, match="two parameters"):
        bk.models.generalized_kernel_model(X, LABELS["two"], inclusion=inclusion)


@pytest.mark.parametrize("classes", ["two", "three"])
def test_a_limit_in_a_dense_model(classes):
    """It says nothing there, but nonsense is refused all the same."""
    with pytest.raises(ValueError, match="at least 1"):
        bk.models.generalized_kernel_model(X, LABELS[classes], sparse=False, max_active=-5)


@pytest.mark.parametrize("max_active", [0, 6, -1])
def test_limits_of_the_distribution(max_active):
    with pytest.raises(ValueError, match="max_active must be at least 1"):
        ActiveSet.dist(max_active, n=5)
    with pytest.raises(ValueError, match="max_active must be at least 1"):
        ActiveSet.dist(max_active, shape=(5,))


def test_parameters_of_the_distribution():
    with pytest.raises(ValueError, match="alpha must be a positive number"):
        ActiveSet.dist(3, 0.0, n=5)
    with pytest.raises(ValueError, match="beta must be a positive number"):
        ActiveSet.dist(3, 1.0, np.nan, n=5)
