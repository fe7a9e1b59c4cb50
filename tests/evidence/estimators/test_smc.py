"""PyMC's sequential Monte Carlo and its ways of failing."""

import numpy as np
import pymc as pm
import pytest
from scipy.special import logsumexp
from scipy.stats import norm, t

import bayeskernels as bk
from bayeskernels.evidence.estimators.smc import smc_evidence, spread_error, with_drift
from bayeskernels.testing import known_coin

QUIET = {"method": "smc", "progressbar": False}


def test_coin():
    known = known_coin()
    evidence = bk.evidence.estimate(known.model, draws=1000, random_seed=1, **QUIET)
    assert abs(evidence.log_evidence - known.log_evidence) < 3 * evidence.mcse
    assert evidence.mcse < 0.05
    assert evidence.diagnostics["estimates"].shape == (4,)
    again = bk.evidence.estimate(known.model, draws=1000, random_seed=1, **QUIET)
    assert again.log_evidence == evidence.log_evidence
    with pytest.raises(ValueError, match="at least 2"):
        bk.evidence.estimate(known.model, chains=1, **QUIET)


def test_constants_of_the_likelihood_have_double_precision():
    """PyMC's own is 2.2 nats off for these data; four standard errors, quadrature is the oracle."""
    y = np.random.default_rng(1).standard_normal(600)
    with pm.Model() as model:
        pm.StudentT("y", 20000.0, mu=pm.Normal("mean"), sigma=1.0, observed=y)
    evidence = bk.evidence.estimate(model, draws=400, random_seed=1, **QUIET)
    mean = np.linspace(-0.5, 0.5, 2001)
    logs = t.logpdf(y[:, None] - mean, 20000).sum(axis=0) + norm.logpdf(mean)
    exact = logsumexp(logs) + np.log(mean[1] - mean[0])
    assert abs(evidence.log_evidence - exact) < 4 * evidence.mcse
    assert evidence.mcse < 0.3


def test_impossible_likelihood():
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Potential("never", pm.math.switch(x > 1e6, 0.0, -np.inf))
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=r"pm\.sample_smc failed"):
        bk.evidence.estimate(model, draws=50, **QUIET)


OPTIONS = {"acceptance": np.full(4, 0.5), "stages": np.full(4, 3), "draws": 100}


def test_populations_without_a_number():
    evidence = smc_evidence(np.array([-1.0, np.nan, -1.1, -1.2]), **OPTIONS)
    assert "1 of 4 populations ended without a number" in evidence.warning
    assert np.isclose(evidence.log_evidence, -1.1)
    assert evidence.n_evaluations == 1600
    with pytest.raises(ValueError, match="3 of 4 populations"):
        smc_evidence(np.array([-1.0, np.nan, -np.inf, np.nan]), **OPTIONS)


def test_populations_that_disagree():
    evidence = smc_evidence(np.array([-1.0, -4.0, -2.0, -3.0]), **OPTIONS)
    assert "populations disagree" in evidence.warning
    assert evidence.mcse > 0.6
    assert not smc_evidence(np.array([-1.0, -1.1, -1.2, -1.0]), **OPTIONS).warning


def test_populations_that_hardly_move():
    options = {**OPTIONS, "acceptance": np.array([0.5, 0.001, 0.4, 0.3])}
    assert "hardly moves" in smc_evidence(np.full(4, -1.0), **options).warning


def test_estimates_that_rise_with_the_number_of_particles():
    """Populations of one size agree with each other, and are wrong together."""
    evidence = smc_evidence(np.array([-1.0, -1.1, -1.2, -1.0]), **OPTIONS)
    smaller = np.array([-4.0, -4.1, -4.2, -4.0])
    drifted = with_drift(evidence, smaller)
    assert "change with the number of particles" in drifted.warning
    assert np.isclose(drifted.diagnostics["drift"], 3.0)
    assert drifted.mcse > 3.0
    for near in (np.array([-1.3, -1.1, -1.2, -1.25]), np.array([np.nan, -4.0])):
        assert not with_drift(evidence, near).warning
        assert with_drift(evidence, near).mcse == evidence.mcse


def test_label_noise_is_seen_to_be_biased():
    """Walks in 60 dimensions with jumps of the likelihood: all populations end nats too low."""
    X, clean = bk.data.make_two_moons(60, random_seed=1)
    y, _ = bk.data.flip_labels(clean, 0.1, random_seed=3)
    model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.4), noise=0.1)
    biased = bk.evidence.estimate(model, draws=1000, random_seed=1, **QUIET)
    right = bk.evidence.estimate(model, method="tempering", random_seed=1, progressbar=False)
    assert right.log_evidence - biased.log_evidence > 1.0
    assert "change with the number of particles" in biased.warning


def test_error_of_few_values():
    """Twice the error covers as many means of four values as two standard errors of many do."""
    rng = np.random.default_rng(1)
    samples = rng.standard_normal((4000, 4))
    covered = np.mean([abs(s.mean()) < 2 * spread_error(s) for s in samples])
    assert abs(covered - 0.9545) < 0.012


@pytest.mark.slow
def test_errors_are_calibrated():
    """Fifty groups of three populations; at a true rate of 0.95 the test fails once in 200."""
    known = known_coin()
    found = pm.sample_smc(
        150,
        chains=150,
        cores=1,
        model=known.model,
        random_seed=1,
        progressbar=False,
        compute_convergence_checks=False,
    )
    values = np.array(
        [np.ravel(v)[-1] for v in found["sample_stats"]["log_marginal_likelihood"].values],
        dtype=float,
    )
    options = {"acceptance": np.full(3, 0.5), "stages": np.full(3, 2), "draws": 150}
    right = [
        abs((evidence := smc_evidence(group, **options)).log_evidence - known.log_evidence)
        < 2 * evidence.mcse
        for group in values.reshape(50, 3)
    ]
    assert np.mean(right) >= 0.85
