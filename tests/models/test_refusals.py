"""Builders refuse options and data that make no sense, before they touch a model."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk

X, LABELS = bk.data.make_two_moons(40, random_seed=1)
TARGETS = 0.5 + X @ [1.0, -2.0]
CLASSIFIERS = ("bayes_point_machine", "bayesian_svm", "generalized_kernel_model", "gp_probit")
CLASSIFIERS += ("label_noise_classifier", "logistic_regression", "sparse_gp_classifier")
REGRESSIONS = ("bayesian_linear_regression", "gp_regression", "rbf_network")
TWO_CLASSES = set(CLASSIFIERS) - {"bayes_point_machine", "generalized_kernel_model"}


def _negative(X, Z):
    return -np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2))


#: From a builder to bad options, the error and its message.
BAD_OPTIONS = {
    "bayes_point_machine": [
        ({"softness": -0.1}, ValueError, "softness must be a number >= 0"),
        ({"softness": np.nan}, ValueError, "softness must be a number >= 0"),
        ({"softness": "soft"}, ValueError, "softness must be a number >= 0"),
        ({"bias": -1.0}, ValueError, "bias must be a number >= 0"),
        ({"rank": 0}, ValueError, "rank must be a whole number"),
        ({"kernel": lambda X, Z: -(X @ Z.T)}, ValueError, "not positive semidefinite"),
        ({"kernel": np.eye(3)}, ValueError, "40 rows"),
    ],
    "bayesian_linear_regression": [
        ({"alpha": -1.0}, ValueError, "alpha must be a positive number"),
        ({"beta": 0}, ValueError, "beta must be a positive number"),
        ({"alpha": "guess"}, ValueError, "'evidence' or a prior"),
        ({"basis": -1}, ValueError, "at least 0"),
        ({"basis": "cubic"}, TypeError, "basis must be"),
        ({"basis": lambda X: X[:3]}, ValueError, "40 rows"),
        ({"basis": lambda X: X / 0.0}, ValueError, "NaN or infinite"),
    ],
    "bayesian_svm": [
        ({"complete": "yes"}, TypeError, "complete must be True or False"),
        ({"g": 0.0}, ValueError, "g must be a positive number"),
        ({"eta": -2.0}, ValueError, "eta must be a positive number"),
        ({"kernel": np.eye(3)}, ValueError, "40 rows"),
        ({"kernel": "rbf"}, TypeError, "kernel must be"),
    ],
    "generalized_kernel_model": [
        ({"max_active": 0}, ValueError, "at least 1"),
        ({"max_active": len(X) + 1}, ValueError, "points to be active"),
        ({"max_active": 2.5}, TypeError, "whole number"),
        ({"g": -1.0}, ValueError, "g must be a positive number"),
        ({"eta": "big"}, ValueError, "eta must be a positive number"),
        ({"kernel": np.eye(3)}, ValueError, "40 rows"),
    ],
    "gp_probit": [
        ({"g": -1.0}, ValueError, "g must be a positive number"),
        ({"eta": "big"}, ValueError, "eta must be a positive number"),
        ({"eta": np.inf}, ValueError, "eta must be a positive number"),
        ({"kernel": np.eye(3)}, ValueError, "40 rows"),
        ({"kernel": _negative}, ValueError, "not positive semidefinite"),
        ({"inducing": 0}, ValueError, "at least 1"),
        ({"inducing": 2.5}, TypeError, "whole number"),
        ({"inducing": 5, "kernel": np.eye(40)}, ValueError, "Gram matrix"),
        ({"bias": -1}, ValueError, "bias"),
    ],
    "logistic_regression": [
        ({"alpha": -1.0}, ValueError, "alpha must be a positive number"),
        ({"basis": "squares"}, TypeError, "basis must be"),
    ],
    "rbf_network": [
        ({"adapt": "some"}, ValueError, "adapt must be one of"),
        ({"alpha": -1.0}, ValueError, "alpha must be a positive"),
        ({"center_sd": 0.0}, ValueError, "center_sd must be a positive"),
        ({"metric_sd": "wide"}, ValueError, "metric_sd must be a positive"),
        ({"centers": 41}, ValueError, "between 1 and"),
        ({"width": 0}, ValueError, "width must be a positive"),
    ],
}

#: From a builder to bad inputs and observations, the error and its message.
BAD_DATA = {
    builder: [
        ((X, np.ones(40)), ValueError, "only one class"),
        ((np.where(X > 0, X, np.nan), LABELS), ValueError, "NaN"),
        ((X, LABELS[:-1]), ValueError, "one label per row"),
        ((X, np.arange(40) % 3), ValueError, "two classes")
        if builder in TWO_CLASSES
        else ((X, X[:, 0]), ValueError, "targets of a regression"),
    ]
    for builder in CLASSIFIERS
} | {
    builder: [
        ((X, TARGETS[:5]), ValueError, "one number per row"),
        ((X, np.where(TARGETS > 1, np.nan, TARGETS)), ValueError, "NaN"),
        ((X, ["a"] * 40), TypeError, "numeric"),
        ((np.where(X > 1, np.inf, X), TARGETS), ValueError, "NaN"),
    ]
    for builder in REGRESSIONS
}


def cases(table):
    return [
        pytest.param(builder, *case, id=f"{builder}-{case[2]}-{k}")
        for builder, rows in table.items()
        for k, case in enumerate(rows)
    ]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(("builder", "options", "error", "message"), cases(BAD_OPTIONS))
def test_bad_options(builder, options, error, message):
    y = LABELS if builder in CLASSIFIERS else TARGETS
    with pm.Model() as model, pytest.raises(error, match=message):
        getattr(bk.models, builder)(X, y, **options)
    assert not model.named_vars


@pytest.mark.parametrize(("builder", "data", "error", "message"), cases(BAD_DATA))
def test_bad_data(builder, data, error, message):
    with pm.Model() as model, pytest.raises(error, match=message):
        getattr(bk.models, builder)(*data)
    assert not model.named_vars
