"""Responses of several classes, drawn row by row."""

import numpy as np
import pytest
from scipy import stats

from bayeskernels.samplers.active_sets.links.classes import (
    class_contrasts,
    draw_row,
    labels_log_probability,
)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_contrasts_are_an_orthonormal_basis(n_classes):
    C = class_contrasts(n_classes)
    np.testing.assert_allclose(C.T @ C, np.eye(n_classes - 1), atol=1e-12)
    np.testing.assert_allclose(C @ C.T, np.eye(n_classes) - 1.0 / n_classes, atol=1e-12)


def drawn(mean, deviation, label, n_draws=4000, seed=1):
    contrasts = class_contrasts(len(mean) + 1)
    rng, rows = np.random.default_rng(seed), np.empty((n_draws, len(mean)))
    for row in rows:
        draw_row(mean, deviation, label, contrasts, row, rng)
    return rows


@pytest.mark.parametrize(("n_classes", "deviation"), [(3, 1.0), (4, 1.7)])
def test_rows_are_normal_numbers_cut_off_by_the_label(n_classes, deviation):
    """Against plain rejection; each comparison fails by chance once in ten thousand runs."""
    contrasts = class_contrasts(n_classes)
    mean = np.random.default_rng(n_classes).standard_normal(n_classes - 1)
    label = int((contrasts @ mean).argmin())  # not the most probable one
    rows = drawn(mean, deviation, label)
    by_class = rows @ contrasts.T
    assert (by_class.argmax(axis=1) == label).all()
    free = mean + deviation * np.random.default_rng(2).standard_normal((200_000, n_classes - 1))
    free = free[(free @ contrasts.T).argmax(axis=1) == label]
    for d in range(n_classes - 1):
        assert stats.ks_2samp(rows[:, d], free[:, d]).pvalue > 1e-4
    spread = rows @ contrasts[label], free @ contrasts[label]
    assert stats.ks_2samp(*spread).pvalue > 1e-4


def test_improbable_labels_have_responses_too():
    """Far out the cone is met near its edge: the winner is ahead by next to nothing."""
    rows = drawn(class_contrasts(3).T @ np.array([0.0, 40.0, 0.0]), 1.0, 0, n_draws=200)
    by_class = np.sort(rows @ class_contrasts(3).T, axis=1)
    assert np.isfinite(by_class).all()
    assert 0 < np.mean(by_class[:, 2] - by_class[:, 1]) < 0.2


def test_log_probability_of_two_classes():
    f, labels = np.array([[0.3], [-2.0]]), np.array([1, 1])
    total = labels_log_probability(f.T, labels, class_contrasts(2))
    assert np.isclose(total, stats.norm.logcdf(f).sum())
    as_classes = f @ class_contrasts(2).T
    expected = stats.norm.logcdf((as_classes[:, 1] - as_classes[:, 0]) / np.sqrt(2)).sum()
    assert np.isclose(total, expected)
