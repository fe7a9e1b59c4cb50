"""Maps of several classes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import bayeskernels as bk

X = np.random.default_rng(1).standard_normal((40, 2))
LABELS = np.digitize(X[:, 0], [-0.5, 0.5])


@pytest.fixture(scope="module")
def machine():
    model = bk.models.bayes_point_machine(X, LABELS)
    return model, bk.samplers.sample_directions(model, draws=60, chains=1, random_seed=1)


def test_regions_have_the_colours_of_their_classes(machine):
    ax = bk.plots.class_map(*machine, resolution=40)
    [image] = ax.get_images()
    ground = image.get_array()
    left, right = (ground[:, k].mean(axis=0) for k in (2, -3))
    assert left[2] > left[0]  # the first class is blue
    assert np.linalg.norm(left - right) > 0.08
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["class 0", "class 1", "class 2"]
    plt.close(ax.figure)


def test_votes_are_for_two_classes(machine):
    with pytest.raises(TypeError, match=r"of two classes; this is a .* of 3 classes.*class_map"):
        bk.plots.vote_map(*machine)


def test_inclusion_of_several_classes():
    model = bk.models.generalized_kernel_model(X, LABELS, max_active=10)
    gamma = np.random.default_rng(1).binomial(1, 0.2, size=(2, 20, 40))
    posterior = xr.Dataset({"gamma": (("chain", "draw", "obs"), gamma)})
    idata = xr.DataTree.from_dict({"posterior": posterior})
    ax = bk.plots.active_sets.inclusion_map(model, idata)
    assert len(ax.collections) == 4
    plt.close(ax.figure)
