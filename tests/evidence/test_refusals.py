"""What has no evidence, does not belong together or does not fit is refused with a reason."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeskernels as bk
from bayeskernels.evidence.methods import METHODS, EvidenceMethod
from bayeskernels.testing import known_coin, known_correlated_gaussian

X, LABELS = bk.data.make_two_moons(20, random_seed=1)


@pytest.fixture(scope="module")
def sparse():
    return bk.models.generalized_kernel_model(X, LABELS, max_active=4)


@pytest.fixture(scope="module")
def coin():
    return known_coin()


@pytest.mark.parametrize("prior", [pm.Flat, pm.HalfFlat])
@pytest.mark.parametrize("method", ["auto", "bridge", "smc", "laplace"])
def test_improper_priors(prior, method):
    with pm.Model() as model:
        mu = prior("mu")
        pm.Normal("y", mu, 1.0, observed=[1.0, 2.0])
    with pytest.raises(ValueError, match="prior of mu is improper"):
        bk.evidence.estimate(model, method=method)


def test_no_data():
    with pm.Model() as model:
        pm.Normal("mu")
    with pytest.raises(ValueError, match="neither observed variables nor potentials"):
        bk.evidence.estimate(model)


@pytest.mark.parametrize("method", ["bridge", "smc", "laplace", "quadrature"])
def test_discrete_models(sparse, method):
    with pytest.raises(TypeError, match=r"gamma is discrete.*power-tempering"):
        bk.evidence.estimate(sparse, method=method)


def test_unknown_methods(coin):
    with pytest.raises(ValueError, match=r"one of 'exact'.*got 'nested'"):
        bk.evidence.estimate(coin.model, method="nested")


def test_unknown_options(coin):
    with pytest.raises(TypeError, match="particles"):
        bk.evidence.estimate(coin.model, coin.idata(1), method="bridge", particles=3)
    with pytest.raises(ValueError, match=r"'warp3'.*got 'cauchy'"):
        bk.evidence.estimate(coin.model, coin.idata(1), method="bridge", proposal="cauchy")


@pytest.mark.parametrize("repetitions", [0, -1, 1.5, True])
def test_repetitions(coin, repetitions):
    with pytest.raises(ValueError, match="repetitions must be"):
        bk.evidence.estimate(coin.model, coin.idata(1), repetitions=repetitions)


def test_what_is_not_a_model():
    with pytest.raises(TypeError, match=r"estimate needs a pm.Model"):
        bk.evidence.estimate("model")


def test_draws_of_other_variables(coin):
    other = known_correlated_gaussian(3)
    with pytest.raises(ValueError, match="no draws of p"):
        bk.evidence.estimate(coin.model, other.idata(1))


def test_draws_of_other_shapes():
    with pytest.raises(ValueError, match=r"shape \(4,\).*\(3,\)"):
        bk.evidence.estimate(
            known_correlated_gaussian(3).model, known_correlated_gaussian(4).idata(1)
        )


def test_draws_for_other_data(coin):
    idata = coin.idata(1)
    idata["observed_data"] = xr.DataTree(xr.Dataset({"heads": 7}))
    bk.evidence.estimate(coin.model, idata, method="bridge", progressbar=False)
    idata["observed_data"] = xr.DataTree(xr.Dataset({"heads": 6}))
    with pytest.raises(ValueError, match="observations heads for which it was drawn"):
        bk.evidence.estimate(coin.model, idata)
    idata["observed_data"] = xr.DataTree(xr.Dataset({"tails": 3}))
    with pytest.raises(ValueError, match="have no heads"):
        bk.evidence.estimate(coin.model, idata)


def test_draws_for_other_inputs():
    """The same targets, other columns: draws of the one model say nothing of the other."""
    A, y = np.array([[1.0, 0.5], [0.2, 1.0], [0.3, 0.1]]), [1.0, 2.0, 0.5]

    def build(design):
        with pm.Model() as model:
            D = pm.Data("D", design)
            w = pm.Normal("w", shape=2)
            pm.Normal("y", D @ w, 1.0, observed=y)
        return model

    with build(A):
        idata = pm.sample(50, tune=50, chains=2, cores=1, random_seed=1, progressbar=False)
    with pytest.raises(ValueError, match="its data D were others"):
        bk.evidence.estimate(build(A[:, ::-1]), idata, method="bridge")


def test_laplace_of_steps():
    model = bk.models.label_noise_classifier(X, LABELS, noise=0.1)
    with pytest.raises(TypeError, match=r"steps.*'tempering'"):
        bk.evidence.estimate(model, method="laplace")


def test_potentials_are_pointed_out(caplog):
    with pm.Model() as model:
        a = pm.Normal("a")
        pm.Normal("y", a, 1.0, observed=[1.0])
        pm.Potential("tilt", 0.1 * a)
    bk.evidence.estimate(model, method="laplace")
    assert "tilt" in caplog.text


def test_draws_without_a_posterior(coin):
    with pytest.raises(ValueError, match="no group 'posterior'"):
        bk.evidence.estimate(coin.model, xr.DataTree())


def test_draws_outside_of_the_support(coin):
    idata = coin.idata(1)
    idata["posterior"]["p"] = idata["posterior"]["p"] + 0.5
    with pytest.raises(ValueError, match=r"bound|not values that this variable can have"):
        bk.evidence.estimate(coin.model, idata, method="bridge", progressbar=False)


def test_draws_that_are_not_numbers(coin):
    idata = coin.idata(1)
    idata["posterior"]["p"][0, 0] = np.nan
    with pytest.raises(ValueError, match="not finite in 1 of 4000"):
        bk.evidence.estimate(coin.model, idata, method="bridge", progressbar=False)


def test_draws_of_an_approximation(coin):
    idata = bk.laplace(coin.model).sample(500, random_seed=1)
    with pytest.raises(TypeError, match="draws are of an approximation"):
        bk.evidence.estimate(coin.model, idata, method="bridge")


def test_too_few_draws(coin):
    with pytest.raises(ValueError, match="too few for 1 unknowns"):
        bk.evidence.estimate(
            coin.model, coin.idata(1, draws=20), method="bridge", progressbar=False
        )
    known = known_correlated_gaussian(60)
    with pytest.raises(ValueError, match="too few for 60 unknowns"):
        bk.evidence.estimate(
            known.model, known.idata(1, draws=30), method="bridge", progressbar=False
        )


def test_no_unknowns():
    model = bk.models.gp_regression(X, X[:, 0], kernel=pm.gp.cov.ExpQuad(2, ls=1.0), noise=0.5)
    for method in ("bridge", "smc", "laplace", "quadrature"):
        with pytest.raises(TypeError, match=r"no unknowns\. Use 'exact'"):
            bk.evidence.estimate(model, method=method)


def test_power_tempering_of_other_models(coin):
    with pytest.raises(TypeError, match=r"generalized_kernel_model.*'bridge'"):
        bk.evidence.estimate(coin.model, method="power-tempering")
    dense = bk.models.generalized_kernel_model(X, LABELS, sparse=False)
    with pytest.raises(TypeError, match="all points are active"):
        bk.evidence.estimate(dense, method="power-tempering")


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (LABELS, {"link": "logistic"}),
        (X[:, 0], {"link": "identity"}),
        (LABELS, {"theta": "learn"}),
        (np.arange(20) % 3, {}),
        (LABELS, {"kernel": [pm.gp.cov.ExpQuad(2, ls=s) for s in (0.5, 2.0)]}),
    ],
    ids=["logistic", "identity", "width", "classes", "kernels"],
)
def test_sparse_models_without_a_method(labels, options):
    """They say so, instead of sending from one method to the next."""
    model = bk.models.generalized_kernel_model(X, labels, max_active=4, **options)
    reasons = bk.evidence.suitable_methods(model)
    assert all(reasons.values())
    assert "no method yet" in reasons["power-tempering"]
    assert "no method yet" in reasons["bridge"]
    with pytest.raises(TypeError, match="No method fits"):
        bk.evidence.estimate(model)


def test_classes_that_sum_to_zero():
    dense = bk.models.generalized_kernel_model(X, np.arange(20) % 3, sparse=False)
    with pytest.raises(TypeError, match=r"No method fits.*sum to zero"):
        bk.evidence.estimate(dense)


def test_likelihoods_that_do_not_add_up_to_one():
    with pytest.raises(ValueError, match=r"hinge.*complete=True"):
        bk.evidence.estimate(bk.models.bayesian_svm(X, LABELS))
    complete = bk.models.bayesian_svm(X, LABELS, complete=True)
    assert bk.evidence.suitable_methods(complete)["bridge"] == ""


def test_expectation_propagation_of_other_models(coin):
    with pytest.raises(TypeError, match="only unknown is a direction"):
        bk.evidence.estimate(coin.model, method="ep")


def test_grids_are_small():
    with pytest.raises(TypeError, match="at most 3 unknowns"):
        bk.evidence.estimate(known_correlated_gaussian(4).model, method="quadrature")


def test_every_method_obeys_the_protocol(coin):
    assert len({method.name for method in METHODS}) == len(METHODS)
    for method in METHODS:
        assert isinstance(method, EvidenceMethod)
        reason = method.refusal(coin.model, None)
        assert reason is None or reason.endswith(".")
    reasons = bk.evidence.suitable_methods(coin.model)
    assert set(reasons) == {method.name for method in METHODS}
    assert reasons["bridge"] == ""
    assert reasons["ep"]


def test_densities_of_data_that_nobody_knows_are_pointed_out():
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.CustomDist("o", mu, logp=lambda v, mu: -((v - mu) ** 2), observed=np.ones(3))
    result = bk.evidence.estimate(model, method="quadrature", progressbar=False)
    assert "data o integrates to one" in result.warning
    bk.evidence.declare_normalised(model["o"])
    assert not bk.evidence.estimate(model, method="quadrature", progressbar=False).warning
