"""Active sets against enumeration: every set of six points, with precisions fixed and random."""

import itertools

import numpy as np
import pytest
from scipy.special import log_ndtr

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_set_sampler import ActiveSetSampler, move_probabilities
from bayeskernels.samplers.probit_response import log_normal_cdf, truncated_normal

N = 6
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, 2))
POSITIVE = X[:, 0] + 0.7 * RNG.standard_normal(N) > 0
GRAM = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1.5)
G_PRIOR, ETA_PRIOR = (2.0, 0.05), (0.5, 0.05)


def exact(max_active, fixed, n_prior=60_000):
    """Probabilities of all sets, and means of log g and u, by draws of the prior for each set."""
    rng = np.random.default_rng(5)
    weights = np.exp(log_size_weights(N, max_active, 1.0, 1.0))
    sets = [c for k in range(max_active + 1) for c in itertools.combinations(range(N), k)]
    mass, log_g, offset = [], [], []
    for points in map(list, sets):
        g = np.full(n_prior, 0.7) if fixed else rng.gamma(G_PRIOR[0], 1 / G_PRIOR[1], n_prior)
        eta = np.full(n_prior, 0.5) if fixed else rng.gamma(ETA_PRIOR[0], 1 / ETA_PRIOR[1], n_prior)
        u = rng.standard_normal(n_prior) / np.sqrt(eta)
        f = np.repeat(u[:, None], N, axis=1)
        if points:
            factor = np.linalg.cholesky(GRAM[np.ix_(points, points)])
            V = np.linalg.solve(factor, GRAM[points]).T
            f = f + rng.standard_normal((n_prior, len(points))) @ V.T / np.sqrt(g)[:, None]
        likelihood = np.exp(log_ndtr(np.where(POSITIVE, f, -f)).sum(axis=1)) * weights[len(points)]
        mass.append(likelihood.mean())
        log_g.append((likelihood * np.log(g)).mean())
        offset.append((likelihood * u).mean())
    total = sum(mass)
    return (
        dict(zip(sets, np.array(mass) / total, strict=True)),
        sum(log_g) / total,
        sum(offset) / total,
    )


def run(max_active, fixed, n_sweeps, seed=1, **options):
    if fixed:
        options |= {"g_prior": None, "eta_prior": None}
    sampler = ActiveSetSampler(
        lambda points: GRAM[points], np.diag(GRAM), POSITIVE, max_active, **options
    )
    rng = np.random.default_rng(seed)
    sampler.place([0], 0.1, [0.3], 0.7, 0.5, rng)
    sets, numbers = [], np.empty((n_sweeps, 2))
    for k in range(n_sweeps):
        sampler.sweep(rng)
        sets.append(tuple(sorted(sampler.points.tolist())))
        numbers[k] = np.log(sampler.g), sampler.u
    return sets, numbers, sampler


def z_scores(series, truth, n_batches=50):
    batches = (
        np.asarray(series, dtype=float).reshape(n_batches, -1, *np.shape(series)[1:]).mean(axis=1)
    )
    error = batches.std(axis=0, ddof=1) / np.sqrt(n_batches)
    return (batches.mean(axis=0) - truth) / np.maximum(error, 1e-12)


def rms_z(sets, probabilities):
    indicators = np.array([[s == c for c in probabilities] for s in sets])
    truth = np.array(list(probabilities.values()))
    visible = truth * len(sets) > 50
    return np.sqrt(np.mean(z_scores(indicators, truth)[visible] ** 2))


@pytest.mark.parametrize(
    ("max_active", "fixed", "blocks"), [(6, True, 0), (6, False, 1), (3, False, 1), (1, True, 1)]
)
def test_active_sets_have_their_exact_probabilities(max_active, fixed, blocks):
    """Up to 64 sets; the root mean square of their z-scores exceeds 1.45 once in a thousand."""
    probabilities, log_g, offset = exact(max_active, fixed)
    sets, numbers, sampler = run(max_active, fixed, 20_000, proposals=2, blocks=blocks)
    assert rms_z(sets, probabilities) < 1.45
    assert abs(z_scores(numbers[:, 1], offset)) < 4
    if not fixed:
        assert abs(z_scores(numbers[:, 0], log_g)) < 4
    assert (sampler.counts[:2, 1] > 0).all()
    f = sampler.u + GRAM[:, sampler.points] @ sampler.beta
    np.testing.assert_allclose(sampler.f, f, atol=1e-7)


def test_large_sets_come_down_by_blocks():
    """From all of 150 points active; one at a time takes far longer."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    sampler = ActiveSetSampler(
        lambda points: gram[points], np.ones(150), X[:, 0] > 0, 150, set_prior=(1.0, 30.0)
    )
    sampler.place(np.arange(150), 0.0, None, 1.0, 1.0, rng)
    for _ in range(150):
        sampler.sweep(rng)
    assert len(sampler.points) < 40
    assert sampler.counts[4, 1] > 0


def test_snapshot_replays_exactly():
    _, _, sampler = run(6, False, 50)
    snapshot = sampler.snapshot
    trails = []
    for _ in range(2):
        sampler.snapshot = snapshot
        rng = np.random.default_rng(7)
        trail = []
        for _ in range(30):
            sampler.sweep(rng)
            trail.append((*sampler.points.tolist(), sampler.g, sampler.u))
        trails.append(trail)
    assert trails[0] == trails[1]


def test_too_many_points_at_the_start():
    sampler = ActiveSetSampler(lambda points: GRAM[points], np.diag(GRAM), POSITIVE, 2)
    with pytest.raises(ValueError, match="3 points are active at the start, at most 2"):
        sampler.place([0, 1, 2], 0.0, None, 1.0, 1.0, np.random.default_rng(0))


def test_move_probabilities():
    birth, death = move_probabilities(10, 4, 0.5, 0.2)
    np.testing.assert_array_equal(birth, [1, 0.5, 0.5, 0.5, 0])
    np.testing.assert_array_equal(death, [0, 0.2, 0.2, 0.2, 1])
    with pytest.raises(ValueError, match="at most one together"):
        move_probabilities(10, 4, 0.7, 0.5)


@pytest.mark.parametrize("mean", [-6.0, -1.0, 0.3, 4.0])
@pytest.mark.parametrize("positive", [True, False])
def test_truncated_normal_numbers(mean, positive):
    from scipy import stats

    rng = np.random.default_rng(1)
    draws = np.array([truncated_normal(mean, 1.5, positive, rng) for _ in range(4000)])
    bounds = (-mean / 1.5, np.inf) if positive else (-np.inf, -mean / 1.5)
    law = stats.truncnorm(*bounds, loc=mean, scale=1.5)
    # Fails by chance once in ten thousand runs.
    assert stats.kstest(draws, law.cdf).pvalue > 1e-4


def test_log_normal_cdf():
    x = np.array([-300.0, -40.0, -20.1, -19.9, -3.0, 0.0, 5.0])
    np.testing.assert_allclose([log_normal_cdf(v) for v in x], log_ndtr(x), rtol=1e-7)
