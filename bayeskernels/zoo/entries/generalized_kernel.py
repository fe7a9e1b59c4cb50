"""The generalized kernel model: entries of the zoo."""

import numpy as np
import pymc as pm
from sklearn.datasets import load_wine

from bayeskernels.distributions import GroupedPrecision
from bayeskernels.models import generalized_kernel_model
from bayeskernels.zoo.entries.bayes_point import overlapping_moons
from bayeskernels.zoo.problem import Problem
from bayeskernels.zoo.registry import register

NOTEBOOK = "03_generalized_kernel_models.ipynb"


def wine():
    """Scikit-learn's wine, standardised."""
    bunch = load_wine()
    order = np.random.default_rng(81).permutation(len(bunch.target))
    train, test = order[:90], order[90:]
    X = (bunch.data - bunch.data[train].mean(axis=0)) / bunch.data[train].std(axis=0)
    names = bunch.target_names[bunch.target]
    return Problem(
        name="wine",
        description="Three cultivars by 13 chemical measurements, from scikit-learn: 90 of the 178 "
        "wines for training, the others are the test set.",
        X=X[train],
        y=names[train],
        X_test=X[test],
        y_test=names[test],
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


@register(
    name="generalized-kernel",
    title="Generalized kernel model, sparse",
    source="GKM",
    steps=["ReversibleJump"],
    load=overlapping_moons,
    notebook=NOTEBOOK,
    draws=1000,
    tune=500,
    sample_options={"reversible_jump": {"sweeps": 4}},
)
def sparse_probit(problem):
    """A probit model whose predictor is a kernel expansion in a few active points.

    Which points are active is part of the posterior: births, deaths and swaps by reversible jumps.
    """
    kernel = pm.gp.cov.ExpQuad(2, ls=0.6)
    return generalized_kernel_model(problem.X, problem.y, kernel=kernel, max_active=50)


@register(
    name="generalized-kernel-classes",
    title="Generalized kernel model, three classes",
    source="GKM",
    steps=["ReversibleJump"],
    load=wine,
    notebook=NOTEBOOK,
    draws=700,
    tune=300,
    sample_options={"reversible_jump": {"sweeps": 4, "windows": 1}},
    evidence=None,  # no method for several classes or kernels
)
def three_classes(problem):
    """A predictor for each class, all with the same active points; the largest one wins.

    Offsets and coefficients sum to zero over the classes.
    """
    return generalized_kernel_model(problem.X, problem.y, max_active=20)


@register(
    name="generalized-kernel-kernels",
    title="Generalized kernel model, two kernels",
    source="GKM",
    steps=["ReversibleJump"],
    load=disc_and_noise,
    notebook=NOTEBOOK,
    draws=500,
    tune=300,
    sample_options={"reversible_jump": {"sweeps": 4}},
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
