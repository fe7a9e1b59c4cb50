"""Incremental linear algebra of an active set against the same from scratch."""

import numpy as np
import pytest
from scipy import stats

from bayeskernels.samplers.active_sets.columns import (
    ActiveColumns,
    append,
    append_later,
    birth_gain,
    coupling,
    new_direction,
    new_products,
    prepare,
    products,
    rebuild,
)
from bayeskernels.samplers.active_sets.deaths import (
    death_direction,
    death_gain,
    remove,
    remove_soon,
)
from bayeskernels.samplers.active_sets.waiting_columns import MAX_DEAD, bring_up_to_date, is_full

N, K_MAX = 20, 9
ROWS = K_MAX + MAX_DEAD
NOTHING = np.empty(0)


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, 3))
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 4)
    return gram, rng.standard_normal(N), rng


def log_marginal(gram, s, points, g, eta):
    """Equation (8), as printed, from the whole covariance matrix."""
    K = gram[:, points]
    inner = gram[np.ix_(points, points)] + 1e-8 * np.eye(len(points))
    Q = np.eye(N) + 1 / eta + K @ np.linalg.solve(inner, K.T) / g
    return stats.multivariate_normal(np.zeros(N), Q).logpdf(s)


def activate(state, gram, s, point, later=False):
    v, c, m, row = np.empty(N), np.empty(ROWS), np.empty(ROWS + 1), np.empty(ROWS + 1)
    is_whitened = True
    if later:
        pivot, own, with_s, is_whitened = new_products(
            state, point, gram[point], NOTHING, gram[point, point], NOTHING, s, v, c, m
        )
    else:
        pivot = new_direction(state, point, gram[point], gram[point, point], NOTHING, v, c)
        own, with_s = products(state, v, s, m)
    schur = coupling(state, own, m, NOTHING, 1.0, row)
    gain = birth_gain(state, with_s, row, schur)
    if is_whitened:
        append(state, point, gram[point], v, c, pivot, own, with_s, m, row, schur, NOTHING, 1.0)
    else:
        append_later(state, point, gram[point], c, pivot, own, with_s, m, row, schur, NOTHING, 1.0)
    return gain


def check(state, gram, s, g, eta):
    """Everything that is carried along against its definition."""
    k = int(state.size[0])
    points = state.points[:k]
    assert state.is_active.sum() == k
    assert state.is_active[points].all()
    V = state.V[:k].T
    T = state.T[:k, :k]
    inner = gram[np.ix_(points, points)] + 1e-8 * np.eye(k)
    np.testing.assert_allclose(T @ inner @ T.T, np.eye(k), atol=1e-8)
    np.testing.assert_allclose(V, gram[:, points] @ T.T, atol=1e-8)
    W = np.column_stack([np.ones(N) / np.sqrt(eta), V / np.sqrt(g)])
    np.testing.assert_allclose(state.response[: k + 1], W.T @ s, atol=1e-8)
    np.testing.assert_allclose(
        state.inverse[: k + 1, : k + 1], np.linalg.inv(np.eye(k + 1) + W.T @ W), atol=1e-8
    )
    ones = np.column_stack([np.ones(N), V])
    np.testing.assert_allclose(state.gram[: k + 1, : k + 1], ones.T @ ones, atol=1e-8)
    for slot in range(k):
        np.testing.assert_array_equal(state.kernel[state.stored[slot]], gram[points[slot]])


@pytest.mark.parametrize("every", [1, 7, 300])
def test_births_and_deaths_in_any_order(problem, every):
    """V brought up to date at once, after some moves, or only when no more can wait."""
    gram, s, rng = problem
    g, eta = 0.7, 2.0
    state = ActiveColumns.empty(N, K_MAX)
    prepare(state, s, g, eta)
    for step in range(300):
        k = int(state.size[0])
        points = state.points[:k].tolist()
        before = log_marginal(gram, s, points, g, eta)
        if k < K_MAX and (k == 0 or rng.random() < 0.5):
            point = int(rng.choice(np.setdiff1d(np.arange(N), points)))
            gain = activate(state, gram, s, point, later=every > 1)
            after = [*points, point]
        else:
            slot = int(rng.integers(k))
            t, x = np.empty(ROWS), np.empty(ROWS + 1)
            death_direction(state, slot, t)
            gain, share = death_gain(state, t, x)
            remove_soon(state, slot, t, x, share)
            after = points[:slot] + points[slot + 1 :]
        assert state.points[: state.size[0]].tolist() == after
        assert np.isclose(gain, log_marginal(gram, s, after, g, eta) - before, atol=1e-6)
        if step % every == 0 or is_full(state):
            bring_up_to_date(state, NOTHING)
            check(state, gram, s, g, eta)
    bring_up_to_date(state, NOTHING)
    check(state, gram, s, g, eta)


def test_swap_is_a_death_and_a_birth(problem):
    """The gain of a birth without a direction that is about to go."""
    gram, s, _ = problem
    g, eta = 1.5, 0.5
    state = ActiveColumns.empty(N, K_MAX)
    prepare(state, s, g, eta)
    for point in (3, 11, 7, 0):
        activate(state, gram, s, point)
    t, x, m = np.empty(ROWS), np.empty(ROWS + 1), np.empty(ROWS + 1)
    death_direction(state, 1, t)
    gain, share = death_gain(state, t, x)
    v, c = np.empty(N), np.empty(ROWS)
    new_direction(state, 5, gram[5], 1.0, t[:4], v, c)
    own, with_s = products(state, v, s, m)
    for n_known in (0, 3, 4):
        known = state.V[:n_known] @ gram[5]
        short = new_products(
            state, 5, gram[5], known, 1.0, t[:4], s, v.copy(), c.copy(), m_short := m.copy()
        )
        np.testing.assert_allclose(short[1:3], (own, with_s), rtol=1e-10)
        np.testing.assert_allclose(m_short[:5], m[:5], rtol=1e-10)
    row = np.empty(ROWS + 1)
    schur = coupling(state, own, m, x[:5], share, row)
    gain += birth_gain(state, with_s, row, schur)
    change = log_marginal(gram, s, [3, 7, 0, 5], g, eta)
    change -= log_marginal(gram, s, [3, 11, 7, 0], g, eta)
    assert np.isclose(gain, change, atol=1e-6)


def test_rebuild_changes_nothing_but_the_drift(problem):
    gram, s, _ = problem
    state = ActiveColumns.empty(N, K_MAX)
    prepare(state, s, 1.0, 1.0)
    for point in (2, 9, 4, 13, 6):
        activate(state, gram, s, point)
    remove(state, np.array([1]), NOTHING)
    state.V[:] += 1e-5
    rebuild(state, np.diag(gram).copy())
    prepare(state, s, 0.3, 4.0)
    check(state, gram, s, 0.3, 4.0)


def test_repeated_points_leave_the_model_as_it_is(problem):
    """A twin of an active point has nothing to add: no division by zero, no gain."""
    gram, s, _ = problem
    twins = gram.copy()
    twins[1], twins[:, 1] = twins[0], twins[:, 0]
    twins[1, 1] = 1.0
    state = ActiveColumns.empty(N, K_MAX)
    prepare(state, s, 1.0, 1.0)
    activate(state, twins, s, 0)
    assert abs(activate(state, twins, s, 1)) < 1e-4
    assert np.isfinite(state.inverse[:3, :3]).all()
