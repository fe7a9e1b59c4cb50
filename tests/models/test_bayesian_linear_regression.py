import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from pytensor.compile.mode import Mode

import bayeskernels as bk
from bayeskernels.models import bayesian_linear_regression

RNG = np.random.default_rng(5)
X = RNG.normal(size=(25, 2))
Y = 0.5 + X @ [1.0, -2.0] + 0.3 * RNG.normal(size=25)
X_NEW = RNG.normal(size=(6, 2))


def invent_draws(**arrays):
    return xr.DataTree.from_dict(
        {"posterior": xr.Dataset({k: (("chain", "draw"), [v]) for k, v in arrays.items()})}
    )


def test_log_density_of_the_model_is_the_joint_one():
    """Prior times likelihood at any w equals evidence times posterior density there."""
    model = bayesian_linear_regression(X, Y, alpha=0.5, beta=3.0, basis=1)
    exact = bk.specification_of(model).posterior()
    marginal = bayesian_linear_regression(X, Y, alpha=0.5, beta=3.0, basis=1, marginal=True)
    quick = Mode(linker="py", optimizer="fast_compile")
    assert float(marginal.compile_logp(mode=quick)({})) == pytest.approx(
        exact.log_evidence, abs=1e-9
    )
    assert bk.laplace(model).log_evidence == pytest.approx(exact.log_evidence, abs=1e-8)


def test_prediction_needs_no_draws_where_precisions_are_fixed():
    model = bayesian_linear_regression(X, Y, alpha=0.5, beta=3.0, basis=1)
    exact = bk.specification_of(model).posterior(form="dual")
    mean, sd = exact.predict(np.column_stack([np.ones(6), X_NEW]))
    prediction = bk.predict(model, None, X_NEW)
    np.testing.assert_allclose(prediction["mean"], mean, atol=1e-10)
    np.testing.assert_allclose(prediction["sd"], sd, atol=1e-10)
    np.testing.assert_allclose(prediction["latent_sd"] ** 2, sd**2 - 1 / 3.0, atol=1e-10)


def test_prediction_mixes_the_draws_of_precisions():
    model = bayesian_linear_regression(X, Y, basis=1)
    draws = invent_draws(alpha=[0.1, 2.0, 5.0], beta=[1.0, 3.0, 9.0])
    prediction = bk.predict(model, draws, X_NEW)
    features = np.column_stack([np.ones(6), X_NEW])
    posteriors = [
        bk.specification_of(model).posterior(a, b) for a, b in ((0.1, 1.0), (2.0, 3.0), (5.0, 9.0))
    ]
    means = np.array([p.predict(features)[0] for p in posteriors])
    variances = np.array([p.predict(features)[1] ** 2 for p in posteriors])
    np.testing.assert_allclose(prediction["mean"], means.mean(0), atol=1e-10)
    total = variances.mean(0) + means.var(0)
    np.testing.assert_allclose(prediction["sd"], np.sqrt(total), atol=1e-10)
    latent = total - np.mean([1.0, 1 / 3.0, 1 / 9.0])
    np.testing.assert_allclose(prediction["latent_sd"] ** 2, latent, atol=1e-10)


def test_by_evidence():
    model = bayesian_linear_regression(X, Y, alpha="evidence", beta="evidence", basis=1)
    found = bk.specification_of(model).evidence_maximum
    assert found.converged
    assert float(model["alpha"].get_value()) == found.alpha
    assert bk.specification_of(model).posterior().log_evidence == pytest.approx(found.log_evidence)
    half = bayesian_linear_regression(X, Y, alpha="evidence", beta=3.0)
    assert float(half["beta"].get_value()) == pytest.approx(3.0)
    with pytest.raises(ValueError, match="alpha is random"):
        bayesian_linear_regression(X, Y, beta="evidence")


def test_variables_dims_and_columns():
    frame = pd.DataFrame(X, columns=["height", "weight"])
    with pm.Model(name="mine") as model:
        bayesian_linear_regression(frame, Y, alpha=pm.HalfNormal.dist(2.0), basis=2)
    names = sorted(v.name for v in model.free_RVs)
    assert names == ["mine::alpha", "mine::beta", "mine::w"]
    basis = ("1", "height", "weight", "height^2", "weight^2")
    assert model.coords["basis"] == basis
    draws = invent_draws(**{"mine::alpha": [1.0, 2.0], "mine::beta": [1.0, 2.0]})
    assert bk.predict(model, draws, frame)["mean"].shape == (25,)
    with pytest.raises(ValueError, match="Reorder"):
        bk.predict(model, draws, frame[["weight", "height"]])


def test_new_inputs_reach_the_features():
    model = bayesian_linear_regression(X, Y, alpha=1.0, beta=1.0, basis=2)
    with model:
        pm.set_data({"X": X_NEW, "y_data": np.zeros(6)})
    expected = np.column_stack([np.ones(6), X_NEW, X_NEW**2])
    np.testing.assert_allclose(model["X"].features.get_value(), expected)


def test_default_priors_of_the_precisions():
    """Gamma with shape 1 and rate 0.1: the exponential density with mean 10."""
    model = bayesian_linear_regression(X, Y)
    for name in ("alpha", "beta"):
        for value in (0.3, 7.0, 40.0):
            found = float(pm.logp(model[name], value).eval())
            assert found == pytest.approx(np.log(0.1) - 0.1 * value)


@pytest.mark.slow
def test_sampled_precisions_against_quadrature():
    """Without the weights there are two unknowns, whose posterior is known to many digits.

    Some 1,000 effective draws at least: standard errors of 0.03 sd; six of them are allowed.
    """
    model = bayesian_linear_regression(X, Y, basis=1)
    exact = bk.quadrature(bayesian_linear_regression(X, Y, basis=1, marginal=True))
    with model:
        idata = pm.sample(
            1500, tune=800, chains=2, cores=1, random_seed=1, quiet=True, nuts_sampler="pymc"
        )
    for name in ("alpha", "beta"):
        mean = exact.expectation(name)
        sd = np.sqrt(exact.expectation(lambda v, name=name: v[name] ** 2) - mean**2)
        assert float(idata["posterior"][name].mean()) == pytest.approx(mean, abs=0.18 * sd)


def test_bad_data():
    model = bayesian_linear_regression(X, Y)
    with pytest.raises(ValueError, match="idata"):
        bk.predict(model, None, X_NEW)
    with pytest.raises(ValueError, match="3 columns"):
        bk.predict(model, None, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="X_new is needed"):
        bk.predict(model, None)
    with pytest.raises(ValueError, match="already holds"), model:
        bayesian_linear_regression(X, Y)
    with pytest.raises(ValueError, match="alpha is random in this model"):
        bk.specification_of(model).posterior()
    with pytest.raises(TypeError, match="is for classifiers"):
        bk.flip_probability(model, invent_draws(alpha=[1.0], beta=[1.0]))
