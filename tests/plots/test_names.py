"""Names that come from the data, and models that are not what a plot is for."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayeskernels as bk
from bayeskernels.plots.style import as_text

#: A formula that is none, one dollar, a column of a data base, a formula that is one.
NAMES = ["$a_b^$ \\frac$", "price in $", "_id", r"x_1^2 {", "$x$", "a\\$b", "100 % & more #"]


def draw(ax):
    """Render: only then matplotlib looks for formulas. Returns the texts without escapes."""
    ax.figure.canvas.draw()
    labels = ax.get_legend_handles_labels()[1]
    return [label.replace(r"$\_$", "_").replace(r"\$", "$") for label in labels]


@pytest.mark.parametrize("name", NAMES)
def test_text_is_shown_letter_by_letter(name):
    ax = plt.figure().add_subplot()
    ax.plot([0, 1], label=as_text(name))
    ax.set(xlabel=as_text(name), title=as_text(name))
    ax.legend()
    assert draw(ax) == [name]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [as_text(name)]


@pytest.fixture(scope="module")
def moons():
    X, y = bk.data.make_two_moons(30, random_seed=1)
    X = pd.DataFrame(X, columns=["$a_b^$ \\frac$", "price in $"])
    model = bk.models.label_noise_classifier(X, np.where(y > 0, *NAMES[:2]), noise=0.1)
    return model, bk.samplers.sample_directions(model, draws=30, chains=1, random_seed=1)


def test_class_names_in_maps(moons):
    model, idata = moons
    for plot in (bk.plots.vote_map, bk.plots.class_map):
        assert f"class {NAMES[0]}" in draw(plot(model, idata, resolution=10))
    assert f"class {NAMES[0]}" in draw(
        bk.plots.decision_boundaries(model, idata, n_boundaries=3, resolution=10)
    )


def test_names_of_curves():
    curve = pd.DataFrame({"rejected": [0, 0.5], "error": [0.2, 0.1], "threshold": 0.5})
    assert draw(bk.plots.rejection(dict.fromkeys(NAMES, curve))) == NAMES
    queries = pd.DataFrame({"n_labels": [4, 5], "query": -1, "error": [0.2, 0.1]})
    assert draw(bk.plots.active_learning(dict.fromkeys(NAMES, queries))) == NAMES
    results = pd.DataFrame({"method": NAMES, NAMES[0]: 0.1, "error": 0.1})
    assert draw(bk.plots.generalisation(results, x=NAMES[0])) == NAMES
    draw(bk.plots.quantiles([1.0, 2.0], [1.0, 3.0], names=NAMES[:2]))
    draw(bk.plots.image_grid(np.zeros((2, 3, 3)), NAMES[:2]))


def test_names_of_evidence():
    table = pd.DataFrame(
        {"log_evidence": 0.0, "mcse": 0.1, "delta": 0.0, "probability": 0.2}, index=NAMES
    )
    draw(bk.plots.evidence(table))
    scan = bk.evidence.scan(
        lambda **given: bk.models.gaussian_mean([1.0], sd=given[NAMES[0]]),
        {NAMES[0]: [1.0], NAMES[1]: ["$", "$$"]},
        progressbar=False,
    )
    draw(bk.plots.evidence(scan))
    draw(bk.plots.evidence(scan, along=[NAMES[1]]))


def regressions():
    X = np.random.default_rng(0).standard_normal((12, 2))
    t = X[:, 0]
    yield bk.models.gp_regression(X, t, kernel=pm.gp.cov.ExpQuad(2, ls=1.0), noise=0.1)
    yield bk.models.generalized_kernel_model(X, t, link="identity")
    yield bk.models.bayesian_linear_regression(X, t)
    yield bk.models.rbf_network(X, t, centers=2)
    yield bk.models.gaussian_mean(t)


CLASSIFIER_PLOTS = {
    "vote_map": bk.plots.vote_map,
    "class_map": bk.plots.class_map,
    "decision_boundaries": bk.plots.decision_boundaries,
    "decision_function": bk.plots.decision_function,
    "version_space": lambda model, idata: bk.plots.version_space(model),
    "log_posterior_sphere": lambda model, idata: bk.plots.log_posterior_sphere(model),
}


def test_plots_of_classifiers_refuse_regressions():
    for model in regressions():
        for name, plot in CLASSIFIER_PLOTS.items():
            with pytest.raises(TypeError, match=f"{name} is for classifiers; this .* is a regress"):
                plot(model, None)


def test_plots_of_other_models_refuse_what_is_not_theirs(moons):
    model, idata = moons
    with pytest.raises(TypeError, match="inclusion_map is for generalized kernel models"):
        bk.plots.active_sets.inclusion_map(model, idata)
    with pytest.raises(TypeError, match="this one has label"):
        bk.plots.regression_band(xr.Dataset({"label": ("obs_new", [1])}), [0.0])
