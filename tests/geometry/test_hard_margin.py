"""The hard-margin SVM against independent solvers."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from bayeskernels.data import make_two_moons
from bayeskernels.geometry.hard_margin import FREE_OFFSET, hard_margin, hull_weights
from bayeskernels.kernels.gram import factor_gram


def kernel_features(n=30, width=0.5, seed=2):
    X, y = make_two_moons(n, scatter=0.3, random_seed=seed)
    gram = np.exp(-cdist(X, X, "sqeuclidean") / (2 * width**2))
    return gram, factor_gram(gram).features, y


def test_svm_without_bias_solves_the_quadratic_program():
    """The dual by another method: minimise 1/2 a'Qa - sum(a) over a >= 0, Q = yy'K."""
    gram, features, y = kernel_features()
    w, offset = hard_margin(features, y)
    Q = gram * np.outer(y, y)
    dual = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(len(y)),
        jac=lambda a: Q @ a - 1.0,
        bounds=[(0, None)] * len(y),
        method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    outputs = gram @ (dual.x * y)
    assert offset == 0.0
    np.testing.assert_allclose(features @ w, outputs, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(0.5 * w @ w, -dual.fun, rtol=1e-4)


def test_svm_with_bias_is_that_of_libsvm():
    gram, features, y = kernel_features(n=40)
    w, offset = hard_margin(features, y, constant=FREE_OFFSET)
    svc = SVC(kernel="precomputed", C=1e10, tol=1e-6).fit(gram, y)
    np.testing.assert_allclose(
        features @ w + offset, svc.decision_function(gram), rtol=1e-3, atol=1e-3
    )
    assert abs(offset) > 0.01, "this example has no bias"


def test_thin_margins_are_found():
    """Two points at an angle of 1e-5 with different labels."""
    features = np.array([[1.0, 1e-5], [1.0, -1e-5], [1.0, 0.3]])
    y = np.array([1, -1, 1])
    w, _ = hard_margin(features, y)
    np.testing.assert_allclose(w, [0.0, 1e5], atol=1e-2)


def test_no_hard_margin_where_classes_overlap():
    with pytest.raises(ValueError, match="No hyperplane separates the classes"):
        hard_margin(np.array([[1.0], [2.0]]), np.array([1, -1]))


@pytest.mark.parametrize("spread", [2, 8])
def test_points_of_very_different_length(spread):
    """The constraints y <w, a> >= 1 of long points are only signs: the short ones hold w."""
    rng = np.random.default_rng(1)
    units = rng.standard_normal((12, 3))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    y = np.where(units @ [1.0, 2.0, -1.0] > 0, 1, -1)
    lengths = np.logspace(-spread, spread, 12)
    w, _ = hard_margin(units * lengths[:, None], y)
    assert (y * (units * lengths[:, None] @ w) > 1 - 1e-6).all()
    found = minimize(
        lambda v: 0.5 * v @ v,
        [1.0, 2.0, -1.0],
        jac=lambda v: v,
        constraints={
            "type": "ineq",
            "fun": lambda v: y * (units @ v) - lengths[0] / lengths,
            "jac": lambda v: y[:, None] * units,
        },
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(w * lengths[0], found.x, rtol=1e-5)
    np.testing.assert_allclose(hull_weights(1e-9 * np.eye(2)), [0.5, 0.5])
    np.testing.assert_allclose(hull_weights(np.array([[1.0], [0.0]])), [0.0, 1.0], atol=1e-12)
