"""Chains that go on twice from one saved state: a saved state must hold all that counts."""

import numpy as np


def assert_state_replays(sampler, watch, *, sweeps):
    """Both times ``watch(sampler)``, a tuple of numbers, is the same after every sweep."""
    state = sampler.state
    trails = []
    for _ in range(2):
        sampler.state = state
        rng = np.random.default_rng(3)
        trail = []
        for _ in range(sweeps):
            sampler.sweep(rng)
            trail.append(watch(sampler))
        trails.append(trail)
    assert trails[0] == trails[1]
