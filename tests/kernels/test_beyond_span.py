"""Predictions at points that the training points do not determine, against draws of the prior.

The reference knows neither directions nor coordinates: Gaussian processes are drawn at training and
new points together, and weighted by the likelihood of the training labels.
"""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.integrate import quad
from scipy.special import expit, ndtr, stdtr
from scipy.stats import chi, norm

import bayeskernels as bk
from bayeskernels.distributions.class_probability import class_probabilities
from bayeskernels.distributions.hinge import complete_hinge_logit
from bayeskernels.kernels.beyond_span import hinge_probabilities, largest_probabilities, tally

X = np.array([[-1.0, 0.0], [-0.4, 0.5], [0.5, -0.3], [1.1, 0.2]])
Y = np.array([-1, -1, 1, 1])
#: Between the points, at their edge, and further and further away.
X_NEW = np.array([[0.3, 0.0], [1.2, 0.1], [2.0, 1.0], [-3.0, 2.0], [30.0, -20.0]])

KERNELS = {
    "gaussian": pm.gp.cov.ExpQuad(2, ls=1.0),
    "rough": 2.0 * pm.gp.cov.Matern12(2, ls=0.7),
    "with bias": pm.gp.cov.ExpQuad(2, ls=0.8) + pm.gp.cov.Constant(1.0),
    "linear": pm.gp.cov.Linear(2, c=np.zeros(2)),
}


def draw_processes(kernel, n, rng):
    """Values of a Gaussian process at the training points and at the new ones."""
    gram = kernel(np.vstack([X, X_NEW])).eval()
    values, vectors = np.linalg.eigh(gram)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    f = rng.standard_normal((n, len(gram))) @ factor.T
    return f[:, : len(X)], f[:, len(X) :]


def likelihoods(f, y, noise):
    return np.where(f * y > 0, 1.0 - noise, noise).prod(axis=1)


def directions(model, noise, n, rng, y=Y):
    """Independent posterior draws of the direction: draws of the prior, accepted by likelihood."""
    features = bk.specification_of(model).feature_map.factor.features
    found = []
    while sum(map(len, found)) < n:
        z = rng.standard_normal((200_000, features.shape[1]))
        likelihood = likelihoods(z @ features.T, y, noise)
        found.append(z[rng.uniform(0, (1.0 - noise) ** len(y), len(z)) < likelihood])
    z = np.concatenate(found)[:n]
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def as_tree(w, dims=("basis",)):
    posterior = xr.Dataset({"w": (("chain", "draw", *dims), w[None])})
    return xr.DataTree.from_dict({"posterior": posterior})


def weighted_share(weights, is_true):
    """Weighted mean of truth values by column, and its standard error."""
    share = weights @ is_true / weights.sum()
    return share, np.sqrt(weights**2 @ (is_true - share) ** 2) / weights.sum()


@pytest.mark.parametrize("noise", [0.05, 0.0])
@pytest.mark.parametrize("name", KERNELS)
def test_label_noise_against_draws_of_the_prior(name, noise):
    """40 comparisons at 5 standard errors of either side: a false alarm in 40,000; fixed seed."""
    rng = np.random.default_rng(1)
    kernel = KERNELS[name]
    f, f_new = draw_processes(kernel, 200_000, rng)
    expected, error = weighted_share(likelihoods(f, Y, noise), f_new > 0)
    model = bk.models.label_noise_classifier(X, Y, kernel=kernel, noise=noise)
    w = directions(model, noise, 20_000, rng)
    prediction = bk.predict(model, as_tree(w), X_NEW)
    found = prediction["probability"].values[:, 1]
    error = np.hypot(error, np.sqrt(0.25 / len(w))) * (1 - 2 * noise)
    assert (np.abs(found - (noise + (1 - 2 * noise) * expected)) < 5 * error).all()
    if name in ("gaussian", "rough"):
        # The last point is so far away that no label says anything about it; the vote does not see.
        assert prediction["probability"].values[-1, 1] == pytest.approx(0.5, abs=1e-9)
        assert not prediction["vote"].values[2, 1] == pytest.approx(expected[2], abs=0.05)
    if name == "linear":
        # The points span the plane: there is nothing beyond.
        shares = noise + (1 - 2 * noise) * prediction["vote"]
        np.testing.assert_allclose(prediction["probability"], shares, atol=1e-12)


@pytest.mark.parametrize(("softness", "rank"), [(0.5, None), (0.0, 2)])
def test_soft_boundaries_and_low_rank(softness, rank):
    """New points have no soft boundary of their own; 10 comparisons at 5 standard errors."""
    rng = np.random.default_rng(2)
    kernel = KERNELS["gaussian"]
    model = bk.models.bayes_point_machine(X, Y, kernel=kernel, softness=softness, rank=rank)
    w = directions(model, 0.0, 20_000, rng)
    found = bk.predict(model, as_tree(w), X_NEW)["probability"].values[:, 1]
    gram = kernel(X).eval()
    cross = kernel(X_NEW, X).eval()
    if rank is None:
        f, f_new = draw_processes(kernel, 200_000, rng)
        f = f + np.sqrt(softness) * rng.standard_normal(f.shape)
    else:
        # The process given its values at the pivots, which determine the training outputs.
        pivots = bk.specification_of(model).feature_map.factor.support
        f, f_new = draw_processes(kernel, 200_000, rng)
        f = f[:, pivots] @ np.linalg.solve(gram[np.ix_(pivots, pivots)], gram[pivots])
        assert cross.shape == (5, 4)
    expected, error = weighted_share(likelihoods(f, Y, 0.0), f_new > 0)
    assert (np.abs(found - expected) < 5 * np.hypot(error, np.sqrt(0.25 / len(w)))).all()


def test_several_classes_against_draws_of_the_prior():
    """The class of the largest function; 15 comparisons at 5 standard errors, fixed seed."""
    rng = np.random.default_rng(3)
    kernel, labels = KERNELS["gaussian"], np.array([0, 1, 2, 2])
    signs = np.where(labels[:, None] == np.arange(3), 1, -1)
    model = bk.models.bayes_point_machine(X, labels, kernel=kernel)
    w = np.stack([directions(model, 0.0, 8_000, rng, y=signs[:, c]) for c in range(3)], axis=1)
    prediction = bk.predict(model, as_tree(w, ("class", "basis")), X_NEW)
    drawn = []
    for c in range(3):
        f, f_new = draw_processes(kernel, 200_000, rng)
        drawn.append(f_new[likelihoods(f, signs[:, c], 0.0) > 0])
    n = min(map(len, drawn))
    winners = np.stack([part[:n] for part in drawn], axis=2).argmax(axis=2)
    expected = np.stack([(winners == c).mean(axis=0) for c in range(3)], axis=1)
    error = np.sqrt(0.25 / n + 0.25 / len(w))
    assert (np.abs(prediction["probability"].values - expected) < 5 * error).all()
    np.testing.assert_allclose(prediction["probability"].values[-1], 1 / 3, atol=1e-3)
    np.testing.assert_allclose(prediction["probability"].sum("class"), 1.0, atol=1e-8)
    restricted = bk.predict(model, as_tree(w, ("class", "basis")), X_NEW, beyond_span=False)
    xr.testing.assert_equal(restricted["probability"], restricted["vote"].rename("probability"))
    xr.testing.assert_equal(restricted["vote"], prediction["vote"])


def test_several_classes_where_nothing_is_beyond():
    """In the whole feature space classifiers have unit length: a class is as probable as voted."""
    points = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    model = bk.models.bayes_point_machine(points, [0, 1, 2], kernel=KERNELS["linear"])
    w = np.random.default_rng(4).standard_normal((50, 3, 2))
    w /= np.linalg.norm(w, axis=2, keepdims=True)
    prediction = bk.predict(model, as_tree(w, ("class", "basis")), X_NEW)
    np.testing.assert_array_equal(prediction["probability"], prediction["vote"])


@pytest.mark.parametrize("inducing", [None, 4])
def test_gaussian_process_probit_against_draws_of_the_prior(inducing):
    """Probabilities and standard deviations of the function; 10 comparisons at 5 standard errors.

    With as many inducing points as points nothing is approximated.
    """
    rng = np.random.default_rng(5)
    kernel, g = KERNELS["rough"], 0.4
    model = bk.models.gp_probit(X, Y, kernel=kernel, g=g, eta=1e12, inducing=inducing)
    features = bk.specification_of(model).feature_map.factor.features
    w = rng.standard_normal((200_000, 4)) / np.sqrt(g)
    w = w[rng.uniform(size=len(w)) < ndtr(Y * (w @ features.T)).prod(axis=1)][:10_000]
    posterior = {"w": (("chain", "draw", "basis"), w[None])}
    posterior["u"] = (("chain", "draw"), np.zeros((1, len(w))))
    idata = xr.DataTree.from_dict({"posterior": xr.Dataset(posterior)})
    prediction = bk.predict(model, idata, X_NEW)
    f, f_new = (values / np.sqrt(g) for values in draw_processes(kernel, 200_000, rng))
    weights = ndtr(Y * f).prod(axis=1)
    probability = weights @ ndtr(f_new) / weights.sum()
    squares, error = weighted_share(weights, f_new**2)
    mean = weights @ f_new / weights.sum()
    found = prediction["latent_sd"].values ** 2 + prediction["latent"].values ** 2
    n_effective = weights.sum() ** 2 / (weights**2).sum()
    slack = 5 * np.sqrt(1 / len(w) + 1 / n_effective)
    np.testing.assert_allclose(prediction["probability"].values[:, 1], probability, atol=slack / 2)
    np.testing.assert_allclose(prediction["latent"], mean, atol=slack * np.sqrt(squares.max()))
    np.testing.assert_allclose(found, squares, atol=slack * 2 * squares.max())
    # Far away it is the prior's.
    assert prediction["latent_sd"].values[-1] == pytest.approx(np.sqrt(2 / g), rel=1e-6)
    assert (error < squares).all()


@pytest.mark.parametrize("rank", [1, 2, 3, 9, 10, 11, 80, 81, 1000, 10**6])
def test_table_of_the_t_distribution(rank):
    rng = np.random.default_rng(rank)
    outputs = 3 * rng.standard_normal(400) / np.sqrt(rank)
    outputs[:6] = 0.0, -0.0, 1e200, -1e200, 1e-300, np.sqrt(0.3) / np.sqrt(rank)
    for rest in (2.0, 0.3, 1e-12):
        shares = tally(outputs[:, None], np.ones(1), np.full((400, 1), rest), rank)[1]
        exact = stdtr(rank, np.sqrt(rank) * (outputs / np.sqrt(rest)))
        np.testing.assert_allclose(shares, exact, atol=3e-9)


def test_tally_by_draw_and_without_a_rest():
    rng = np.random.default_rng(6)
    outputs, weights = rng.standard_normal((5, 30)), rng.uniform(size=30)
    rest = rng.uniform(size=(5, 30))
    rest[0, :3] = 0.0
    votes, shares, gains, means = tally(outputs, weights, rest, 7)
    with np.errstate(divide="ignore"):
        expected = stdtr(7, np.sqrt(7) * outputs / np.sqrt(rest))
    np.testing.assert_allclose(shares, expected.mean(axis=1), atol=3e-9)
    np.testing.assert_allclose(gains, (expected * weights).mean(axis=1), atol=3e-9)
    np.testing.assert_allclose(votes, (outputs > 0).mean(axis=1))
    np.testing.assert_allclose(means, outputs.mean(axis=1))
    for nothing in (None, np.zeros((5, 1)), np.zeros((5, 30))):
        votes, shares, _, _ = tally(outputs, weights, nothing, 7)
        np.testing.assert_allclose(shares, votes)


def test_lengths_of_the_functions_of_several_classes():
    outputs = np.random.default_rng(7).standard_normal((4, 2000, 3)) * 0.4
    rest = np.array([[0.5], [0.1], [2.0], [1e-3]])
    found = largest_probabilities(outputs, rest, 40)
    lengths = chi(40).rvs(outputs.shape[1:], random_state=1)
    reference = class_probabilities(outputs * lengths / np.sqrt(rest)[..., None])
    # Two sets of random lengths: their effect on the mean of 2000 draws is small.
    np.testing.assert_allclose(found, reference, atol=0.01)


@pytest.mark.parametrize("variance", [0.0, 0.01, 1.0, 9.0])
def test_hinge_with_a_variance_by_quadrature(variance):
    outputs = np.array([[-4.0, -1.0, 0.2, 1.5]])
    found = hinge_probabilities(outputs, np.array([[variance]]))[0]
    for f, p in zip(outputs[0], found, strict=True):
        if variance == 0.0:
            assert p == pytest.approx(expit(complete_hinge_logit(f)), rel=1e-12)
            continue
        sd = np.sqrt(variance)
        kinks = [k for k in (-1.0, 1.0) if abs(k - f) < 9 * sd]
        exact = quad(
            lambda t, *at: norm.pdf(t, *at) * expit(complete_hinge_logit(np.asarray(t))),
            f - 9 * sd,
            f + 9 * sd,
            args=(f, sd),
            points=kinks or None,
            limit=200,
        )[0]
        assert p == pytest.approx(exact, abs=1e-3)


def test_arguments():
    model = bk.models.label_noise_classifier(X, Y, kernel=KERNELS["gaussian"], noise=0.1)
    idata = as_tree(np.eye(4))
    with pytest.raises(TypeError, match="beyond_span must be True or False, got 'no'"):
        bk.predict(model, idata, X_NEW, beyond_span="no")
    with pytest.raises(ValueError, match="diagonal is for a precomputed kernel"):
        bk.predict(model, idata, X_NEW, diagonal=np.ones(5))
    gram = bk.models.label_noise_classifier(
        None, Y, kernel=KERNELS["gaussian"](X).eval(), noise=0.1
    )
    rows = KERNELS["gaussian"](X_NEW, X).eval()
    with pytest.raises(ValueError, match=r"expected the shape \(5,\), got \(4,\)"):
        bk.predict(gram, idata, rows, diagonal=np.ones(4))
    with pytest.raises(ValueError, match="diagonal has negative entries"):
        bk.predict(gram, idata, rows, diagonal=-np.ones(5))
