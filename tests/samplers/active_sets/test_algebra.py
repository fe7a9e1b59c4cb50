"""Incremental linear algebra, formula (11) and the covariance matrix itself: the same chain."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from bayeskernels.samplers.active_sets.chain import ActiveSetSampler

FILE = Path(__file__).parents[3] / "benchmarks" / "_generalized_peers.py"


@pytest.fixture(scope="module")
def peers():
    specification = importlib.util.spec_from_file_location("generalized_peers", FILE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("algebra", ["FormulaEleven", "Naive"])
def test_same_random_numbers_give_the_same_chain(peers, algebra, seed):
    """Active sets are equal, g and the predictor to 1e-8, through rebuilds and 2,100 proposals.

    In three stretches: like all chains with common random numbers these two drift apart by
    themselves, rounding errors grow tenfold in some twenty sweeps.
    """
    rng = np.random.default_rng(1)
    n = 40
    X = rng.standard_normal((n, 4))
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 4)
    positive = X[:, 0] + X[:, 1] * X[:, 2] > 0
    ours = ActiveSetSampler(
        lambda points: gram[points], np.ones(n), positive, 15, proposals=10, windows=0
    )
    ours.place([3, 5], 0.0, None, 1.0, 1.0, rng)
    theirs = peers.PlainSampler(getattr(peers, algebra), ours, gram)
    our_rng, their_rng = np.random.default_rng(seed), np.random.default_rng(seed)
    sizes = set()
    for _ in range(70):
        ours.sweep(our_rng)
        k = len(ours.points)
        T = ours.active.T[0, :k, :k]
        theirs.sweep(their_rng, whitening=lambda T=T: T)
        assert theirs.active == ours.points.tolist()
        np.testing.assert_allclose(theirs.g, ours.g, rtol=1e-8)
        np.testing.assert_allclose(theirs.f, ours.f[0], rtol=1e-8, atol=1e-8)
        sizes.add(k)
    assert len(sizes) > 5
