"""All active sets of six and of eight points, with the moves that the step makes by default."""

import itertools

import numpy as np
import pytest
from scipy.special import log_ndtr

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_set_sampler import ActiveSetSampler

N_PRIOR, N_SWEEPS, N_BATCHES = 40_000, 30_000, 100


def make_problem(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 2))
    positive = X[:, 0] + 0.7 * rng.standard_normal(n) > 0
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1.5), positive


def posterior_of_sets(gram, positive, max_active, is_fixed):
    """Prior mass times mean likelihood of every set, the latter by draws of the prior."""
    n = len(positive)
    rng = np.random.default_rng(5)
    log_weights = log_size_weights(n, max_active, 1.0, 1.0)
    mass = {}
    for k in range(max_active + 1):
        for points in map(list, itertools.combinations(range(n), k)):
            g = np.full(N_PRIOR, 0.7) if is_fixed else rng.gamma(2.0, 1 / 0.05, N_PRIOR)
            eta = np.full(N_PRIOR, 0.5) if is_fixed else rng.gamma(0.5, 1 / 0.05, N_PRIOR)
            f = (rng.standard_normal(N_PRIOR) / np.sqrt(eta))[:, None] + np.zeros(n)
            if points:
                factor = np.linalg.cholesky(gram[np.ix_(points, points)])
                V = np.linalg.solve(factor, gram[points]).T
                f = f + rng.standard_normal((N_PRIOR, k)) @ V.T / np.sqrt(g)[:, None]
            likelihood = np.exp(log_ndtr(np.where(positive, f, -f)).sum(axis=1))
            mass[tuple(points)] = np.exp(log_weights[k]) * likelihood.mean()
    total = sum(mass.values())
    return {points: value / total for points, value in mass.items()}


@pytest.mark.slow
@pytest.mark.parametrize("is_fixed", [True, False], ids=["fixed", "random"])
@pytest.mark.parametrize(
    ("n", "max_active"), [(6, 6), (6, 3), (6, 1), (8, 8), (8, 4), (8, 1)], ids=str
)
def test_frequencies_of_all_sets(n, max_active, is_fixed):
    """Root mean square of the z-scores of all sets that are seen fifty times or more."""
    gram, positive = make_problem(n)
    exact = posterior_of_sets(gram, positive, max_active, is_fixed)
    priors = {"g_prior": None, "eta_prior": None} if is_fixed else {}
    sampler = ActiveSetSampler(
        gram.__getitem__, np.diag(gram), positive, max_active, proposals=3, windows=1, **priors
    )
    rng = np.random.default_rng(1)
    sampler.place([0], 0.1, [0.3], 0.7, 0.5, rng)
    number = {points: k for k, points in enumerate(exact)}
    seen = np.empty(N_SWEEPS, dtype=int)
    for k in range(N_SWEEPS):
        sampler.sweep(rng)
        seen[k] = number[tuple(sorted(sampler.points.tolist()))]
    truth = np.array(list(exact.values()))
    visible = np.flatnonzero(truth * N_SWEEPS > 50)
    shares = np.array([(seen.reshape(N_BATCHES, -1) == k).mean(axis=1) for k in visible])
    errors = shares.std(axis=1, ddof=1) / np.sqrt(N_BATCHES)
    z = (shares.mean(axis=1) - truth[visible]) / np.maximum(errors, 1e-12)
    limit = 1.3 if len(visible) > 20 else 2.0  # of few sets the mean square varies more
    assert np.sqrt(np.mean(z**2)) < limit
