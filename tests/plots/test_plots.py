import functools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayeskernels as bk
from bayeskernels.plots.classifiers.sphere import in_input_space
from bayeskernels.plots.plane import thin


@pytest.fixture(scope="module")
def moons():
    X, y = bk.data.make_two_moons(40, random_seed=1)
    y, flipped = bk.data.flip_labels(y, 0.1, random_seed=2)
    model = bk.models.label_noise_classifier(X, np.where(y > 0, "b", "a"), noise=0.1)
    idata = bk.samplers.sample_directions(model, draws=60, chains=2, random_seed=1)
    return model, idata, flipped


@pytest.fixture(scope="module")
def sphere():
    X, y = bk.data.make_kgs_sphere(12, noise=0.2, random_seed=3)
    kernel = pm.gp.cov.Linear(3, c=0)
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.2)
    return model, bk.samplers.sample_directions(model, draws=50, chains=1, random_seed=1)


@pytest.fixture(scope="module")
def polygon():
    X, y = bk.data.make_linear_rule(10, random_seed=26)
    model = bk.models.bayes_point_machine(X, y, kernel=pm.gp.cov.Linear(3, c=0))
    return model, bk.samplers.sample_directions(model, draws=50, chains=1, random_seed=1)


def make_curve():
    rejected = np.linspace(0, 0.95, 20)
    return pd.DataFrame({"rejected": rejected, "error": 0.1 * (1 - rejected), "threshold": 0.5})


def make_regression():
    return xr.Dataset({name: ("obs_new", np.full(5, 0.5)) for name in ("mean", "sd")})


@functools.cache
def make_evidence():
    X, y = bk.data.make_two_moons(20, random_seed=1)
    model = bk.models.label_noise_classifier(X, y)
    return bk.evidence.estimate(model, draws=100, random_seed=1, progressbar=False)


def make_queries(seed):
    error = np.random.default_rng(seed).random(5)
    return pd.DataFrame({"n_labels": range(4, 9), "query": -1, "error": error})


def make_results():
    return pd.DataFrame(
        [
            (method, noise, repetition, 0.06 + 0.001 * repetition)
            for method in ("BPM", "SVM")
            for noise in (0.02, 0.04)
            for repetition in range(3)
        ],
        columns=["method", "noise", "repetition", "error"],
    )


def all_plots(moons, sphere, polygon):
    model, idata, flipped = moons
    rng = np.random.default_rng(1)
    return {
        "vote_map": lambda ax=None: bk.plots.vote_map(
            model, idata, planted=flipped, resolution=20, ax=ax
        ),
        "class_map": lambda ax=None: bk.plots.class_map(model, idata, resolution=20, ax=ax),
        "decision_boundaries": lambda ax=None: bk.plots.decision_boundaries(
            model, idata, n_boundaries=5, resolution=20, ax=ax
        ),
        "log_posterior_sphere": lambda ax=None: bk.plots.log_posterior_sphere(
            sphere[0], idata=sphere[1], truth=(-1, 0, 0), resolution=20, ax=ax
        ),
        "rejection": lambda ax=None: bk.plots.rejection(
            {"a": make_curve(), "b": make_curve()}, ax=ax
        ),
        "flip_ranking": lambda ax=None: bk.plots.flip_ranking(
            bk.flip_probability(model, idata), planted=flipped, ax=ax
        ),
        "active_learning": lambda ax=None: bk.plots.active_learning(
            {"entropy": [make_queries(1), make_queries(2)], "random": make_queries(3)}, ax=ax
        ),
        "generalisation": lambda ax=None: bk.plots.generalisation(
            make_results(), reference=0.05, reference_label="noise", ax=ax
        ),
        "decision_function": lambda ax=None: bk.plots.decision_function(
            model, bk.bayes_point(model, idata).decision_function, resolution=20, ax=ax
        ),
        "quantiles": lambda ax=None: bk.plots.quantiles(rng.random(30), rng.random(20), ax=ax),
        "version_space": lambda ax=None: bk.plots.version_space(
            polygon[0],
            idata=polygon[1],
            classifiers={"Bayes point": bk.bayes_point(*polygon).decision_function},
            inscribed="Bayes point",
            ax=ax,
        ),
        "regression_band": lambda ax=None: bk.plots.regression_band(
            make_regression(), np.arange(5.0), data=([1.0], [0.5]), ax=ax
        ),
        "evidence": lambda ax=None: bk.plots.evidence(make_evidence(), planted=0.1, ax=ax),
        "noise_posterior": lambda ax=None: bk.plots.noise_posterior(make_evidence(), ax=ax),
        "image_grid": lambda ax=None: bk.plots.image_grid(rng.random((7, 4, 3)), range(7), ax=ax),
    }


#: Pictures without axes to be labelled.
PICTURES = ("image_grid", "version_space")


@pytest.mark.parametrize("name", bk.plots.__all__)
def test_plot(name, moons, sphere, polygon):
    """New axes by default, given ones if given, labelled both times, and no setting changed."""
    plot = all_plots(moons, sphere, polygon)[name]
    before = dict(mpl.rcParams)
    ax = plot()
    assert isinstance(ax, plt.Axes)
    assert ax.axison == (name not in PICTURES)
    if ax.axison:
        assert ax.get_xlabel()
        assert ax.get_ylabel()
    assert (ax.get_legend() is None) == (name == "image_grid")
    ax.figure.canvas.draw()
    _, given = plt.subplots()
    assert plot(ax=given) is given
    assert dict(mpl.rcParams) == before


def test_every_plot_is_tested(moons, sphere, polygon):
    assert sorted(all_plots(moons, sphere, polygon)) == sorted(bk.plots.__all__)


def test_in_arviz_style(moons):
    with plt.style.context("arviz-variat"):
        ax = bk.plots.vote_map(*moons[:2], resolution=10)
        ax.figure.canvas.draw()


def test_doubted_points_are_ringed(moons):
    model, idata, flipped = moons
    doubt = bk.flip_probability(model, idata).values
    ax = bk.plots.vote_map(model, idata, planted=flipped, resolution=10)
    drawn = {c.get_label(): len(c.get_offsets()) for c in ax.collections if c.get_label()}
    assert drawn["doubted (P(flipped) > 0.5)"] == (doubt > 0.5).sum()
    assert drawn["flipped"] == flipped.sum()
    assert drawn["class a"] + drawn["class b"] == 40


def test_vote_map_without_extras(moons):
    ax = bk.plots.vote_map(*moons[:2], suspicious=None, colorbar=False, legend=False, resolution=10)
    assert ax.get_legend() is None
    assert len(ax.figure.axes) == 1


def test_number_of_boundaries(moons):
    model, idata, _ = moons
    ax = bk.plots.decision_boundaries(model, idata, n_boundaries=7, resolution=30)
    assert "7 boundaries" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("plot", [bk.plots.vote_map, bk.plots.decision_boundaries])
def test_plane_needs_two_columns(plot, sphere):
    with pytest.raises(ValueError, match="2 columns, the model's X has 3"):
        plot(*sphere)


def test_plane_needs_inputs():
    gram = np.eye(4)
    model = bk.models.label_noise_classifier(None, [1, 1, -1, -1], kernel=gram, noise=0.1)
    idata = bk.samplers.sample_directions(model, draws=5, chains=1, random_seed=1)
    with pytest.raises(ValueError, match="precomputed Gram matrix"):
        bk.plots.vote_map(model, idata)


def test_random_kernel():
    X, y = bk.data.make_two_moons(15, random_seed=1)
    with pm.Model() as model:
        kernel = pm.gp.cov.ExpQuad(2, ls=pm.LogNormal("width"))
        bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.1)
    rng = np.random.default_rng(1)
    w = rng.standard_normal((1, 8, 15))
    posterior = xr.Dataset(
        {
            "w": (("chain", "draw", "basis"), w),
            "width": (("chain", "draw"), rng.uniform(0.3, 1, (1, 8))),
        }
    )
    idata = xr.DataTree.from_dict({"posterior": posterior})
    assert bk.plots.vote_map(model, idata, max_draws=4, resolution=8).get_xlabel()
    assert bk.plots.decision_boundaries(model, idata, n_boundaries=4, resolution=8).get_xlabel()


def test_thin_takes_draws_of_all_chains(moons):
    model, idata = moons[:2]
    few = thin(model, idata, 6)["posterior"]["w"]
    assert few.dims == ("chain", "draw", "basis")
    every = idata["posterior"]["w"].values.reshape(120, -1)
    np.testing.assert_array_equal(few.values[0], every[[0, 24, 48, 71, 95, 119]])
    assert thin(model, idata, 500) is idata
    with pytest.raises(ValueError, match="At least one draw"):
        thin(model, idata, 0)


@pytest.mark.parametrize("plot", ["vote_map", "flip_ranking"])
def test_planted_is_a_mask(plot, moons):
    model, idata, flipped = moons
    first = (model, idata) if plot == "vote_map" else (bk.flip_probability(model, idata),)
    for wrong in (flipped[:-1], np.flatnonzero(flipped)):
        with pytest.raises(ValueError, match="planted must be an array of 40 booleans"):
            getattr(bk.plots, plot)(*first, planted=wrong)


def test_ranking_reports_the_area_under_the_curve():
    values = xr.DataArray([0.9, 0.1, 0.5, 0.2], dims="obs")
    ax = bk.plots.flip_ranking(values, planted=np.array([True, False, False, True]))
    assert ax.get_title() == "ROC AUC 0.750"
    assert bk.plots.flip_ranking(values, max_points=2).get_title() == ""


def test_log_posterior_counts_errors(sphere):
    """The colours are the log-likelihood per point of the classifiers on the grid."""
    model, _ = sphere
    specification = bk.specification_of(model)
    ax = bk.plots.log_posterior_sphere(model, resolution=7)
    [field] = [c for c in ax.collections if c.get_array() is not None]
    values = np.asarray(field.get_array()).reshape(7, 14)
    w = bk.data.sphere_point(np.linspace(0, np.pi, 7)[2], np.linspace(0, 2 * np.pi, 14)[5])
    errors = np.sum((specification.X @ w > 0) != (specification.codes == 1))
    assert values[2, 5] == pytest.approx((errors * np.log(0.2) + (12 - errors) * np.log(0.8)) / 12)


def test_draws_lie_where_the_posterior_is_high(sphere):
    """Coordinates of the model are turned into vectors of the input space: errors stay the same."""
    model, idata = sphere
    specification = bk.specification_of(model)
    w = in_input_space(specification, specification.directions(idata))
    np.testing.assert_allclose(np.linalg.norm(w, axis=1), 1.0)
    errors = ((specification.X @ w.T > 0) != (specification.codes == 1)[:, None]).sum(axis=0)
    np.testing.assert_array_equal(errors, idata["sample_stats"]["refractive_errors"].values[0])


def test_surface(sphere):
    ax = bk.plots.log_posterior_sphere(sphere[0], kind="surface", resolution=12)
    assert ax.name == "3d"
    assert ax.get_zlabel()
    _, flat = plt.subplots()
    with pytest.raises(ValueError, match='projection "3d"'):
        bk.plots.log_posterior_sphere(sphere[0], kind="surface", resolution=12, ax=flat)


@pytest.mark.parametrize(
    ("n_columns", "kernel", "noise", "message"),
    [
        (3, pm.gp.cov.ExpQuad(3, ls=1.0), 0.1, "kernel must be <x, x'>"),
        (3, pm.gp.cov.Linear(3, c=0), "infer", "fixed noise > 0"),
        (2, pm.gp.cov.Linear(2, c=0), 0.1, "3 columns only"),
    ],
)
def test_sphere_refuses(n_columns, kernel, noise, message):
    X = np.random.default_rng(1).standard_normal((6, n_columns))
    y = np.where(X[:, 0] > 0, 1, -1)
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=noise)
    with pytest.raises(ValueError, match=message):
        bk.plots.log_posterior_sphere(model)
    with pytest.raises(ValueError, match='"map" or "surface"'):
        bk.plots.log_posterior_sphere(model, kind="globe")


def test_single_curves_need_no_legend():
    assert bk.plots.rejection(make_curve()).get_legend() is None


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no curve"):
        bk.plots.rejection({})
    with pytest.raises(ValueError, match="no curve"):
        bk.plots.active_learning({})
    with pytest.raises(ValueError, match=r"lacks the columns \['method', 'noise'\]"):
        bk.plots.generalisation(pd.DataFrame({"error": [0.1]}))
