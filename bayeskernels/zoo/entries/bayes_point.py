"""The Bayes point machine: entries of the zoo."""

import numpy as np
import pymc as pm
from sklearn.datasets import load_digits

from bayeskernels.data import make_two_moons
from bayeskernels.models import bayes_point_machine
from bayeskernels.samplers import Billiard
from bayeskernels.zoo.entries.label_noise import breast_cancer
from bayeskernels.zoo.problem import Problem
from bayeskernels.zoo.registry import register

NOTEBOOK = "02_bayes_point_machines.ipynb"


def overlapping_moons():
    """Two moons that overlap."""
    X, y = make_two_moons(100, scatter=0.3, random_seed=61)
    X_test, y_test = make_two_moons(1000, scatter=0.3, random_seed=62)
    return Problem(
        name="two moons, overlapping",
        description="100 points of two half circles that overlap; no label was flipped.",
        X=X,
        y=y,
        X_test=X_test,
        y_test=y_test,
    )


def digits():
    """Scikit-learn's digits, 8 x 8 grey values, scaled to unit length."""
    bunch = load_digits()
    X = bunch.data / np.linalg.norm(bunch.data, axis=1, keepdims=True)
    order = np.random.default_rng(71).permutation(len(X))
    train, test = order[:300], order[300:]
    return Problem(
        name="digits",
        description="300 of the 1,797 handwritten digits that scikit-learn contains, 8 x 8 grey "
        "values scaled to unit length; the others are the test set.",
        X=X[train],
        y=bunch.target[train],
        X_test=X[test],
        y_test=bunch.target[test],
        image_shape=(8, 8),
    )


@register(
    name="bayes-point-machine",
    title="Bayes point machine",
    source="BPM",
    steps=["Billiard"],
    load=breast_cancer,
    notebook=NOTEBOOK,
    draws=1000,
    tune=100,
    step=Billiard,
)
def hard_boundary(problem):
    """All classifiers that are right on the training points, by the paper's billiard, mended.

    A ball rolls on great circles and bounces off the walls of version space; its velocity is drawn
    afresh now and then, without which a billiard need not visit every corner.
    """
    return bayes_point_machine(problem.X, problem.y, bias=1.0)


@register(
    name="bayes-point-machine-soft",
    title="Bayes point machine, soft boundary",
    source="BPM",
    steps=["RefractiveBilliard"],
    load=overlapping_moons,
    notebook=NOTEBOOK,
    draws=1000,
    tune=100,
)
def soft_boundary(problem):
    """Walls that can be entered.

    With lambda = 1 every training point counts double with itself, which allows training errors.
    """
    return bayes_point_machine(
        problem.X, problem.y, kernel=pm.gp.cov.ExpQuad(2, ls=0.6), softness=1.0
    )


@register(
    name="bayes-point-machine-digits",
    title="Bayes point machine, ten classes",
    source="BPM",
    steps=["RefractiveBilliard"],
    load=digits,
    notebook=NOTEBOOK,
    draws=150,
    tune=20,
    sample_options={"refractive_billiard": {"sweeps": 1}},
)
def one_against_the_rest(problem):
    """One direction for each digit, which tells it from the other nine; the largest output wins.

    The kernel is the paper's polynomial of degree five.
    """
    kernel = pm.gp.cov.Polynomial(problem.n_features, c=0, d=5, offset=1)
    return bayes_point_machine(problem.X, problem.y, kernel=kernel)
