import numpy as np
import pymc as pm
import pytest
from scipy.optimize import OptimizeResult, approx_fprime, minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import bayeskernels as bk
from bayeskernels.gp.hyperparameters import exact_evidence, maximisation
from bayeskernels.gp.hyperparameters.gaussian_kernel import GaussianKernelFunction, parameters_of
from bayeskernels.kernels.argument import CovarianceKernel
from bayeskernels.linear.exact_process import ExactPosterior, GaussianEvidence

cov = pm.gp.cov


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=50)


def ard(X, y):
    return bk.models.gp_regression(X, y, ard=True)


def one_width_of_some_columns(X, y):
    with pm.Model() as model:
        ls, a = pm.LogNormal("ls", 0, 1), pm.HalfNormal("a", 1)
        kernel = a * cov.ExpQuad(3, ls=ls, active_dims=[0, 2]) * 2.0
        bk.models.gp_regression(X, y, kernel=kernel, mean=pm.Normal.dist(0, 1), noise=0.3)
    return model


def matern_with_mean(X, y):
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0, 1, shape=3)
        scale = pm.HalfNormal("scale", 1)
        kernel = scale**2 * cov.Matern52(3, ls=ls)
        bk.models.gp_regression(X, y, kernel=kernel, mean=pm.Normal.dist(0, 1))
    return model


def sum_of_kernels(X, y):
    with pm.Model() as model:
        a = pm.HalfNormal("a", 1)
        b = pm.HalfNormal("b", 1)
        alpha = pm.Gamma("alpha", 2, 1)
        kernel = a * cov.RatQuad(3, ls=1.5, alpha=alpha) + b * cov.Linear(3, c=0.2) + 0.1
        bk.models.gp_regression(X, y, kernel=kernel, noise=0.2)
    return model


def only_noise(X, y):
    return bk.models.gp_regression(X, y, kernel=lambda A, B: np.exp(-abs(A[:, :1] - B[:, 0])))


def white_noise_in_the_kernel(X, y):
    with pm.Model() as model:
        sigma = pm.HalfNormal("sigma", 1)
        kernel = cov.ExpQuad(3, ls=1.0) + cov.WhiteNoise(sigma)
        bk.models.gp_regression(X, y, kernel=kernel, noise=0.2)
    return model


BUILDERS = [
    ard,
    one_width_of_some_columns,
    matern_with_mean,
    sum_of_kernels,
    only_noise,
    white_noise_in_the_kernel,
]


@pytest.mark.parametrize("build", BUILDERS)
def test_gradient_is_that_of_finite_differences(data, build):
    evidence = bk.gp.EvidenceFunction(build(*data))
    rng = np.random.default_rng(2)
    for _ in range(3):
        theta = evidence.initial_point() + 0.5 * rng.normal(size=sum(evidence.sizes))
        value, gradient = evidence(theta)
        steps = 1e-5 * np.eye(len(theta))
        differences = [(evidence(theta + h)[0] - evidence(theta - h)[0]) / 2e-5 for h in steps]
        np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)
        point = evidence.constrained(theta)
        at_point = bk.gp.EvidenceMaximum(point, value, True, 0.0, None, theta)
        assert np.isclose(bk.gp.log_evidence(evidence.model, at_point), value, rtol=0, atol=1e-9)


def test_value_and_gradient_are_the_models_own(data):
    model = ard(*data)
    evidence = bk.gp.EvidenceFunction(model)
    theta = evidence.initial_point() + 0.2
    point = dict(zip((v.name for v in model.value_vars), evidence.split(theta), strict=True))
    value, gradient = evidence(theta)
    observed = model.observed_RVs
    logp = model.compile_logp(vars=observed, mode="FAST_COMPILE")
    assert np.isclose(logp(point), value, rtol=0, atol=1e-9)
    dlogp = model.compile_dlogp(mode="FAST_COMPILE")(point)
    prior = model.compile_logp(vars=model.free_RVs, jacobian=True, mode="FAST_COMPILE")

    def prior_at(theta):
        parts = evidence.split(theta)
        return float(prior(dict(zip((v.name for v in model.value_vars), parts, strict=True))))

    numeric = approx_fprime(theta, prior_at, 1e-6)
    np.testing.assert_allclose(dlogp - numeric, gradient, atol=1e-4)


@pytest.mark.parametrize("build", [ard, one_width_of_some_columns])
def test_gaussian_kernel_in_two_passes_changes_nothing(data, build, monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.normal(5.0, 1.0, size=(150, 3)), rng.normal(size=150)  # several tiles
    model = build(X, y)
    fast = bk.gp.EvidenceFunction(model)
    assert isinstance(fast._function, GaussianKernelFunction)
    monkeypatch.setattr(bk.gp.hyperparameters.evidence, "parameters_of", lambda kernel: None)
    general = bk.gp.EvidenceFunction(model)
    assert not isinstance(general._function, GaussianKernelFunction)
    for _ in range(3):
        theta = fast.initial_point() + 0.5 * rng.normal(size=sum(fast.sizes))
        value, gradient = fast(theta)
        expected, by_graph = general(theta)
        assert np.isclose(value, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(gradient, by_graph, rtol=1e-9, atol=1e-9)
        assert np.isclose(fast.value(theta), value, rtol=0, atol=1e-10)
    theta[0] = -400.0  # an amplitude whose square is zero
    assert np.isfinite(fast(theta)[1]).all()


def test_what_counts_as_a_gaussian_kernel(data):
    X, y = data
    with pm.Model():
        ls = pm.LogNormal("ls", 0, 1)
        gaussian = cov.ExpQuad(3, ls=ls)
        yes = [gaussian, 2.0 * gaussian, gaussian * np.float64(2.0) * ls]
        no = [
            gaussian + 1.0,
            gaussian**2,
            gaussian * gaussian,
            gaussian * cov.Matern32(3, ls=ls),
            cov.Matern52(3, ls=ls),
            gaussian * np.eye(50),
            pm.gp.cov.WhiteNoise(ls),
        ]
        for kernel, expected in [(k, True) for k in yes] + [(k, False) for k in no]:
            found = parameters_of(CovarianceKernel(kernel, 3))
            assert (found is not None) == expected, kernel
    fixed = bk.models.gp_regression(X, y, kernel=cov.ExpQuad(3, ls=1.0))
    assert isinstance(bk.gp.EvidenceFunction(fixed)._function, exact_evidence.ExactFunction)


@pytest.mark.parametrize("build", BUILDERS[2:])
def test_tiles_change_nothing(data, build, monkeypatch):
    evidence = bk.gp.EvidenceFunction(build(*data))
    theta = evidence.initial_point() + 0.3
    value, gradient = evidence(theta)
    monkeypatch.setattr(exact_evidence, "SMALL", 0)
    for tile in (1000, 25, 7):
        monkeypatch.setattr(exact_evidence, "TILE", tile)
        again, in_tiles = evidence(theta)
        assert np.isclose(again, value, rtol=0, atol=1e-10)
        np.testing.assert_allclose(in_tiles, gradient, rtol=1e-9, atol=1e-9)
        assert np.isclose(evidence.value(theta), value, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n", [1, 6, 7, 8, 50])
def test_tiles_cover_the_lower_triangle_once(n, monkeypatch):
    monkeypatch.setattr(exact_evidence, "TILE", 7)
    covered = np.zeros((n, n), dtype=int)
    for rows, columns in exact_evidence.lower_tiles(n):
        assert covered[rows, columns].shape <= (7, 7)
        covered[rows, columns] += 1
    assert (covered[np.tril_indices(n)] == 1).all()


def test_derivative_with_respect_to_the_matrix():
    # The lecture's trace formula along a random symmetric direction.
    rng = np.random.default_rng(3)
    A, D = rng.normal(size=(2, 130, 130))
    gram, direction, t = A @ A.T / 130, D + D.T, rng.normal(size=130)
    evidence = GaussianEvidence(np.array(gram, order="F"), 0.5, t)
    evidence.invert()
    everything = slice(0, 130)
    by_gram = evidence.cotangent(everything, everything)
    C = gram + 0.5 * np.eye(130)
    inverse = np.linalg.inv(C)
    a = inverse @ t
    expected = -0.5 * np.trace(inverse @ direction) + 0.5 * a @ direction @ a
    assert np.isclose((by_gram * direction).sum(), expected)
    np.testing.assert_array_equal(by_gram, by_gram.T)
    assert np.isclose(evidence.by_noise_variance(), np.trace(by_gram))
    np.testing.assert_allclose(evidence.dual, a)
    below, before = slice(70, 130), slice(10, 70)
    np.testing.assert_allclose(evidence.cotangent(below, before), by_gram[below, before])
    exact = ExactPosterior(gram, 0.5, t)
    assert np.isclose(evidence.value, exact.log_evidence, rtol=0, atol=1e-10)
    np.testing.assert_allclose(exact.dual, a)


def test_no_evidence_where_the_matrix_is_indefinite(data, monkeypatch):
    assert GaussianEvidence(-np.eye(3, order="F"), 0.5, np.ones(3)).value == -np.inf
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        ExactPosterior(-np.eye(3), 0.5, np.ones(3))
    with pm.Model() as model:
        kernel = cov.Linear(3, c=0.0) * pm.Normal("scale", 1.0, 1.0)  # positive at the start only
        bk.models.gp_regression(*data, kernel=kernel, noise=0.01)
    evidence = bk.gp.EvidenceFunction(model)
    negative = np.array([-1.0])
    for small in (512, 0):
        monkeypatch.setattr(exact_evidence, "SMALL", small)
        value, gradient = evidence(negative)
        assert value == evidence.value(negative) == -np.inf
        assert (gradient == 0).all()


@pytest.mark.parametrize("approximation", [None, "VFE", "FITC"])
def test_no_evidence_out_of_range(data, approximation):
    inducing = None if approximation is None else 5
    model = bk.models.gp_regression(*data, inducing=inducing, approximation=approximation)
    evidence = bk.gp.EvidenceFunction(model)
    for theta in (np.full(3, 800.0), np.full(3, -800.0), np.array([800.0, 0.0, 0.0])):
        value, gradient = evidence(theta)
        assert value == evidence.value(theta) == -np.inf
        assert (gradient == 0).all()


def test_best_of_the_starts_is_returned(data, monkeypatch):
    """The second of three points is the highest, and nothing climbs."""
    model = ard(*data)
    evidence = bk.gp.EvidenceFunction(model)
    good = bk.gp.maximise_evidence(model, starts=1, progressbar=False).theta
    points = np.array([good + 0.5, good, good - 0.7])
    monkeypatch.setattr(maximisation, "starting_points", lambda *_: points)
    best = bk.gp.maximise_evidence(model, starts=3, max_evaluations=1, progressbar=False)
    assert best.starts["log_evidence"].argmax() == 1
    assert best.log_evidence == best.starts["log_evidence"].max()
    assert np.isclose(evidence.value(best.theta), best.log_evidence)
    assert best.ends.shape == (3, 5)


def test_maximum_at_the_bounds_is_pointed_out(caplog):
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(40, 1))
    far = 1e6 + np.sin(6 * x[:, 0]) + 0.1 * rng.normal(size=40)
    best = bk.gp.maximise_evidence(bk.models.gp_regression(x, far), progressbar=False)
    assert "noise" in best.at_bounds
    assert "grows at the bounds of the search: " in caplog.text
    assert "at_bounds=" in repr(best)
    caplog.clear()
    best = bk.gp.maximise_evidence(bk.models.gp_regression(x, far - 1e6), progressbar=False)
    assert best.at_bounds == ()
    assert not caplog.records


def test_columns_without_influence_are_no_reason_to_warn(caplog):
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(60, 3))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=60)
    best = bk.gp.maximise_evidence(ard(X, y), progressbar=False)
    assert (best.point["ls"][1:] > 20).any()
    assert best.at_bounds == ()
    assert not caplog.records


def test_growth_beyond_the_bounds_needs_a_bound_and_a_slope():
    """The slopes are those of the negative evidence."""
    result = OptimizeResult(
        x=np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5]),
        jac=np.array([1.0, 1e-6, -1.0, -1.0, -1e-6, 1.0, 1.0]),
    )
    bounds = np.tile([0.0, 1.0], (7, 1))
    expected = [True, False, False, True, False, False, False]
    assert maximisation._grows_beyond(result, bounds).tolist() == expected


def test_names_of_hyperparameters_at_the_bounds(data):
    evidence = bk.gp.EvidenceFunction(ard(*data))
    names = maximisation._names_of(evidence, np.array([True, False, False, True, False]))
    assert names == ("amplitude", "ls[2]")


def test_maximum_is_scikit_learns(data):
    X, y = data
    best = bk.gp.maximise_evidence(ard(X, y), random_seed=1, progressbar=False)
    kernel = ConstantKernel(1.0) * RBF(np.ones(3), (1e-3, 1e9)) + WhiteKernel(0.1)
    peer = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=1)
    peer.fit(X, y)
    assert best.converged
    assert best.gradient_norm < 1e-2
    assert len(best.starts) == 3
    assert np.isclose(best.log_evidence, peer.log_marginal_likelihood_value_, atol=1e-3)
    assert np.isclose(best.point["noise"] ** 2, peer.kernel_.k2.noise_level, rtol=1e-2)


def test_maximum_takes_the_place_of_draws(data):
    X, y = data
    model = ard(X, y)
    best = bk.gp.maximise_evidence(model, starts=1, random_seed=1, progressbar=False)
    tree = best.to_datatree()
    assert tree["posterior"]["ls"].dims == ("chain", "draw", "feature")
    direct, by_tree = bk.predict(model, best, X[:5]), bk.predict(model, tree, X[:5])
    np.testing.assert_array_equal(direct["sd"], by_tree["sd"])
    assert np.isclose(bk.gp.log_evidence(model, best), best.log_evidence)
    a, ls, s = (best.point[name] for name in ("amplitude", "ls", "noise"))
    fixed = bk.models.gp_regression(X, y, kernel=a**2 * cov.ExpQuad(3, ls=ls), noise=float(s))
    np.testing.assert_allclose(bk.predict(fixed, None, X[:5])["sd"], direct["sd"])


def test_too_few_evaluations_are_no_convergence(data):
    best = bk.gp.maximise_evidence(ard(*data), starts=1, max_evaluations=3, progressbar=False)
    assert not best.converged
    assert not best.starts["converged"].any()


def test_line_search_that_drowns_in_rounding_has_converged(data):
    """What an abnormal line search leaves counts if a Newton step would gain less than 1e-6."""
    model = ard(*data)
    evidence = bk.gp.EvidenceFunction(model)
    best = bk.gp.maximise_evidence(model, starts=3, random_seed=1, progressbar=False)
    bounds = np.column_stack([best.theta - 20, best.theta + 20])

    def settled(theta, status=2):
        value, gradient = evidence(theta)
        result = OptimizeResult(x=theta, jac=-gradient, fun=-value, status=status)
        return maximisation._is_settled(evidence, result, bounds)

    assert settled(best.theta)
    assert settled(best.theta + 1e-6)
    assert not settled(best.theta, status=1)  # It ran out of evaluations: that is something else.
    assert not settled(best.theta + 0.1)
    # Length scales so long that the evidence is flat, with next to no gradient but no maximum.
    flat = evidence.initial_point()
    flat[1:4] = 12.0
    flat[[0, 4]] = minimize(
        lambda z: -evidence(np.array([z[0], *flat[1:4], z[1]]))[0], flat[[0, 4]]
    ).x
    assert not settled(flat)


def test_seeds_choose_the_starts(data):
    model = ard(*data)
    options = {"starts": 2, "max_evaluations": 2, "progressbar": False}
    one, same, other = (
        bk.gp.maximise_evidence(model, random_seed=seed, **options).starts["log_evidence"][1]
        for seed in (1, 1, 2)
    )
    assert one == same != other


def test_bad_options_are_refused(data):
    X, y = data
    fixed = bk.models.gp_regression(X, y, kernel=cov.ExpQuad(3, ls=1.0), noise=0.1)
    with pytest.raises(ValueError, match="Nothing is random"):
        bk.gp.maximise_evidence(fixed)
    model = ard(X, y)
    for options, message in [
        ({"starts": 0}, "starts must be a whole number"),
        ({"max_evaluations": 1.5}, "max_evaluations must be a whole number"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
    ]:
        with pytest.raises(ValueError, match=message):
            bk.gp.maximise_evidence(model, **options)
    with pytest.raises(ValueError, match="Expected 5 unconstrained numbers"):
        bk.gp.EvidenceFunction(model)(np.zeros(2))
    with pytest.raises(TypeError, match=r"made by bayeskernels\.models"):
        bk.gp.maximise_evidence(pm.Model())
