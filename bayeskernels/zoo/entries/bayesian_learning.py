"""Linear and logistic regression and RBF networks of the lecture: entries of the zoo."""

import numpy as np

from bayeskernels.models import bayesian_linear_regression, logistic_regression, rbf_network
from bayeskernels.specification.base import specification_of
from bayeskernels.zoo.entries.classification import overlapping_moons
from bayeskernels.zoo.entries.regression import (
    band_axes,
    noisy_curve,
    register_by_nuts,
    regression_figures,
)
from bayeskernels.zoo.evidence import estimate_evidence

NOTEBOOK = "05_bayesian_learning.ipynb"

DEGREE = 5


def noisy_wave():
    """A wave on a slope, with noise."""
    return noisy_curve(
        lambda x: np.sin(3 * x) * np.exp(-0.3 * x**2) + 0.5 * x,
        low=-2.0,
        high=2.0,
        noise=0.15,
        seed=91,
        name="wave",
        description="40 points of a damped wave on a slope, with noise of standard deviation 0.15.",
    )


def mean_and_band(result):
    """Predictive mean with two standard deviations."""
    return band_axes(result, beyond=0.3)[0].figure


REGRESSION_FIGURES = regression_figures(
    mean_and_band, "Predictive mean with two standard deviations of new targets."
)


def evidence_of_polynomial(model, idata, random_seed):
    """Without the weights there are two unknowns, and a grid gives the evidence to many digits."""
    specification = specification_of(model)
    marginal = bayesian_linear_regression(
        specification.X, specification.y, basis=DEGREE, marginal=True
    )
    return estimate_evidence(marginal, None, random_seed, method="quadrature")


@register_by_nuts(
    name="bayesian-linear-regression",
    title="Bayesian linear regression",
    load=noisy_wave,
    notebook=NOTEBOOK,
    evidence=evidence_of_polynomial,
    figures=REGRESSION_FIGURES,
)
def polynomial(problem):
    """A polynomial of degree five with Gaussian weights; precisions of weights and noise by NUTS.

    Its test error is the share of the variance of the test targets that it leaves unexplained.
    """
    return bayesian_linear_regression(problem.X, problem.y, basis=DEGREE)


@register_by_nuts(
    name="logistic-regression",
    title="Logistic regression, cubic",
    load=overlapping_moons,
    notebook=NOTEBOOK,
)
def cubic_logit(problem):
    """Log odds that are a cubic polynomial of each input; Gaussian weights of precision 0.1."""
    return logistic_regression(problem.X, problem.y, alpha=0.1, basis=3)


@register_by_nuts(
    name="rbf-network",
    title="RBF network, all adapted",
    load=noisy_wave,
    notebook="04_kernel_regression_and_gaussian_processes.ipynb",
    accept=0.9,
    figures=REGRESSION_FIGURES,
)
def adapted_network(problem):
    """Six Gaussian units whose centres and widths are unknown, with a Bayesian output layer.

    Its test error is the share of the variance of the test targets that it leaves unexplained.
    """
    return rbf_network(problem.X, problem.y, centers=6, adapt="all", center_sd=0.2, alpha=0.5)
