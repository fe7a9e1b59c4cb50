import numpy as np
import pymc as pm
import pytest
from sklearn.metrics import roc_auc_score

import bayeskernels as bk
from bayeskernels.testing import label_noise_cells

LINEAR = pm.gp.cov.Linear


def test_against_the_exact_posterior():
    """Cells of a problem in the plane; 5 standard errors of independent draws, fixed seed."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((9, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    y[[1, 5]] *= -1
    model = bk.models.label_noise_classifier(X, y, kernel=LINEAR(2, c=0), noise=(0.1, 0.25))
    idata = bk.samplers.sample_directions(model, draws=10_000, chains=2, random_seed=1)
    cells = label_noise_cells(X, y > 0, 0.1, 0.25)
    exact = cells.probabilities @ (cells.signs != np.where(y > 0, 1, -1))
    estimate = bk.flip_probability(model, idata).values
    # Billiard draws are not quite independent: an effective size of a quarter is allowed for.
    error = np.sqrt(np.maximum(exact * (1 - exact), 1e-3) / 5000)
    assert (np.abs(estimate - exact) < 5 * error).all()


def test_finds_planted_flips():
    X, y = bk.data.make_two_moons(120, scatter=0.15, random_seed=1)
    noisy, flipped = bk.data.flip_labels(y, 0.1, random_seed=2)
    kernel = pm.gp.cov.ExpQuad(2, ls=0.5)
    model = bk.models.label_noise_classifier(X, noisy, kernel=kernel, noise=0.1)
    idata = bk.samplers.sample_directions(model, draws=500, chains=2, random_seed=3)
    probability = bk.flip_probability(model, idata)
    assert roc_auc_score(flipped, probability) > 0.95
    # As many flips as expected: the probabilities sum to their posterior mean number.
    assert abs(float(probability.sum()) - flipped.sum()) < 6


def test_coordinates():
    X, y = bk.data.make_two_moons(30, random_seed=1)
    names = np.where(y > 0, "low", "up")
    model = bk.models.label_noise_classifier(X, names, noise=0.1)
    idata = bk.samplers.sample_directions(model, draws=20, chains=2, random_seed=1)
    probability = bk.flip_probability(model, idata)
    assert probability.dims == ("obs",)
    assert probability["label"].values.tolist() == names.tolist()
    by_rank = probability.sortby("rank")
    assert by_rank["rank"].values.tolist() == list(range(1, 31))
    assert (np.diff(by_rank.values) <= 0).all()
    ties = by_rank.groupby(by_rank)
    assert all((np.diff(group["obs"].values) > 0).all() for _, group in ties)


def test_counts_the_errors_of_the_sampler():
    """The probabilities sum to the mean number of errors that the sampler has counted."""
    X, y = bk.data.make_two_moons(40, random_seed=1)
    model = bk.models.label_noise_classifier(X, y, noise=0.2)
    idata = bk.samplers.sample_directions(model, draws=50, chains=2, random_seed=1)
    total = bk.flip_probability(model, idata).sum().item()
    assert total == pytest.approx(idata["sample_stats"]["refractive_errors"].mean().item())


def test_no_flips_without_noise():
    X, y = bk.data.make_two_moons(30, scatter=0.05, random_seed=1)
    model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.4), noise=0.0)
    idata = bk.samplers.sample_directions(model, draws=20, chains=1, random_seed=1)
    assert not bk.flip_probability(model, idata).any()


def test_nobody_can_tell_about_a_zero_feature_vector():
    X = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.5]])
    model = bk.models.label_noise_classifier(X, [1, 1, -1], kernel=LINEAR(2, c=0), noise=0.1)
    idata = bk.samplers.sample_directions(model, draws=50, chains=1, random_seed=1)
    assert bk.flip_probability(model, idata).values[1] == 0.5
