"""Lengths in feature space are none of a classifier's business: only directions count."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.samplers.directions.label_noise_target import LabelNoiseTarget
from bayeskernels.testing import label_noise_cells


@pytest.fixture(scope="module")
def points():
    """Directions in three dimensions, lengths from 1e-8 to 1e8; the longest lie in a plane."""
    rng = np.random.default_rng(5)
    U = rng.standard_normal((12, 3))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    U[:4, 2] = 0.0
    lengths = np.logspace(8, -8, 12)
    order = rng.permutation(12)
    return U[order], lengths[order]


def geometry_of(model):
    target = LabelNoiseTarget(model.rvs_to_values[model["w"]], model)
    return target.geometries(model.initial_point())[0]


@pytest.mark.parametrize("random_scale", [False, True])
def test_walls_of_a_model(points, random_scale):
    U, lengths = points
    y = U @ [1.0, -1.0, 0.5] > 0
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", initval=1.0) if random_scale else 1.0
        kernel = scale * pm.gp.cov.Linear(3, c=0.0)
        bk.models.label_noise_classifier(U * lengths[:, None], y, kernel=kernel, noise=0.1)
    geometry = geometry_of(model)
    np.testing.assert_array_equal(np.sort(geometry.wall_of_point), np.arange(12))
    normals = geometry.normals[geometry.wall_of_point]
    unit = U / np.linalg.norm(U, axis=1, keepdims=True)
    # Random hyperparameters have a jitter of 1e-8 in the matrix, up to its root in a direction.
    np.testing.assert_allclose(normals @ normals.T, unit @ unit.T, atol=1e-6)


def test_version_space_of_rows_of_very_different_length(points):
    """Draws fall into the cells of the unit rows as they should, 5 standard errors at most."""
    U, lengths = points
    y = U @ [1.0, -1.0, 0.5] > 0
    probe = np.array([[1.0, 1.0, 0.0], [0.0, 0.5, 1.0], [1.0, -0.9, -3.5]])  # near the boundary
    model = bk.models.bayes_point_machine(
        U * lengths[:, None], y, kernel=pm.gp.cov.Linear(3, c=0.0)
    )
    idata = bk.samplers.sample_directions(model, draws=2000, chains=1, random_seed=1)
    vote = bk.predict(model, idata, probe)["vote"].sel({"class": True}).values
    cells = label_noise_cells(U, y, 0.0, probes=probe)
    exact = cells.probabilities @ (cells.signs[:, 12:] > 0)
    assert (np.minimum(exact, 1 - exact) > 0.05).all(), exact
    np.testing.assert_allclose(vote, exact, atol=5 * 0.5 / np.sqrt(2000))
