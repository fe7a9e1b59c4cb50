import numpy as np
import pytest
from scipy import linalg

from bayeskernels.kernels.gram import factor_gram, pivoted_cholesky


def rbf(X, Z, width=1.0):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * width**2))


@pytest.fixture
def points():
    return np.random.default_rng(0).standard_normal((30, 3))


@pytest.mark.parametrize("method", ["cholesky", "eigen"])
@pytest.mark.parametrize("kind", ["full", "singular", "repeated"])
def test_factor_reproduces_the_matrix(points, method, kind):
    if kind == "full":
        gram, rank = rbf(points, points), 30
    elif kind == "singular":
        gram, rank = points @ points.T, 3
    else:
        points = np.concatenate([points, points[:5]])
        gram, rank = rbf(points, points), 30
    factor = factor_gram(gram, method=method)
    assert factor.rank == rank
    np.testing.assert_allclose(factor.features @ factor.features.T, gram, atol=1e-8)
    # The training points mapped like new ones get their own coordinates.
    np.testing.assert_allclose(factor.map(gram[:, factor.support]), factor.features, atol=1e-5)
    assert factor.discarded < 1e-10


@pytest.mark.parametrize("method", ["cholesky", "eigen"])
def test_expansion_gives_the_same_function(points, method):
    factor = factor_gram(points @ points.T, method=method)
    w = np.random.default_rng(1).standard_normal((2, 5, factor.rank))
    new = np.random.default_rng(2).standard_normal((4, 3))
    values = new @ points[factor.support].T
    alpha = factor.expansion(w)
    assert alpha.shape == (2, 5, len(factor.support))
    np.testing.assert_allclose(alpha @ values.T, w @ factor.map(values).T, atol=1e-9)


@pytest.mark.parametrize("method", ["cholesky", "eigen"])
def test_low_rank(points, method):
    gram = rbf(points, points, 2.0)
    factor = factor_gram(gram, rank=6, method=method)
    assert factor.features.shape == (30, 6)
    left = gram - factor.features @ factor.features.T
    assert linalg.eigvalsh(left)[0] > -1e-10
    assert np.isclose(factor.discarded, np.trace(left) / 30)
    best = linalg.eigvalsh(gram)[:-6].sum() / 30
    assert best - 1e-12 <= factor.discarded < 10 * best
    if method == "eigen":
        assert np.isclose(factor.discarded, best)


def test_pivoted_cholesky_asks_for_its_columns_only(points):
    gram, asked = rbf(points, points), []

    def column(j):
        asked.append(j)
        return gram[:, j]

    factor = pivoted_cholesky(np.diag(gram), column, rank=4)
    assert asked == factor.support.tolist()
    np.testing.assert_allclose(
        factor.features[asked] @ factor.features[asked].T, gram[np.ix_(asked, asked)], atol=1e-12
    )


def test_pivoted_cholesky_stops_at_the_rank(points):
    gram = points @ points.T
    factor = pivoted_cholesky(np.diag(gram), lambda j: gram[:, j], rank=10)
    assert factor.rank == 3
    assert factor.discarded < 1e-12


BAD = {
    "not square": (np.ones((3, 2)), "square"),
    "NaN": (np.full((2, 2), np.nan), "not finite"),
    "asymmetric": (np.array([[1.0, 0.5], [0.1, 1.0]]), "not symmetric"),
    "zero": (np.zeros((3, 3)), "zero at every point"),
    "indefinite": (np.array([[1.0, 2.0], [2.0, 1.0]]), "semidefinite"),
    "zero diagonal": (np.array([[0.0, 1.0], [1.0, 0.0]]), "semidefinite"),
    "negative diagonal": (np.array([[1.0, 0.0], [0.0, -1.0]]), "semidefinite"),
    "negative": (-np.eye(3), "semidefinite"),
    "hidden": (np.array([[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]]), "semidefinite"),
}


@pytest.mark.parametrize("method", ["cholesky", "eigen"])
@pytest.mark.parametrize("name", BAD)
def test_bad_matrices(name, method):
    gram, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        factor_gram(gram, method=method)


def test_bad_options():
    with pytest.raises(ValueError, match="rank"):
        factor_gram(np.eye(2), rank=0)
    with pytest.raises(ValueError, match="factorization"):
        factor_gram(np.eye(2), method="lu")


def wide_rows(n=12, spread=8):
    """Points in three dimensions, and lengths; all but the two shortest lie in a plane."""
    rng = np.random.default_rng(3)
    points = rng.standard_normal((n, 3))
    points[:-2, 2] = 0.0
    order = rng.permutation(n)
    return points[order], np.logspace(spread, -spread, n)[order]


@pytest.mark.parametrize(("method", "rank"), [("cholesky", None), ("cholesky", 7), ("eigen", None)])
def test_directions_of_rows_of_very_different_length(method, rank):
    """Angles between rows are those between the points, however long these are."""
    points, lengths = wide_rows()
    scaled = points * lengths[:, None]
    factor = factor_gram(scaled @ scaled.T, method=method, rank=rank)
    assert factor.rank == 3
    units = factor.features / np.linalg.norm(factor.features, axis=1, keepdims=True)
    true = points / np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(units @ units.T, true @ true.T, atol=1e-9)
    # New points get their coordinates with the same relative precision.
    mapped = factor.map((scaled @ scaled.T)[:, factor.support])
    np.testing.assert_allclose(
        mapped / lengths[:, None], factor.features / lengths[:, None], atol=1e-9
    )
    w = np.random.default_rng(0).standard_normal(3)
    outputs = scaled @ scaled[factor.support].T @ factor.expansion(w)
    np.testing.assert_allclose(outputs / lengths, factor.features @ w / lengths, atol=1e-6)


@pytest.mark.parametrize("rank", [None, 20])
@pytest.mark.parametrize("method", ["cholesky", "eigen"])
def test_zero_kernel_values_are_exactly_zero_rows(points, method, rank):
    points[[3, 17]] = 0.0
    factor = factor_gram(points @ points.T, method=method, rank=rank)
    np.testing.assert_array_equal((factor.features == 0).all(axis=1), (points == 0).all(axis=1))


@pytest.mark.parametrize("method", ["cholesky", "eigen"])
def test_rows_of_rounding_errors_are_zero(points, method):
    """A centred matrix has rounding errors where points lie in the mean: they are no directions."""
    points[:4] = points[4:].mean(axis=0)
    gram = points @ points.T
    gram -= gram.mean(axis=0)
    gram -= gram.mean(axis=1, keepdims=True)
    gram = (gram + gram.T) / 2
    assert 0 < np.abs(gram[:4]).max() < 1e-15 * gram.max()
    factor = factor_gram(gram, method=method)
    assert factor.rank == 3
    assert not factor.features[:4].any()
