import numpy as np
import pymc as pm
import pytest

from bayeskernels.kernels.argument import CallableKernel, CovarianceKernel, GramKernel, as_kernel

X = np.random.default_rng(0).standard_normal((6, 2))
Z = np.random.default_rng(1).standard_normal((4, 2))


def rbf(A, B, width=1.0):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * width**2))


COVARIANCES = {
    "gaussian": (pm.gp.cov.ExpQuad(2, ls=0.7), lambda A, B: rbf(A, B, 0.7)),
    "sum": (
        pm.gp.cov.ExpQuad(2, ls=1.0) + pm.gp.cov.Linear(2, c=0.0),
        lambda A, B: rbf(A, B) + A @ B.T,
    ),
    "product": (
        2.0 * pm.gp.cov.ExpQuad(2, ls=1.0) * pm.gp.cov.Linear(2, c=0.0),
        lambda A, B: 2 * rbf(A, B) * (A @ B.T),
    ),
    "ARD": (
        pm.gp.cov.ExpQuad(2, ls=np.array([0.5, 2.0])),
        lambda A, B: rbf(A / [0.5, 2.0], B / [0.5, 2.0]),
    ),
    "one column": (
        pm.gp.cov.ExpQuad(2, ls=1.0, active_dims=[1]),
        lambda A, B: rbf(A[:, 1:], B[:, 1:]),
    ),
}


@pytest.mark.parametrize("bias", [0.0, 0.5])
@pytest.mark.parametrize("name", COVARIANCES)
def test_covariances(name, bias):
    covariance, expected = COVARIANCES[name]
    kernel = as_kernel(covariance, X, bias=bias)
    assert isinstance(kernel, CovarianceKernel)
    assert not kernel.is_random
    np.testing.assert_allclose(kernel(X, Z), expected(X, Z) + bias, atol=1e-7)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(expected(X, X)) + bias, atol=1e-7)
    np.testing.assert_allclose(kernel.gram(X), expected(X, X) + bias, atol=1e-7)


def test_constant_alone():
    kernel = as_kernel(pm.gp.cov.Constant(2.0), X)
    np.testing.assert_array_equal(kernel(X, Z), np.full((6, 4), 2.0))
    np.testing.assert_array_equal(kernel.diagonal(X), np.full(6, 2.0))


def test_callable():
    kernel = as_kernel(rbf, X, bias=0.1)
    assert isinstance(kernel, CallableKernel)
    np.testing.assert_allclose(kernel(X, Z), rbf(X, Z) + 0.1)
    np.testing.assert_allclose(kernel.diagonal(X), np.full(6, 1.1))
    with pytest.raises(ValueError, match=r"\(6, 4\)"):
        as_kernel(lambda A, B: A @ A.T, X)(X, Z)


def test_gram_matrix():
    kernel = as_kernel(X @ X.T, None, bias=1.0)
    assert isinstance(kernel, GramKernel)
    assert kernel.is_precomputed
    np.testing.assert_allclose(kernel.gram(), X @ X.T + 1)
    np.testing.assert_allclose(kernel(Z @ X.T, np.array([0, 3])), Z @ X[[0, 3]].T + 1)


def test_default_width_is_the_median_distance():
    points = np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_allclose(
        as_kernel(None, points)(points, points), rbf(points, points, 2.0), atol=1e-7
    )
    same = np.ones((3, 2))
    assert np.isfinite(as_kernel(None, same)(same, same)).all()


def test_random_hyperparameters():
    with pm.Model():
        kernel = as_kernel(pm.gp.cov.ExpQuad(2, ls=pm.LogNormal("ls")), X)
    assert kernel.is_random
    with pytest.raises(TypeError, match="random hyperparameters"):
        kernel(X, X)


def test_errors():
    with pytest.raises(ValueError, match="3 input columns"):
        as_kernel(pm.gp.cov.ExpQuad(3, ls=1.0), X)
    with pytest.raises(TypeError, match="kernel must be"):
        as_kernel("rbf", X)
    with pytest.raises(ValueError, match="square"):
        as_kernel(np.ones((2, 3)), None)
    with pytest.raises(ValueError, match="kernel is needed"):
        as_kernel(None, None)
    for bias in (-1.0, np.nan, np.inf, [1.0]):
        with pytest.raises(ValueError, match="bias"):
            as_kernel(rbf, X, bias=bias)
