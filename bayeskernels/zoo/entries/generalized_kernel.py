"""The generalized kernel model: entries of the zoo."""

from functools import partial

import numpy as np
import pymc as pm
from sklearn.datasets import load_wine

from bayeskernels.distributions import GroupedPrecision
from bayeskernels.models import generalized_kernel_model
from bayeskernels.zoo.entries.classification import overlapping_moons, split
from bayeskernels.zoo.problem import Problem
from bayeskernels.zoo.registry import register

_register = partial(
    register,
    source="GKM",
    steps=["ReversibleJump"],
    notebook="03_generalized_kernel_models.ipynb",
    tune=300,
    sample_options={"reversible_jump": {"sweeps": 4}},
)


def wine():
    """Scikit-learn's wine, standardised."""
    bunch = load_wine()
    return split(
        bunch.data,
        bunch.target_names[bunch.target],
        90,
        seed=81,
        standardise=True,
        name="wine",
        description="Three cultivars by 13 chemical measurements, from scikit-learn: 90 of the 178 "
        "wines for training, the others are the test set.",
    )


def disc_and_noise():
    """A disc in two columns, two more columns that mean nothing."""
    rng = np.random.default_rng(82)
    X = rng.uniform(-2.0, 2.0, (1100, 4))
    y = (X[:, :2] ** 2).sum(axis=1) + 0.4 * rng.standard_normal(1100) < 2.0
    return Problem(
        name="disc and noise",
        description="Labels say whether a point lies in a disc of the first two of four columns; "
        "the other two mean nothing. 100 points for training.",
        X=X[:100],
        y=y[:100],
        X_test=X[100:],
        y_test=y[100:],
    )


@_register(
    name="generalized-kernel",
    title="Generalized kernel model, sparse",
    load=overlapping_moons,
    draws=1000,
    tune=500,
)
def sparse_probit(problem):
    """A probit model whose predictor is a kernel expansion in a few active points.

    Which points are active is part of the posterior: births, deaths and swaps by reversible jumps.
    """
    kernel = pm.gp.cov.ExpQuad(2, ls=0.6)
    return generalized_kernel_model(problem.X, problem.y, kernel=kernel, max_active=50)


@_register(
    name="generalized-kernel-classes",
    title="Generalized kernel model, three classes",
    load=wine,
    draws=700,
    sample_options={"reversible_jump": {"sweeps": 4, "windows": 1}},
    evidence=None,  # no method for several classes or kernels
)
def three_classes(problem):
    """A predictor for each class, all with the same active points; the largest one wins.

    Offsets and coefficients sum to zero over the classes.
    """
    return generalized_kernel_model(problem.X, problem.y, max_active=20)


@_register(
    name="generalized-kernel-kernels",
    title="Generalized kernel model, two kernels",
    load=disc_and_noise,
    draws=500,
    evidence=None,  # no method for several classes or kernels
)
def two_kernels(problem):
    """A sum of two kernels, of which each may be off: one sees columns that mean nothing."""
    kernel = {
        "signal": pm.gp.cov.ExpQuad(4, ls=1.0, active_dims=[0, 1]),
        "noise": pm.gp.cov.ExpQuad(4, ls=1.0, active_dims=[2, 3]),
    }
    g = GroupedPrecision.dist(2.0, 2.0, shape=2)
    return generalized_kernel_model(problem.X, problem.y, kernel=kernel, g=g, max_active=20)
