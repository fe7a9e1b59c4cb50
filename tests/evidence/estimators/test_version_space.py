"""Evidence of version spaces: exact areas, agreement with tempering, soft boundaries, refusals."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.geometry.orthant_probability import log_orthant_probability
from bayeskernels.testing import label_noise_cells


def _estimate(model, **options):
    return bk.evidence.estimate(model, **{"random_seed": 1, "progressbar": False, **options})


def _separable(m, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 10))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1, -1)


def test_three_points_in_three_dimensions_are_a_spherical_triangle():
    rng = np.random.default_rng(2)
    for _ in range(5):
        features = rng.standard_normal((3, 3))
        y = np.array([True, False, True])
        model = bk.models.bayes_point_machine(None, y, kernel=features @ features.T)
        evidence = _estimate(model)
        assert evidence.method == "orthant"
        exact = label_noise_cells(features, y, 0.0).log_evidence
        assert abs(evidence.log_evidence - exact) < 0.002


def test_agrees_with_tempering():
    # Errors 0.002 and 0.06 nats; four of them.
    X, y = _separable(40)
    kernel = pm.gp.cov.ExpQuad(10, ls=3.0)
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.0)
    tilted = _estimate(model)
    tempered = _estimate(model, method="tempering", draws=2000)
    assert tilted.method == "orthant"
    assert tempered.mcse < 0.12
    assert abs(tilted.log_evidence - tempered.log_evidence) < 4 * tempered.mcse


@pytest.mark.slow
@pytest.mark.parametrize("m", [20, 76, 100])
def test_agrees_with_long_tempering(m):
    X, y = _separable(m)
    model = bk.models.label_noise_classifier(X, y, noise=0.0)
    tilted = _estimate(model)
    tempered = _estimate(model, method="tempering", draws=40_000)
    assert tilted.mcse < 0.02
    assert tempered.mcse < 0.04
    assert abs(tilted.log_evidence - tempered.log_evidence) < max(0.02, 3 * tempered.mcse)


def test_soft_boundaries_and_repeated_points():
    X, y = _separable(15)
    X[1], y[1] = X[0], y[0]
    kernel = pm.gp.cov.ExpQuad(10, ls=3.0)
    gram = kernel.full(X).eval()
    soft = _estimate(bk.models.bayes_point_machine(X, y, kernel=kernel, softness=0.3))
    covariance = (gram + 0.3 * np.diag(np.diag(gram))) * np.outer(y, y)
    exact = log_orthant_probability(covariance, rng=np.random.default_rng(2))
    assert abs(soft.log_evidence - exact.value) < 0.01
    # A repeated point with the same label says nothing new.
    hard = _estimate(bk.models.bayes_point_machine(X, y, kernel=kernel))
    without = _estimate(bk.models.bayes_point_machine(X[1:], y[1:], kernel=kernel))
    assert hard.method == "orthant"
    assert abs(hard.log_evidence - without.log_evidence) < 0.01


def test_several_classes_add_up():
    X, _ = _separable(12)
    classes = np.arange(12) % 3
    kernel = pm.gp.cov.ExpQuad(10, ls=2.0)
    together = _estimate(bk.models.bayes_point_machine(X, classes, kernel=kernel))
    each = [
        _estimate(bk.models.bayes_point_machine(X, classes == c, kernel=kernel)) for c in range(3)
    ]
    assert abs(together.log_evidence - sum(one.log_evidence for one in each)) < 0.01


def test_what_does_not_fit_is_refused_and_auto_goes_on_to_tempering():
    X, y = _separable(20)
    noisy = bk.models.label_noise_classifier(X, y, noise=0.1)
    with pytest.raises(TypeError, match=r"noise zero.*'tempering'"):
        _estimate(noisy, method="orthant")
    with pytest.raises(TypeError, match="noise is unknown"):
        _estimate(bk.models.label_noise_classifier(X, y), method="orthant")
    y_linear = np.where(X[:, 0] > 0, 1, -1)
    linear = bk.models.bayes_point_machine(X, y_linear, kernel=pm.gp.cov.Linear(10, 0.0))
    with pytest.raises(TypeError, match=r"20 points in 10 dimensions.*'tempering'"):
        _estimate(linear, method="orthant")
    evidence = _estimate(linear, draws=1000)
    assert evidence.method == "tempering"
    assert evidence.lowest == 0.0


def test_a_version_space_too_thin_is_reported():
    X, y = bk.data.make_checkerboard(100, random_seed=1)
    model = bk.models.bayes_point_machine(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.7))
    evidence = _estimate(model, method="orthant", n_draws=1024)
    assert "too thin" in evidence.warning
    assert evidence.diagnostics["upper_bound"] > evidence.log_evidence


def test_auto_leaves_a_version_space_too_thin_to_tempering():
    X, y = bk.data.make_checkerboard(100, random_seed=1)
    model = bk.models.bayes_point_machine(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.7))
    assert bk.evidence.suitable_methods(model)["orthant"] == ""
    tilted = _estimate(model, method="orthant")
    assert tilted.warning
    evidence = _estimate(model)
    assert evidence.method == "tempering"
    assert evidence.log_evidence < tilted.diagnostics["upper_bound"]
