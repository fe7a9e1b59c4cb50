import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.preprocessing import StandardScaler

import bayeskernels as bk


def sinusoid(n=40, seed=1, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(2 * np.pi * X[:, 0]) + noise * rng.normal(size=n)


def friedman():
    X, y = make_friedman1(80, n_features=5, noise=0.5, random_state=2)
    return X, y - y.mean()


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120], y[:120]
    return StandardScaler().fit_transform(X), (y - y.mean()) / y.std()


def steps():
    X = np.linspace(-3, 3, 60)[:, None]
    return X, np.sign(X[:, 0]) + 0.05 * np.random.default_rng(3).normal(size=60)


def plane():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(70, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=70)


cov = pm.gp.cov
CASES = {
    "sinusoid": (
        sinusoid,
        lambda p: 1.3**2 * cov.ExpQuad(p, ls=0.2),
        ConstantKernel(1.3**2) * RBF(0.2),
        0.1,
    ),
    "friedman": (
        friedman,
        lambda p: 25.0 * cov.ExpQuad(p, ls=[0.5, 0.6, 1.0, 2.0, 3.0]),
        ConstantKernel(25.0) * RBF([0.5, 0.6, 1.0, 2.0, 3.0]),
        0.5,
    ),
    "diabetes": (
        diabetes,
        lambda p: cov.Matern52(p, ls=3.0) + 0.5,
        Matern(3.0, nu=2.5) + ConstantKernel(0.5),
        0.7,
    ),
    "steps": (
        steps,
        lambda p: cov.RatQuad(p, alpha=0.7, ls=0.5),
        RationalQuadratic(0.5, alpha=0.7),
        0.05,
    ),
    "plane": (
        plane,
        lambda p: 2.0 * (cov.Linear(p, c=0.0) + 1.0) + 0.3 * cov.Matern32(p, ls=1.5),
        ConstantKernel(2.0) * DotProduct(1.0) + ConstantKernel(0.3) * Matern(1.5, nu=1.5),
        0.3,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mean_variance_and_evidence_are_scikit_learns(name):
    load, ours, theirs, noise = CASES[name]
    X, y = load()
    rng = np.random.default_rng(5)
    X_new = X[:10] + 0.3 * rng.normal(size=(10, X.shape[1]))
    model = bk.models.gp_regression(X, y, kernel=ours(X.shape[1]), noise=noise)
    peer = GaussianProcessRegressor(theirs, alpha=noise**2, optimizer=None).fit(X, y)
    mean, sd = peer.predict(X_new, return_std=True)
    found = bk.predict(model, None, X_new)
    np.testing.assert_allclose(found["mean"], mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["latent_sd"] ** 2, sd**2, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["sd"] ** 2, sd**2 + noise**2, rtol=0, atol=1e-8)
    evidence = peer.log_marginal_likelihood_value_
    np.testing.assert_allclose(bk.gp.log_evidence(model), evidence, rtol=0, atol=1e-8)
    # The model's own density says the same.
    logp = model.compile_logp(vars=model.observed_RVs, mode="FAST_COMPILE")({})
    np.testing.assert_allclose(logp, evidence, rtol=0, atol=1e-8)


def test_a_function_and_a_gram_matrix_are_kernels_too():
    X, y = sinusoid()
    X_new = np.linspace(0, 1, 7)[:, None]

    def kernel(A, B):
        return np.exp(-0.5 * (A - B.T) ** 2 / 0.2**2)

    by_name = bk.models.gp_regression(X, y, kernel=cov.ExpQuad(1, ls=0.2), noise=0.1)
    by_function = bk.models.gp_regression(X, y, kernel=kernel, noise=0.1)
    by_matrix = bk.models.gp_regression(None, y, kernel=kernel(X, X), noise=0.1)
    expected = bk.predict(by_name, None, X_new)
    for model, new in ((by_function, X_new), (by_matrix, kernel(X_new, X))):
        np.testing.assert_allclose(bk.predict(model, None, new)["mean"], expected["mean"])
    np.testing.assert_allclose(bk.predict(by_function, None, X_new)["sd"], expected["sd"])
    assert "sd" not in bk.predict(by_matrix, None, kernel(X_new, X))
    np.testing.assert_allclose(bk.gp.log_evidence(by_matrix), bk.gp.log_evidence(by_name))


def test_mean_shifts_targets():
    X, y = sinusoid()
    kernel = cov.ExpQuad(1, ls=0.2)
    shifted = bk.models.gp_regression(X, y + 3.0, kernel=kernel, noise=0.1, mean=3.0)
    plain = bk.models.gp_regression(X, y, kernel=kernel, noise=0.1)
    difference = (
        bk.predict(shifted, None, X)["mean"].values - bk.predict(plain, None, X)["mean"].values
    )
    np.testing.assert_allclose(difference, 3.0)
    assert np.isclose(bk.gp.log_evidence(shifted), bk.gp.log_evidence(plain))


def test_white_noise_in_the_kernel_is_no_part_of_the_function():
    X, y = sinusoid()
    with_white = cov.ExpQuad(1, ls=0.2) + cov.WhiteNoise(0.3)
    peer = GaussianProcessRegressor(RBF(0.2), alpha=0.1**2 + 0.3**2, optimizer=None).fit(X, y)
    model = bk.models.gp_regression(X, y, kernel=with_white, noise=0.1)
    np.testing.assert_allclose(bk.gp.log_evidence(model), peer.log_marginal_likelihood_value_)
    np.testing.assert_allclose(bk.predict(model, None, X + 0.01)["mean"], peer.predict(X + 0.01))


def test_default_kernel_has_priors_and_dims():
    X, y = friedman()
    model = bk.models.gp_regression(pd.DataFrame(X, columns=list("abcde")), y, ard=True)
    assert [v.name for v in model.free_RVs] == ["amplitude", "ls", "noise"]
    assert model.named_vars_to_dims["ls"] == ("feature",)
    assert tuple(model.coords["feature"]) == tuple("abcde")
    one = bk.models.gp_regression(X, y)
    assert one["ls"].ndim == 0


@pytest.mark.parametrize("ard", [False, True])
def test_default_priors_are_those_of_the_docstring(ard):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2)) * [1.0, 30.0]
    y = 5.0 * rng.normal(size=40)
    s, s_x = np.sqrt(np.mean(y**2)), X.std(axis=0)
    model = bk.models.gp_regression(X, y, ard=ard)
    median = (s_x if ard else np.sqrt(np.mean(s_x**2))) * np.sqrt(2)
    ls = np.array([0.7, 12.0]) if ard else np.array(3.0)
    point = {"amplitude_log__": np.log(4.0), "ls_log__": np.log(ls), "noise_log__": np.log(1.5)}
    logp = model.compile_logp(vars=model.free_RVs, jacobian=False, mode="FAST_COMPILE")
    expected = (
        stats.halfnorm(scale=2 * s).logpdf(4.0)
        + stats.halfnorm(scale=s).logpdf(1.5)
        + stats.lognorm(1.0, scale=median).logpdf(ls).sum()
    )
    assert np.isclose(logp(point), expected)


def test_no_predictive_density_from_a_gram_matrix():
    X, y = sinusoid(6)
    model = bk.models.gp_regression(None, y, kernel=X @ X.T + np.eye(6), noise=0.1)
    with pytest.raises(ValueError, match="does not know the variance at new points"):
        bk.gp.log_predictive_density(model, None, np.eye(6), y)
    model = bk.models.gp_regression(X, y, kernel=cov.ExpQuad(1, ls=0.2), noise=0.1)
    with pytest.raises(ValueError, match="y_new must have one number per row of X_new"):
        bk.gp.log_predictive_density(model, None, X, y[:3])


def test_prediction_averages_over_draws_by_total_variance():
    X, y = sinusoid(20)
    X_new = np.array([[0.2], [1.5]])
    model = bk.models.gp_regression(X, y)
    draws = {"amplitude": [0.8, 1.1, 1.6], "ls": [0.15, 0.2, 0.3], "noise": [0.1, 0.12, 0.2]}
    idata = _posterior(draws)
    means, variances = [], []
    for a, ls, s in zip(*draws.values(), strict=True):
        fixed = bk.models.gp_regression(X, y, kernel=a**2 * cov.ExpQuad(1, ls=ls), noise=s)
        one = bk.predict(fixed, None, X_new)
        means.append(one["mean"].values)
        variances.append(one["sd"].values ** 2)
    found = bk.predict(model, idata, X_new)
    np.testing.assert_allclose(found["mean"], np.mean(means, axis=0))
    total = np.mean(variances, axis=0) + np.var(means, axis=0)
    np.testing.assert_allclose(found["sd"], np.sqrt(total))
    y_new = np.array([0.9, 0.1])
    density = [stats.norm.pdf(y_new, m, np.sqrt(v)) for m, v in zip(means, variances, strict=True)]
    np.testing.assert_allclose(
        bk.gp.log_predictive_density(model, idata, X_new, y_new), np.log(np.mean(density, axis=0))
    )


def _posterior(draws):
    from xarray import Dataset, DataTree

    variables = {name: (("chain", "draw"), np.array([v])) for name, v in draws.items()}
    return DataTree.from_dict({"posterior": Dataset(variables)})


def test_random_hyperparameters_of_ones_own_and_nested_names():
    X, y = sinusoid()
    with pm.Model(name="outer") as model:
        ls = pm.LogNormal("ls", 0, 1)
        kernel = cov.Matern52(1, ls=ls)
        bk.models.gp_regression(X, y, kernel=kernel, noise=pm.HalfNormal.dist(0.5))
    best = bk.gp.maximise_evidence(model, random_seed=1, progressbar=False)
    assert sorted(best.point) == ["outer::ls", "outer::noise"]
    assert np.isfinite(bk.predict(model, best, X)["mean"]).all()


@pytest.mark.slow
def test_nuts_on_the_same_model_agrees_with_quadrature():
    # Posterior of one length scale, on a grid; 2,000 draws: ESS of some 500, three sigma allowed.
    X, y = sinusoid(15, noise=0.2)
    with pm.Model() as model:
        log_ls = pm.Normal("log_ls", np.log(0.3), 0.5)
        kernel = cov.ExpQuad(1, ls=pm.math.exp(log_ls))
        bk.models.gp_regression(X, y, kernel=kernel, noise=0.2)
        idata = pm.sample(
            1000, tune=400, chains=2, cores=1, quiet=True, random_seed=1, nuts_sampler="pymc"
        )
    grid = np.linspace(-4, 2, 801)
    logp = stats.norm.logpdf(grid, np.log(0.3), 0.5) + bk.gp.log_evidence(
        model, _posterior({"log_ls": grid}), progressbar=False
    )
    weights = np.exp(logp - logp.max())
    weights /= weights.sum()
    mean = weights @ grid
    sd = np.sqrt(weights @ (grid - mean) ** 2)
    drawn = idata["posterior"]["log_ls"].values
    assert abs(drawn.mean() - mean) < 3 * sd / np.sqrt(500)
    assert abs(drawn.std() / sd - 1) < 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[0.0], [np.nan], [1.0]]}, "X has NaN"),
        ({"X": [0.0, 1.0, 2.0]}, "two dimensions"),
        ({"X": None}, "X is needed"),
        ({"y": [0.0, np.inf, 1.0]}, "y has NaN or infinite values at 1 points"),
        ({"y": [0.0, 1.0]}, r"expected the shape \(3,\), got \(2,\)"),
        ({"y": None}, "y is needed"),
        ({"noise": 0.0}, "noise must be a positive number or a prior, got 0.0"),
        ({"noise": -1.0}, "noise must be a positive number"),
        ({"noise": np.nan}, "noise must be a positive number"),
        ({"mean": np.nan}, "mean must be a finite number"),
        ({"kernel": cov.ExpQuad(2, ls=1.0)}, "made for 2 input columns, X has 1"),
        ({"kernel": lambda A, B: -np.exp(-((A - B.T) ** 2))}, "not positive semidefinite"),
        ({"kernel": lambda A, B: A + 0 * B.T}, "not symmetric"),
        ({"kernel": lambda A, B: A}, "must have the shape"),
        ({"kernel": np.diag([1.0, -1.0, 1.0]), "X": None}, "not positive semidefinite"),
        ({"kernel": np.ones((3, 2)), "X": None}, "must be square"),
        ({"kernel": np.eye(4)}, "X has 3 rows but the Gram matrix"),
        ({"kernel": cov.ExpQuad(1, ls=1.0), "ard": True}, "ard is for the default kernel"),
    ],
)
def test_bad_input_is_refused(change, message):
    options = {"X": [[0.0], [1.0], [2.0]], "y": [0.0, 1.0, 0.5]} | change
    with pytest.raises(ValueError, match=message):
        bk.models.gp_regression(options.pop("X"), options.pop("y"), **options)


def test_kernels_of_another_model_are_refused():
    with pm.Model():
        kernel = cov.ExpQuad(1, ls=pm.HalfNormal("width"))
    with pytest.raises(ValueError, match="'width' belongs to another model"):
        bk.models.gp_regression([[0.0], [1.0]], [0.0, 1.0], kernel=kernel, noise=0.1)


def test_wrong_types_are_refused():
    with pytest.raises(TypeError, match="ard must be True or False, got 'yes'"):
        bk.models.gp_regression([[0.0], [1.0]], [0.0, 1.0], ard="yes")
    with pytest.raises(TypeError, match="y must be numeric"):
        bk.models.gp_regression([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(TypeError, match="real numbers are needed, got complex"):
        bk.models.gp_regression([[0.0], [1.0]], [0.0, 1.0j])
    with pytest.raises(TypeError, match=r"kernel must be a pm\.gp\.cov covariance"):
        bk.models.gp_regression([[0.0], [1.0]], [0.0, 1.0], kernel="rbf")


def test_other_models_are_no_processes():
    linear = bk.models.bayesian_linear_regression([[0.0], [1.0]], [0.0, 1.0])
    for function in (bk.gp.maximise_evidence, bk.gp.log_evidence, bk.gp.dual_coefficients):
        with pytest.raises(TypeError, match=r"bk.gp is for .*; this is a bayesian_linear_reg"):
            function(linear)


def test_prediction_refuses_what_does_not_fit():
    X, y = sinusoid()
    model = bk.models.gp_regression(X, y)
    with pytest.raises(ValueError, match="X_new has 2 columns, the model was trained with 1"):
        bk.predict(model, None, [[0.0, 1.0]])
    with pytest.raises(ValueError, match="random hyperparameters"):
        bk.predict(model, None, [[0.0]])
    with pytest.raises(ValueError, match="no posterior draws of 'noise'"):
        bk.predict(model, _posterior({"ls": [1.0]}), [[0.0]])
    with pytest.raises(TypeError, match="this is a gp_regression"):
        bk.flip_probability(model, None)
    with pytest.raises(ValueError, match="already holds a model of the zoo"), model:
        bk.models.gp_regression(X, y)


def test_training_rows_may_repeat_and_noise_be_small():
    X = np.repeat(np.linspace(0, 1, 10), 3)[:, None]
    y = np.sin(6 * X[:, 0])
    model = bk.models.gp_regression(X, y, kernel=cov.ExpQuad(1, ls=0.5), noise=1e-4)
    np.testing.assert_allclose(bk.predict(model, None, X)["mean"], y, atol=1e-3)
    peer = GaussianProcessRegressor(RBF(0.5) + WhiteKernel(1e-8), alpha=0, optimizer=None)
    assert np.isclose(bk.gp.log_evidence(model), peer.fit(X, y).log_marginal_likelihood_value_)
