"""Models of several classes or kernels as PyMC models, and prediction from them."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import ndtr

import bayeskernels as bk
from bayeskernels.distributions.class_probability import label_log_probabilities
from bayeskernels.models import generalized_kernel_model
from bayeskernels.models.generalized_kernel_model import mean_distance_kernel
from bayeskernels.models.parts.grouped_kernel_model import build_grouped_kernel_model

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 2))
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.5])]
TWO = X[:, 1] > 0
X_NEW = RNG.standard_normal((7, 2))
PLAIN = {
    **{"default": mean_distance_kernel, "max_active": 6, "sparse": True, "bias": 0.0},
    **{"g": None, "eta": None, "inclusion": (1.0, 1.0), "kernel_off": 0.0},
}


def near(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2))


def straight(X, Z):
    return X @ Z.T


def a_point(seed=1):
    """Values of a model of two classes and one kernel."""
    rng = np.random.default_rng(seed)
    gamma, beta = np.zeros(20, dtype=int), np.zeros(20)
    gamma[[2, 5, 11]], beta[[2, 5, 11]] = 1, rng.standard_normal(3)
    return {
        **{"gamma": gamma, "beta": beta, "u": np.asarray(0.3)},
        **{"g_log__": np.asarray(0.5), "eta_log__": np.asarray(-0.5)},
    }


def log_density(model, point):
    return float(model.compile_logp(mode="FAST_COMPILE")(point))


def test_two_classes_have_the_density_of_the_model_of_two_classes():
    """Where its predictor is (f_2 - f_1) / sqrt(2); exactly, and with the same priors."""
    point = a_point()
    binary = generalized_kernel_model(X, TWO, kernel=near, max_active=6)
    twin = build_grouped_kernel_model("model", X, TWO, kernel=near, by_class=True, **PLAIN)
    apart = np.array([-1.0, 1.0]) / np.sqrt(2)
    mapped = point | {"u": point["u"] * apart, "beta": point["beta"][:, None] * apart}
    assert np.isclose(log_density(twin, mapped), log_density(binary, point), rtol=1e-12)


def test_one_kernel_of_several_is_the_model_of_one_kernel():
    point = a_point()
    binary = generalized_kernel_model(X, TWO, kernel=near, max_active=6)
    twin = generalized_kernel_model(X, TWO, kernel=[near], max_active=6, kernel_off=0.0)
    mapped = point | {"beta": point["beta"][None], "g_log__": point["g_log__"][None]}
    assert np.isclose(log_density(twin, mapped), log_density(binary, point), rtol=1e-12)


def test_a_kernel_that_is_off_costs_its_prior_only():
    point = a_point()
    binary = generalized_kernel_model(X, TWO, kernel=near, max_active=6)
    model = generalized_kernel_model(
        X, TWO, kernel={"near": near, "straight": straight}, max_active=6, kernel_off=0.2
    )
    log_g = np.array([0.5, 1.5])
    beta = np.stack([point["beta"], np.zeros(20)])
    mapped = point | {"beta": beta, "g_log__": log_g, "kernel_on": np.array([1, 0])}
    of_g = 2.0 * 1.5 - 0.05 * np.exp(1.5) + 2.0 * np.log(0.05)  # Gamma(2, 0.05), by log g
    expected = log_density(binary, point) + of_g + np.log(0.8) + np.log(0.2)
    assert np.isclose(log_density(model, mapped), expected, rtol=1e-10)


def invented(by_kernel, by_class):
    rng = np.random.default_rng(3)
    shape = ((2,) if by_kernel else ()) + (20,) + ((3,) if by_class else ())
    dims = (("kernel",) if by_kernel else ()) + ("obs",) + (("class",) if by_class else ())
    beta = rng.standard_normal((2, 5, *shape))
    gamma = rng.random((2, 5, 20)) < 0.3
    beta *= gamma.reshape(2, 5, *((1,) * by_kernel), 20, *((1,) * by_class))
    u = rng.standard_normal((2, 5, *((3,) if by_class else ())))
    if by_class:
        beta, u = (v - v.mean(axis=-1, keepdims=True) for v in (beta, u))
    posterior = xr.Dataset(
        {
            "gamma": (("chain", "draw", "obs"), gamma.astype(int)),
            "beta": (("chain", "draw", *dims), beta),
            "u": (("chain", "draw", *(("class",) if by_class else ())), u),
        }
    )
    return xr.DataTree.from_dict({"posterior": posterior}), beta, u


@pytest.mark.parametrize("by_kernel", [False, True])
def test_prediction_of_classes_averages_probabilities(by_kernel):
    kernel = [near, straight] if by_kernel else near
    model = generalized_kernel_model(X, THREE, kernel=kernel, max_active=10)
    idata, beta, u = invented(by_kernel, True)
    prediction = bk.predict(model, idata, X_NEW)
    parts = np.stack([near(X_NEW, X), straight(X_NEW, X)][: 2 if by_kernel else 1])
    f = np.einsum("qno,sqoc->nsc", parts, beta.reshape(10, len(parts), 20, 3)) + u.reshape(10, 3)
    np.testing.assert_allclose(prediction["latent"], f.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(prediction["latent_sd"], f.std(axis=1), atol=1e-12)
    for label in range(3):
        terms = label_log_probabilities(f.reshape(-1, 3), np.full(70, label)).reshape(7, 10)
        expected = np.exp(terms).mean(axis=1)
        np.testing.assert_allclose(prediction["probability"][:, label], expected, atol=1e-8)
        votes = (f.argmax(axis=2) == label).mean(axis=1)
        np.testing.assert_allclose(prediction["vote"][:, label], votes)
    winners = np.array(["a", "b", "c"])[prediction["probability"].values.argmax(axis=1)]
    assert (prediction["label"].values == winners).all()
    assert prediction["entropy"].dims == ("obs_new",)


def test_prediction_of_two_classes_by_several_kernels():
    model = generalized_kernel_model(X, TWO, kernel=[near, straight], max_active=10)
    idata, beta, u = invented(True, False)
    prediction = bk.predict(model, idata, X_NEW)
    beta = beta.reshape(10, 2, 20)
    f = near(X_NEW, X) @ beta[:, 0].T + straight(X_NEW, X) @ beta[:, 1].T + u.ravel()
    np.testing.assert_allclose(prediction["latent"], f.mean(axis=1))
    np.testing.assert_allclose(prediction["probability"][:, 1], ndtr(f).mean(axis=1))
    other, _, _ = invented(True, True)
    with pytest.raises(ValueError, match="draws of beta have the dims"):
        bk.predict(model, other, X_NEW)


def test_sampling_prediction_and_monitoring():
    model = generalized_kernel_model(X, THREE, kernel=near, max_active=8)
    with model:
        idata = pm.sample(
            100,
            tune=100,
            chains=1,
            progressbar=False,
            random_seed=1,
            compute_convergence_checks=False,
        )
        watched = bk.diagnostics.monitor(model, idata, max_points=3)["posterior"]
        prediction = bk.predict(model, idata, X)
        pm.set_data({"X": X_NEW, "y_data": np.zeros(7, dtype=int)})
        drawn = pm.sample_posterior_predictive(idata, progressbar=False, random_seed=1)
    assert (prediction["label"].values == THREE).mean() > 0.8
    assert watched["output"].dims == ("chain", "draw", "point", "class")
    beta, u = idata.posterior["beta"].values[0], idata.posterior["u"].values[0]
    f = np.einsum("no,soc->snc", near(X, X), beta) + u[:, None]
    wrong = (np.array(["a", "b", "c"])[f.argmax(axis=2)] != THREE).sum(axis=1)
    np.testing.assert_array_equal(watched["errors"].values[0], wrong)
    assert drawn.posterior_predictive["y"].shape == (1, 100, 7)
    assert drawn.posterior_predictive["y"].max() == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_active": 0}, ValueError, "at least 1"),
        ({"max_active": 1000}, ValueError, "points to be active"),
        ({"max_active": 2.5}, TypeError, "whole number"),
        ({"g": -1.0}, ValueError, "g must be a positive number"),
        ({"kernel": []}, ValueError, "empty collection"),
        ({"kernel": [near, np.eye(20)]}, TypeError, "Kernel 1 of several is ndarray"),
        ({"kernel": {"one": None}}, TypeError, "Kernel 'one' of several is NoneType"),
        ({"kernel": [near], "kernel_off": 1.0}, ValueError, "from 0 to below 1"),
        ({"kernel": [near], "g": pm.Gamma.dist(1, 1)}, ValueError, r"must have the shape \(1,\)"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        generalized_kernel_model(X, THREE, **{"kernel": near} | options)


def test_bad_data():
    with pytest.raises(ValueError, match="only one class"):
        generalized_kernel_model(X, np.ones(20), kernel=[near])
    with pytest.raises(ValueError, match="one label per row"):
        generalized_kernel_model(X, np.arange(19) % 3)
    with pytest.raises(ValueError, match="20 rows"):
        generalized_kernel_model(X, THREE, kernel=np.eye(3))
