import numpy as np
import pytest
import xarray as xr

import bayeskernels as bk
from bayeskernels.prediction.active_learning import learn_actively, next_query


def make_entropy(values):
    return xr.Dataset({"entropy": ("obs_new", np.asarray(values, dtype=float))})


def test_next_query_has_the_largest_entropy():
    prediction = make_entropy([0.2, 0.9, 1.0, 0.5])
    assert next_query(prediction) == 2
    assert next_query(prediction, asked=[2]) == 1
    assert next_query(prediction, asked=[2, 1]) == 3
    assert prediction["entropy"].values.tolist() == [0.2, 0.9, 1.0, 0.5]


def test_ties_are_broken_at_random():
    prediction = make_entropy([1.0, 0.0, 1.0])
    assert next_query(prediction) == 0
    rng = np.random.default_rng(1)
    assert {next_query(prediction, rng=rng) for _ in range(30)} == {0, 2}


def test_points_without_entropy_come_last_but_come():
    assert next_query(make_entropy([0.0, 0.0]), asked=[0]) == 1


def test_nothing_left_to_ask():
    with pytest.raises(ValueError, match="All 2 points were asked for"):
        next_query(make_entropy([0.1, 0.2]), asked=[0, 1])


def gaussian(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / 0.5)


def run(seen=None, **changes):
    X, y = bk.data.make_two_moons(40, random_seed=1)
    X_test, y_test = bk.data.make_two_moons(100, random_seed=2)

    def build(X, y):
        if seen is not None:
            seen.append((X, y))
        return bk.models.label_noise_classifier(X, y, kernel=gaussian, noise=0.05)

    options = {
        "build": build,
        "X_test": X_test,
        "y_test": y_test,
        "n_queries": 6,
        "draws": 30,
        "random_seed": 1,
        "progressbar": False,
    }
    return learn_actively(X, y, **{**options, **changes})


@pytest.mark.parametrize("strategy", ["entropy", "random"])
def test_curve(strategy):
    seen = []
    curve = run(seen, strategy=strategy)
    assert curve.columns.tolist() == ["n_labels", "query", "error"]
    assert curve["n_labels"].tolist() == list(range(4, 11))
    assert curve["query"].iloc[0] == -1
    assert curve["error"].between(0, 1).all()
    X, y = bk.data.make_two_moons(40, random_seed=1)
    # The learner sees the labels it has asked for, in the order in which it asked.
    for (X_seen, y_seen), query in zip(seen[1:], curve["query"][1:], strict=True):
        np.testing.assert_array_equal(X_seen[-1], X[query])
        assert y_seen[-1] == y[query]
    assert len(np.unique(seen[-1][0], axis=0)) == 10
    assert set(seen[0][1].tolist()) == {-1, 1}


def test_seed():
    first, again, other = run(), run(), run(random_seed=2)
    assert first.equals(again)
    assert not first.equals(other)


def test_strategies_start_from_the_same_labels():
    by_entropy, at_random = [], []
    run(by_entropy, n_queries=0)
    run(at_random, n_queries=0, strategy="random")
    np.testing.assert_array_equal(by_entropy[0][0], at_random[0][0])


def test_entropy_beats_random_queries():
    """Mean error over six repetitions, on a problem with a large easy part; fixed seeds."""
    errors = {"entropy": [], "random": []}
    for strategy, values in errors.items():
        for seed in range(6):
            curve = run(strategy=strategy, n_queries=14, draws=60, random_seed=seed)
            values.append(curve["error"].iloc[7:].mean())
    assert np.mean(errors["entropy"]) < np.mean(errors["random"])


def test_whole_pool():
    assert run(n_start=36, n_queries=4)["n_labels"].iloc[-1] == 40


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategy": "margin"}, '"entropy" or "random"'),
        ({"n_start": 1}, "n_start must be at least 2"),
        ({"n_start": 35}, "leave n_queries = 6 of 40 points"),
        ({"n_queries": -1}, "n_queries must not be negative"),
        ({"n_queries": 1.5}, "n_queries must not be negative, and whole"),
        ({"draws": 0}, "draws must be"),
        ({"y_test": [1, -1]}, "one label per row of X_test"),
        ({"y_test": [0, 1] * 50}, "y_test has the label 0 at position 0, the classes .* are -1, 1"),
        ({"y_test": ["a", "b"] * 50}, "y_test has the label 'a'"),
        ({"y_test": [1, np.nan] * 50}, "y_test has NaN: no label at position 1"),
        ({"X_test": np.full((100, 2), np.nan)}, "X_test has NaN"),
        ({"X_test": np.ones((100, 3))}, "X_test has 3 columns"),
    ],
)
def test_bad_arguments(changes, message):
    with pytest.raises(ValueError, match=message):
        run(**changes)


def test_queries_of_what_cannot_be_ranked():
    with pytest.raises(ValueError, match="NaN as the entropy of point 1"):
        next_query(make_entropy([0.1, np.nan]))
    for asked in ([2], [-1], [0.5]):
        with pytest.raises(ValueError, match="asked must be numbers of points from 0 to 1"):
            next_query(make_entropy([0.1, 0.2]), asked=asked)
    with pytest.raises(TypeError, match="classifier"):
        next_query(xr.Dataset({"mean": ("obs_new", [0.0])}))
