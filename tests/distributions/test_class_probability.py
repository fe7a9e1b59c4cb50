"""Probabilities of the largest of several normal numbers, against fine sums and differences."""

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp, ndtr
from scipy.stats import norm

from bayeskernels.distributions.class_probability import (
    class_probabilities,
    label_log_probabilities,
    label_slopes,
)


def fine_sum(f, label):
    """The integral by a trapezoidal rule with 40,000 nodes, in logarithms."""
    t = np.linspace(-20.0, 20.0 + np.abs(f).max() * 2, 40_001)
    others = np.delete(f, label)
    terms = norm.logpdf(t) + log_ndtr(t[:, None] + f[label] - others).sum(axis=1)
    return logsumexp(terms) + np.log(t[1] - t[0])


@pytest.mark.parametrize("scale", [0.3, 2.0, 15.0])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_log_probabilities_in_the_middle_and_in_the_tails(n_classes, scale):
    f = scale * np.random.default_rng(n_classes).standard_normal(n_classes)
    for label in (int(f.argmin()), int(f.argmax())):
        [value] = label_log_probabilities(f[None], np.array([label]))
        assert np.isclose(value, fine_sum(f, label), rtol=1e-9, atol=1e-12)


def test_two_classes_are_the_probit_model():
    f = np.array([[0.0, 0.3], [1.0, -4.0], [60.0, -60.0]])
    expected = log_ndtr((f[:, 1] - f[:, 0]) / np.sqrt(2))
    np.testing.assert_allclose(label_log_probabilities(f, np.ones(3, dtype=int)), expected)


def test_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    f, labels = 3.0 * rng.standard_normal((6, 4)), np.array([0, 1, 2, 3, 0, 1])
    slopes = label_slopes(f, labels)
    for step in 1e-5 * np.eye(4):
        change = label_log_probabilities(f + step, labels) - label_log_probabilities(
            f - step, labels
        )
        np.testing.assert_allclose(slopes @ step, change / 2, atol=1e-12)
    np.testing.assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_probabilities_of_all_classes(n_classes):
    f = 2.0 * np.random.default_rng(1).standard_normal((4, 5, n_classes))
    probabilities = class_probabilities(f)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-8)
    for label in range(n_classes):
        labels = np.full(20, label)
        single = np.exp(label_log_probabilities(f.reshape(20, -1), labels)).reshape(4, 5)
        np.testing.assert_allclose(probabilities[:, label], single.mean(axis=1), atol=1e-8)
    if n_classes == 2:
        expected = ndtr((f[..., 1] - f[..., 0]) / np.sqrt(2)).mean(axis=1)
        np.testing.assert_allclose(probabilities[:, 1], expected, atol=1e-8)
