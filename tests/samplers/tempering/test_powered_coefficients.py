"""Moves of offset, coefficients and precisions leave the target that exact draws come from."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from bayeskernels.samplers.tempering.powered_chain import PoweredChain, PoweredTarget
from bayeskernels.samplers.tempering.powered_coefficients import (
    log_likelihood,
    move_coefficients,
    move_precisions,
)

POINTS = np.array([0, 2, 3])
POSITIVE = np.array([True, True, False, True, True])
RANDOM = {"g_prior": (2.0, 1.0), "eta_prior": (3.0, 2.0)}
FIXED = {"g_prior": 0.3, "eta_prior": 0.7}
N_DRAWS = 8000

#: Crank-Nicolson steps, transports; None where the move is that of precisions given the function.
MOVES = {
    "fresh step": (FIXED, (1, 0)),
    "short step": (FIXED, (2, 0)),
    "transport": (RANDOM, (0, 1)),
    "both": (RANDOM, (2, 1)),
    "precisions": (RANDOM, None),
}


def make_chain(priors):
    """A chain whose active points are three of five."""
    X = np.linspace(-1.5, 1.5, 5)
    gram = np.exp(-((X[:, None] - X) ** 2))
    chain = PoweredChain(PoweredTarget(POSITIVE, 3, gram=gram, **priors))
    chain._clear(POINTS)
    return chain


def exact_draws(chain, power, rng):
    """Independent draws of (g, eta, u, z) by rejection: no power of the likelihood is above 1."""
    V = chain.active.V[0, :3]
    kept, missing = [], N_DRAWS
    while missing > 0:
        size = 200_000
        g, eta = (
            rng.gamma(prior[0], 1 / prior[1], size)
            if isinstance(prior, tuple)
            else np.full(size, prior)
            for prior in chain.target.priors
        )
        u = rng.standard_normal(size) / np.sqrt(eta)
        z = rng.standard_normal((size, 3))
        f = u[:, None] + z @ V / np.sqrt(g)[:, None]
        log_keep = power * log_ndtr(np.where(POSITIVE, f, -f)).sum(axis=1)
        keep = np.log(1 - rng.random(size)) < log_keep
        kept.append(np.column_stack([g, eta, u, z])[keep][:missing])
        missing -= len(kept[-1])
    return np.concatenate(kept)


def features(draws, chain):
    """What is compared: precisions, offset, coefficients, predictor, their squares and log L."""
    f = draws[:, 2:3] + draws[:, 3:] @ chain.active.V[0, :3] / np.sqrt(draws[:, :1])
    first = np.column_stack([np.log(draws[:, :2]), draws[:, 2:], f])
    likelihood = log_ndtr(np.where(POSITIVE, f, -f)).sum(axis=1)
    return np.column_stack([first, first**2, likelihood, likelihood**2]), f


@pytest.mark.parametrize("power", [0.4, 1.0])
@pytest.mark.parametrize("name", MOVES)
def test_moves_leave_the_target(name, power):
    """Exact draws, one move each; means before and after. False alarms: one in fifty for all."""
    priors, how = MOVES[name]
    chain = make_chain(priors)
    rng = np.random.default_rng(7)
    hyper = chain.target.hyper(power)
    counts = np.zeros((2, 2), dtype=np.int64)
    draws = exact_draws(chain, power, rng)
    moved, carried = np.empty_like(draws), np.empty((N_DRAWS, 5))
    before, f = features(draws, chain)
    where = chain.active, chain.f, chain.z, chain.scalars, POSITIVE, power, hyper
    for k, draw in enumerate(draws):
        chain.scalars[:], chain.z[:], chain.f[:] = draw[:3], draw[3:], f[k]
        if how is None:
            move_precisions(*where, rng)
        else:
            move_coefficients(*where, *how, rng, counts)
        moved[k, :3], moved[k, 3:], carried[k] = chain.scalars, chain.z, chain.f
    after, f = features(moved, chain)
    np.testing.assert_allclose(carried, f, atol=1e-8)
    difference = after - before
    assert (np.abs(difference).max(axis=1) > 1e-9).mean() > 0.3  # it moves at all
    spread = difference.std(axis=0)
    moving = spread > 1e-9  # fixed precisions do not
    z = difference.mean(axis=0)[moving] / (spread[moving] / np.sqrt(N_DRAWS))
    assert np.abs(z).max() < 4.0


def test_log_likelihood():
    """Products of many factors, and far tails."""
    rng = np.random.default_rng(1)
    base, part = rng.standard_normal((2, 300)) * 8
    base[:3] = -60.0, 45.0, -25.0
    positive = rng.random(300) < 0.5
    f = base + 0.5 * part
    exact = log_ndtr(np.where(positive, f, -f)).sum()
    assert log_likelihood(base, part, 0.5, positive) == pytest.approx(exact, rel=1e-9)
