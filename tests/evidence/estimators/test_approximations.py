"""Laplace, expectation propagation and quadrature as methods of the evidence."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.testing import known_coin, known_counts, known_normal


@pytest.mark.parametrize("make", [known_coin, known_counts, known_normal])
def test_quadrature_of_conjugate_models(make):
    known = make()
    evidence = bk.evidence.estimate(known.model, method="quadrature")
    assert abs(evidence.log_evidence - known.log_evidence) < 1e-8
    assert evidence.mcse < 1e-3


def test_laplace_has_no_error():
    known = known_coin()
    evidence = bk.evidence.estimate(known.model, method="laplace")
    assert evidence.log_evidence == bk.laplace(known.model).log_evidence
    assert 0.001 < abs(evidence.log_evidence - known.log_evidence) < 0.1
    assert np.isnan(evidence.mcse)
    assert not evidence.has_error


def test_laplace_of_a_gaussian_is_exact():
    model = bk.models.gaussian_mean([1.0, 2.0, 4.0])
    laplace = bk.evidence.estimate(model, method="laplace")
    assert abs(laplace.log_evidence - bk.evidence.estimate(model).log_evidence) < 1e-8


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((12, 2))
    return X, np.where(X[:, 0] > 0, 1, -1)


def test_expectation_propagation(plane):
    X, y = plane
    model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.Linear(2, 0.0), noise=0.1)
    evidence = bk.evidence.estimate(model, method="ep")
    exact = bk.testing.label_noise_cells(X, y > 0, 0.1).log_evidence
    assert abs(evidence.log_evidence - exact) < 0.3
    assert np.isnan(evidence.mcse)
    assert evidence.diagnostics["converged"]
    assert evidence.log_evidence == bk.samplers.ExpectationPropagation(model).fit().log_evidence


def test_expectation_propagation_that_does_not_settle(plane, caplog):
    X, y = plane
    model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.Linear(2, 0.0), noise=0.1)
    evidence = bk.evidence.estimate(model, method="ep", max_sweeps=1)
    assert "did not settle" in evidence.warning
    assert not evidence.diagnostics["converged"]


def test_options_reach_the_method():
    known = known_coin()
    with pytest.raises(TypeError, match="n_points"):
        bk.evidence.estimate(known.model, method="quadrature", n_points=3)
