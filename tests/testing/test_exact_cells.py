import numpy as np
import pytest
from scipy import stats

from bayeskernels.testing import label_noise_cells, sign_cells


def test_octants():
    cells = sign_cells(np.eye(3))
    assert cells.signs.shape == (8, 3)
    np.testing.assert_allclose(cells.probabilities, 1 / 8)


def test_angles_on_the_circle():
    angles = np.array([0.3, 1.0])
    cells = sign_cells(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    by_sign = {tuple(s): p for s, p in zip(cells.signs.tolist(), cells.probabilities, strict=True)}
    same = (np.pi - 0.7) / (2 * np.pi)
    assert np.isclose(by_sign[1, 1], same)
    assert np.isclose(by_sign[-1, 1], 0.5 - same)


def test_three_planes_have_the_orthant_probability():
    """Closed form for three normal variables: 1/8 + (sum of arcsines of correlations) / (4 pi)."""
    features = np.random.default_rng(0).standard_normal((3, 3))
    units = features / np.linalg.norm(features, axis=1, keepdims=True)
    arcs = np.arcsin((units @ units.T)[np.triu_indices(3, 1)])
    cells = sign_cells(features)
    [index] = np.flatnonzero((cells.signs == 1).all(axis=1))
    assert np.isclose(cells.probabilities[index], 1 / 8 + arcs.sum() / (4 * np.pi))


@pytest.mark.parametrize("n", [2, 5, 12])
def test_number_of_cells_in_general_position(n):
    rng = np.random.default_rng(n)
    cells = sign_cells(rng.standard_normal((n, 3)))
    assert len(cells.signs) == n * (n - 1) + 2
    assert np.isclose(cells.probabilities.sum(), 1.0)
    assert len(sign_cells(rng.standard_normal((n, 2))).signs) == 2 * n


SPECIAL = {
    "line": np.array([[2.0], [-1.0]]),
    "pencil": np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]]),
    "repeated, opposite, zero": np.array(
        [[1.0, 0, 0], [-2, 0, 0], [0, 1, 1], [0, 0, 0], [0, 1, 1]]
    ),
    "rank two in five dimensions": np.random.default_rng(1).standard_normal((6, 2))
    @ np.random.default_rng(2).standard_normal((2, 5)),
    "rank three in five dimensions": np.random.default_rng(3).standard_normal((6, 3))
    @ np.random.default_rng(4).standard_normal((3, 5)),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_against_simulation(name):
    """Independent directions fall into the cells as they should (false-alarm rate 1e-4)."""
    features = SPECIAL[name]
    cells = sign_cells(features)
    z = np.random.default_rng(0).standard_normal((50_000, features.shape[1]))
    cell = cells.locate(z)
    assert (cell >= 0).all()
    counts = np.bincount(cell, minlength=len(cells.probabilities))
    assert stats.chisquare(counts, cells.probabilities * len(z)).pvalue > 1e-4


def test_only_zero_vectors():
    cells = sign_cells(np.zeros((2, 3)))
    np.testing.assert_array_equal(cells.probabilities, [1.0])


def test_rank_four_is_refused():
    with pytest.raises(ValueError, match="rank 4"):
        sign_cells(np.eye(4))


def test_posterior_and_evidence():
    posterior = label_noise_cells(np.eye(2), np.array([True, False]), 0.1, 0.3)
    # Every cell is a quarter; likelihoods by class: labels + and -.
    likelihood = {(1, -1): 0.7 * 0.9, (1, 1): 0.7 * 0.3, (-1, -1): 0.1 * 0.9, (-1, 1): 0.1 * 0.3}
    total = sum(likelihood.values())
    for signs, probability in zip(posterior.signs.tolist(), posterior.probabilities, strict=True):
        assert np.isclose(probability, likelihood[tuple(signs)] / total)
    assert np.isclose(posterior.log_evidence, np.log(total / 4))


def test_probes_cut_finer():
    features, labels = np.eye(2), np.array([True, True])
    whole = label_noise_cells(features, labels, 0.0)
    fine = label_noise_cells(features, labels, 0.0, probes=np.array([[1.0, -1.0]]))
    assert len(whole.probabilities) == 1
    np.testing.assert_allclose(fine.probabilities, [0.5, 0.5])
    assert np.isclose(whole.log_evidence, fine.log_evidence)
    assert np.isclose(whole.log_evidence, np.log(0.25))


def test_impossible_labels():
    with pytest.raises(ValueError, match="No cell"):
        label_noise_cells(np.array([[1.0], [1.0]]), np.array([True, False]), 0.0)
