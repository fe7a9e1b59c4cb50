"""Gaussian-process regression: an entry of the zoo."""

import numpy as np

from bayeskernels.gp import maximise_evidence
from bayeskernels.models import gp_regression
from bayeskernels.plots import regression_band
from bayeskernels.prediction import predict
from bayeskernels.zoo.figures import FigureOf, ranks, traces
from bayeskernels.zoo.problem import Problem, unexplained_variance
from bayeskernels.zoo.registry import register


def sinusoid():
    """The sinusoid of the lecture, with a gap."""
    rng = np.random.default_rng(81)

    def draw(n):
        x = rng.uniform(0.0, 1.0, size=n)
        return x[:, None], np.sin(2 * np.pi * x) + 0.2 * rng.normal(size=n)

    X, y = draw(40)
    keep = (X[:, 0] < 0.55) | (X[:, 0] > 0.75)
    X_test, y_test = draw(300)
    return Problem(
        name="sinusoid",
        description=f"{keep.sum()} points of one period of a sine with noise of standard deviation "
        "0.2 and none between 0.55 and 0.75.",
        X=X[keep],
        y=y[keep],
        X_test=X_test,
        y_test=y_test,
    )


def monitor_hyperparameters(model, idata, problem):
    """All hyperparameters are watched."""
    return idata["posterior"].to_dataset()


def band_of_bayes(result):
    """Mean and band, averaged over the draws, beside those of the maximal evidence."""
    from matplotlib.figure import Figure

    X = result.problem.X
    x = np.linspace(X.min() - 0.2, X.max() + 0.2, 150)[:, None]
    best = maximise_evidence(result.model, random_seed=1, progressbar=False)
    ax = Figure(figsize=(10.4, 3.6), layout="constrained").add_subplot()
    data = (X, result.problem.y)
    full = predict(result.model, result.idata, x, progressbar=False)
    regression_band(full, x, data=data, label="full Bayes", ax=ax)
    point = predict(result.model, best, x)
    ax.plot(x[:, 0], point["mean"], linestyle=":", label="maximal evidence")
    ax.legend(frameon=False, fontsize="small")
    return ax.figure


FIGURES = (
    FigureOf(
        band_of_bayes,
        "Mean and band",
        "Two standard deviations of the function (dark) and of new targets (light).",
        wide=True,
    ),
    FigureOf(traces, "Traces", "By chain, thinned for display.", wide=True),
    FigureOf(
        ranks,
        "Ranks",
        "Deviation of the ranks of each chain from uniform: flat where the chains agree.",
        wide=True,
    ),
)


@register(
    name="gp-regression",
    title="Gaussian-process regression",
    source="LEC",
    steps=["NUTS"],
    load=sinusoid,
    notebook="04_kernel_regression_and_gaussian_processes.ipynb",
    draws=500,
    tune=500,
    sample_options={"nuts_sampler": "pymc", "target_accept": 0.9},
    monitor=monitor_hyperparameters,
    test_error=unexplained_variance,
    figures=FIGURES,
)
def full_bayes(problem):
    """A Gaussian process under noise, integrated out; amplitude, length scale and noise by NUTS.

    Its test error is the share of the variance of the test targets that it leaves unexplained.
    """
    return gp_regression(problem.X, problem.y)
