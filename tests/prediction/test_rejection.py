import numpy as np
import pytest
import xarray as xr

import bayeskernels as bk


def make_prediction(positive_votes, names=(-1, 1)):
    votes = np.asarray(positive_votes, dtype=float)
    labels = np.asarray(names)[(votes > 0.5).astype(int)]
    return xr.Dataset(
        {
            "vote": (("obs_new", "class"), np.stack([1 - votes, votes], axis=1)),
            "label": ("obs_new", labels),
        }
    )


def test_by_hand():
    prediction = make_prediction([0.9, 0.55, 0.2, 0.3])
    curve = bk.rejection_curve(prediction, [1, -1, -1, 1])
    # In the order 0.55 (wrong), 0.3 (wrong), 0.2, 0.9.
    assert curve["rejected"].tolist() == [0.0, 0.25, 0.5, 0.75]
    np.testing.assert_allclose(curve["error"], [2 / 4, 1 / 3, 0.0, 0.0])
    np.testing.assert_allclose(curve["threshold"], [0.55, 0.7, 0.8, 0.9])


def test_first_row_is_the_plain_error():
    rng = np.random.default_rng(1)
    prediction = make_prediction(rng.random(200))
    y = rng.choice([-1, 1], 200)
    curve = bk.rejection_curve(prediction, y)
    assert curve["error"][0] == pytest.approx(np.mean(prediction["label"].values != y))


def test_order_of_the_data_makes_no_difference():
    """Many draws agree on many points: ties are the rule."""
    rng = np.random.default_rng(2)
    votes = rng.choice([0.0, 0.3, 0.7, 0.9, 1.0], 100)
    y = rng.choice([-1, 1], 100)
    curve = bk.rejection_curve(make_prediction(votes), y)
    order = rng.permutation(100)
    other = bk.rejection_curve(make_prediction(votes[order]), y[order])
    np.testing.assert_allclose(curve, other)


def test_ties_have_the_expected_error():
    """All votes equal: rejecting at random leaves the error as it is."""
    curve = bk.rejection_curve(make_prediction([1.0] * 8), [1, 1, 1, 1, -1, 1, 1, -1])
    np.testing.assert_allclose(curve["error"], 0.25)


def test_labels_of_another_type():
    prediction = make_prediction([0.9, 0.1], names=("ham", "spam"))
    assert bk.rejection_curve(prediction, ["spam", "spam"])["error"][0] == 0.5


def test_wrong_number_of_labels():
    with pytest.raises(ValueError, match=r"expected the shape \(2,\), got \(3,\)"):
        bk.rejection_curve(make_prediction([0.9, 0.1]), [1, 1, 1])


def test_of_a_real_prediction_falls():
    X, y = bk.data.make_two_moons(80, scatter=0.3, random_seed=1)
    X_test, y_test = bk.data.make_two_moons(1000, scatter=0.3, random_seed=2)
    model = bk.models.label_noise_classifier(X, y, noise=0.1)
    idata = bk.samplers.sample_directions(model, draws=500, chains=1, random_seed=1)
    curve = bk.rejection_curve(bk.predict(model, idata, X_test), y_test)
    assert curve["error"][300] < 0.6 * curve["error"][0]


def test_by_winning_output():
    """Of three classes the point with the smallest margin goes first, whatever its votes."""
    prediction = xr.Dataset(
        {
            "vote": (("obs_new", "class"), np.eye(3)),
            "label": ("obs_new", ["a", "b", "c"]),
            "margin": ("obs_new", [0.3, 0.1, 0.2]),
        }
    )
    curve = bk.rejection_curve(prediction, ["a", "a", "c"])
    np.testing.assert_allclose(curve.error, [1 / 3, 0, 0])
    np.testing.assert_allclose(curve.threshold, [0.1, 0.2, 0.3])
    by_vote = bk.rejection_curve(prediction, ["a", "a", "c"], by="vote")
    np.testing.assert_allclose(by_vote.error, 1 / 3)
    prediction["probability"] = prediction["vote"] * [0.9, 0.7, 0.8]
    by_probability = bk.rejection_curve(prediction, ["a", "a", "c"], by="probability")
    np.testing.assert_allclose(by_probability.error, [1 / 3, 0, 0])
    np.testing.assert_allclose(by_probability.threshold, [0.7, 0.8, 0.9])
    with pytest.raises(ValueError, match='"vote", "margin" or "probability"'):
        bk.rejection_curve(prediction, ["a", "a", "c"], by="entropy")


@pytest.mark.parametrize(
    ("y_true", "message"),
    [
        ([0, 1], "y_true has the label 0 at position 0, the classes of the model are -1, 1"),
        (["-1", "1"], "y_true has the label '-1'"),
        ([1, np.nan], "y_true has NaN: no label at position 1"),
        ([1, None], "y_true has None: no label at position 1"),
        (np.ma.array([1, -1], mask=[0, 1]), "y_true is a masked array"),
        (None, "y_true is needed"),
    ],
)
def test_labels_that_are_not_the_models(y_true, message):
    prediction = make_prediction([0.9, 0.1]).assign_coords({"class": [-1, 1]})
    with pytest.raises(ValueError, match=message):
        bk.rejection_curve(prediction, y_true)


def test_predictions_that_cannot_be_ranked():
    with pytest.raises(TypeError, match="that of a regression"):
        bk.rejection_curve(xr.Dataset({"mean": ("obs_new", [0.0])}), [1])
    with pytest.raises(ValueError, match="NaN as the vote of point 1"):
        bk.rejection_curve(make_prediction([0.9, np.nan]), [1, -1])
