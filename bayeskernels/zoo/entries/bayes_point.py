"""The Bayes point machine: entries of the zoo."""

from functools import partial

import numpy as np
import pymc as pm
from sklearn.datasets import load_digits

from bayeskernels.models import bayes_point_machine
from bayeskernels.samplers import Billiard
from bayeskernels.zoo.entries.classification import overlapping_moons, split
from bayeskernels.zoo.entries.label_noise import breast_cancer
from bayeskernels.zoo.registry import register

_register = partial(
    register, source="BPM", notebook="02_bayes_point_machines.ipynb", draws=1000, tune=100
)


def digits():
    """Scikit-learn's digits, 8 x 8 grey values, scaled to unit length."""
    bunch = load_digits()
    return split(
        bunch.data / np.linalg.norm(bunch.data, axis=1, keepdims=True),
        bunch.target,
        300,
        seed=71,
        name="digits",
        description="300 of the 1,797 handwritten digits that scikit-learn contains, 8 x 8 grey "
        "values scaled to unit length; the others are the test set.",
        image_shape=(8, 8),
    )


@_register(
    name="bayes-point-machine",
    title="Bayes point machine",
    steps=["Billiard"],
    load=breast_cancer,
    step=Billiard,
)
def hard_boundary(problem):
    """All classifiers that are right on the training points, by the paper's billiard, mended.

    A ball rolls on great circles and bounces off the walls of version space; its velocity is drawn
    afresh now and then, without which a billiard need not visit every corner.
    """
    return bayes_point_machine(problem.X, problem.y, bias=1.0)


@_register(
    name="bayes-point-machine-soft",
    title="Bayes point machine, soft boundary",
    steps=["RefractiveBilliard"],
    load=overlapping_moons,
)
def soft_boundary(problem):
    """Walls that can be entered.

    With lambda = 1 every training point counts double with itself, which allows training errors.
    """
    return bayes_point_machine(
        problem.X, problem.y, kernel=pm.gp.cov.ExpQuad(2, ls=0.6), softness=1.0
    )


@_register(
    name="bayes-point-machine-digits",
    title="Bayes point machine, ten classes",
    steps=["RefractiveBilliard"],
    load=digits,
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
