import numpy as np
import pytest

from bayeskernels import data


def test_share_of_flips_and_mask():
    y = np.where(np.arange(20_000) % 4 == 0, 1, -1)
    y_noisy, flipped = data.flip_labels(y, 0.2, random_seed=1)
    np.testing.assert_array_equal(y_noisy, np.where(flipped, -y, y))
    # Five standard errors of a binomial share: false alarm 6e-7.
    assert abs(flipped.mean() - 0.2) < 5 * np.sqrt(0.16 / 20_000)
    assert y_noisy.dtype == y.dtype


def test_class_dependent_rates():
    y = np.where(np.arange(20_000) % 2 == 0, 1, -1)
    _, flipped = data.flip_labels(y, (0.1, 0.3), random_seed=1)
    assert abs(flipped[y == -1].mean() - 0.1) < 5 * np.sqrt(0.09 / 10_000)
    assert abs(flipped[y == 1].mean() - 0.3) < 5 * np.sqrt(0.21 / 10_000)


def test_seeds_both_ways():
    y = np.ones(200, dtype=int)
    first, again, other = (data.flip_labels(y, 0.3, seed)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (0, 1), (2.0, 5.0), (-1, 1)])
def test_any_two_labels(labels):
    y = np.array([labels[0], labels[1], labels[1]])
    before = y.copy()
    y_noisy, flipped = data.flip_labels(y, 1.0, random_seed=1)
    assert flipped.all()
    assert y_noisy.tolist() == [labels[1], labels[0], labels[0]]
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize(
    ("y", "rate", "message"),
    [
        ([1, -1], -0.1, r"\[0, 1\]"),
        ([1, -1], 1.1, r"\[0, 1\]"),
        ([1, -1], np.nan, r"\[0, 1\]"),
        ([1, -1], (0.1, 0.2, 0.3), "pair"),
        ([[1, -1]], 0.1, "one-dimensional"),
        ([0, 1, 2], 0.1, "two different labels, got 3"),
        (["a", "a"], 0.1, "two different labels, got 1"),
    ],
)
def test_bad_arguments(y, rate, message):
    with pytest.raises(ValueError, match=message):
        data.flip_labels(y, rate, random_seed=1)


def test_missing_labels_are_no_class():
    with pytest.raises(ValueError, match="y has NaN: no label at position 1"):
        data.flip_labels([1.0, np.nan, 1.0], 0.1)
