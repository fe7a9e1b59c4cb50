"""The dense probit model against importance sampling, and as PyMC sees it."""

import numpy as np
import pymc as pm
import pytest
from replay import assert_state_replays
from scipy.special import log_ndtr

import bayeskernels as bk
from bayeskernels.samplers.active_sets.dense_probit import DenseProbitSampler

N = 8
RNG = np.random.default_rng(2)
X = RNG.standard_normal((N, 2))
POSITIVE = X[:, 0] + 0.5 * RNG.standard_normal(N) > 0
GRAM = 2.0 * np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))


def exact(g_prior, eta_prior, n_prior=400_000):
    """Posterior means of log g, u and f by draws of the prior, with their standard errors."""
    rng = np.random.default_rng(5)
    g = rng.gamma(g_prior[0], 1 / g_prior[1], n_prior) if g_prior else np.full(n_prior, 0.7)
    eta = rng.gamma(eta_prior[0], 1 / eta_prior[1], n_prior) if eta_prior else np.ones(n_prior)
    u = rng.standard_normal(n_prior) / np.sqrt(eta)
    factor = np.linalg.cholesky(GRAM)
    f = u[:, None] + rng.standard_normal((n_prior, N)) @ factor.T / np.sqrt(g)[:, None]
    weights = np.exp(log_ndtr(np.where(POSITIVE, f, -f)).sum(axis=1))
    weights /= weights.sum()
    values = np.column_stack([np.log(g), u, f])
    mean = weights @ values
    return mean, np.sqrt((weights**2) @ (values - mean) ** 2)


@pytest.mark.parametrize(
    ("g_prior", "eta_prior"), [((2.0, 1.0), (2.0, 2.0)), (None, (2.0, 2.0)), ((1.0, 1.0), None)]
)
def test_posterior_is_exact(g_prior, eta_prior):
    mean, error = exact(g_prior, eta_prior)
    sampler = DenseProbitSampler(GRAM, POSITIVE, g_prior=g_prior, eta_prior=eta_prior)
    rng = np.random.default_rng(1)
    sampler.place(np.arange(N), 0.0, None, 0.7, 1.0, rng)
    draws = np.empty((20_000, N + 2))
    for row in draws:
        sampler.sweep(rng)
        row[:] = *np.log(sampler.g), *sampler.u, *sampler.f[0]
    batches = draws.reshape(50, -1, N + 2).mean(axis=1)
    error = np.hypot(error, batches.std(axis=0, ddof=1) / np.sqrt(50))
    z = (batches.mean(axis=0) - mean) / np.maximum(error, 1e-12)
    # Ten numbers at 4.2: once in four thousand runs by chance.
    assert (np.abs(z) < 4.2).all()
    np.testing.assert_allclose(sampler.u + GRAM @ sampler.beta[0, 0], sampler.f[0], atol=1e-8)


def test_state_replays_exactly():
    sampler = DenseProbitSampler(GRAM, POSITIVE)
    sampler.place(np.arange(N), 0.0, None, 1.0, 1.0, np.random.default_rng(0))
    assert_state_replays(sampler, lambda s: (*s.u, *s.g, *s.f[0]), sweeps=10)


def test_step_of_a_dense_model():
    X, y = bk.data.make_two_moons(25, random_seed=1)
    with bk.models.generalized_kernel_model(X, y, sparse=False):
        idata = pm.sample(
            10,
            tune=5,
            chains=1,
            progressbar=False,
            random_seed=1,
            compute_convergence_checks=False,
        )
        pm.compute_log_likelihood(idata, progressbar=False)
    total = idata.log_likelihood["y"].sum("obs").values
    np.testing.assert_allclose(total, idata.sample_stats["rj_log_likelihood"], rtol=1e-6)
    assert (idata.sample_stats["rj_active"] == 25).all()


def test_all_points_are_active():
    sampler = DenseProbitSampler(GRAM, POSITIVE)
    with pytest.raises(ValueError, match="All of the 8 points are active"):
        sampler.place([0, 1], 0.0, None, 1.0, 1.0, np.random.default_rng(0))
