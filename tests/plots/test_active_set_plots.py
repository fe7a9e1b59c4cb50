"""Plots of active sets."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import bayeskernels as bk
from bayeskernels.plots import active_sets as plots

X, Y = bk.data.make_two_moons(30, random_seed=1)
PROBABILITY = np.linspace(0.0, 0.8, 30)


def make_draws(n_chains=3, name="gamma"):
    gamma = np.random.default_rng(1).binomial(1, PROBABILITY, size=(n_chains, 100, 30))
    posterior = xr.Dataset({name: (("chain", "draw", "obs"), gamma)})
    return xr.DataTree.from_dict({"posterior": posterior})


@pytest.fixture(scope="module")
def model():
    return bk.models.generalized_kernel_model(X, Y)


def all_plots(model):
    idata = make_draws()
    result = bk.active_sets.cusum(bk.active_sets.sizes(idata))
    return {
        "cusum": lambda ax=None: plots.cusum(result, ax=ax),
        "hairiness": lambda ax=None: plots.hairiness(result, ax=ax),
        "inclusion": lambda ax=None: plots.inclusion(idata, ax=ax),
        "inclusion_map": lambda ax=None: plots.inclusion_map(model, idata, ax=ax),
        "trace": lambda ax=None: plots.trace(idata, max_active=28, ax=ax),
        "visits": lambda ax=None: plots.visits(idata, ax=ax),
    }


@pytest.mark.parametrize("name", plots.__all__)
def test_plot(name, model):
    """New axes by default, given ones if given, labelled both times, and no setting changed."""
    plot = all_plots(model)[name]
    before = dict(mpl.rcParams)
    ax = plot()
    assert isinstance(ax, plt.Axes)
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.get_legend() is not None
    ax.figure.canvas.draw()
    _, given = plt.subplots()
    assert plot(ax=given) is given
    assert dict(mpl.rcParams) == before


def test_trace_shows_the_sizes():
    idata = make_draws()
    lines = {line.get_label(): line.get_ydata() for line in plots.trace(idata).lines}
    for k in range(3):
        np.testing.assert_array_equal(lines[f"chain {k}"], bk.active_sets.sizes(idata)[k])


def test_visits_are_shares():
    ax = plots.visits(make_draws())
    stairs = [patch.get_data() for patch in ax.patches]
    assert len(stairs) == 3
    for data in stairs:
        assert np.isclose(data.values.sum(), 1.0)


def test_inclusion_shows_the_most_probable():
    idata = make_draws()
    ax = plots.inclusion(idata, max_points=5)
    heights = [bar.get_height() for bar in ax.patches]
    probability = bk.active_sets.inclusion(idata)["probability"].values
    np.testing.assert_allclose(heights, np.sort(probability)[::-1][:5])
    names = [int(label.get_text()) for label in ax.get_xticklabels()]
    np.testing.assert_allclose(probability[names], heights)
    with pytest.raises(ValueError, match="max_points"):
        plots.inclusion(idata, max_points=0)


def test_burn_in_is_marked_where_there_is_one():
    rng = np.random.default_rng(3)
    x = np.stack([rng.standard_normal(500), rng.standard_normal(500).cumsum()])
    result = bk.active_sets.cusum(x)
    marks = [line for line in plots.hairiness(result).lines if line.get_linestyle() == "--"]
    marks = [line.get_xdata()[0] for line in marks if len(line.get_xdata())]
    assert marks == [float(b) for b in result["burn_in"].values if np.isfinite(b)]
    assert len(marks) == 1


def test_map_of_a_named_model():
    import pymc as pm

    with pm.Model(name="mine") as named:
        bk.models.generalized_kernel_model(X, Y)
    ax = plots.inclusion_map(named, make_draws(name="mine::gamma"), colorbar=False)
    assert len(ax.figure.axes) == 1


def test_map_needs_inputs_of_the_plane(model):
    gram = bk.models.generalized_kernel_model(None, Y, kernel=X @ X.T)
    with pytest.raises(ValueError, match="Gram matrix"):
        plots.inclusion_map(gram, make_draws())
    solid = bk.models.generalized_kernel_model(np.column_stack([X, X[:, 0] ** 2]), Y)
    with pytest.raises(ValueError, match="2 columns, the model has an X with 3"):
        plots.inclusion_map(solid, make_draws())
    few = make_draws()
    few["posterior"] = few["posterior"].to_dataset().isel(obs=slice(10))
    with pytest.raises(ValueError, match="do not belong together"):
        plots.inclusion_map(model, few)
