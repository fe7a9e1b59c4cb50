"""Every builder against two oracles that share no code with the samplers.

*Calibration*: a model is posed with labels or targets drawn from its own prior; the true values
must then be one more draw of its posterior. *Weighted prior*: posterior means and the evidence of
a few observations are those of prior draws weighted by the likelihood. The false-alarm rate of each
test is 0.001.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.distributions import FlipRate, GroupedPrecision, NoiseScale, Precision
from bayeskernels.testing import check_calibration, check_posterior

X = np.random.default_rng(1).normal(size=(8, 2))
TWO = np.array([0, 1, 0, 0, 1, 1, 0, 1])
THREE = np.array([0, 1, 2, 0, 2, 1, 1, 2])
TARGETS = np.array([0.3, -0.8, 1.1, 0.2, -0.4, 0.9, -1.5, 0.1])
RBF = pm.gp.cov.ExpQuad(2, ls=1.0)
#: Precisions of about one: functions that labels can tell something about.
PRIOR = (2.0, 2.0)


@dataclass(frozen=True)
class Case:
    """A builder with its options, as a function of the observations.

    Attributes
    ----------
    y : array
        Observations; the weighted prior takes the first ``few`` of them, 0 for none.
    has_evidence : bool
        Whether there is a method for the evidence, to be compared with the weighted prior.
    tune, replications : int
        Of the calibration; fewer where every draw takes milliseconds.
    reuse_steps : bool
        False where ``pm.sample`` has to find a start for each set of labels.
    accept : callable, optional
        Which simulated observations the builder can take.
    """

    build: Callable
    y: np.ndarray = field(default_factory=lambda: TWO)
    few: int = 0
    has_evidence: bool = True
    tune: int = 40
    replications: int = 40
    reuse_steps: bool = True
    accept: Callable | None = None


def label_noise(**options):
    return lambda y: bk.models.label_noise_classifier(X[: len(y)], y, kernel=RBF, **options)


def half_known_noise(y):
    return label_noise(noise=(FlipRate.dist(1, 9), 0.2))(y)


def random_width(y):
    with pm.Model():
        kernel = pm.gp.cov.ExpQuad(2, ls=pm.LogNormal("ls", 0.0, 1.0))
        return bk.models.label_noise_classifier(X[: len(y)], y, kernel=kernel, noise=0.1)


def machine(softness=0.0):
    return lambda y: bk.models.bayes_point_machine(X[: len(y)], y, kernel=RBF, softness=softness)


def random_softness(y):
    return machine(pm.HalfNormal.dist(1.0))(y)


def generalized(**options):
    def build(y):
        priors = {"g": Precision.dist(*PRIOR), "eta": Precision.dist(*PRIOR)}
        return bk.models.generalized_kernel_model(X[: len(y)], y, **priors, **options)

    return build


def regression(**options):
    def build(y):
        return generalized(link="identity", noise=NoiseScale.dist(1.0), **options)(y)

    return build


def grouped(n_kernels=None, **options):
    def build(y):
        kernel = RBF if n_kernels is None else [RBF, pm.gp.cov.ExpQuad(2, ls=0.3)]
        shape = {} if n_kernels is None else {"shape": n_kernels}
        g, eta = GroupedPrecision.dist(*PRIOR, **shape), GroupedPrecision.dist(*PRIOR)
        return bk.models.generalized_kernel_model(
            X[: len(y)], y, kernel=kernel, g=g, eta=eta, **options
        )

    return build


def on_inputs(builder, **options):
    """A builder with inputs; options that are functions are called for new priors."""

    def build(y):
        made = {k: v() if isinstance(v, Callable) else v for k, v in options.items()}
        return builder(X[: len(y)], y, **made)

    return build


def gamma():
    return pm.Gamma.dist(*PRIOR)


def half_normal():
    return pm.HalfNormal.dist(1.0)


def is_partition(data):
    """Whether each row belongs to one class only, and each class has a row."""
    return (data["y"].sum(axis=1) == 1).all() and data["y"].any(axis=0).all()


CASES = {
    "label noise, fixed": Case(label_noise(noise=0.1), few=5),
    "label noise, inferred": Case(label_noise(), few=5),
    "label noise by class": Case(label_noise(noise=("infer", "infer")), few=5),
    "label noise, half known": Case(half_known_noise),
    "label noise, random width": Case(random_width, replications=20),
    "version space": Case(machine(), few=4, reuse_steps=False),
    "soft boundaries": Case(machine(0.5), few=4, reuse_steps=False),
    "random softness": Case(random_softness, replications=10, reuse_steps=False),
    "version spaces of three classes": Case(
        machine(), y=THREE[:4], reuse_steps=False, accept=is_partition
    ),
    "probit": Case(generalized(), few=5),
    "probit, few active": Case(generalized(max_active=3, inclusion=(1.0, 4.0))),
    "probit, dense": Case(generalized(sparse=False), few=5),
    "logistic": Case(generalized(link="logistic"), few=5, has_evidence=False),
    "logistic, dense": Case(generalized(link="logistic", sparse=False)),
    "identity": Case(regression(), y=TARGETS, few=3, has_evidence=False),
    "identity, dense": Case(regression(sparse=False), y=TARGETS),
    "probit, learned width": Case(
        generalized(theta_bounds=(0.3, 5.0)), replications=20, few=5, has_evidence=False
    ),
    "probit, learned widths": Case(generalized(theta_bounds=(0.3, 5.0), ard=True), replications=20),
    "logistic, dense, learned width": Case(
        generalized(theta_bounds=(0.3, 5.0), link="logistic", sparse=False),
        replications=20,
    ),
    "identity, learned width": Case(
        regression(theta_bounds=(0.3, 5.0)), y=TARGETS, replications=20
    ),
    "three classes": Case(grouped(), y=THREE, few=5, has_evidence=False),
    "three classes, dense": Case(grouped(sparse=False), y=THREE),
    "two kernels": Case(grouped(n_kernels=2), few=5, has_evidence=False),
    "two kernels of three classes": Case(grouped(n_kernels=2), y=THREE),
    "default precisions": Case(on_inputs(bk.models.generalized_kernel_model)),
    "sparse Gaussian process": Case(
        on_inputs(bk.models.sparse_gp_classifier, g=lambda: Precision.dist(*PRIOR), max_active=4)
    ),
    "support vector machine": Case(
        on_inputs(bk.models.bayesian_svm, complete=True, g=gamma, eta=1.0), tune=300, few=5
    ),
    "full Gaussian process": Case(on_inputs(bk.models.gp_probit, g=gamma, eta=gamma), tune=300),
    "inducing points": Case(
        on_inputs(bk.models.gp_probit, g=gamma, eta=1.0, inducing=3), tune=300, few=5
    ),
    "Gaussian process regression": Case(
        on_inputs(bk.models.gp_regression, noise=half_normal), y=TARGETS, tune=300
    ),
    "RBF network": Case(
        on_inputs(bk.models.rbf_network, centers=X[:3], alpha=gamma, beta=gamma),
        y=TARGETS,
        tune=300,
        few=3,
    ),
    "RBF network that adapts": Case(
        on_inputs(bk.models.rbf_network, centers=X[:2], adapt="all", marginal=True),
        y=TARGETS,
        tune=300,
    ),
    "linear regression": Case(
        on_inputs(bk.models.bayesian_linear_regression, basis=1, alpha=gamma, beta=gamma),
        y=TARGETS,
        tune=300,
    ),
    "marginal linear regression": Case(
        on_inputs(bk.models.bayesian_linear_regression, basis=1, marginal=True),
        y=TARGETS,
        tune=300,
        few=3,
    ),
    "logistic regression": Case(on_inputs(bk.models.logistic_regression, basis=1), tune=300, few=5),
    "mean of a Gaussian": Case(
        lambda y: bk.models.gaussian_mean(y, sd=pm.HalfNormal.dist(1.0)), y=TARGETS, tune=300, few=4
    ),
}


#: Seconds suffice for these.
QUICK = ("label noise, inferred", "version space", "mean of a Gaussian")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_calibration(name):
    case = CASES[name]
    check_calibration(
        case.build(case.y),
        replications=case.replications,
        draws=57,
        tune=case.tune,
        accept=case.accept,
        reuse_steps=case.reuse_steps,
        random_seed=1,
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name, case in CASES.items()
        if case.few
    ],
)
def test_weighted_prior(name):
    case = CASES[name]
    check_posterior(
        case.build(case.y[: case.few]),
        prior_draws=3000,
        draws=500,
        tune=max(case.tune, 200),
        estimate=partial(bk.evidence.estimate, random_seed=1, progressbar=False)
        if case.has_evidence
        else None,
        random_seed=1,
    )
