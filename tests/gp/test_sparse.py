import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.kernels.argument import numpy_function
from bayeskernels.linear.low_rank_process import LowRankPosterior
from bayeskernels.specification import posterior_process

cov = pm.gp.cov


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(90, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=90)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(posterior_process, "BLOCK_BYTES", 8 * 12 * 40)  # three blocks of 90 points


def value(graph):
    return numpy_function([], graph)()


def fixed(data, **options):
    return bk.models.gp_regression(*data, kernel=cov.ExpQuad(2, ls=1.0), noise=0.2, **options)


@pytest.mark.parametrize("approximation", ["VFE", "FITC"])
@pytest.mark.usefixtures("small_blocks")
def test_evidence_and_prediction_are_pymcs(data, approximation):
    X, y = data
    U = X[:12] + 0.01
    model = fixed(data, inducing=U, approximation=approximation, mean=0.3)
    [potential] = model.potentials
    assert np.isclose(bk.gp.log_evidence(model), value(potential), rtol=0, atol=1e-8)
    jitter = bk.specification_of(model).jitter
    with pm.Model():
        peer = pm.gp.MarginalApprox(
            approximation, mean_func=pm.gp.mean.Constant(0.3), cov_func=cov.ExpQuad(2, ls=1.0)
        )
        peer.marginal_likelihood("y", X, U, y, 0.2, jitter=jitter)
        X_new = np.random.default_rng(2).normal(size=(40, 2))
        graphs = peer._predict_at(X_new, diag=True, pred_noise=True, jitter=jitter)
        mean, variance = (value(graph) for graph in graphs)
    found = bk.predict(model, None, X_new)
    np.testing.assert_allclose(found["mean"], mean, atol=1e-8)
    np.testing.assert_allclose(found["sd"] ** 2, variance, atol=1e-8)


@pytest.mark.parametrize("approximation", ["VFE", "FITC"])
def test_all_points_as_inducing_points_approximate_nothing(data, approximation):
    exact = fixed(data)
    model = fixed(data, inducing=data[0], approximation=approximation)
    X_new = np.random.default_rng(3).uniform(-2, 2, size=(9, 2))
    one, other = bk.predict(model, None, X_new), bk.predict(exact, None, X_new)
    np.testing.assert_allclose(one["mean"], other["mean"], atol=1e-3)
    np.testing.assert_allclose(one["sd"], other["sd"], atol=1e-3)
    assert np.isclose(bk.gp.log_evidence(model), bk.gp.log_evidence(exact), atol=1e-2)


def test_vfe_is_a_bound_that_grows(data):
    bounds = [bk.gp.log_evidence(fixed(data, inducing=data[0][:m])) for m in (5, 10, 20, 40)]
    assert np.all(np.diff(bounds) > 0)
    assert bounds[-1] < bk.gp.log_evidence(fixed(data))


def random_model(data, approximation):
    with pm.Model() as model:
        kernel = pm.HalfNormal("a", 1) ** 2 * cov.Matern52(2, ls=pm.LogNormal("ls", 0, 1, shape=2))
        bk.models.gp_regression(
            *data,
            kernel=kernel,
            mean=pm.Normal.dist(0, 1),
            inducing=data[0][:12] + 0.01,
            approximation=approximation,
        )
    return model


@pytest.mark.parametrize("approximation", ["VFE", "FITC"])
@pytest.mark.parametrize("times", [1.0, 2.0])
def test_kernels_without_amplitude(data, approximation, times):
    """Their diagonal is a constant, which PyMC gives in single precision."""
    with pm.Model() as model:
        kernel = cov.Matern52(2, ls=pm.LogNormal("ls", 0, 1, shape=2))
        kernel = kernel if times == 1.0 else times * kernel + cov.ExpQuad(2, ls=1.0)
        options = {"inducing": data[0][:12] + 0.01, "approximation": approximation}
        bk.models.gp_regression(*data, kernel=kernel, noise=0.3, **options)
    evidence = bk.gp.EvidenceFunction(model)
    theta = np.array([0.3, -0.2])
    _, gradient = evidence(theta)
    steps = 1e-5 * np.eye(2)
    differences = [(evidence(theta + h)[0] - evidence(theta - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("approximation", ["VFE", "FITC"])
def test_evidence_is_that_of_the_process_alone(data, approximation):
    """Another likelihood in the model, on a length scale or on something else, is none of it."""
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0, 1)
        pm.Normal("weighed", ls, 0.01, observed=5.0)
        pm.Poisson("counted", pm.Gamma("rate", 2, 1), observed=[3, 4])
        options = {"inducing": data[0][:12] + 0.01, "approximation": approximation}
        bk.models.gp_regression(*data, kernel=cov.ExpQuad(2, ls=ls), **options)
    best = bk.gp.maximise_evidence(model, starts=1, progressbar=False)
    assert sorted(best.point) == ["ls", "noise"]
    assert np.isclose(bk.gp.log_evidence(model, best), best.log_evidence, rtol=0, atol=1e-8)
    assert abs(best.point["ls"] - 5.0) > 1.0


@pytest.mark.parametrize("targets", ["line", "noise", "offset"])
def test_bound_is_maximised_where_matrices_lose_their_factors(targets):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (200, 1))
    noise = rng.normal(size=200)
    y = {"line": 3 + X[:, 0] + 0.01 * noise, "noise": noise, "offset": 10 + np.sin(8 * X[:, 0])}
    model = bk.models.gp_regression(X, y[targets], inducing=50)
    best = bk.gp.maximise_evidence(model, starts=10, random_seed=1, progressbar=False)
    assert np.isfinite(best.log_evidence)
    # Matrices are so ill-conditioned that two orders of operations differ by 4e-4.
    assert np.isclose(bk.gp.log_evidence(model, best), best.log_evidence, rtol=0, atol=1e-2)


def test_matrices_without_a_factor_are_named():
    with pytest.raises(np.linalg.LinAlgError, match="kernel matrix of the inducing points"):
        LowRankPosterior(-np.eye(5), [], 0.1, "VFE")
    block = np.full((2, 3), np.nan), np.ones(3), np.ones(3)
    with pytest.raises(np.linalg.LinAlgError, match="precision matrix of the inducing values"):
        LowRankPosterior(np.eye(2), [block], 0.1, "VFE")


@pytest.mark.parametrize("approximation", ["VFE", "FITC"])
@pytest.mark.usefixtures("small_blocks")
def test_gradient_is_that_of_finite_differences(data, approximation):
    evidence = bk.gp.EvidenceFunction(random_model(data, approximation))
    assert sorted(v.name for v in evidence.variables) == ["a", "ls", "mean", "noise"]
    rng = np.random.default_rng(4)
    theta = evidence.initial_point() + 0.3 * rng.normal(size=5)
    value, gradient = evidence(theta)
    steps = 1e-5 * np.eye(5)
    differences = [(evidence(theta + h)[0] - evidence(theta - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)
    point = bk.gp.EvidenceMaximum(evidence.constrained(theta), value, True, 0.0, None, theta)
    assert np.isclose(bk.gp.log_evidence(evidence.model, point), value, rtol=0, atol=1e-8)


def test_type_two_maximum_of_a_sparse_process_is_near_the_exact_one(data):
    sparse = bk.models.gp_regression(*data, inducing=40)
    exact = bk.models.gp_regression(*data)
    options = {"random_seed": 1, "starts": 1, "progressbar": False}
    one, other = (bk.gp.maximise_evidence(model, **options) for model in (sparse, exact))
    assert one.converged
    assert other.log_evidence - 1.0 < one.log_evidence < other.log_evidence
    for name in ("amplitude", "ls", "noise"):
        assert np.isclose(one.point[name], other.point[name], rtol=0.05)


def test_inducing_points_are_chosen_among_the_inputs(data):
    X, y = data
    X = X * [1.0, 1000.0]  # columns of very different scales
    points = bk.specification_of(bk.models.gp_regression(X, y, inducing=15)).inducing
    assert points.shape == (15, 2)
    assert (points >= X.min(axis=0)).all()
    assert (points <= X.max(axis=0)).all()
    # They cover both columns: neither is left to chance because its numbers are small.
    assert (np.ptp(points, axis=0) > 0.6 * np.ptp(X, axis=0)).all()
    repeated = bk.models.gp_regression(np.tile(X[:5], (3, 1)), np.tile(y[:5], 3), inducing=10)
    assert len(bk.specification_of(repeated).inducing) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inducing": 0}, "inducing must be a whole number of at least 1"),
        ({"inducing": 2.5}, "inducing must be a whole number"),
        ({"inducing": True}, "inducing must be a whole number"),
        ({"inducing": [[0.0, np.nan]]}, "inducing has NaN"),
        ({"inducing": [[0.0]]}, "inducing has 1 columns, X has 2"),
        ({"inducing": 5, "approximation": "DTC"}, "approximation must be one of VFE, FITC"),
        ({"approximation": "FITC"}, "approximation='FITC' needs inducing points"),
        ({"inducing": 5, "kernel": lambda A, B: A @ B.T}, r"needs a kernel of pm\.gp\.cov"),
    ],
)
def test_bad_input_is_refused(data, options, message):
    with pytest.raises(ValueError, match=message):
        bk.models.gp_regression(*data, **options)


def test_no_dual_form(data):
    with pytest.raises(ValueError, match="belong to the exact process"):
        bk.gp.dual_coefficients(fixed(data, inducing=5))
