"""The label-noise classifier of the Kernel Gibbs Sampler paper: six entries of the zoo."""

from functools import partial

import numpy as np
import pymc as pm
from sklearn.datasets import load_breast_cancer

from bayeskernels.data import make_kgs_surrogate
from bayeskernels.models import label_noise_classifier
from bayeskernels.samplers import KernelGibbs
from bayeskernels.zoo.entries.classification import split, two_moons
from bayeskernels.zoo.problem import Problem
from bayeskernels.zoo.registry import register

#: What most of these entries share.
_register = partial(
    register,
    source="KGS",
    steps=["RefractiveBilliard"],
    notebook="01_kernel_gibbs_sampler.ipynb",
    draws=1000,
    tune=100,
)


def noisy_moons():
    """Two moons, one label in ten flipped."""
    return two_moons(
        100,
        scatter=0.18,
        seeds=(11, 13, 12),
        flip_rate=0.1,
        name="two moons, 10% flipped",
        description="100 points of two interleaved half circles; {flips} labels were turned over "
        "on purpose. Test labels are clean.",
    )


def unevenly_noisy_moons():
    """Two moons, flips mostly in one class."""
    return two_moons(
        140,
        scatter=0.18,
        seeds=(21, 23, 22),
        flip_rate=(0.02, 0.25),
        name="two moons, 2% / 25% flipped",
        description="140 points of two interleaved half circles. One label in four of the lower "
        "moon was turned over and one in fifty of the upper moon, as far as chance had it: "
        "{flips} in all. Test labels are clean.",
    )


def clean_moons():
    """Two moons that a smooth curve separates."""
    return two_moons(
        60,
        scatter=0.16,
        seeds=(31, 32),
        name="two moons, separable",
        description="60 points of two half circles that a smooth curve separates; no flips.",
    )


def breast_cancer():
    """Scikit-learn's breast cancer data, standardised."""
    bunch = load_breast_cancer()
    return split(
        bunch.data,
        np.asarray(bunch.target_names)[bunch.target],
        150,
        seed=41,
        standardise=True,
        name="breast cancer",
        description="150 of the 569 biopsies that scikit-learn contains, 30 measurements of cell "
        "nuclei each, standardised; the other 419 are the test set.",
    )


def overlapping_arches():
    """The stand-in for the data of KGS Figure 3, small."""
    X, y = make_kgs_surrogate(40, random_seed=51)
    X_test, y_test = make_kgs_surrogate(1000, random_seed=52)
    return Problem(
        name="overlapping arches",
        description="40 points of two overlapping arches, a stand-in for the unpublished data of "
        "the paper's Figure 3.",
        X=X,
        y=y,
        X_test=X_test,
        y_test=y_test,
    )


@_register(name="label-noise", title="Label-noise classifier", load=noisy_moons)
def label_noise(problem):
    """A direction in feature space, uniform on the sphere; every label is flipped with q = 0.1.

    Sampled by the refractive billiard, the default step: a ball that pays with speed for each
    training error.
    """
    return label_noise_classifier(
        problem.X, problem.y, kernel=pm.gp.cov.ExpQuad(2, ls=0.6), noise=0.1
    )


@_register(
    name="label-noise-kernel-gibbs",
    title="Label-noise classifier, as in the paper",
    steps=["KernelGibbs"],
    load=noisy_moons,
    tune=250,
    step=lambda: KernelGibbs(sweeps=40),
)
def label_noise_by_kernel_gibbs(problem):
    """The same posterior, sampled as the paper does it: exact draws on random great circles.

    One recorded draw is 40 great circles. The answers agree with the billiard's; the effective
    sample size per second shows what the new step gains.
    """
    return label_noise(problem)


@_register(
    name="label-noise-inferred",
    title="Label-noise classifier, noise inferred",
    steps=["RefractiveBilliard", "FlipRateGibbs"],
    load=breast_cancer,
    draws=500,
)
def label_noise_inferred(problem):
    """The flip rate has a uniform prior on (0, 1/2) and is learned together with the classifier.

    A constant in the kernel (bias = 1) lets the boundary leave the origin.
    """
    return label_noise_classifier(problem.X, problem.y, noise="infer", bias=1.0)


@_register(name="version-space", title="Version space (no label noise)", load=clean_moons)
def version_space(problem):
    """Noise zero: all classifiers that make no training error, equally likely.

    The billiard's walls are then perfectly reflecting.
    """
    return label_noise_classifier(
        problem.X, problem.y, kernel=pm.gp.cov.ExpQuad(2, ls=0.6), noise=0.0
    )


@_register(
    name="label-noise-by-class",
    title="Class-dependent label noise",
    steps=["RefractiveBilliard", "FlipRateGibbs"],
    load=unevenly_noisy_moons,
    draws=750,
)
def label_noise_by_class(problem):
    """Each class has a flip rate of its own, and both are inferred.

    Where one class is mislabelled far more often than the other, a single rate would blame both.
    """
    return label_noise_classifier(
        problem.X, problem.y, kernel=pm.gp.cov.ExpQuad(2, ls=0.6), noise=("infer", "infer")
    )


@_register(
    name="label-noise-kernel-width",
    title="Label-noise classifier, kernel width random",
    steps=["RefractiveBilliard", "Slice"],
    load=overlapping_arches,
    tune=300,
)
def label_noise_with_random_kernel(problem):
    """The width of the Gaussian kernel has a log-normal prior and is sampled along.

    The direction is moved by the billiard, the width by a step of PyMC's own; every draw predicts
    with its own kernel.
    """
    with pm.Model() as model:
        width = pm.LogNormal("width", mu=0.0, sigma=0.5)
        label_noise_classifier(
            problem.X, problem.y, kernel=pm.gp.cov.ExpQuad(2, ls=width), noise=0.1
        )
    return model
