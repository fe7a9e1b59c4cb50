"""Regression: active sets against their exact conjugate posterior."""

import itertools

import numpy as np
import pytest
from replay import assert_state_replays
from scipy.special import logsumexp

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.active_sets.chain import ActiveSetSampler
from bayeskernels.samplers.active_sets.links.identity import (
    GaussianTargets,
    gaussian_terms,
    slice_noise,
)

N_SWEEPS, N_BATCHES = 10_000, 50
ETA = 0.5


def make_problem(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1.5), y


def log_marginal(gram, y, points, g, noise, eta=ETA):
    """Log-density of the targets, offset and coefficients integrated out."""
    Q = noise**2 * np.eye(len(y)) + 1.0 / eta
    if points:
        own = gram[np.ix_(points, points)]
        own = own + ACTIVE_JITTER * np.diag(np.diag(own))
        Q = Q + gram[:, points] @ np.linalg.solve(own, gram[points]) / g
    return -0.5 * np.linalg.slogdet(Q)[1] - 0.5 * y @ np.linalg.solve(Q, y)


def exact(gram, y, max_active, log_values, log_prior):
    """Probabilities of all sets and the mean of the logarithm of a number, by quadrature."""
    n = len(y)
    weights = log_size_weights(n, max_active, 1.0, 1.0)
    sets = [c for k in range(max_active + 1) for c in itertools.combinations(range(n), k)]
    table = np.array([[weights[len(c)] + t(list(c)) for t in log_prior] for c in sets])
    mass = np.exp(table - logsumexp(table))
    return dict(zip(sets, mass.sum(axis=1), strict=True)), mass.sum(axis=0) @ log_values


def z_scores(series, truth):
    batches = np.asarray(series, dtype=float).reshape(N_BATCHES, -1, *np.shape(series)[1:])
    batches = batches.mean(axis=1)
    errors = batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)
    return (batches.mean(axis=0) - truth) / np.maximum(errors, 1e-12)


def run(sampler, g, read, n_sweeps=N_SWEEPS):
    rng = np.random.default_rng(1)
    sampler.place([0], 0.1, [0.3], g, ETA, rng)
    sets, numbers = [], np.empty(n_sweeps)
    for k in range(n_sweeps):
        sampler.sweep(rng)
        sets.append(tuple(sorted(sampler.points.tolist())))
        numbers[k] = read(sampler)
    return sets, numbers


def rms_z(sets, probabilities):
    truth = np.array(list(probabilities.values()))
    visible = truth * len(sets) > 50
    indicators = np.array([[s == c for c in probabilities] for s in sets])
    return np.sqrt(np.mean(z_scores(indicators[:, visible], truth[visible]) ** 2))


@pytest.mark.parametrize(
    ("n", "max_active", "moves"),
    [(6, 6, (2, 0)), pytest.param(8, 4, (1, 1), marks=pytest.mark.slow)],
)
def test_sets_with_everything_fixed(n, max_active, moves):
    """Exact Gaussian marginal likelihoods of all sets; once in a thousand runs beyond 1.3."""
    gram, y = make_problem(n)
    g, noise = 0.7, 0.4
    terms = [lambda points: log_marginal(gram, y, points, g, noise)]
    probabilities, _ = exact(gram, y, max_active, np.zeros(1), terms)
    sampler = ActiveSetSampler(
        gram.__getitem__,
        np.diag(gram),
        GaussianTargets.of(y, noise),
        max_active,
        g_prior=None,
        eta_prior=None,
        proposals=moves[0],
        windows=moves[1],
        width=6,
    )
    sets, offsets = run(sampler, g, lambda s: s.u[0])
    assert rms_z(sets, probabilities) < 1.3
    f = sampler.u + gram[:, sampler.points] @ sampler.beta[0, 0]
    np.testing.assert_allclose(sampler.f[0], f, atol=1e-9)
    # The mean of the offset given a set is closed form, too.
    mean = 0.0
    for points, probability in probabilities.items():
        points = list(points)
        Q = noise**2 * np.eye(n) + 1.0 / ETA
        if points:
            own = gram[np.ix_(points, points)]
            Q = Q + gram[:, points] @ np.linalg.solve(own, gram[points]) / g
        mean += probability * np.linalg.solve(Q, y).sum() / ETA
    assert abs(z_scores(offsets, mean)) < 4


@pytest.mark.parametrize("which", ["g", pytest.param("noise", marks=pytest.mark.slow)])
def test_sets_with_a_random_scale(which):
    """All sets of six points, g or the noise integrated out by quadrature on its logarithm."""
    gram, y = make_problem(6)
    log_values = np.linspace(-7, 6, 120) if which == "g" else np.linspace(-6, 4, 120)
    if which == "g":
        log_prior = 2.0 * log_values - 0.5 * np.exp(log_values)  # Gamma(2, 0.5)
        options = {"g_prior": (2.0, 0.5)}
        targets = GaussianTargets.of(y, 0.4)
    else:
        log_prior = log_values - 0.5 * np.exp(2 * log_values) / 0.8**2  # half-normal, scale 0.8
        options = {"g_prior": None}
        targets = GaussianTargets.of(y, 0.4, 0.8)

    def term(value, prior):
        g, noise = (np.exp(value), 0.4) if which == "g" else (0.7, np.exp(value))
        return lambda points: prior + log_marginal(gram, y, points, g, noise)

    terms = [term(value, prior) for value, prior in zip(log_values, log_prior, strict=True)]
    probabilities, mean = exact(gram, y, 6, log_values, terms)
    sampler = ActiveSetSampler(
        gram.__getitem__,
        np.diag(gram),
        targets,
        6,
        eta_prior=None,
        proposals=2,
        windows=1,
        width=6,
        **options,
    )
    # The noise moves slowly: shorter runs underestimate their standard errors.
    n_sweeps = N_SWEEPS if which == "g" else 4 * N_SWEEPS
    sets, numbers = run(sampler, 0.7, lambda s: np.log(np.ravel(getattr(s, which))[0]), n_sweeps)
    assert rms_z(sets, probabilities) < 1.3
    assert abs(z_scores(numbers, mean)) < 4


def test_slices_of_the_noise_against_quadrature():
    """Mean and mean square of its logarithm; a z-score beyond 4 comes once in ten thousand runs."""
    n, squares, scale = 5, 2.0, 0.8
    grid = np.linspace(-5, 4, 2000)
    log_density = grid - n * grid - 0.5 * squares / np.exp(2 * grid)
    log_density -= 0.5 * np.exp(2 * grid) / scale**2
    mass = np.exp(log_density - logsumexp(log_density))
    rng = np.random.default_rng(1)
    noise, draws = 1.0, np.empty(20_000)
    for k in range(len(draws)):
        noise = slice_noise(noise, n, squares, scale, rng)
        draws[k] = np.log(noise)
    moments = np.column_stack([draws, draws**2])
    assert (np.abs(z_scores(moments, [mass @ grid, mass @ grid**2])) < 4).all()


def test_terms_are_derivatives():
    rng = np.random.default_rng(0)
    f, y, noise = rng.standard_normal(5), rng.standard_normal(5), 0.3
    slope, bend = np.empty(5), np.empty(5)

    def log_density(f):
        return -0.5 * (y / noise - f) ** 2 - np.log(noise * np.sqrt(2 * np.pi))

    assert np.isclose(gaussian_terms(f, y, noise, slope, bend), log_density(f).sum())
    h = 1e-4
    before, here, after = (log_density(f + d) for d in (-h, 0.0, h))
    np.testing.assert_allclose(slope, (after - before) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(bend, -(after - 2 * here + before) / h**2, atol=1e-4)


def test_state_replays_exactly():
    gram, y = make_problem(8)
    sampler = ActiveSetSampler(gram.__getitem__, np.diag(gram), GaussianTargets.of(y, 0.4, 1.0), 4)
    sampler.place([0], 0.0, None, 1.0, 1.0, np.random.default_rng(0))
    sampler.sweep(np.random.default_rng(0))
    assert_state_replays(sampler, lambda s: (*s.u, *s.g, s.noise, *s.f[0]), sweeps=120)
