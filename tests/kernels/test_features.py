import numpy as np
import pytest

from bayeskernels.kernels.argument import as_kernel
from bayeskernels.kernels.features import FeatureMap, KernelInputs

X = np.random.default_rng(0).standard_normal((12, 2))
NEW = np.random.default_rng(1).standard_normal((5, 2))


def rbf(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / 2)


@pytest.mark.parametrize("rank", [None, 4])
@pytest.mark.parametrize("method", ["cholesky", "eigen"])
def test_training_points_keep_their_coordinates(method, rank):
    features = FeatureMap(as_kernel(rbf, X), X, rank=rank, method=method)
    assert features.rank == (rank or 12)
    np.testing.assert_allclose(features(X), features.factor.features, atol=1e-6)
    if rank is None:
        np.testing.assert_allclose(features(NEW) @ features(X).T, rbf(NEW, X), atol=1e-6)


def test_precomputed_kernel():
    features = FeatureMap(as_kernel(rbf(X, X), None), rbf(X, X))
    np.testing.assert_allclose(
        features(rbf(NEW, X)) @ features(rbf(X, X)).T, rbf(NEW, X), atol=1e-6
    )


def test_setting_inputs_sets_features():
    features = FeatureMap(as_kernel(rbf, X), X)
    inputs = KernelInputs.create("X", X, features)
    np.testing.assert_array_equal(inputs.features.get_value(), features.factor.features)
    inputs.set_value(NEW)
    np.testing.assert_array_equal(inputs.get_value(), NEW)
    np.testing.assert_allclose(inputs.features.get_value(), features(NEW))
