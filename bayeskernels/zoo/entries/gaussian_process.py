"""Gaussian-process regression: an entry of the zoo."""

import numpy as np

from bayeskernels.gp import maximise_evidence
from bayeskernels.models import gp_regression
from bayeskernels.prediction.predict import predict
from bayeskernels.zoo.entries.regression import (
    band_axes,
    noisy_curve,
    register_by_nuts,
    regression_figures,
)


def sinusoid():
    """The sinusoid of the lecture, with a gap."""
    return noisy_curve(
        lambda x: np.sin(2 * np.pi * x),
        low=0.0,
        high=1.0,
        noise=0.2,
        seed=81,
        gap=(0.55, 0.75),
        name="sinusoid",
        description="37 points of one period of a sine with noise of standard deviation 0.2 and "
        "none between 0.55 and 0.75.",
    )


def band_of_bayes(result):
    """Mean and band, averaged over the draws, beside those of the maximal evidence."""
    ax, x = band_axes(result, beyond=0.2, label="full Bayes")
    best = maximise_evidence(result.model, random_seed=1, progressbar=False)
    point = predict(result.model, best, x)
    ax.plot(x[:, 0], point["mean"], linestyle=":", label="maximal evidence")
    ax.legend(frameon=False, fontsize="small")
    return ax.figure


FIGURES = regression_figures(
    band_of_bayes, "Two standard deviations of the function (dark) and of new targets (light)."
)


@register_by_nuts(
    name="gp-regression",
    title="Gaussian-process regression",
    load=sinusoid,
    notebook="04_kernel_regression_and_gaussian_processes.ipynb",
    accept=0.9,
    figures=FIGURES,
)
def full_bayes(problem):
    """A Gaussian process under noise, integrated out; amplitude, length scale and noise by NUTS.

    Its test error is the share of the variance of the test targets that it leaves unexplained.
    """
    return gp_regression(problem.X, problem.y)
