"""Links and learned kernels of the generalized kernel model, as PyMC and prediction see them."""

import warnings

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit, log_expit
from scipy.stats import gamma as gamma_law
from scipy.stats import halfnorm, multivariate_normal, norm

import bayeskernels as bk
from bayeskernels.distributions import KernelWidth
from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.models import generalized_kernel_model, sparse_gp_classifier
from bayeskernels.samplers import ReversibleJump
from bayeskernels.testing import check_sampler

X, LABELS = bk.data.make_two_moons(20, random_seed=1)
TARGETS = np.sin(2 * X[:, 0]) + 0.2 * np.random.default_rng(0).standard_normal(20)
X_NEW = np.random.default_rng(0).standard_normal((7, 2))
QUICK = {"chains": 1, "progressbar": False, "random_seed": 1, "compute_convergence_checks": False}


def gaussian(X, Z, theta=1.0):
    return np.exp(-(((X[:, None] - Z[None]) / theta) ** 2).sum(axis=2))


def observations(link):
    return TARGETS if link == "identity" else LABELS


@pytest.mark.parametrize("link", ["logistic", "identity"])
def test_log_density_term_by_term(link):
    """With two random widths, so that the kernel is part of the graph."""
    low, high = 0.2, 5.0
    model = generalized_kernel_model(
        X, observations(link), link=link, theta_bounds=(low, high), ard=True, max_active=6
    )
    rng = np.random.default_rng(1)
    active = np.array([2, 5, 11])
    gamma, beta = np.zeros(20, dtype=int), np.zeros(20)
    gamma[active], beta[active] = 1, rng.standard_normal(3)
    u, g, eta, noise, theta = 0.3, 1.7, 0.6, 0.4, np.array([0.7, 2.0])
    point = {"u": u, "gamma": gamma, "beta": beta, "g_log__": np.log(g), "eta_log__": np.log(eta)}
    point["theta_interval__"] = np.log(theta - low) - np.log(high - theta)
    K = gaussian(X, X, theta)
    f = u + K @ beta
    if link == "identity":
        point["noise_log__"] = np.log(noise)
        spread = TARGETS.std()
        g_prior, eta_prior = (1.0, spread**2), (0.5, 0.5 * np.mean(TARGETS**2))
        likelihood = norm(f, noise).logpdf(TARGETS).sum()
        likelihood += halfnorm(scale=spread).logpdf(noise) + np.log(noise)
    else:
        g_prior, eta_prior = (2.0, 0.05), (0.5, 0.05)
        likelihood = log_expit(np.where(LABELS == 1, f, -f)).sum()
    expected = (
        likelihood
        + gamma_law(g_prior[0], scale=1 / g_prior[1]).logpdf(g)
        + np.log(g)
        + gamma_law(eta_prior[0], scale=1 / eta_prior[1]).logpdf(eta)
        + np.log(eta)
        + norm(0, eta**-0.5).logpdf(u)
        + log_size_weights(20, 6, 1.0, 1.0)[3]
        + multivariate_normal(np.zeros(3), np.linalg.inv(g * K[np.ix_(active, active)])).logpdf(
            beta[active]
        )
        + np.sum(-2 * np.log(high - low) + np.log((theta - low) * (high - theta)))
    )
    logp = model.compile_logp(mode="FAST_COMPILE")
    assert np.isclose(logp(point), expected, atol=1e-5)


def invent_draws(**more):
    rng = np.random.default_rng(0)
    gamma = rng.random((2, 5, 20)) < 0.3
    beta = np.where(gamma, rng.standard_normal(gamma.shape), 0.0)
    beta[0, 0] = 0.0
    by_draw = ("chain", "draw")
    variables = {
        "gamma": ((*by_draw, "obs"), gamma.astype(int)),
        "beta": ((*by_draw, "obs"), beta),
        "u": (by_draw, rng.standard_normal((2, 5))),
        "noise": (by_draw, rng.gamma(2.0, size=(2, 5))),
        "theta": (by_draw, rng.gamma(3.0, size=(2, 5))),
        "widths": ((*by_draw, "feature"), rng.gamma(3.0, size=(2, 5, 2))),
    }
    for name, other in more.items():
        variables[name] = variables.pop(other)
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables)})


@pytest.mark.parametrize("ard", [False, True])
def test_prediction_with_a_kernel_for_each_draw(ard):
    model = generalized_kernel_model(X, LABELS, link="logistic", theta="learn", ard=ard)
    idata = invent_draws(theta="widths") if ard else invent_draws()
    prediction = bk.predict(model, idata, X_NEW, progressbar=False)
    posterior = idata.posterior
    beta = posterior["beta"].values.reshape(10, 20)
    theta = posterior["theta"].values.reshape(10, -1)
    f = posterior["u"].values.ravel() + np.column_stack(
        [gaussian(X_NEW, X, t) @ b for t, b in zip(theta, beta, strict=True)]
    )
    np.testing.assert_allclose(prediction["latent"], f.mean(axis=1))
    np.testing.assert_allclose(prediction["probability"][:, 1], expit(f).mean(axis=1))


@pytest.mark.parametrize("noise", [None, 0.7])
def test_prediction_of_a_regression(noise):
    model = generalized_kernel_model(X, TARGETS, kernel=gaussian, link="identity", noise=noise)
    idata = invent_draws()
    if noise is not None:
        idata["posterior"] = idata["posterior"].to_dataset().drop_vars("noise")
    prediction = bk.predict(model, idata, X_NEW)
    beta = idata.posterior["beta"].values.reshape(10, 20)
    f = idata.posterior["u"].values.ravel() + gaussian(X_NEW, X) @ beta.T
    squares = idata.posterior["noise"].values ** 2 if noise is None else noise**2
    np.testing.assert_allclose(prediction["mean"], f.mean(axis=1))
    np.testing.assert_allclose(prediction["sd"] ** 2, f.var(axis=1) + np.mean(squares))
    assert set(prediction.data_vars) == {"mean", "sd", "latent_sd"}
    assert set(prediction.dims) == {"obs_new"}


@pytest.mark.parametrize(
    ("options", "step"),
    [
        ({"link": "identity"}, {}),
        ({"link": "logistic"}, {}),
        ({"link": "identity", "sparse": False}, {}),
        ({"link": "probit", "theta": "learn"}, {}),
        ({"link": "logistic", "theta": "learn", "ard": True}, {"kernel_moves": 1}),
        ({"link": "identity", "theta_bounds": (0.3, 3.0)}, {"kernel_move": "random_walk"}),
        ({"link": "logistic", "theta": "learn", "sparse": False}, {}),
    ],
    ids=lambda value: "-".join(str(v) for v in value.values()),
)
def test_conformance(options, step):
    model = generalized_kernel_model(X, observations(options["link"]), max_active=10, **options)
    check_sampler(lambda: ReversibleJump(**step), model=model, parallel=False)


def test_numbers_that_other_steps_move():
    """Noise and a width with priors of the user's own are taken as they come."""
    with pm.Model() as model:
        ell = pm.LogNormal("ell", 0.0, 1.0)
        generalized_kernel_model(
            X,
            TARGETS,
            link="identity",
            kernel=pm.gp.cov.Matern52(2, ls=ell),
            noise=pm.HalfCauchy.dist(1.0),
            max_active=10,
        )
        step = ReversibleJump()
    assert {value.name for value in step.vars} == {"u", "eta_log__", "g_log__", "gamma", "beta"}

    def move_others(point, k):
        return (
            point
            | {"noise_log__": np.asarray(-1.0 - 0.1 * (k % 3))}
            | {"ell_log__": np.asarray(0.1 * (k % 2))}
        )

    check_sampler(ReversibleJump, model=model, parallel=False, move_others=move_others)
    point = move_others(model.initial_point(), 1)
    step.setup_chain(np.random.default_rng(0), 0, 1)
    for k in range(4):
        point, _ = step.step(move_others(point, k))
    assert np.isclose(step.sampler.noise, np.exp(-1.0))
    covariance = pm.gp.cov.Matern52(2, ls=np.exp(0.1))(X).eval()
    np.testing.assert_allclose(
        step.sampler.f[0], point["u"] + covariance @ point["beta"], atol=1e-8
    )


def test_widths_of_any_covariance_are_learned():
    with pm.Model():
        ell = KernelWidth("ell", 0.1, 10.0, shape=2)
        generalized_kernel_model(X, LABELS, kernel=pm.gp.cov.Matern52(2, ls=ell), max_active=10)
        step = ReversibleJump()
    assert "ell_interval__" in {value.name for value in step.vars}
    np.testing.assert_allclose(step.form.kernel.start, [1.0, 1.0])


def test_prior_of_the_width():
    model = generalized_kernel_model(X, LABELS, theta=pm.LogNormal.dist(0.5, 0.7), max_active=10)
    with model:
        step = ReversibleJump()
    assert "theta_log__" in {value.name for value in step.vars}
    expected = norm(0.5, 0.7).logpdf(np.log(1.4)) - np.log(1.4)
    assert np.isclose(step.form.kernel.log_prior(np.array([1.4])), expected)
    assert step.form.kernel.log_prior(np.array([-1.0])) == -np.inf


def test_leave_one_out_and_predictive_draws():
    model = generalized_kernel_model(X, TARGETS, link="identity", theta="learn", max_active=10)
    with model:
        idata = pm.sample(400, tune=200, **QUICK)
        pm.compute_log_likelihood(idata, progressbar=False)
        total = idata.log_likelihood["y"].sum("obs").values
        np.testing.assert_allclose(total, idata.sample_stats["rj_log_likelihood"], rtol=1e-6)
        with warnings.catch_warnings():
            # Of twenty points some have a large Pareto k.
            warnings.simplefilter("ignore", UserWarning)
            assert np.isfinite(az.loo(idata).elpd)
        watched = bk.diagnostics.monitor(model, idata, max_points=3, progressbar=False)
        pm.set_data({"X": X_NEW, "y_data": np.zeros(7)})
        drawn = pm.sample_posterior_predictive(idata, progressbar=False, random_seed=1)
    assert "errors" not in watched["posterior"]
    assert 0 < float(idata.sample_stats["rj_kernel"].mean()) < 1
    prediction = bk.predict(model, idata, X_NEW, progressbar=False)
    y = drawn.posterior_predictive["y"].values.reshape(-1, 7)
    np.testing.assert_allclose(y.mean(axis=0), prediction["mean"], atol=0.25)
    np.testing.assert_allclose(y.std(axis=0), prediction["sd"], rtol=0.25)


@pytest.mark.slow
def test_dense_logistic_model_agrees_with_nuts():
    """The same posterior by NUTS on a plain PyMC model: means of u, log g and outputs.

    With a false-alarm rate of 1e-4 in each of seven comparisons.
    """
    n, gram = 20, gaussian(X, X)
    factor = np.linalg.cholesky(gram + 1e-8 * np.eye(n))
    model = generalized_kernel_model(X, LABELS, kernel=gaussian, link="logistic", sparse=False)
    options = {"chains": 4, "cores": 1, "progressbar": False, "random_seed": 1}
    with model:
        first = pm.sample(4000, tune=500, **options)
    with pm.Model():
        eta = pm.Gamma("eta", 0.5, 0.05)
        z_u = pm.Normal("z_u")
        u = pm.Deterministic("u", z_u / pm.math.sqrt(eta))
        g = pm.Gamma("g", 2.0, 0.05)
        z = pm.Normal("z", shape=n)
        f = pm.Deterministic("f", u + pm.math.dot(factor, z) / pm.math.sqrt(g))
        pm.Bernoulli("y", logit_p=f, observed=(LABELS == 1).astype(int))
        second = pm.sample(4000, tune=1000, target_accept=0.95, nuts_sampler="pymc", **options)
    a, b = first.posterior, second.posterior
    rows = xr.DataArray(gram[:5], dims=("point", "obs"))
    a = a.assign(f=a["u"] + xr.dot(rows, a["beta"].drop_vars("obs", errors="ignore"), dim="obs"))
    b = b.assign(f=b["f"].isel(f_dim_0=slice(5)).rename(f_dim_0="point"))
    for name in ("u", "log_g", "f"):
        pair = [np.log(p["g"]) if name == "log_g" else p[name] for p in (a, b)]
        pair = [p.transpose("chain", "draw", ...).to_dataset(name="x") for p in pair]
        error = np.hypot(*(az.mcse(p)["x"].values for p in pair))
        difference = np.subtract(*(p["x"].mean(("chain", "draw")).values for p in pair))
        assert (np.abs(difference) < 3.9 * error).all(), name


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"link": "cauchit"}, ValueError, "link must be one of 'probit', 'logistic', 'identity'"),
        ({"noise": 0.1}, ValueError, "the link 'probit' has none"),
        ({"link": "identity", "noise": 0.0}, ValueError, "noise must be a positive number"),
        ({"link": "identity", "noise": True}, ValueError, "noise must be a positive number"),
        ({"theta_bounds": (2.0, 1.0)}, ValueError, "ascending order"),
        ({"theta_bounds": (0.0, 1.0)}, ValueError, "must be positive"),
        ({"theta_bounds": 3.0}, ValueError, "two numbers"),
        ({"theta": 1.0, "theta_bounds": (0.5, 2.0)}, ValueError, "for theta='learn'"),
        ({"theta": -1.0}, ValueError, "theta must be a positive number"),
        ({"theta": [1.0, 2.0, 3.0]}, ValueError, "3 widths, X has 2 columns"),
        ({"theta": "wide"}, ValueError, "'learn' or a prior"),
        ({"theta": "learn", "kernel": gaussian}, ValueError, "a kernel was given as well"),
        ({"ard": True}, ValueError, "say theta='learn' too"),
        ({"theta": pm.LogNormal.dist(0, 1), "ard": True}, ValueError, "needs shape=p"),
        ({"max_active": 0}, ValueError, "at least 1"),
        ({"max_active": -3}, ValueError, "at least 1"),
        ({"max_active": 21}, ValueError, "only 20 points"),
        ({"kernel": lambda A, B: -gaussian(A, B)}, ValueError, "positive semidefinite"),
        ({"kernel": lambda A, B: np.tanh(1 - 2 * A @ B.T)}, ValueError, "positive semidefinite"),
        ({"kernel": 2 * np.ones((20, 20)) - np.eye(20)}, ValueError, "positive semidefinite"),
    ],
)
def test_bad_options(options, error, message):
    y = TARGETS if options.get("link") == "identity" else LABELS
    with pytest.raises(error, match=message):
        generalized_kernel_model(X, y, **options)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (np.where(np.arange(20) == 3, np.nan, TARGETS), ValueError, "the first is 3"),
        (np.where(np.arange(20) == 4, np.inf, TARGETS), ValueError, "the first is 4"),
        (TARGETS[:5], ValueError, "one number per row"),
        (["a"] * 20, TypeError, "must be numeric"),
    ],
)
def test_bad_targets(y, error, message):
    with pytest.raises(error, match=message):
        generalized_kernel_model(X, y, link="identity")


def test_more_refusals():
    with pytest.raises(ValueError, match=r"generalized_kernel_model\(link='identity'\)"):
        sparse_gp_classifier(X, TARGETS, link="identity")
    for link in ("probit", "logistic"):
        with pytest.raises(ValueError, match="only one class"):
            generalized_kernel_model(X, np.ones(20), link=link)
    # More points than there are: no error, all of them may be active.
    model = generalized_kernel_model(X, LABELS)
    assert bk.specification_of(model).max_active == 20
    with model, pytest.raises(ValueError, match="start_active must be between 0 and max_active"):
        ReversibleJump(start_active=21)
    with model, pytest.raises(ValueError, match="'slice' or 'random_walk'"):
        ReversibleJump(kernel_move="hop")


def test_widths_fixed_by_the_user():
    one = generalized_kernel_model(X, LABELS, theta=1.7)
    many = generalized_kernel_model(X, LABELS, theta=[1.7, 0.4])
    for model, theta in [(one, 1.7), (many, np.array([1.7, 0.4]))]:
        values = bk.specification_of(model).kernel(X_NEW, X)
        np.testing.assert_allclose(values, gaussian(X_NEW, X, theta), atol=1e-12)
