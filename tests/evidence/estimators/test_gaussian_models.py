"""Exact evidence against closed forms, and what is not Gaussian."""

import numpy as np
import pymc as pm
import pytest
from scipy.stats import multivariate_normal

import bayeskernels as bk
from bayeskernels.models.gaussian_mean import mean_evolution
from bayeskernels.testing import known_correlated_gaussian

RNG = np.random.default_rng(1)
X = RNG.standard_normal((25, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.7 * RNG.standard_normal(25)


def test_mean_of_a_gaussian():
    options = {"sd": 1.5, "prior_mean": 0.3, "prior_sd": 2.0}
    evidence = bk.evidence.estimate(bk.models.gaussian_mean(Y, **options))
    exact = mean_evolution(Y, **options)["log_evidence"].values[-1]
    assert evidence.method == "exact"
    assert evidence.mcse == 0.0
    assert abs(evidence.log_evidence - exact) < 1e-8


@pytest.mark.parametrize("marginal", [False, True])
def test_linear_regression(marginal):
    model = bk.models.bayesian_linear_regression(X, Y, alpha=0.7, beta=2.0, marginal=marginal)
    evidence = bk.evidence.estimate(model)
    covariance = X @ X.T / 0.7 + np.eye(25) / 2.0
    assert abs(evidence.log_evidence - multivariate_normal(np.zeros(25), covariance).logpdf(Y)) < (
        1e-8
    )
    assert abs(evidence.log_evidence - bk.specification_of(model).posterior().log_evidence) < 1e-8


def test_gaussian_process():
    model = bk.models.gp_regression(X, Y, kernel=pm.gp.cov.ExpQuad(3, ls=1.3), noise=0.6)
    evidence = bk.evidence.estimate(model)
    assert evidence.method == "exact"
    assert abs(evidence.log_evidence - bk.gp.log_evidence(model)) < 1e-8


def test_correlated_gaussian():
    known = known_correlated_gaussian()
    evidence = bk.evidence.estimate(known.model)
    assert evidence.method == "exact"
    assert abs(evidence.log_evidence - known.log_evidence) < 1e-8


def test_data_that_were_set_later():
    """The model as it is now counts, not as it was built."""
    model = bk.models.gaussian_mean([1.0, 2.0])
    with model:
        pm.set_data({"x_data": [4.0, 5.0, 6.0]})
    exact = mean_evolution([4.0, 5.0, 6.0])["log_evidence"].values[-1]
    assert abs(bk.evidence.estimate(model).log_evidence - exact) < 1e-8


def test_products_are_not_gaussian():
    with pm.Model() as model:
        a, b = pm.Normal("a"), pm.Normal("b")
        pm.Normal("y", a * b, 1.0, observed=1.0)
    with pytest.raises(TypeError, match="not jointly"):
        bk.evidence.estimate(model, method="exact")


def test_random_variances_are_not_gaussian():
    with pm.Model() as model:
        s = pm.Normal("s")
        pm.Normal("y", 0.0, pm.math.exp(s), observed=[1.0, 2.0])
    with pytest.raises(TypeError, match="variance not fixed"):
        bk.evidence.estimate(model, method="exact")


def test_other_distributions_are_named():
    model = bk.models.gaussian_mean(Y, sd=pm.HalfNormal.dist(1.0))
    with pytest.raises(TypeError, match=r"sd is not normally distributed.*'bridge'"):
        bk.evidence.estimate(model, method="exact")


def test_a_bound_is_not_evidence():
    kernel = pm.gp.cov.ExpQuad(3, ls=1.3)
    model = bk.models.gp_regression(X, Y, kernel=kernel, noise=0.6, inducing=5)
    with pytest.raises(TypeError, match="lower bound"):
        bk.evidence.estimate(model, method="exact")


@pytest.mark.parametrize(
    ("mean", "operation"),
    [
        (lambda mu: pm.math.switch(mu > 0, 1.0, -1.0), "GT"),
        (lambda mu: pm.math.maximum(mu - 3.0, 0.0), "Maximum"),
        (lambda mu: pm.math.abs(mu + 40.0), "Abs"),
    ],
    ids=["step", "rectified", "distant kink"],
)
def test_steps_and_kinks_are_not_gaussian(mean, operation):
    """Second derivatives are the same at nearly all points of these."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 5.0, 1.0)
        pm.Normal("y", mean(mu), 1.0, observed=[1.0, 2.0])
    with pytest.raises(TypeError, match=f"mean of y goes through {operation}, not an affine"):
        bk.evidence.estimate(model, method="exact")
    assert bk.evidence.suitable_methods(model)["bridge"] == ""


def test_kinks_in_priors():
    with pm.Model() as model:
        a = pm.Normal("a")
        b = pm.Normal("b", pm.math.clip(a, -9.0, 9.0), 1.0)
        pm.Normal("y", b, 1.0, observed=1.0)
    with pytest.raises(TypeError, match="mean of b goes through Clip"):
        bk.evidence.estimate(model, method="exact")


def test_hierarchies_of_groups_are_gaussian():
    """Centred and non-centred, with groups, missing rows and an observed parent: exact by hand."""
    group, keep = np.array([0, 0, 1, 2, 1]), np.array([True, True, False, True, True])
    y = np.array([0.3, -0.2, 1.0, 2.0, 0.5])

    def exact(is_centred):
        with pm.Model() as model:
            level = pm.Normal("level", 0.5, 2.0)
            if is_centred:
                a = pm.Normal("a", level, 0.7, shape=3)
            else:
                a = pm.Deterministic("a", level + 0.7 * pm.Normal("z", shape=3))
            first = pm.Normal("first", pm.math.switch(keep, a[group], level), 0.4, observed=y)
            pm.Normal("second", first.sum() + level, 1.0, observed=3.0)
        return bk.evidence.estimate(model).log_evidence

    # Rows of the unknowns (level, z) in the observations (first, second).
    of_z = np.where(keep[:, None], 0.7 * np.eye(3)[group], 0.0)
    design = np.column_stack([np.ones(5), of_z])
    design = np.vstack([design, [1.0, 0.0, 0.0, 0.0]])
    covariance = design @ np.diag([4.0, 1.0, 1.0, 1.0]) @ design.T
    covariance += np.diag([0.16] * 5 + [1.0])
    mean = 0.5 * design[:, 0] + np.append(np.zeros(5), y.sum())
    expected = multivariate_normal(mean, covariance).logpdf(np.append(y, 3.0))
    assert exact(True) == pytest.approx(expected, abs=1e-8)
    assert exact(False) == pytest.approx(expected, abs=1e-8)
