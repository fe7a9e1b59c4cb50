"""The Bayesian support vector machine as a PyMC model, and prediction from it."""

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from every_builder import invent_latent_draws, log_latent_prior
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm
from sklearn.svm import SVC

import bayeskernels as bk
from bayeskernels.distributions import CompleteHingeLabel, HingeLabel
from bayeskernels.models import bayesian_svm

X, Y = bk.data.make_two_moons(20, random_seed=1)
X_NEW = np.random.default_rng(0).standard_normal((7, 2))
QUICK = {"chains": 1, "progressbar": False, "random_seed": 1, "compute_convergence_checks": False}
# PyMC's own NUTS is compiled once and cached on disk; nutpie takes ten seconds every time.
QUICK |= {"nuts_sampler": "pymc"}
OUTPUTS = np.array([-50.0, -2.0, -1.0, -0.3, 0.0, 0.7, 1.0, 1.5, 50.0])


def gaussian(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2))


def hinge(f, y):
    return np.maximum(1 - y * f, 0)


def complete_probability(f):
    """As Mallick, Ghosh and Ghosh print it."""
    return np.where(np.abs(f) <= 1, 1 / (1 + np.exp(-2 * f)), expit(f + np.sign(f)))


def test_printed_form_is_the_normalised_one():
    both = np.exp(-hinge(OUTPUTS, 1)), np.exp(-hinge(OUTPUTS, -1))
    np.testing.assert_allclose(both[0] / sum(both), complete_probability(OUTPUTS), rtol=1e-12)


def test_complete_likelihood():
    logp = [pm.logp(CompleteHingeLabel.dist(OUTPUTS), label).eval() for label in (0, 1)]
    np.testing.assert_allclose(np.exp(logp[0]) + np.exp(logp[1]), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(logp[1]), complete_probability(OUTPUTS), rtol=1e-12)


def test_incomplete_likelihood():
    for label, sign in ((0, -1), (1, 1)):
        logp = pm.logp(HingeLabel.dist(OUTPUTS), label).eval()
        np.testing.assert_allclose(logp, -hinge(OUTPUTS, sign))
    f = np.linspace(-4, 4, 2001)
    total = sum(np.exp(pm.logp(HingeLabel.dist(f), label).eval()) for label in (0, 1))
    assert np.isclose(total.min(), 2 * np.exp(-1))
    assert np.isclose(total.max(), 1 + np.exp(-2))
    assert np.isneginf(pm.logp(HingeLabel.dist(0.5), 2).eval())


@pytest.mark.parametrize("label", [HingeLabel, CompleteHingeLabel])
def test_draws_have_the_complete_probability(label):
    # Standard error 0.005 at most: a false alarm is 4 of them away.
    f = np.array([-1.5, -0.3, 0.0, 0.6, 2.0])
    share = pm.draw(label.dist(f), draws=10_000, random_seed=1).mean(axis=0)
    np.testing.assert_allclose(share, complete_probability(f), atol=0.02)


@pytest.mark.parametrize("complete", [False, True])
def test_log_density_term_by_term(complete):
    model = bayesian_svm(X, Y, kernel=gaussian, complete=complete)
    z, u, g, eta = np.random.default_rng(1).standard_normal(20), 0.3, 0.4, 0.6
    point = {"z": z, "u": u, "g_log__": np.log(g), "eta_log__": np.log(eta)}
    A = bk.specification_of(model).feature_map.factor.features
    f = u + A @ z / np.sqrt(g)
    expected = log_latent_prior(z, u, g, eta) - hinge(f, Y).sum()
    if complete:
        expected -= np.log(np.exp(-hinge(f, 1)) + np.exp(-hinge(f, -1))).sum()
    assert np.isclose(model.compile_logp(mode="FAST_COMPILE")(point), expected)


def test_mode_is_the_support_vector_machine():
    """For fixed g and a flat offset: scikit-learn's SVC with C = 1 / g."""
    g = 0.5
    model = bayesian_svm(X, Y, kernel=gaussian, g=g, eta=1e-8)
    logp = model.compile_logp(mode="FAST_COMPILE")
    A = bk.specification_of(model).feature_map.factor.features
    svc = SVC(kernel=gaussian, C=1 / g, tol=1e-10).fit(X, Y)
    alpha = np.zeros(20)
    alpha[svc.support_] = svc.dual_coef_[0]
    z = A.T @ alpha * np.sqrt(g)
    u = svc.intercept_[0]
    np.testing.assert_allclose(u + A @ z / np.sqrt(g), svc.decision_function(X), atol=1e-8)
    best = logp({"z": z, "u": u})
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 1e-1, 1.0):
        others = [
            logp({"z": z + size * rng.standard_normal(20), "u": u + size * rng.standard_normal()})
            for _ in range(20)
        ]
        assert max(others) < best
    start = np.append(z, u)
    search = minimize(
        lambda p: -logp({"z": p[:-1], "u": p[-1]}), start, method="Powell", options={"maxiter": 2}
    )
    assert -search.fun - best < 1e-5


def test_gradient_is_finite_far_out():
    for complete in (False, True):
        model = bayesian_svm(X, Y, g=1e-6, complete=complete)
        point = {"z": np.full(bk.specification_of(model).rank, 3.0), "u": -50.0, "eta_log__": 0.0}
        assert np.isfinite(model.compile_dlogp(mode="FAST_COMPILE")(point)).all()


@pytest.mark.parametrize("complete", [False, True])
def test_prediction_averages_complete_probabilities(complete):
    model = bayesian_svm(X, Y, kernel=gaussian, complete=complete)
    idata = invent_latent_draws(20)
    prediction = bk.predict(model, idata, X_NEW)
    A = bk.specification_of(model).feature_map.factor.features
    beta = np.linalg.solve(A.T, idata.posterior["w"].values.reshape(10, 20).T)
    f = idata.posterior["u"].values.ravel() + gaussian(X_NEW, X) @ beta
    np.testing.assert_allclose(prediction["latent"], f.mean(axis=1), rtol=1e-5)
    restricted = bk.predict(model, idata, X_NEW, beyond_span=False)
    positive = complete_probability(f).mean(axis=1)
    np.testing.assert_allclose(restricted["probability"][:, 1], positive, rtol=1e-5)
    # By a fine midpoint rule over what the training points leave open of the process.
    cross = gaussian(X_NEW, X)
    rest = 1.0 - np.einsum("ij,ji->i", cross, np.linalg.solve(gaussian(X, X), cross.T))
    variance = rest[:, None] / idata.posterior["g"].values.ravel()
    nodes = norm.ppf((np.arange(20000) + 0.5) / 20000)
    beyond = f[..., None] + np.sqrt(variance)[..., None] * nodes
    positive = complete_probability(beyond).mean(axis=(1, 2))
    np.testing.assert_allclose(prediction["probability"][:, 1], positive, atol=2e-4)
    np.testing.assert_allclose(prediction["probability"].sum("class"), 1.0)
    np.testing.assert_array_equal(prediction["label"] == 1, positive > 0.5)
    spread = np.sqrt(f.var(axis=1) + variance.mean(axis=1))
    np.testing.assert_allclose(prediction["latent_sd"], spread, rtol=1e-5)


def test_gram_matrix_data_frame_and_words():
    idata = invent_latent_draws(20)
    words = np.where(Y == 1, "yes", "no")
    frame = pd.DataFrame(X, columns=["height", "weight"])
    plain = bk.predict(bayesian_svm(frame, words, kernel=gaussian), idata, X_NEW)
    assert plain["class"].values.tolist() == ["no", "yes"]
    gram = bayesian_svm(None, words, kernel=gaussian(X, X))
    rows = bk.predict(gram, idata, gaussian(X_NEW, X), diagonal=np.ones(len(X_NEW)))
    xr.testing.assert_allclose(plain["probability"], rows["probability"])


def test_random_width_inside_an_open_model():
    with pm.Model() as model:
        kernel = pm.gp.cov.ExpQuad(2, ls=pm.LogNormal("width"))
        assert bayesian_svm(X, Y, kernel=kernel, complete=True) is model
    assert sorted(v.name for v in model.free_RVs) == ["eta", "g", "u", "width", "z"]
    assert np.isfinite(model.compile_logp(mode="FAST_COMPILE")(model.initial_point()))


# So few draws do not settle every tail of the importance weights.
@pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning")
@pytest.mark.parametrize("complete", [False, True])
def test_sampling(complete):
    train, labels = bk.data.make_two_moons(40, random_seed=1)
    test, truth = bk.data.make_two_moons(300, random_seed=2)
    model = bayesian_svm(train, labels, complete=complete)
    with model:
        idata = pm.sample(300, tune=400, **QUICK)
        pm.compute_log_likelihood(idata, progressbar=False)
        pm.set_data({"X": X_NEW, "y_data": np.zeros(7, dtype=int)})
        drawn = pm.sample_posterior_predictive(
            idata, var_names=["y"], progressbar=False, random_seed=1
        )
    assert (bk.predict(model, idata, test).label.values == truth).mean() > 0.88
    share = drawn.posterior_predictive["y"].mean(("chain", "draw"))
    expected = bk.predict(model, idata, X_NEW)["probability"][:, 1].values
    # 300 coins at each of 7 points: standard error 0.03 at most.
    np.testing.assert_allclose(share, expected, atol=0.15)
    pointwise = idata["log_likelihood"]["y"]
    assert pointwise.shape == (1, 300, 40)
    assert (pointwise <= 0).all()
    if complete:
        assert np.isfinite(az.loo(idata).elpd)
    watched = bk.diagnostics.monitor(model, idata, max_points=2)["posterior"]
    assert watched["output"].shape == (1, 300, 2)


def test_has_no_label_noise():
    model = bayesian_svm(X, Y)
    with pytest.raises(TypeError, match="label noise"):
        bk.flip_probability(model, invent_latent_draws(20))
