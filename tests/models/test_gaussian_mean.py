import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.stats import multivariate_normal

import bayeskernels as bk
from bayeskernels.models import gaussian_mean, mean_evolution

X = np.random.default_rng(2).normal(0.8, 0.5, size=15)
KNOWN = {"sd": 0.5, "prior_mean": -1.0, "prior_sd": 2.0}


def test_sequence_ends_at_the_batch_posterior_of_the_lecture():
    path = mean_evolution(X, **KNOWN)
    n, x_bar = len(X), X.mean()
    mean = (n * 4.0 * x_bar + 0.25 * -1.0) / (n * 4.0 + 0.25)
    variance = 1 / (n / 0.25 + 1 / 4.0)
    assert float(path["mean"][-1]) == pytest.approx(mean, abs=1e-12)
    assert float(path["sd"][-1]) == pytest.approx(np.sqrt(variance), abs=1e-12)
    assert path.sizes["seen"] == n + 1
    assert float(path["mean"][0]) == -1.0
    for k in (1, 7):
        again = mean_evolution(X[:k], **KNOWN).isel(seen=-1)
        assert float(again["mean"]) == float(path["mean"][k])


def test_order_does_not_matter_and_posteriors_are_priors():
    path = mean_evolution(X, **KNOWN)
    back = mean_evolution(X[::-1], **KNOWN)
    assert float(path["mean"][-1]) == pytest.approx(float(back["mean"][-1]), abs=1e-12)
    middle = path.isel(seen=6)
    rest = mean_evolution(
        X[6:], sd=0.5, prior_mean=float(middle["mean"]), prior_sd=float(middle["sd"])
    )
    assert float(rest["mean"][-1]) == pytest.approx(float(path["mean"][-1]), abs=1e-12)


def test_evidence_is_that_of_the_batch_and_of_the_model():
    covariance = 4.0 + 0.25 * np.eye(15)
    expected = multivariate_normal(np.full(15, -1.0), covariance).logpdf(X)
    assert float(mean_evolution(X, **KNOWN)["log_evidence"][-1]) == pytest.approx(expected)
    model = gaussian_mean(X, **KNOWN)
    approximation = bk.laplace(model)
    assert approximation.log_evidence == pytest.approx(expected, abs=1e-8)
    path = mean_evolution(X, **KNOWN).isel(seen=-1)
    assert float(approximation.mode["mu"]) == pytest.approx(float(path["mean"]), abs=1e-10)
    assert approximation.covariance[0, 0] ** 0.5 == pytest.approx(float(path["sd"]), abs=1e-10)


def test_prediction_of_the_next_observation():
    model = gaussian_mean(X, **KNOWN)
    path = mean_evolution(X, **KNOWN).isel(seen=-1)
    prediction = bk.predict(model, None)
    assert float(prediction["mean"][0]) == pytest.approx(float(path["mean"]))
    assert float(prediction["sd"][0]) == pytest.approx(np.hypot(0.5, float(path["sd"])))
    assert float(prediction["latent_sd"][0]) == pytest.approx(float(path["sd"]))


def test_new_inputs_are_refused():
    with pytest.raises(ValueError, match="has no inputs: leave X_new out"):
        bk.predict(gaussian_mean(X), None, [[1.0]])


def test_unknown_standard_deviation():
    model = gaussian_mean(X, sd=pm.HalfNormal.dist(1.0))
    assert sorted(v.name for v in model.free_RVs) == ["mu", "sd"]
    draws = xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"sd": (("chain", "draw"), [[0.5, 0.7]])})}
    )
    single = [bk.predict(gaussian_mean(X, sd=s), None) for s in (0.5, 0.7)]
    means = np.array([float(p["mean"][0]) for p in single])
    variances = np.array([float(p["sd"][0]) ** 2 for p in single])
    both = bk.predict(model, draws)
    assert float(both["mean"][0]) == pytest.approx(means.mean())
    assert float(both["sd"][0]) ** 2 == pytest.approx(variances.mean() + means.var())


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        ([], {}, "non-empty"),
        (None, {}, "non-empty"),
        ([[1.0, 2.0]], {}, "non-empty"),
        ([1.0, np.nan], {}, "NaN"),
        ([1.0], {"sd": 0.0}, "sd must be a positive"),
        ([1.0], {"prior_sd": -1.0}, "prior_sd must be a positive"),
        ([1.0], {"prior_mean": np.inf}, "prior_mean must be a finite number"),
    ],
)
def test_bad_input(x, options, message):
    for function in (gaussian_mean, mean_evolution):
        with pytest.raises(ValueError, match=message):
            function(x, **options)
