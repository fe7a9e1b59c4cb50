import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayeskernels.reproduction.gkm.laplace_evidence import laplace_evidence, run_gp
from bayeskernels.reproduction.gkm.partitions import Partition


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, np.where(X[:, 0] ** 2 + 0.3 * rng.normal(size=80) > 0.5, 1, -1)


@pytest.mark.parametrize("parameters", [[0.0, 0.0, 0.0, 0.0], [1.5, -0.4, 0.8, 0.2]])
def test_evidence_and_gradient_are_those_of_scikit_learn(rows, parameters):
    X, y = rows
    kernel = ConstantKernel(1.0) * RBF(np.ones(3))
    classifier = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    expected = classifier.log_marginal_likelihood(np.array(parameters), eval_gradient=True)
    value, gradient = laplace_evidence(np.array(parameters), X, y)
    assert value == pytest.approx(expected[0], abs=1e-7)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-5)


def test_learned_widths_gain_evidence(rows):
    X, y = rows
    partition = Partition(X[:50], y[:50], X[50:], y[50:])
    record = run_gp(partition)["fgp_kl"]
    start, _ = laplace_evidence(np.log([10.0, 1.0, 1.0, 1.0]), X[:50], y[:50])
    assert record["log_evidence"] > start + 1
    assert record["error"] < 0.2
