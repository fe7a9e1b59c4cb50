"""Both samplers against posteriors that are known exactly, cell by cell.

A comparison fails if two independent samples both have a chi-square p-value below 0.001, so a right
sampler fails one with probability 1e-6.
"""

import numpy as np
import pytest
from scipy import stats

import bayeskernels as bk
from bayeskernels.geometry.version_space import find_consistent_direction
from bayeskernels.samplers import (
    WallGeometry,
    label_costs,
    simulate_kernel_gibbs,
    simulate_refractive_billiard,
)
from bayeskernels.testing import label_noise_cells

N_DRAWS = 8000
PROBES_3D = np.random.default_rng(7).standard_normal((2, 3))


def billiard(walls, start, rng):
    return simulate_refractive_billiard(walls, start, N_DRAWS, rng=rng, sweeps=8).draws


def billiard_without_gram(walls, start, rng):
    nothing = np.empty((0, 0))
    return simulate_refractive_billiard(
        walls, start, N_DRAWS, rng=rng, sweeps=8, gram=nothing
    ).draws


def billiard_with_cap(walls, start, rng):
    path = simulate_refractive_billiard(walls, start, N_DRAWS, rng=rng, sweeps=30, max_events=2)
    assert path.capped.sum() > 0
    return path.draws


def great_circles(walls, start, rng):
    return simulate_kernel_gibbs(walls, start, N_DRAWS, rng=rng, sweeps=20).draws


SAMPLERS = [billiard, great_circles]


def random_points(m, r, seed):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((m, r))
    return features, features @ rng.standard_normal(r) > 0


def _problems():
    """Features and consistent labels by name."""
    line = np.array([[1.0], [2.0], [-1.0], [-0.3]])
    yield "line", line, np.array([True, True, False, False])
    yield "circle", *random_points(5, 2, 1)
    yield "sphere", *random_points(6, 3, 2)
    features, labels = random_points(4, 3, 3)
    # Repeated rows, x and -x, equal directions of other lengths: three walls of four are merged.
    features = np.concatenate([features, features[:2], -features[1:3], 3.0 * features[:1]])
    labels = np.concatenate([labels, labels[:2], ~labels[1:3], labels[:1]])
    yield "sphere, merged walls", features, labels
    # Three great circles through one point.
    features = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    yield "sphere, special position", features, features.sum(axis=1) > 0
    # Rank two in four dimensions: the posterior is free along the other two.
    flat, labels = random_points(5, 2, 4)
    yield "m > rank", flat @ np.random.default_rng(5).standard_normal((2, 4)), labels


PROBLEMS = {name: (features, labels) for name, features, labels in _problems()}


def assert_cells_agree(sampler, features, is_positive, rates, probes=None, start=None):
    exact = label_noise_cells(features, is_positive, *rates, probes=probes)
    geometry = WallGeometry.from_features(features, is_positive)
    walls = geometry.with_costs(label_costs(is_positive, *rates))
    if start is None:
        start = np.random.default_rng(0).standard_normal(features.shape[1])
        forbids = np.where(is_positive, rates[0] == 0, rates[1] == 0)
        if forbids.any():
            start = find_consistent_direction(features[forbids], is_positive[forbids])
    p_values = []
    for seed in (1, 2):
        draws = sampler(walls, start, np.random.default_rng(seed))
        cell = exact.locate(draws)
        assert (cell >= 0).all(), "a draw lies where the posterior is zero"
        p_values.append(chi_square(cell, exact.probabilities))
        if p_values[-1] > 0.001:
            return
    pytest.fail(f"cells do not have their exact probabilities: p = {p_values}")


def chi_square(cell, probabilities):
    """p-value of the counts of cells; rare cells are pooled."""
    observed = np.bincount(cell, minlength=len(probabilities))
    expected = probabilities * len(cell)
    rare = expected < 5
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] < 5 and len(expected) > 1:
            observed, expected = (np.append(a[:-2], a[-2:].sum()) for a in (observed, expected))
    if len(observed) == 1:
        return 1.0
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.05, 0.05), (0.2, 0.2), (0.05, 0.3), (0.0, 0.2)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_cells_have_their_exact_probabilities(name, rates, sampler):
    features, labels = PROBLEMS[name]
    probes = None
    if rates[0] == 0:
        span = np.linalg.svd(features, full_matrices=False)[2][:3]
        probes = PROBES_3D[:, : len(span)] @ span
        if np.linalg.matrix_rank(features) < len(span):
            probes = np.random.default_rng(8).standard_normal((2, len(features))) @ features
    assert_cells_agree(sampler, features, labels, rates, probes)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("rates", [(0.05, 0.05), (0.2, 0.2), (0.1, 0.3)])
@pytest.mark.parametrize("r", [1, 2, 3])
def test_conflicting_labels_and_zero_rows(r, rates, sampler):
    features, labels = random_points(4, r, 20 + r)
    # Opposite-label duplicates (one pair that cancels, one of two against one), a zero row, and
    # labels that no direction explains.
    features = np.concatenate(
        [features, features[:1], features[1:2], 2 * features[1:2], features[:1] * 0]
    )
    labels = np.concatenate([labels, ~labels[:1], ~labels[1:2], labels[1:2], [True]])
    assert_cells_agree(sampler, features, labels, rates)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_no_wall_is_left(sampler):
    features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    walls = WallGeometry.from_features(features, np.array([True, False, True])).with_costs(
        label_costs(np.array([True, False, True]), 0.1, 0.1)
    )
    assert walls.n_walls == 0
    assert walls.constant_errors == 2
    assert_cells_agree(sampler, features, np.array([True, False, True]), (0.1, 0.1))


@pytest.mark.parametrize("sampler", [billiard_without_gram, billiard_with_cap])
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.05, 0.05)])
def test_other_paths_of_the_billiard(sampler, rates):
    features, labels = PROBLEMS["sphere"]
    probes = PROBES_3D if rates[0] == 0 else None
    assert_cells_agree(sampler, features, labels, rates, probes)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_start_on_a_wall(sampler):
    features = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    labels = np.array([True, True, False])
    assert_cells_agree(sampler, features, labels, (0.1, 0.1), start=np.array([1.0, 0.0, 0.0]))


@pytest.mark.parametrize("step", [bk.samplers.RefractiveBilliard, bk.samplers.KernelGibbs])
@pytest.mark.parametrize("noise", [0.1, (0.05, 0.3)])
def test_through_pymc(step, noise):
    import pymc as pm

    features, labels = random_points(6, 3, 30)
    model = bk.models.label_noise_classifier(features, labels, kernel=linear, noise=noise)
    coordinates = bk.specification_of(model).feature_map.factor.features
    rates = noise if isinstance(noise, tuple) else (noise, noise)
    exact = label_noise_cells(coordinates, labels, *rates)
    p_values = []
    for seed in (1, 2):
        with model:
            idata = pm.sample(
                1000,
                tune=100,
                chains=2,
                cores=1,
                step=step(sweeps=20),
                random_seed=seed,
                quiet=True,
                progressbar=False,
                compute_convergence_checks=False,
            )
        w = idata.posterior["w"].values.reshape(-1, 3)
        p_values.append(chi_square(exact.locate(w), exact.probabilities))
        errors = idata.sample_stats[f"{prefix(step)}_errors"].values.ravel()
        assert np.array_equal(errors, exact.errors[exact.locate(w)])
        if p_values[-1] > 0.001:
            return
    pytest.fail(f"cells do not have their exact probabilities: p = {p_values}")


def linear(X, Z):
    return X @ Z.T


def prefix(step):
    return "refractive" if step is bk.samplers.RefractiveBilliard else "kernel_gibbs"
