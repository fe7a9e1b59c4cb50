"""The billiard in an orthant against rejection sampling."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from bayeskernels.samplers.directions.billiards.orthant_billiard import bounce_in_orthant

N = 4
RNG = np.random.default_rng(3)
FACTOR = RNG.standard_normal((N, 6))
GRAM = FACTOR @ FACTOR.T
SCALE, SHIFT = 0.8, 1.7
COVARIANCE = np.eye(N) + SHIFT + SCALE * GRAM
SIGNS = np.array([1.0, 1.0, -1.0, 1.0])


def truncated(n_draws, rng):
    """Independent draws with the given signs, by rejection."""
    draws = rng.multivariate_normal(np.zeros(N), COVARIANCE, size=40 * n_draws)
    kept = draws[(draws * SIGNS > 0).all(axis=1)]
    assert len(kept) >= n_draws
    return kept[:n_draws]


def bounce(s, velocity, duration, max_events=1000):
    s = s.copy()
    events = bounce_in_orthant(s, velocity, SIGNS, GRAM, SCALE, SHIFT, duration, max_events)
    return s, events


def test_the_truncated_normal_is_kept():
    """Exact draws moved along one trajectory each are exact draws again."""
    rng = np.random.default_rng(5)
    before, other = np.split(truncated(20_000, rng), 2)
    velocities = rng.multivariate_normal(np.zeros(N), COVARIANCE, size=len(before))
    durations = rng.uniform(0.3, 2.5, size=len(before))
    moved = [bounce(*triple) for triple in zip(before, velocities, durations, strict=True)]
    after = np.array([s for s, _ in moved])
    assert (after * SIGNS > 0).all()
    assert np.mean([events for _, events in moved]) > 0.5
    # Eight comparisons: a false alarm in a thousand runs or fewer.
    values = [p(after, other) for p in _comparisons()]
    assert min(values) > 1e-4


def _comparisons():
    for i in range(N):
        yield lambda a, b, i=i: ks_2samp(a[:, i], b[:, i]).pvalue
    for i in range(N):
        j = (i + 1) % N
        yield lambda a, b, i=i, j=j: ks_2samp(a[:, i] * a[:, j], b[:, i] * b[:, j]).pvalue


def test_chain_forgets_its_start():
    rng = np.random.default_rng(6)
    s = 5.0 * SIGNS
    draws = np.empty((20_000, N))
    for row in draws:
        velocity = rng.multivariate_normal(np.zeros(N), COVARIANCE)
        s, _ = bounce(s, velocity, rng.uniform(1.2, 1.9))
        row[:] = s
    exact = truncated(20_000, rng)
    batches = draws.reshape(40, -1, N).mean(axis=1)
    error = np.hypot(batches.std(axis=0, ddof=1) / np.sqrt(40), exact.std(axis=0) / 20_000**0.5)
    # Four numbers at 4: once in four thousand runs by chance.
    assert (np.abs(draws.mean(axis=0) - exact.mean(axis=0)) < 4 * error).all()


def test_a_trajectory_with_too_many_events_is_given_up():
    rng = np.random.default_rng(7)
    start = truncated(1, rng)[0]
    for _ in range(200):
        velocity = rng.multivariate_normal(np.zeros(N), COVARIANCE)
        _, events = bounce(start, velocity, 3.0)
        if events > 1:
            s, given_up = bounce(start, velocity, 3.0, max_events=1)
            assert given_up == -1
            np.testing.assert_array_equal(s, start)
            return
    pytest.fail("No trajectory met two walls.")


def test_free_flight_is_a_rotation():
    rng = np.random.default_rng(8)
    start = truncated(1, rng)[0]
    s, events = bounce(start, start * 0.5, 0.4)
    assert events == 0
    np.testing.assert_allclose(s, start * (np.cos(0.4) + 0.5 * np.sin(0.4)), rtol=1e-12)
