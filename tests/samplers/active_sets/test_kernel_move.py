"""Learned kernels: the posterior of their widths against quadrature."""

import itertools
import math

import numpy as np
import pytest
from replay import assert_state_replays
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.active_sets.chain import ActiveSetSampler
from bayeskernels.samplers.active_sets.kernel_move import KernelMove, _log_density
from bayeskernels.samplers.active_sets.links.identity import GaussianTargets

N, G, ETA, NOISE = 5, 0.7, 0.5, 0.3
RNG = np.random.default_rng(4)
X = RNG.standard_normal((N, 2))
Y = np.sin(2 * X[:, 0]) + NOISE * RNG.standard_normal(N)
POSITIVE = Y > Y.mean()
LOW, HIGH = 0.3, 3.0
N_BATCHES = 50


def kernel(A, B, theta):
    scaled = (A[:, None] - B[None]) / theta
    return np.exp(-(scaled**2).sum(axis=2))


def covariance(points, theta, noise):
    """Covariance of the working response, offset and coefficients integrated out."""
    Q = noise**2 * np.eye(N) + 1.0 / ETA
    if points:
        rows = kernel(X[points], X, theta)
        own = rows[:, points] + ACTIVE_JITTER * np.eye(len(points))
        Q = Q + rows.T @ np.linalg.solve(own, rows) / G
    return Q


def log_targets(points, theta):
    Q = covariance(points, theta, NOISE)
    return -0.5 * np.linalg.slogdet(Q)[1] - 0.5 * Y @ np.linalg.solve(Q, Y)


def log_labels(points, theta):
    """Logarithm of an orthant probability."""
    signs = np.where(POSITIVE, 1.0, -1.0)
    Q = covariance(points, theta, 1.0) * signs * signs[:, None]
    return math.log(multivariate_normal(np.zeros(N), Q, seed=1).cdf(np.zeros(N)))


def exact(log_likelihood, max_active, thetas, node_weights):
    """Probabilities of all sets, and of the nodes of theta."""
    prior = log_size_weights(N, max_active, 1.0, 1.0)
    sets = [c for k in range(max_active + 1) for c in itertools.combinations(range(N), k)]
    table = np.array([[prior[len(c)] + log_likelihood(list(c), t) for t in thetas] for c in sets])
    table += np.log(node_weights)
    mass = np.exp(table - logsumexp(table))
    return dict(zip(sets, mass.sum(axis=1), strict=True)), mass.sum(axis=0)


def nodes(n):
    """Gauss-Legendre nodes and weights between the bounds."""
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (HIGH - LOW) * x + 0.5 * (HIGH + LOW), w


def log_prior(theta):
    """Uniform between the bounds."""
    return 0.0 if ((theta > LOW) & (theta < HIGH)).all() else -math.inf


def run(response, max_active, move, n_sweeps, theta, **options):
    sampler = ActiveSetSampler(
        lambda points, theta: kernel(X[points], X, theta),
        lambda theta: np.ones(N),
        response,
        max_active,
        g_prior=None,
        eta_prior=None,
        proposals=2,
        width=4,
        theta=theta,
        kernel_move=move,
        **options,
    )
    rng = np.random.default_rng(1)
    start = range(N) if not options.get("is_sparse", True) else [0]
    sampler.place(list(start), 0.1, None, G, ETA, rng)
    sets, numbers = [], np.empty((n_sweeps, len(theta)))
    for k in range(n_sweeps):
        sampler.sweep(rng)
        sets.append(tuple(sorted(sampler.points.tolist())))
        numbers[k] = sampler.theta
    return sets, numbers, sampler


def z_scores(series, truth):
    batches = np.asarray(series, dtype=float).reshape(N_BATCHES, -1, *np.shape(series)[1:])
    batches = batches.mean(axis=1)
    errors = batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)
    return (batches.mean(axis=0) - truth) / np.maximum(errors, 1e-12)


def check_sets(sets, probabilities, limit):
    truth = np.array(list(probabilities.values()))
    visible = truth * len(sets) > 50
    indicators = np.array([[s == c for c in probabilities] for s in sets])[:, visible]
    assert np.sqrt(np.mean(z_scores(indicators, truth[visible]) ** 2)) < limit


MOVES = [
    KernelMove(log_prior),
    KernelMove(log_prior, kind="random_walk", scale=0.8),
]


BOTH = pytest.mark.parametrize(
    "move", [MOVES[0], pytest.param(MOVES[1], marks=pytest.mark.slow)], ids=["slice", "random_walk"]
)


@BOTH
def test_width_of_a_regression(move):
    """Sets, mean and mean square of theta; closed form but for theta. Both moves agree with it."""
    thetas, weights = nodes(60)
    probabilities, mass = exact(log_targets, N, thetas, weights)
    targets = GaussianTargets.of(Y, NOISE)
    sets, numbers, sampler = run(targets, N, move, 6_000, [1.0], windows=1)
    check_sets(sets, probabilities, 1.4)
    theta = numbers[:, 0]
    assert (
        np.abs(z_scores(np.column_stack([theta, theta**2]), [mass @ thetas, mass @ thetas**2])) < 4
    ).all()
    assert theta.min() > LOW
    assert theta.max() < HIGH
    f = sampler.u + kernel(X, X[sampler.points], sampler.theta) @ sampler.beta[0, 0]
    np.testing.assert_allclose(sampler.f[0], f, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.kind)
def test_width_of_a_probit_model(move):
    """Against orthant probabilities by SciPy; sets of up to two points."""
    thetas, weights = nodes(16)
    probabilities, mass = exact(log_labels, 2, thetas, weights)
    sets, numbers, _ = run(POSITIVE, 2, move, 6_000, [1.0], windows=1)
    check_sets(sets, probabilities, 1.5)
    assert abs(z_scores(numbers[:, 0], mass @ thetas)) < 4


@pytest.mark.slow
def test_one_width_for_each_column():
    """Automatic relevance determination, all points active; one coordinate in each sweep."""
    thetas, weights = nodes(24)
    pairs = np.array(list(itertools.product(thetas, thetas)))
    table = np.array([log_targets(list(range(N)), pair) for pair in pairs])
    table += np.log(np.outer(weights, weights).ravel())
    mass = np.exp(table - logsumexp(table))
    move = KernelMove(log_prior, moves=1)
    targets = GaussianTargets.of(Y, NOISE)
    _, numbers, _ = run(targets, N, move, 6_000, [1.0, 1.0], is_sparse=False)
    assert (np.abs(z_scores(np.log(numbers), mass @ np.log(pairs))) < 4).all()


def test_walk_without_the_bounds_is_wrong():
    """The paper's acceptance forgets the prior: its walk leaves the bounds."""
    move = KernelMove(lambda theta: 0.0, kind="random_walk", scale=0.8)
    targets = GaussianTargets.of(Y, NOISE)
    _, numbers, _ = run(targets, N, move, 500, [1.0], windows=1)
    assert np.abs(numbers).max() > HIGH


def test_density_of_the_response():
    """From inner products of whitened columns, and from the covariance matrix itself."""
    points = [1, 3, 4]
    rows = kernel(X[points], X, 1.3)
    own = rows[:, points] + ACTIVE_JITTER * np.eye(3)
    V = np.linalg.solve(np.linalg.cholesky(own), rows)
    columns = np.vstack([np.ones(N), V])
    factors = np.array([ETA**-0.5, *[G**-0.5] * 3])
    response = factors * (columns @ Y)
    ours = _log_density(columns @ columns.T, response[None], factors) - 0.5 * Y @ Y
    Q = covariance(points, 1.3, 1.0)
    expected = -0.5 * np.linalg.slogdet(Q)[1] - 0.5 * Y @ np.linalg.solve(Q, Y)
    assert np.isclose(ours, expected, atol=1e-9)


def test_state_replays_exactly():
    _, _, sampler = run(POSITIVE, 3, MOVES[0], 5, [1.0])
    assert_state_replays(sampler, lambda s: (*s.u, *s.theta, *s.f[0]), sweeps=120)


def test_refusals():
    with pytest.raises(ValueError, match="'slice' or 'random_walk'"):
        KernelMove(log_prior, kind="hop")
    with pytest.raises(ValueError, match="at least 1"):
        KernelMove(log_prior, moves=0)
    with pytest.raises(ValueError, match="must be positive"):
        KernelMove(log_prior, scale=0.0)
