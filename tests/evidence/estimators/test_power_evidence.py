"""Evidence of generalized kernel models against the enumeration of all active sets."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.testing.exact_active_sets import active_set_masses

QUIET = {"progressbar": False}


def make_problem(n, max_active, builder=bk.models.generalized_kernel_model):
    """A model with fixed offset precision and random g, and its log evidence."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 2))
    positive = X[:, 0] + 0.7 * rng.standard_normal(n) > 0
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1.5)
    masses = active_set_masses(gram, positive, max_active, g=(2.0, 0.05), eta=0.5)
    kernel = pm.gp.cov.ExpQuad(2, ls=np.sqrt(0.75))
    model = builder(X, positive, kernel=kernel, max_active=max_active, eta=0.5)
    return model, float(np.log(sum(masses.values())))


def test_six_points():
    model, exact = make_problem(6, 3)
    evidence = bk.evidence.estimate(model, draws=1500, tune=100, random_seed=1, **QUIET)
    assert evidence.method == "power-tempering"  # by auto
    assert abs(evidence.log_evidence - exact) < 0.05
    assert abs(evidence.log_evidence - exact) < 3 * evidence.mcse + 0.002
    assert evidence.diagnostics["path"] == "prior"
    assert evidence.diagnostics["round_trips"] > 20
    rungs = evidence.diagnostics["rungs"]
    assert evidence.n_evaluations == 2 * 1500 * rungs
    assert not evidence.warning


def test_options_go_where_they_belong():
    model, exact = make_problem(6, 2)
    evidence = bk.evidence.estimate(
        model, draws=300, tune=20, chains=1, rungs=4, path="reference", random_seed=1, **QUIET
    )
    assert evidence.diagnostics["rungs"] == 4
    assert evidence.diagnostics["path"] == "reference"
    assert abs(evidence.log_evidence - exact) < 0.3


def test_few_round_trips_are_reported(caplog):
    model, _ = make_problem(6, 2)
    evidence = bk.evidence.estimate(
        model, draws=20, tune=4, rungs=12, chains=1, random_seed=1, **QUIET
    )
    assert "round trips only" in evidence.warning


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "max_active", "builder"),
    [
        (6, 6, bk.models.generalized_kernel_model),
        (8, 3, bk.models.sparse_gp_classifier),
    ],
)
def test_enumeration(n, max_active, builder):
    model, exact = make_problem(n, max_active, builder)
    evidence = bk.evidence.estimate(model, draws=2000, random_seed=1, **QUIET)
    assert abs(evidence.log_evidence - exact) < 0.05
    assert abs(evidence.log_evidence - exact) < 3 * evidence.mcse + 0.004


@pytest.mark.slow
def test_errors_are_calibrated():
    """At a true rate of 0.93 fewer than 43 of 50 runs are right with probability 0.02."""
    model, exact = make_problem(6, 2)
    right = []
    for seed in range(50):
        evidence = bk.evidence.estimate(model, draws=120, tune=20, random_seed=seed, **QUIET)
        right.append(abs(evidence.log_evidence - exact) < 2 * evidence.mcse)
    assert np.mean(right) >= 0.85
