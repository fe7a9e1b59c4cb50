import numpy as np
import pytest

from bayeskernels import data


def test_each_split_is_a_partition():
    splits = data.random_splits(208, 0.6, 20, random_seed=1)
    assert len(splits) == 20
    for train, test in splits:
        assert (len(train), len(test)) == (125, 83)
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(208))
    assert len({tuple(train) for train, _ in splits}) == 20


def test_every_row_is_drawn_equally_often():
    splits = data.random_splits(20, 0.6, 2000, random_seed=1)
    counts = np.bincount(np.concatenate([train for train, _ in splits]), minlength=20)
    # Five standard errors of a binomial share: false alarms below 1.2e-5 for all 20 rows.
    assert np.all(np.abs(counts / 2000 - 0.6) < 5 * np.sqrt(0.24 / 2000))


def test_seeds_both_ways():
    first, again, other = (data.random_splits(30, 0.5, 3, random_seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_stratified_shares():
    y = np.array([1] * 30 + [-1] * 70)
    for train, test in data.random_splits(100, 0.6, 5, random_seed=1, stratify=y):
        assert np.sum(y[train] == 1) == 18
        assert np.sum(y[test] == 1) == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0.5, 1), "n must be at least 2"),
        ((10, 0.0, 1), "strictly between 0 and 1"),
        ((10, 1.0, 1), "strictly between 0 and 1"),
        ((10, np.nan, 1), "strictly between 0 and 1"),
        ((10, 0.5, 0), "n_splits must be at least 1"),
        ((10, 0.01, 1), "one part empty"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        data.random_splits(*arguments, random_seed=1)


def test_stratify_of_another_length():
    with pytest.raises(ValueError, match="stratify must have shape"):
        data.random_splits(10, 0.5, 1, random_seed=1, stratify=[1, -1])
