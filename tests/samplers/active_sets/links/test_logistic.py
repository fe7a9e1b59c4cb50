"""The logistic link: Polya-Gamma numbers, and active sets against enumeration."""

import itertools

import numpy as np
import pytest
from replay import assert_state_replays
from scipy.special import expit, log_expit, ndtri
from scipy.stats import qmc

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_sets.chain import ActiveSetSampler
from bayeskernels.samplers.active_sets.links.logistic import LogisticLabels, logistic_terms
from bayeskernels.samplers.active_sets.links.polya_gamma import draw_polya_gamma

N = 6
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, 2))
POSITIVE = X[:, 0] + 0.7 * RNG.standard_normal(N) > 0
GRAM = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1.5)
N_BATCHES = 50


@pytest.mark.parametrize("c", [0.0, 1.0, -4.0, 40.0])
def test_polya_gamma_has_its_laplace_transform(c):
    """E exp(-t w) is known in closed form for every t; five z-scores beyond 4: once in 3,000."""
    rng = np.random.default_rng(1)
    draws = np.array([draw_polya_gamma(c, rng) for _ in range(20_000)])
    assert (draws > 0).all()
    for t in (0.01, 0.1, 1.0, 10.0, 30.0):
        values = np.exp(-t * draws)
        exact = np.exp(
            np.logaddexp(c / 2, -c / 2)
            - np.logaddexp(np.sqrt(c**2 / 4 + t / 2), -np.sqrt(c**2 / 4 + t / 2))
        )
        assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(len(draws)) + 1e-14


def exact(max_active, fixed, power=13):
    """Probabilities of all sets and means of log g and u, by quasi-Monte Carlo for each set.

    The same scrambled Sobol points for every set: integrands are smooth, their errors tiny.
    """
    weights = np.exp(log_size_weights(N, max_active, 1.0, 1.0))
    sets = [c for k in range(max_active + 1) for c in itertools.combinations(range(N), k)]
    unit = qmc.Sobol(N + 2, seed=1).random_base2(power)
    unit = np.clip(unit, 1e-12, 1 - 1e-12)
    normal = ndtri(unit[:, : N + 1])
    # Gamma(2, 1): log g by a table of its distribution function.
    grid = np.linspace(1e-6, 25.0, 200_001)
    cdf = 1 - np.exp(-grid) * (1 + grid)
    g = np.full(len(unit), 0.7) if fixed else np.interp(unit[:, -1], cdf, grid)
    u = normal[:, 0] / np.sqrt(0.5)
    mass, log_g, offset = [], [], []
    for points in map(list, sets):
        f = np.repeat(u[:, None], N, axis=1)
        if points:
            factor = np.linalg.cholesky(GRAM[np.ix_(points, points)])
            V = np.linalg.solve(factor, GRAM[points]).T
            f = f + normal[:, 1 : len(points) + 1] @ V.T / np.sqrt(g)[:, None]
        likelihood = np.exp(log_expit(np.where(POSITIVE, f, -f)).sum(axis=1))
        likelihood *= weights[len(points)]
        mass.append(likelihood.mean())
        log_g.append((likelihood * np.log(g)).mean())
        offset.append((likelihood * u).mean())
    total = sum(mass)
    probabilities = dict(zip(sets, np.array(mass) / total, strict=True))
    return probabilities, sum(log_g) / total, sum(offset) / total


def z_scores(series, truth):
    batches = np.asarray(series, dtype=float).reshape(N_BATCHES, -1, *np.shape(series)[1:])
    batches = batches.mean(axis=1)
    errors = batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)
    return (batches.mean(axis=0) - truth) / np.maximum(errors, 1e-12)


@pytest.mark.parametrize(
    ("max_active", "fixed", "moves", "n_sweeps"),
    [
        (6, False, (1, 1), 10_000),
        pytest.param(6, True, (5, 0), 40_000, marks=pytest.mark.slow),
        pytest.param(3, False, (0, 1), 20_000, marks=pytest.mark.slow),
    ],
)
def test_active_sets_have_their_exact_probabilities(max_active, fixed, moves, n_sweeps):
    """Up to 64 sets; the root mean square of their z-scores exceeds 1.3 once in a thousand.

    Without windows the size of the set moves slowly, which takes a longer run.
    """
    probabilities, log_g, offset = exact(max_active, fixed)
    sampler = ActiveSetSampler(
        GRAM.__getitem__,
        np.diag(GRAM),
        LogisticLabels.of(POSITIVE),
        max_active,
        g_prior=None if fixed else (2.0, 1.0),
        eta_prior=None,
        proposals=moves[0],
        windows=moves[1],
        width=6,
    )
    rng = np.random.default_rng(1)
    sampler.place([0], 0.1, [0.3], 0.7, 0.5, rng)
    sets, numbers = [], np.empty((n_sweeps, 2))
    for k in range(n_sweeps):
        sampler.sweep(rng)
        sets.append(tuple(sorted(sampler.points.tolist())))
        numbers[k] = *np.log(sampler.g), *sampler.u
    truth = np.array(list(probabilities.values()))
    visible = truth * n_sweeps > 50
    indicators = np.array([[s == c for c in probabilities] for s in sets])[:, visible]
    assert np.sqrt(np.mean(z_scores(indicators, truth[visible]) ** 2)) < 1.3
    assert abs(z_scores(numbers[:, 1], offset)) < 4
    if not fixed:
        assert abs(z_scores(numbers[:, 0], log_g)) < 4
    f = sampler.u + GRAM[:, sampler.points] @ sampler.beta[0, 0]
    np.testing.assert_allclose(sampler.f[0], f, atol=1e-7)


def test_terms_are_derivatives():
    """In units of the row weights."""
    f = np.array([-60.0, -3.0, 0.0, 0.4, 2.0, 45.0])
    positive = np.array([True, True, False, True, False, True])
    weights = np.array([0.5, 1.0, 0.3, 0.2, 1.5, 0.7])
    slope, bend = np.empty(6), np.empty(6)

    def log_probability(f):
        return log_expit(np.where(positive, f, -f) / weights)

    total = logistic_terms(f, positive, weights, slope, bend)
    np.testing.assert_allclose(total, log_probability(f).sum(), rtol=1e-12)
    h = 1e-4
    before, after = log_probability(f - h), log_probability(f + h)
    np.testing.assert_allclose(slope, (after - before) / (2 * h), atol=1e-6)
    p = expit(f / weights)
    np.testing.assert_allclose(bend, p * (1 - p) / weights**2, atol=1e-12)


def test_state_replays_exactly():
    sampler = ActiveSetSampler(GRAM.__getitem__, np.diag(GRAM), LogisticLabels.of(POSITIVE), 4)
    sampler.place([0], 0.0, None, 1.0, 1.0, np.random.default_rng(0))
    sampler.sweep(np.random.default_rng(0))
    assert_state_replays(sampler, lambda s: (*s.u, *s.g, *s.f[0]), sweeps=120)
