"""Incremental linear algebra of an active set against the same from scratch."""

import numpy as np
import pytest
from scipy import stats

from bayeskernels.samplers.active_sets.columns.births import (
    activate,
    append,
    new_directions,
    propose_birth,
)
from bayeskernels.samplers.active_sets.columns.deaths import (
    forget,
    propose_death,
    remove,
    remove_soon,
)
from bayeskernels.samplers.active_sets.columns.proposal import new_proposal
from bayeskernels.samplers.active_sets.columns.row_weights import reweigh
from bayeskernels.samplers.active_sets.columns.state import (
    ActiveColumns,
    compact_gram,
    compact_inverse,
    compact_response,
    first,
    prepare,
    rebuild,
)
from bayeskernels.samplers.active_sets.columns.waiting import bring_up_to_date, is_full

N, K_MAX = 20, 9
NOTHING = np.empty((0, 0, 0))
ETA = 2.0

#: Numbers of kernels and of responses.
SHAPES = [(1, 1), (1, 3), (2, 1), (3, 2)]


class Problem:
    """Kernel matrices, responses, and a state for them."""

    def __init__(self, q, r, weights=None):
        rng = self.rng = np.random.default_rng(1)
        X = rng.standard_normal((N, 3))
        distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        self.grams = np.stack([np.exp(-distances / width) for width in (4.0, 1.0, 2.0)[:q]])
        self.S = rng.standard_normal((r, N))
        self.weights = np.array([1.2, 0.7, 0.9])[:q] if weights is None else np.array(weights)
        self.diagonal = np.ones((q, N))
        self.state = ActiveColumns.empty(N, K_MAX, q, r)
        self.proposal = new_proposal(self.state)
        self.prepare()

    def prepare(self):
        prepare(self.state, self.S, self.weights, ETA)

    @property
    def points(self):
        return self.state.points[: self.state.size[0]].tolist()

    def activate(self, *points):
        for point in points:
            columns = self.grams[:, point].copy()
            activate(self.state, point, columns, self.diagonal, self.S, self.proposal)

    def propose(self, point, n_known=0):
        """Gain of a birth, with products with some of the rows at hand."""
        columns = self.grams[:, point].copy()
        known = np.einsum("jn,hkn->jhk", columns, self.state.V[:, :n_known])
        return propose_birth(
            self.state, point, columns, known, self.diagonal, self.S, self.proposal
        )

    def append(self, point):
        append(self.state, point, self.grams[:, point].copy(), self.proposal)

    def log_marginal(self, points):
        """Equation (8), as printed, from the whole covariance matrix."""
        Q = np.eye(N) + 1 / ETA
        for gram, weight in zip(self.grams, self.weights, strict=True):
            K = gram[:, points]
            inner = gram[np.ix_(points, points)] + 1e-8 * np.eye(len(points))
            Q = Q + weight**2 * K @ np.linalg.solve(inner, K.T)
        return stats.multivariate_normal(np.zeros(N), Q).logpdf(self.S).sum()

    def check(self, row_weights=1.0):
        """Everything that is carried along against its definition."""
        state, points = self.state, self.points
        k = len(points)
        assert state.is_active.sum() == k
        assert state.is_active[points].all()
        blocks = [row_weights * np.ones((N, 1))]
        for j, gram in enumerate(self.grams):
            gram = gram * np.outer(row_weights * np.ones(N), row_weights * np.ones(N))
            V, T = state.V[j, :k].T, state.T[j, :k, :k]
            inner = gram[np.ix_(points, points)]
            inner = inner + 1e-8 * np.diag(np.diag(inner))
            np.testing.assert_allclose(T @ inner @ T.T, np.eye(k), atol=1e-8)
            np.testing.assert_allclose(V, gram[:, points] @ T.T, atol=1e-8)
            stored = state.kernel[state.stored[:k], j]
            np.testing.assert_allclose(stored, gram[points], rtol=1e-12)
            blocks.append(V)
        ones = np.column_stack([np.broadcast_to(row_weights, N).reshape(N, 1), *blocks[1:]])
        factors = np.concatenate([[ETA**-0.5], np.repeat(self.weights, k)])
        W = ones * factors
        np.testing.assert_allclose(compact_response(state), self.S @ W, atol=1e-8)
        np.testing.assert_allclose(
            compact_inverse(state), np.linalg.inv(np.eye(len(factors)) + W.T @ W), atol=1e-8
        )
        np.testing.assert_allclose(compact_gram(state), ones.T @ ones, atol=1e-8)


@pytest.mark.parametrize(("q", "r"), SHAPES)
@pytest.mark.parametrize("every", [1, 7, 300])
def test_births_and_deaths_in_any_order(q, r, every):
    """V brought up to date at once, after some moves, or only when no more can wait."""
    problem = Problem(q, r)
    state, rng = problem.state, problem.rng
    for step in range(300 if q * r == 1 else 100):
        points = problem.points
        before = problem.log_marginal(points)
        if len(points) < K_MAX and (not points or rng.random() < 0.5):
            point = int(rng.choice(np.setdiff1d(np.arange(N), points)))
            gain = problem.propose(point)
            problem.append(point)
            after = [*points, point]
        else:
            slot = int(rng.integers(len(points)))
            gain = propose_death(state, slot, problem.proposal)
            remove_soon(state, slot, problem.proposal)
            after = points[:slot] + points[slot + 1 :]
        assert problem.points == after
        assert np.isclose(gain, problem.log_marginal(after) - before, atol=1e-6)
        if step % every == 0 or is_full(state):
            bring_up_to_date(state, NOTHING)
            problem.check()
    bring_up_to_date(state, NOTHING)
    problem.check()


@pytest.mark.parametrize("weights", [None, (0.7, 0.0), (0.0, 0.0)])
def test_kernels_that_are_off_gain_nothing(weights):
    """They are carried along all the same, and are right once they are on."""
    problem = Problem(2, 2, weights)
    for point in (3, 11, 7, 0, 5):
        before = problem.log_marginal(problem.points)
        gain = problem.propose(point)
        problem.append(point)
        assert np.isclose(gain, problem.log_marginal(problem.points) - before, atol=1e-6)
    before = problem.log_marginal(problem.points)
    gain = propose_death(problem.state, 1, problem.proposal)
    remove_soon(problem.state, 1, problem.proposal)
    assert np.isclose(gain, problem.log_marginal(problem.points) - before, atol=1e-6)
    bring_up_to_date(problem.state, NOTHING)
    problem.check()
    problem.weights = np.array([0.4, 1.7])
    problem.prepare()
    problem.check()


def check_products(problem, point):
    """Those found without the whitened columns of a point against those of the columns."""
    proposal, V = problem.proposal, problem.state.V[:, : len(problem.points)]
    assert not proposal.is_whitened[0]
    own, with_s, constants = proposal.own.copy(), proposal.with_s.copy(), proposal.m[:, 0].copy()
    starts = [first(problem.state, j) for j in range(len(V))]
    with_V = [proposal.m[:, start : start + V.shape[1]].copy() for start in starts]
    columns = problem.grams[:, point].copy()
    new_directions(problem.state, point, columns, problem.diagonal, proposal)
    v = proposal.v.copy()
    np.testing.assert_allclose(own, v @ v.T, rtol=1e-10)
    np.testing.assert_allclose(with_s, v @ problem.S.T, rtol=1e-10)
    np.testing.assert_allclose(constants, v.sum(axis=1), rtol=1e-10)
    for rows, products in zip(V, with_V, strict=True):
        np.testing.assert_allclose(products, v @ rows.T, rtol=1e-10, atol=1e-12)
    proposal.is_whitened[0] = False


@pytest.mark.parametrize(("q", "r"), SHAPES)
@pytest.mark.parametrize("n_known", [0, 3, 4])
def test_swap_is_a_death_and_a_birth(q, r, n_known):
    """The gain of a birth without the directions that are about to go, and what is left after."""
    problem = Problem(q, r)
    problem.activate(3, 11, 7, 0)
    problem.proposal.is_swap[0] = True
    gain = propose_death(problem.state, 1, problem.proposal)
    gain += problem.propose(5, n_known)
    check_products(problem, 5)
    change = problem.log_marginal([3, 7, 0, 5]) - problem.log_marginal([3, 11, 7, 0])
    assert np.isclose(gain, change, atol=1e-6)
    forget(problem.state, 1, problem.proposal)
    problem.append(5)
    bring_up_to_date(problem.state, NOTHING)
    assert problem.points == [3, 7, 0, 5]
    problem.check()


@pytest.mark.parametrize(("q", "r"), SHAPES)
def test_rebuild_changes_nothing_but_the_drift(q, r):
    problem = Problem(q, r)
    problem.activate(2, 9, 4, 13, 6)
    z = problem.rng.standard_normal((r, q, K_MAX))
    predictors = np.einsum("rqk,qkn->rn", z[:, :, :5], problem.state.V[:, :5])
    lost = z.copy()
    remove(problem.state, np.array([1]), lost)
    # What is left is the function without the direction that only the point needed.
    rest = predictors - np.einsum("rqk,qkn->rn", lost[:, :, :4], problem.state.V[:, :4])
    assert np.linalg.matrix_rank(rest, tol=1e-6) <= min(q, r)
    problem.state.V[:] += 1e-5
    rebuild(problem.state, problem.diagonal)
    problem.prepare()
    problem.check()


@pytest.mark.parametrize(("q", "r"), SHAPES)
@pytest.mark.parametrize("is_common", [True, False])
def test_row_weights(q, r, is_common):
    problem = Problem(q, r)
    problem.activate(2, 9, 4)
    weights = np.full(N, 1.7) if is_common else problem.rng.uniform(0.5, 2.0, N)
    reweigh(problem.state, weights)
    problem.prepare()
    problem.check(weights)


@pytest.mark.parametrize("q", [1, 2])
def test_repeated_points_leave_the_model_as_it_is(q):
    """A twin of an active point has nothing to add: no division by zero, no gain."""
    problem = Problem(q, 1)
    grams = problem.grams
    grams[:, 1], grams[:, :, 1] = grams[:, 0], grams[:, :, 0]
    grams[:, 1, 1] = 1.0
    problem.activate(0)
    assert abs(problem.propose(1)) < 1e-4
    problem.append(1)
    assert np.isfinite(compact_inverse(problem.state)).all()
