import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import bayeskernels as bk
from bayeskernels.models import logistic_regression

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 2))
Y = np.where(RNG.random(40) < expit(X @ [2.0, -1.0] + 0.5), "yes", "no")


def test_mode_is_that_of_scikit_learn():
    model = logistic_regression(X, Y, alpha=0.7)
    peer = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-12, max_iter=10000).fit(X, Y)
    np.testing.assert_allclose(bk.laplace(model).mode["w"], peer.coef_[0], atol=1e-5)


def test_prediction_is_the_mean_over_draws():
    model = logistic_regression(X, Y, alpha=0.7, basis=1)
    idata = bk.laplace(model).sample(300, random_seed=1)
    new = X[:5] + 0.1
    prediction = bk.predict(model, idata, new)
    f = np.column_stack([np.ones(5), new]) @ idata["posterior"]["w"].values[0].T
    np.testing.assert_allclose(prediction["probability"][:, 1], expit(f).mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(prediction["vote"][:, 1], (f > 0).mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(prediction["latent"], f.mean(axis=1), atol=1e-12)
    assert set(prediction["label"].values) <= {"yes", "no"}
    assert prediction["class"].values.tolist() == ["no", "yes"]
    watched = bk.diagnostics.monitor(model, idata, max_points=3)["posterior"]
    assert watched["output"].shape == (1, 300, 3)


def test_random_precision_and_names():
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pm.Model(name="mine") as model:
        logistic_regression(frame, Y, alpha=pm.Gamma.dist(2.0, 1.0), basis=1)
    assert sorted(v.name for v in model.free_RVs) == ["mine::alpha", "mine::w"]
    assert model.coords["basis"] == ("1", "a", "b")
    idata = bk.laplace(model).sample(50, random_seed=1)
    assert bk.predict(model, idata, frame)["probability"].shape == (40, 2)


@pytest.mark.slow
def test_draws_against_quadrature():
    """NUTS on the lecture's four points: skewed, so means are far from the mode.

    At least 600 effective draws: standard error of a mean 0.04 sd; six of them are allowed.
    """
    X = np.array([[5.0, 5.0], [-5.0, -5.0], [0.0, 1.0], [1.0, 0.0]])
    model = logistic_regression(X, [1, 0, 0, 1], alpha=0.1)
    exact = bk.quadrature(model)
    with model:
        idata = pm.sample(
            2000, tune=1000, chains=2, cores=1, random_seed=1, quiet=True, nuts_sampler="pymc"
        )
    mean = exact.expectation("w")
    sd = np.sqrt(exact.expectation(lambda v: v["w"] ** 2) - mean**2)
    found = idata["posterior"]["w"].mean(("chain", "draw")).values
    np.testing.assert_array_less(np.abs(found - mean), 0.25 * sd)
    by_draws = bk.predict(model, idata, [[1.0, 1.0]])["probability"].values[0, 1]
    assert by_draws == pytest.approx(
        exact.expectation(lambda v: expit(v["w"] @ [1.0, 1.0])), abs=0.03
    )


def test_bad_input():
    model = logistic_regression(X, Y, alpha=1.0)
    with pytest.raises(ValueError, match="idata"):
        bk.predict(model, None, X)
    other = bk.laplace(logistic_regression(X, Y, alpha=1.0, basis=1)).sample(3, random_seed=1)
    with pytest.raises(ValueError, match="do not belong together"):
        bk.predict(model, other, X)
    with pytest.raises(TypeError, match=r"az\.loo"):
        bk.diagnostics.loo(model, bk.laplace(model).sample(3, random_seed=1))
