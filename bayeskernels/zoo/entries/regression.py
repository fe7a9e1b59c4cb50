"""What the regressions of the zoo share: noisy curves as problems, the step, and figures."""

import numpy as np

from bayeskernels.plots import regression_band
from bayeskernels.prediction.predict import predict
from bayeskernels.zoo.figures import FigureOf, ranks, traces
from bayeskernels.zoo.problem import Problem
from bayeskernels.zoo.registry import register

__all__ = ["band_axes", "noisy_curve", "register_by_nuts", "regression_figures"]


def register_by_nuts(*, accept=0.8, **details):
    """Decorate a builder of the lecture's models, which NUTS samples; see ``zoo.register``.

    Parameters
    ----------
    accept : float
        Acceptance rate at which to aim.
    **details
        Attributes of the entry.
    """
    return register(
        source="LEC",
        steps=["NUTS"],
        draws=500,
        tune=500,
        sample_options={"nuts_sampler": "pymc", "target_accept": accept},
        **details,
    )


def noisy_curve(curve, *, low, high, noise, seed, gap=None, **texts):
    """A problem of 40 training points of a curve, less those in a gap, and 300 test points.

    Parameters
    ----------
    curve : callable
    low, high : float
        Inputs are uniform between these.
    noise : float
        Standard deviation.
    seed : int
    gap : tuple of float, optional
        Where there are no training points.
    **texts
        Name and description of the problem.
    """
    rng = np.random.default_rng(seed)

    def draw(n):
        x = rng.uniform(low, high, size=n)
        return x[:, None], curve(x) + noise * rng.normal(size=n)

    X, y = draw(40)
    X_test, y_test = draw(300)
    if gap is not None:
        keep = (X[:, 0] < gap[0]) | (X[:, 0] > gap[1])
        X, y = X[keep], y[keep]
    return Problem(X=X, y=y, X_test=X_test, y_test=y_test, **texts)


def band_axes(result, *, beyond, label="mean"):
    """Predictive mean and band of a result, to some distance beyond the data.

    Returns the axes and the inputs at which the prediction was made.
    """
    from matplotlib.figure import Figure

    X = result.problem.X
    x = np.linspace(X.min() - beyond, X.max() + beyond, 200)[:, None]
    prediction = predict(result.model, result.idata, x, progressbar=False)
    ax = Figure(figsize=(10.4, 3.6), layout="constrained").add_subplot()
    return regression_band(prediction, x, data=(X, result.problem.y), label=label, ax=ax), x


def regression_figures(band, caption):
    """Figures of a regression: its band, traces and ranks."""
    return (
        FigureOf(band, "Mean and band", caption, wide=True),
        FigureOf(traces, "Traces", "By chain, thinned for display.", wide=True),
        FigureOf(
            ranks,
            "Ranks",
            "Deviation of the ranks of each chain from uniform: flat where the chains agree.",
            wide=True,
        ),
    )
