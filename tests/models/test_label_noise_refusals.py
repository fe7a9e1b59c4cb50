"""Bad input gets a clear error before any sampling."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.models import label_noise_classifier

X, Y = bk.data.make_two_moons(20, random_seed=1)


def linear(A, B):
    return A @ B.T


def small_problem(m=20):
    X, y = bk.data.make_two_moons(m, random_seed=1)
    return X, y, pm.gp.cov.ExpQuad(2, ls=0.5)


def with_bad_value(value):
    bad = X.copy()
    bad[3, 1] = value
    return bad


BAD_INPUT = {
    "NaN": ((with_bad_value(np.nan), Y), {}, ValueError, "row 3"),
    "infinite": ((with_bad_value(np.inf), Y), {}, ValueError, "NaN or infinite"),
    "one dimension": ((X[:, 0], Y), {}, ValueError, "two dimensions"),
    "three dimensions": ((X[:, :, None], Y), {}, ValueError, "two dimensions"),
    "text": ((np.full((20, 2), "a"), Y), {}, TypeError, "numeric"),
    "empty": ((np.empty((0, 2)), []), {}, ValueError, "empty"),
    "no columns": ((np.empty((20, 0)), Y), {}, ValueError, "empty"),
    "too few labels": ((X, Y[:-1]), {}, ValueError, "one label per row"),
    "matrix of labels": ((X, np.stack([Y, Y], axis=1)), {}, ValueError, "one label per row"),
    "one class": ((X, np.ones(20)), {}, ValueError, "only one class"),
    "three classes": ((X, np.arange(20) % 3), {}, ValueError, "two classes apart"),
    "NaN label": ((X, np.where(Y == 1, np.nan, 0.0)), {}, ValueError, "y has NaN"),
    "missing label": ((X, [None, *Y[1:]]), {}, ValueError, "no label at position 0"),
    "negative noise": ((X, Y), {"noise": -0.1}, ValueError, r"\[0, 1/2\)"),
    "noise of one half": ((X, Y), {"noise": 0.5}, ValueError, r"\[0, 1/2\)"),
    "NaN noise": ((X, Y), {"noise": np.nan}, ValueError, r"\[0, 1/2\)"),
    "unknown noise": ((X, Y), {"noise": "guess"}, ValueError, "infer"),
    "noise of another type": ((X, Y), {"noise": object()}, TypeError, "noise must be"),
    "three rates": ((X, Y), {"noise": (0.1, 0.1, 0.1)}, ValueError, "two classes"),
    "bad rate in a pair": ((X, Y), {"noise": (0.1, 0.6)}, ValueError, r"\[0, 1/2\)"),
    "vector prior": ((X, Y), {"noise": pm.Beta.dist(1, 9, shape=2)}, ValueError, "scalar"),
    "kernel for three columns": (
        (X, Y),
        {"kernel": pm.gp.cov.ExpQuad(3, ls=1.0)},
        ValueError,
        "3 input columns",
    ),
    "kernel of another type": ((X, Y), {"kernel": "rbf"}, TypeError, "kernel must be"),
    "kernel of wrong shape": ((X, Y), {"kernel": lambda A, B: A}, ValueError, "shape"),
    "NaN kernel": ((X, Y), {"kernel": lambda A, B: A @ B.T * np.nan}, ValueError, "not finite"),
    "zero kernel": ((X, Y), {"kernel": lambda A, B: 0 * A @ B.T}, ValueError, "zero at every"),
    "asymmetric kernel": (
        (X, Y),
        {"kernel": lambda A, B: A @ B.T + A[:, :1]},
        ValueError,
        "not symmetric",
    ),
    "indefinite kernel": (
        (X, Y),
        {"kernel": lambda A, B: np.tanh(A @ B.T - 1)},
        ValueError,
        "not positive semidefinite",
    ),
    "negative kernel": ((X, Y), {"kernel": lambda A, B: -A @ B.T}, ValueError, "semidefinite"),
    "NaN kernel of low rank": (
        (X, Y),
        {"kernel": lambda A, B: A @ B.T * np.nan, "rank": 2},
        ValueError,
        "not finite",
    ),
    "zero kernel of low rank": (
        (X, Y),
        {"kernel": lambda A, B: 0 * A @ B.T, "rank": 2},
        ValueError,
        "zero at every",
    ),
    "Gram matrix not square": ((None, Y), {"kernel": np.ones((20, 19))}, ValueError, "square"),
    "Gram matrix with NaN": (
        (None, Y),
        {"kernel": np.full((20, 20), np.nan)},
        ValueError,
        "NaN",
    ),
    "Gram matrix of other points": ((None, Y), {"kernel": np.eye(19)}, ValueError, "per row"),
    "indefinite Gram matrix": (
        (None, [0, 1]),
        {"kernel": np.array([[1.0, 2.0], [2.0, 1.0]])},
        ValueError,
        "semidefinite",
    ),
    "no inputs": ((None, Y), {}, (TypeError, ValueError), "X"),
    "negative bias": ((X, Y), {"bias": -1.0}, ValueError, "bias"),
    "bias as text": ((X, Y), {"bias": "large"}, (TypeError, ValueError), "bias"),
    "rank zero": ((X, Y), {"rank": 0}, ValueError, "rank"),
    "unknown factorization": ((X, Y), {"factorization": "qr"}, ValueError, "'cholesky' or 'eigen'"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input(name):
    arguments, options, error, message = BAD_INPUT[name]
    with pytest.raises(error, match=message):
        label_noise_classifier(*arguments, **{"noise": 0.1, **options})


CONFLICTS = {
    "equal points": np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]),
    "equal up to scale": np.array([[1.0, 2.0], [3.0, 6.0], [0.0, 1.0]]),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_conflicting_points_without_noise(name):
    with pytest.raises(ValueError, match="Points 0 and 1"):
        label_noise_classifier(CONFLICTS[name], [0, 1, 1], kernel=linear, noise=0.0)
    label_noise_classifier(CONFLICTS[name], [0, 1, 1], kernel=linear, noise=0.01)


def test_opposite_points_with_equal_labels_without_noise():
    with pytest.raises(ValueError, match="Points 0 and 2"):
        label_noise_classifier(
            np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, -2.0]]), [1, 0, 1], kernel=linear, noise=0.0
        )


def test_inseparable_points_without_noise():
    corners = np.array([[1.0, 1.0], [-1.0, -1.1], [1.0, -1.2], [-1.0, 1.3]])
    with pytest.raises(ValueError, match="contradict each other"):
        label_noise_classifier(corners, [1, 1, 0, 0], kernel=linear, noise=0.0)


def test_zero_point_without_noise():
    with pytest.raises(ValueError, match="zero feature vector"):
        label_noise_classifier(
            np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), [1, 0, 0], kernel=linear, noise=0.0
        )


def test_rank_with_a_random_kernel():
    with pm.Model():
        kernel = pm.gp.cov.ExpQuad(2, ls=pm.LogNormal("ls"))
        with pytest.raises(ValueError, match="fixed hyperparameters"):
            label_noise_classifier(X, Y, kernel=kernel, noise=0.1, rank=3)


def test_prior_of_another_model():
    with pm.Model():
        q = pm.Uniform("q", 0, 0.5)
    with pytest.raises(ValueError, match="another model"):
        label_noise_classifier(X, Y, noise=q)


def test_new_data_with_other_columns():
    model = label_noise_classifier(X, Y, noise=0.1)
    with model, pytest.raises((TypeError, ValueError)):
        pm.set_data({"X": np.ones((3, 5))})


def test_models_of_others_have_no_specification():
    with pytest.raises(TypeError, match=r"bayeskernels\.models"):
        bk.specification_of(pm.Model())


def test_gram_matrix_and_inputs_must_fit():
    X, y, kernel = small_problem()
    with pytest.raises(ValueError, match="X has 7 rows"):
        bk.models.label_noise_classifier(X[:7], y, kernel=kernel(X).eval(), noise=0.1)


@pytest.mark.parametrize("low", [-0.1, -1e-3])
def test_prior_of_the_noise_below_zero_is_refused(low):
    X, y, kernel = small_problem()
    with pytest.raises(ValueError, match="within"):
        bk.models.label_noise_classifier(X, y, kernel=kernel, noise=pm.Uniform.dist(low, 0.4))


def test_nothing_is_left_behind_in_an_open_model():
    X, y, kernel = small_problem()
    with pm.Model() as model:
        with pytest.raises(ValueError, match="rank"):
            bk.models.label_noise_classifier(X, y, kernel=kernel, rank=0)
        assert not model.named_vars
        bk.models.label_noise_classifier(X, y, kernel=kernel)
        with pytest.raises(ValueError, match="already holds a model"):
            bk.models.label_noise_classifier(X, y, kernel=kernel)
    assert list(model.coords["class"]) == [-1, 1]


def test_messages_name_what_was_wrong():
    X, y, kernel = small_problem()
    with pytest.raises(ValueError, match="factorization must be"):
        bk.models.label_noise_classifier(X, y, kernel=kernel, factorization="lu")
    with pytest.raises(TypeError, match="rank must be a whole number"):
        bk.models.label_noise_classifier(X, y, kernel=kernel, rank="a")
    mixed = np.array([1, "a"] * 10, dtype=object)
    with pytest.raises(TypeError, match="of one type"):
        bk.models.label_noise_classifier(X, mixed, kernel=kernel)


def test_prior_in_the_model_is_checked_too():
    with pm.Model():
        q = pm.Uniform("q", 0, 0.6)
        with pytest.raises(ValueError, match="within"):
            label_noise_classifier(X, Y, noise=q)
