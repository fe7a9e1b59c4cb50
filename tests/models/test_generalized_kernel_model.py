"""The generalized kernel model as a PyMC model, and prediction from it."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import log_ndtr, ndtr
from scipy.stats import gamma as gamma_law
from scipy.stats import multivariate_normal, norm

import bayeskernels as bk
from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.models import generalized_kernel_model, sparse_gp_classifier

X, Y = bk.data.make_two_moons(20, random_seed=1)
X_NEW = np.random.default_rng(0).standard_normal((7, 2))
QUICK = {"chains": 1, "progressbar": False, "random_seed": 1, "compute_convergence_checks": False}


def gaussian(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2))


def invent_draws(seed=0):
    rng = np.random.default_rng(seed)
    gamma = rng.random((2, 5, 20)) < 0.3
    gamma[..., 17:] = False
    beta = np.where(gamma, rng.standard_normal(gamma.shape), 0.0)
    posterior = xr.Dataset(
        {
            "gamma": (("chain", "draw", "obs"), gamma.astype(int)),
            "beta": (("chain", "draw", "obs"), beta),
            "u": (("chain", "draw"), rng.standard_normal((2, 5))),
        }
    )
    return xr.DataTree.from_dict({"posterior": posterior})


def test_log_density_term_by_term():
    model = generalized_kernel_model(X, Y, kernel=gaussian, max_active=6)
    rng = np.random.default_rng(1)
    active = np.array([2, 5, 11])
    gamma, beta = np.zeros(20, dtype=int), np.zeros(20)
    gamma[active], beta[active] = 1, rng.standard_normal(3)
    u, g, eta = 0.3, 1.7, 0.6
    point = {"u": u, "gamma": gamma, "beta": beta, "g_log__": np.log(g), "eta_log__": np.log(eta)}
    K = gaussian(X, X)
    f = u + K @ beta
    expected = (
        gamma_law(2, scale=1 / 0.05).logpdf(g)
        + np.log(g)
        + gamma_law(0.5, scale=1 / 0.05).logpdf(eta)
        + np.log(eta)
        + norm(0, eta**-0.5).logpdf(u)
        + log_size_weights(20, 6, 1.0, 1.0)[3]
        + multivariate_normal(np.zeros(3), np.linalg.inv(g * K[np.ix_(active, active)])).logpdf(
            beta[active]
        )
        + np.log(ndtr(np.where(Y == 1, f, -f))).sum()
    )
    logp = model.compile_logp(mode="FAST_COMPILE")
    assert np.isclose(logp(point), expected, atol=1e-5)


def test_labels_far_on_the_wrong_side_have_a_likelihood():
    """A Bernoulli variable with the probability Phi(9) = 1 gives them none, and no az.loo."""
    model = generalized_kernel_model(X, Y, kernel=gaussian, max_active=6)
    point = model.initial_point() | {"u": np.asarray(9.0)}
    [terms] = [model["y"]]
    logp = model.compile_logp(vars=[terms], sum=False, mode="FAST_COMPILE")(point)[0]
    np.testing.assert_allclose(logp, log_ndtr(np.where(Y == 1, 9.0, -9.0)))


def test_prediction_averages_probabilities():
    model = generalized_kernel_model(X, Y, kernel=gaussian, max_active=10)
    idata = invent_draws()
    prediction = bk.predict(model, idata, X_NEW)
    beta = idata.posterior["beta"].values.reshape(10, 20)
    f = idata.posterior["u"].values.ravel() + gaussian(X_NEW, X) @ beta.T
    np.testing.assert_allclose(prediction["latent"], f.mean(axis=1))
    np.testing.assert_allclose(prediction["probability"][:, 1], ndtr(f).mean(axis=1))
    np.testing.assert_allclose(prediction["vote"][:, 1], (f > 0).mean(axis=1))
    np.testing.assert_array_equal(prediction["label"] == 1, ndtr(f).mean(axis=1) > 0.5)
    np.testing.assert_allclose(prediction["latent_sd"], f.std(axis=1))


def test_sparse_gaussian_process_has_the_same_posterior():
    options = {"kernel": gaussian, "max_active": 6}
    twins = [generalized_kernel_model(X, Y, **options), sparse_gp_classifier(X, Y, **options)]
    assert [bk.specification_of(m).kind for m in twins] == [
        "generalized_kernel_model",
        "sparse_gp_classifier",
    ]
    draws = []
    for model in twins:
        with model:
            draws.append(pm.sample(30, tune=0, **QUICK))
    xr.testing.assert_equal(draws[0].posterior.to_dataset(), draws[1].posterior.to_dataset())


def test_forms_of_the_kernel_predict_alike():
    covariance = pm.gp.cov.ExpQuad(2, ls=np.sqrt(0.5))
    idata = invent_draws()
    plain = bk.predict(generalized_kernel_model(X, Y, kernel=gaussian), idata, X_NEW)
    symbolic = bk.predict(generalized_kernel_model(X, Y, kernel=covariance), idata, X_NEW)
    xr.testing.assert_allclose(plain, symbolic)
    gram = generalized_kernel_model(None, Y, kernel=gaussian(X, X))
    rows = bk.predict(gram, idata, gaussian(X_NEW, X))
    xr.testing.assert_allclose(plain["probability"], rows["probability"])


# Influential points of this small set, not a fault of the log-likelihood.
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto:UserWarning")
def test_leave_one_out_and_monitoring():
    model = generalized_kernel_model(X, Y, max_active=10)
    with model:
        idata = pm.sample(600, tune=100, **QUICK)
        pm.compute_log_likelihood(idata, progressbar=False)
    assert np.isfinite(az.loo(idata).elpd)
    watched = bk.diagnostics.monitor(model, idata, max_points=3)["posterior"]
    assert watched["output"].shape == (1, 600, 3)
    assert set(watched.data_vars) == {"output", "errors", "active", "u", "g", "eta"}
    np.testing.assert_array_equal(watched["active"], idata.sample_stats["rj_active"])
    assert (bk.predict(model, idata, X).label.values == Y).mean() > 0.8
    with pytest.raises(TypeError, match=r"az\.loo"):
        bk.diagnostics.loo(model, idata)
    with pytest.raises(TypeError, match="mean direction"):
        bk.bayes_point(model, idata)


def test_native_posterior_predictive():
    model = generalized_kernel_model(X, Y, max_active=10)
    with model:
        idata = pm.sample(20, tune=20, **QUICK)
        pm.set_data({"X": X_NEW, "y_data": np.zeros(7, dtype=int)})
        drawn = pm.sample_posterior_predictive(idata, progressbar=False, random_seed=1)
    assert drawn.posterior_predictive["y"].shape == (1, 20, 7)


def test_dense_model_has_all_points_active():
    model = generalized_kernel_model(X, Y, sparse=False)
    with model:
        idata = pm.sample(20, tune=20, **QUICK)
    assert "gamma" not in idata.posterior
    assert (idata.posterior["beta"] != 0).all()
