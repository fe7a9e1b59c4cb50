"""The Gaussian-process probit classifier as a PyMC model, and prediction from it."""

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from every_builder import invent_latent_draws, log_latent_prior
from scipy.special import log_ndtr, ndtr
from scipy.stats import multivariate_normal, norm

import bayeskernels as bk
from bayeskernels.distributions import ProbitLabel
from bayeskernels.models import gp_probit

X, Y = bk.data.make_two_moons(20, random_seed=1)
X_NEW = np.random.default_rng(0).standard_normal((7, 2))
QUICK = {"chains": 1, "progressbar": False, "random_seed": 1, "compute_convergence_checks": False}
# PyMC's own NUTS is compiled once and cached on disk; nutpie takes ten seconds every time.
QUICK |= {"nuts_sampler": "pymc"}


def gaussian(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2))


def make_point(model, seed=1):
    rank = bk.specification_of(model).rank
    z, u, g, eta = np.random.default_rng(seed).standard_normal(rank), 0.3, 1.7, 0.6
    return {"z": z, "u": u, "g_log__": np.log(g), "eta_log__": np.log(eta)}, (z, u, g, eta)


@pytest.mark.parametrize("inducing", [None, 6])
def test_log_density_term_by_term(inducing):
    model = gp_probit(X, Y, kernel=gaussian, inducing=inducing)
    point, (z, u, g, eta) = make_point(model)
    A = bk.specification_of(model).feature_map.factor.features
    assert A.shape[1] == (20 if inducing is None else 6)
    rest = 1.0 - (A**2).sum(axis=1)
    f = (u + A @ z / np.sqrt(g)) / np.sqrt(1 + np.maximum(rest, 0) / g)
    expected = log_latent_prior(z, u, g, eta) + log_ndtr(np.where(Y == 1, f, -f)).sum()
    assert np.isclose(model.compile_logp(mode="FAST_COMPILE")(point), expected)


def test_fitc_integrates_the_rest_out():
    """Each label's probability is the average over its independent rest, by quadrature."""
    model = gp_probit(X, Y, kernel=gaussian, inducing=5)
    point, (z, u, g, _) = make_point(model)
    del point["eta_log__"]
    A = bk.specification_of(model).feature_map.factor.features
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    sd = np.sqrt(np.maximum(1.0 - (A**2).sum(axis=1), 0) / g)
    f = u + A @ z / np.sqrt(g)
    values = f[:, None] + sd[:, None] * nodes
    average = ndtr(np.where(Y == 1, 1, -1)[:, None] * values) @ weights / weights.sum()
    [logp] = model.compile_fn(model.logp(vars=[model["y"]], sum=False), mode="FAST_COMPILE")(point)
    np.testing.assert_allclose(logp, np.log(average), atol=1e-8)


def test_whitened_coordinates_have_the_prior_of_the_process():
    model = gp_probit(X, Y, kernel=gaussian)
    A = bk.specification_of(model).feature_map.factor.features
    np.testing.assert_allclose(A @ A.T, gaussian(X, X), atol=1e-10)
    # The density of f = A z is that of N(0, K) up to the determinant of A.
    z = np.random.default_rng(3).standard_normal(20)
    process = multivariate_normal(np.zeros(20), gaussian(X, X), allow_singular=True).logpdf(A @ z)
    determinant = np.linalg.slogdet(A)[1]
    assert np.isclose(norm.logpdf(z).sum() - determinant, process, rtol=1e-5)


def test_tails_of_the_link():
    f = np.array([-60.0, -35.0, -9.0, -0.5, 0.0, 2.0, 9.0, 60.0])
    for label in (0, 1):
        logp = pm.logp(ProbitLabel.dist(f), label).eval()
        np.testing.assert_allclose(logp, log_ndtr(f if label else -f), rtol=1e-12)


def test_gradient_is_finite_far_out():
    model = gp_probit(X, Y, g=1e-4)
    point = {"z": np.full(bk.specification_of(model).rank, 3.0), "u": -50.0, "eta_log__": 0.0}
    assert np.isfinite(model.compile_dlogp(mode="FAST_COMPILE")(point)).all()


def test_prediction_averages_probabilities():
    model = gp_probit(X, Y, kernel=gaussian)
    idata = invent_latent_draws(20)
    prediction = bk.predict(model, idata, X_NEW)
    A = bk.specification_of(model).feature_map.factor.features
    w = idata.posterior["w"].values.reshape(10, 20)
    beta = np.linalg.solve(A.T, w.T)
    f = idata.posterior["u"].values.ravel() + gaussian(X_NEW, X) @ beta
    np.testing.assert_allclose(prediction["latent"], f.mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(prediction["vote"][:, 1], (f > 0).mean(axis=1))
    # The process itself, given its values at the training points, has a variance of its own.
    cross = gaussian(X_NEW, X)
    rest = 1.0 - np.einsum("ij,ji->i", cross, np.linalg.solve(gaussian(X, X), cross.T))
    variance = rest[:, None] / idata.posterior["g"].values.ravel()
    positive = ndtr(f / np.sqrt(1.0 + variance)).mean(axis=1)
    np.testing.assert_allclose(prediction["probability"][:, 1], positive, rtol=1e-5)
    np.testing.assert_array_equal(prediction["label"] == 1, positive > 0.5)
    spread = np.sqrt(f.var(axis=1) + variance.mean(axis=1))
    np.testing.assert_allclose(prediction["latent_sd"], spread, rtol=1e-5)
    restricted = bk.predict(model, idata, X_NEW, beyond_span=False)
    np.testing.assert_allclose(restricted["probability"][:, 1], ndtr(f).mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(restricted["latent_sd"], f.std(axis=1), rtol=1e-5)


@pytest.mark.parametrize("g", [None, 0.7])
def test_prediction_with_inducing_points(g):
    model = gp_probit(X, Y, kernel=gaussian, inducing=6, g=g)
    idata = invent_latent_draws(6, without=() if g is None else ("g",))
    specification = bk.specification_of(model)
    support = specification.feature_map.factor.support
    K = gaussian(X[support], X[support])
    cross = gaussian(X_NEW, X[support])
    rest = 1.0 - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T))
    phi = np.linalg.solve(np.linalg.cholesky(K), cross.T).T
    f = idata.posterior["u"].values.ravel() + phi @ idata.posterior["w"].values.reshape(10, 6).T
    precision = idata.posterior["g"].values.ravel() if g is None else g
    expected = ndtr(f / np.sqrt(1 + rest[:, None] / precision)).mean(axis=1)
    for beyond_span in (True, False):
        # It is in the likelihood of this model, and cannot be left out.
        prediction = bk.predict(model, idata, X_NEW, beyond_span=beyond_span)
        np.testing.assert_allclose(prediction["probability"][:, 1], expected, rtol=1e-6)
    spread = np.sqrt(
        f.var(axis=1) + np.mean(rest[:, None] / np.broadcast_to(precision, 10), axis=1)
    )
    np.testing.assert_allclose(prediction["latent_sd"], spread, rtol=1e-6)
    np.testing.assert_allclose(prediction["latent"], f.mean(axis=1), rtol=1e-6)


def test_all_points_inducing_approximate_nothing():
    full, fitc = gp_probit(X, Y, kernel=gaussian), gp_probit(X, Y, kernel=gaussian, inducing=20)
    idata = invent_latent_draws(20)
    one, other = (bk.predict(m, idata, X_NEW)["latent"].values for m in (full, fitc))
    np.testing.assert_allclose(one, other, rtol=1e-4)


def test_forms_of_the_kernel_predict_alike():
    covariance = pm.gp.cov.ExpQuad(2, ls=np.sqrt(0.5))
    idata = invent_latent_draws(20)
    plain = bk.predict(gp_probit(X, Y, kernel=gaussian), idata, X_NEW)["probability"]
    symbolic = bk.predict(gp_probit(X, Y, kernel=covariance), idata, X_NEW)["probability"]
    xr.testing.assert_allclose(plain, symbolic, rtol=1e-5)
    gram = gp_probit(None, Y, kernel=gaussian(X, X))
    rows = bk.predict(gram, idata, gaussian(X_NEW, X), diagonal=np.ones(7))
    xr.testing.assert_allclose(plain, rows["probability"])


def test_random_width_inside_an_open_model():
    with pm.Model() as model:
        width = pm.LogNormal("width")
        assert gp_probit(X, Y, kernel=pm.gp.cov.ExpQuad(2, ls=width)) is model
    widths = np.random.default_rng(1).uniform(0.3, 1.0, (2, 5))
    extra = {"width": (("chain", "draw"), widths), "eta": (("chain", "draw"), np.ones((2, 5)))}
    idata = invent_latent_draws(20, **extra)
    z = idata.posterior["w"] * np.sqrt(idata.posterior["g"])
    idata["posterior"] = idata.posterior.to_dataset().assign(z=z)
    probability = bk.predict(model, idata, X_NEW, progressbar=False)["probability"][:, 1]
    expected = np.zeros((7, 2, 5))
    for index in np.ndindex(2, 5):
        scaled, scaled_new = X / widths[index], X_NEW / widths[index]
        K = np.exp(-((scaled[:, None] - scaled) ** 2).sum(axis=2) / 2) + 1e-8 * np.eye(20)
        cross = np.exp(-((scaled_new[:, None] - scaled) ** 2).sum(axis=2) / 2)
        phi = np.linalg.solve(np.linalg.cholesky(K), cross.T).T
        f = float(idata.posterior["u"][index]) + phi @ idata.posterior["w"][index].values
        rest = 1.0 - (phi**2).sum(axis=1)
        expected[:, index[0], index[1]] = ndtr(
            f / np.sqrt(1.0 + rest / float(idata.posterior["g"][index]))
        )
    np.testing.assert_allclose(probability, expected.mean(axis=(1, 2)), rtol=1e-4)


def test_data_frame_named_model_and_labels_as_words():
    frame = pd.DataFrame(X, columns=["height", "weight"])
    words = np.where(Y == 1, "yes", "no")
    with pm.Model(name="mine") as model:
        gp_probit(frame, words, g=1.0, eta=pm.Gamma.dist(2.0, 1.0))
    assert model.coords["feature"] == ("height", "weight")
    assert sorted(v.name for v in model.free_RVs) == ["mine::eta", "mine::u", "mine::z"]
    idata = invent_latent_draws(20, prefix="mine::", without=("g",))
    prediction = bk.predict(model, idata, frame)
    assert set(prediction["label"].values) <= {"yes", "no"}
    with pytest.raises(ValueError, match="Reorder"):
        bk.predict(model, idata, frame[["weight", "height"]])


def test_every_variable_has_dims():
    model = gp_probit(X, Y)
    dims = {name: model.named_vars_to_dims.get(name) for name in ("X", "z", "w", "y")}
    assert dims == {"X": ("obs", "feature"), "z": ("basis",), "w": ("basis",), "y": ("obs",)}
    assert list(model.coords["class"]) == [-1, 1]


def test_precision_of_the_user_by_another_name():
    with pm.Model() as model:
        gp_probit(X, Y, g=pm.HalfNormal("scale"), inducing=5)
    assert "g" in [v.name for v in model.deterministics]
    assert bk.predict(model, invent_latent_draws(5), X_NEW)["probability"].shape == (7, 2)
    with pm.Model():
        foreign = pm.HalfNormal("scale")
    with pytest.raises(ValueError, match="another model"):
        gp_probit(X, Y, g=foreign)


def test_agrees_with_the_dense_generalized_kernel_model():
    """Same posterior by another sampler.

    Mean probabilities at 8 points, some 400 effective draws each: standard errors of at most 0.015
    for either, so a difference of 0.08 is far beyond chance.
    """
    new = X_NEW / 2 + [0.5, 0.25]
    nuts, gibbs = gp_probit(X, Y), bk.models.generalized_kernel_model(X, Y, sparse=False)
    with nuts:
        by_nuts = pm.sample(1000, tune=500, target_accept=0.95, **QUICK)
    with gibbs:
        by_gibbs = pm.sample(2000, tune=500, **QUICK)
    one, other = bk.predict(nuts, by_nuts, new), bk.predict(gibbs, by_gibbs, new)
    gap = np.abs(one["probability"] - other["probability"]).max()
    assert gap < 0.08
    assert (bk.predict(nuts, by_nuts, X).label.values == Y).mean() > 0.8


def test_tools_on_draws():
    model = gp_probit(X, Y, inducing=8)
    with model:
        idata = pm.sample(200, tune=200, **QUICK)
        pm.compute_log_likelihood(idata, progressbar=False)
        pm.set_data({"X": X_NEW, "y_data": np.zeros(7, dtype=int)})
        drawn = pm.sample_posterior_predictive(
            idata, var_names=["y"], progressbar=False, random_seed=1
        )
    assert idata["log_likelihood"]["y"].shape == (1, 200, 20)
    # 200 draws of coins each: standard error 0.05 at most, with some 5 of them 7 times over.
    expected = bk.predict(model, idata, X_NEW)["probability"][:, 1].values
    share = drawn.posterior_predictive["y"].mean(("chain", "draw")).values
    np.testing.assert_allclose(share, expected, atol=0.2)
    watched = bk.diagnostics.monitor(model, idata, max_points=3)["posterior"]
    assert watched["output"].shape == (1, 200, 3)
    assert "w" not in watched
    with pytest.raises(TypeError, match=r"az\.loo"):
        bk.diagnostics.loo(model, idata)
    with pytest.raises(TypeError, match="mean direction"):
        bk.bayes_point(model, idata)
    assert np.isfinite(az.summary(idata, var_names=["g"], kind="stats")["mean"].astype(float)).all()


def test_bad_data():
    model = gp_probit(X, Y)
    with pytest.raises(ValueError, match="already holds"), model:
        gp_probit(X, Y)
    with pytest.raises(ValueError, match="do not belong together"):
        bk.predict(model, invent_latent_draws(4), X_NEW)
    with pytest.raises(ValueError, match="3 columns"):
        bk.predict(model, invent_latent_draws(20), np.zeros((2, 3)))
