"""The bridge equation on densities that are known, and its error."""

import numpy as np
import pytest

from bayeskernels.evidence.estimators import bridge_equation
from bayeskernels.evidence.estimators.bridge import _warning, bridge_draws
from bayeskernels.evidence.estimators.bridge_equation import solve_bridge

D = 5
SCALES = np.linspace(0.5, 3.0, D)
LOG_CONSTANT = 0.5 * D * np.log(2 * np.pi) + np.log(SCALES).sum()


def log_density(points):
    return -0.5 * ((points / SCALES) ** 2).sum(axis=1)


def autoregressive(rng, n_chains, n_draws, rho):
    """Chains with N(0, 1) margins and the autocorrelation rho^k, started in equilibrium."""
    x = np.empty((n_chains, n_draws, D))
    x[:, 0] = rng.standard_normal((n_chains, D))
    for t in range(1, n_draws):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * rng.standard_normal((n_chains, D))
    return x * SCALES


def log_heavy_density(points):
    """Of the same variables after a sinh, which leaves the constant as it is."""
    return log_density(np.arcsinh(points)) - 0.5 * np.log1p(points**2).sum(axis=1)


def coverage(rho, proposal, seeds=range(50)):
    """Share of runs in which the truth lies within two standard errors, and their z-scores."""
    z = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        points = autoregressive(rng, 4, 600, rho)
        density = log_density
        if proposal == "warp3":
            points, density = np.sinh(points), log_heavy_density
        bridge = bridge_draws(points, density, 1200, rng, proposal=proposal)
        z.append((bridge.log_ratio - LOG_CONSTANT) / bridge.mcse)
    z = np.array(z)
    return np.mean(np.abs(z) < 2), z


def test_constant_shifts_go_through():
    """A factor of the density is a shift of the result, to rounding."""
    rng = np.random.default_rng(1)
    at_posterior, at_proposal = rng.normal(size=(4, 200)), rng.normal(-0.5, size=800)
    one = solve_bridge(at_posterior, at_proposal)
    other = solve_bridge(at_posterior + 1234.5, at_proposal + 1234.5)
    assert abs(other.log_ratio - one.log_ratio - 1234.5) < 1e-8
    assert np.isclose(other.mcse, one.mcse)


def with_a_sticky_tail(rng):
    """Normal draws, of which each chain visits the lowest 10% of the first unknown once."""
    points = rng.standard_normal((4, 2000, 2))
    for chain in points:
        first = chain[:, 0]
        low = first < np.quantile(first, 0.1)
        chain[:] = np.concatenate([chain[~low][:600], chain[low], chain[~low][600:]])
    return points


def test_tails_that_are_seldom_visited():
    """The error is not smaller than the effective draws of the tails allow, and they are told."""
    rng = np.random.default_rng(1)
    for points, is_sticky in ((rng.standard_normal((4, 2000, 2)), False), (None, True)):
        points = with_a_sticky_tail(rng) if is_sticky else points
        bridge = bridge_draws(points, lambda x: -0.5 * (x**2).sum(axis=1), 4000, rng)
        assert (bridge.tail_ess < 400) == is_sticky
        assert bridge.ess <= 0.5 * bridge.tail_ess
        warning = _warning(bridge, 1.0, 4)
        assert ("effective draws" in warning) == is_sticky


def test_effective_draws_are_bounded():
    """Fewer of them widen the error, by less than their number: the proposal gets more weight."""
    rng = np.random.default_rng(1)
    at_posterior, at_proposal = rng.normal(1.0, 2.0, (4, 2000)), rng.normal(-1.0, 2.0, 8000)
    one, few = (solve_bridge(at_posterior, at_proposal, most=most) for most in (np.inf, 80.0))
    assert few.ess == 80.0
    assert few.mcse > 1.5 * one.mcse


def test_equal_densities_leave_no_error():
    bridge = solve_bridge(np.full((2, 100), 3.0), np.full(200, 3.0))
    assert abs(bridge.log_ratio - 3.0) < 1e-9
    assert bridge.mcse == 0.0
    assert abs(bridge.overlap - 1.0) < 1e-12


def test_the_iteration_of_meng_and_wong_has_the_same_fixed_point():
    rng = np.random.default_rng(2)
    at_posterior, at_proposal = rng.normal(0.4, 1, size=(1, 500)), rng.normal(-0.4, 1, size=500)
    bridge = solve_bridge(at_posterior, at_proposal)
    # The draws are independent, but their effective number is estimated.
    n_1 = bridge_equation._effective(at_posterior)
    s_1 = n_1 / (n_1 + 500)
    r = 1.0
    for _ in range(500):
        top = np.mean(np.exp(at_proposal) / (s_1 * np.exp(at_proposal) + (1 - s_1) * r))
        bottom = np.mean(1.0 / (s_1 * np.exp(at_posterior) + (1 - s_1) * r))
        r = top / bottom
    assert abs(np.log(r) - bridge.log_ratio) < 1e-8


def test_impossible_proposals_count_as_nothing():
    rng = np.random.default_rng(3)
    at_posterior = np.zeros((2, 500))
    # The posterior is the half of the proposal's space: its integral is one half.
    at_proposal = np.where(rng.random(20_000) < 0.5, 0.0, -np.inf)
    bridge = solve_bridge(at_posterior, at_proposal)
    assert abs(bridge.log_ratio - np.log(0.5)) < 4 * bridge.mcse
    assert 0 < bridge.mcse < 0.03


@pytest.mark.parametrize("proposal", ["normal", "warp3"])
def test_units_and_correlations_do_not_matter(proposal):
    """A linear map with a condition number of 1e8 shifts the result by its log determinant."""
    rng = np.random.default_rng(6)
    left, right = (np.linalg.qr(rng.standard_normal((D, D)))[0] for _ in range(2))
    matrix = left @ np.diag(np.geomspace(1e-4, 1e4, D)) @ right
    points = np.sinh(autoregressive(rng, 4, 300, 0.5))
    inverse = np.linalg.inv(matrix)
    one = bridge_draws(points, log_heavy_density, 600, np.random.default_rng(1), proposal=proposal)
    other = bridge_draws(
        points @ matrix.T,
        lambda y: log_heavy_density(y @ inverse.T),
        600,
        np.random.default_rng(1),
        proposal=proposal,
    )
    log_determinant = np.linalg.slogdet(matrix)[1]
    # Not to rounding: the triangular factor turns the proposal's draws.
    assert abs(other.log_ratio - one.log_ratio - log_determinant) < 3 * one.mcse
    assert abs(other.overlap - one.overlap) < 0.05


def test_unknowns_that_are_functions_of_others_are_refused():
    points = np.random.default_rng(1).standard_normal((4, 200, 3))
    points[..., 2] = points[..., 0] - points[..., 1]
    with pytest.raises(ValueError, match="functions of others"):
        bridge_draws(points, log_density, 100, np.random.default_rng(1))


def test_draws_without_density_are_refused():
    with pytest.raises(ValueError, match="no density at some of its own draws"):
        solve_bridge(np.array([[0.0, -np.inf]]), np.zeros(5))
    with pytest.raises(ValueError, match="nothing in common"):
        solve_bridge(np.zeros((1, 10)), np.full(5, -np.inf))


def test_chains_that_do_not_move_are_refused():
    with pytest.raises(ValueError, match="have not moved"):
        bridge_draws(np.zeros((2, 200, 3)), log_density, 100, np.random.default_rng(1))


def test_disagreeing_chains_widen_the_error():
    rng = np.random.default_rng(4)
    together = rng.normal(size=(4, 500))
    apart = together + np.array([-1.0, -0.3, 0.3, 1.0])[:, None]
    at_proposal = rng.normal(-1.0, size=2000)
    one, other = solve_bridge(together, at_proposal), solve_bridge(apart, at_proposal)
    assert other.ess < 50 < 1000 < one.ess
    assert other.mcse > 1.5 * one.mcse
    assert one.r_hat < 1.02 < 1.1 < other.r_hat


@pytest.mark.parametrize("rho", [0.0, 0.9])
@pytest.mark.parametrize("proposal", ["normal", "warp3"])
def test_errors_are_calibrated(rho, proposal):
    """At a true rate of 0.93 fewer than 43 of 50 runs are right with probability 0.02."""
    rate, z = coverage(rho, proposal)
    assert rate >= 0.85
    assert z.std() < 1.4
    assert abs(z.mean()) < 0.6


def test_autocorrelation_matters(monkeypatch):
    """The same test fails if draws are taken as independent."""
    monkeypatch.setattr(bridge_equation, "_effective", lambda values, **how: float(values.size))
    rate, _ = coverage(0.9, "normal")
    assert rate < 0.85
