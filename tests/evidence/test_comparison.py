"""Tables of models, their refusals, cross-validation beside them, and averages of predictions."""

import logging

import arviz_base
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeskernels as bk
from bayeskernels.evidence import Evidence, average_predictions, beside_loo, compare, data_digest
from bayeskernels.evidence.comparison import model_probabilities
from bayeskernels.evidence.estimators.smc import SequentialMonteCarlo


def result(value, error=0.0, *, digest="same", **diagnostics):
    method = "exact" if error == 0.0 else "bridge"
    return Evidence(value, error, method, 0, diagnostics, digest)


def test_exact_evidences():
    table = compare({"b": result(np.log(1.0)), "a": result(np.log(4.0)), "c": result(np.log(3.0))})
    assert table.index.tolist() == ["a", "c", "b"]
    assert table.index.name == "model"
    assert table["rank"].tolist() == [1, 2, 3]
    np.testing.assert_allclose(table["probability"], [0.5, 0.375, 0.125])
    np.testing.assert_allclose(table["bayes_factor"], [1.0, 0.75, 0.25])
    np.testing.assert_allclose(table["delta"], np.log([1.0, 0.75, 0.25]))
    assert (table["probability_sd"] == 0).all()


@pytest.mark.parametrize("weights", [{"a": 1, "b": 3}, [1, 3]])
def test_prior_weights(weights):
    table = compare({"a": result(0.0), "b": result(np.log(0.5))}, prior_weights=weights)
    assert np.isclose(table.loc["a", "probability"], 0.4)
    assert table.loc["a", "rank"] == 1  # by evidence, which knows nothing of the weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 1}, "names"),
        ([1, 2, 3], "2 numbers"),
        ([-1, 2], "negative"),
        ([0, 0], "all zero"),
        ([np.nan, 1], "negative"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        compare({"a": result(0.0), "b": result(1.0)}, prior_weights=weights)


def test_errors_are_carried_through():
    """Against the integral over the error of the difference."""
    table = compare({"a": result(1.0, 0.8), "b": result(0.0, 0.6)})
    x, w = np.polynomial.hermite_e.hermegauss(40)
    shares = 1.0 / (1.0 + np.exp(-(1.0 + x)))  # the error of the difference is one
    mean = (w * shares).sum() / w.sum()
    sd = np.sqrt((w * (shares - mean) ** 2).sum() / w.sum())
    assert abs(table.loc["a", "probability"] - mean) < 0.01
    assert abs(table.loc["a", "probability_sd"] - sd) < 0.01
    assert np.isclose(table.loc["b", "delta_mcse"], 1.0)
    assert table.loc["a", "delta_mcse"] == 0.0
    assert np.isclose(table["probability"].sum(), 1.0)


def test_impossible_models_have_no_probability():
    table = compare({"a": result(0.0, 0.1), "b": result(-np.inf)})
    assert table.loc["b", "probability"] == 0.0
    with pytest.raises(ValueError, match="data are impossible"):
        model_probabilities(np.array([-np.inf, -np.inf]), np.zeros(2), np.zeros(2))


def estimate(method, **options):
    """Evidence of data that a model of one unknown cannot have made, or of its absence."""
    with pm.Model() as model:
        end = 1.0 if method == "exact" else pm.Uniform("end", 0.5, 1.0)
        pm.Uniform("y", 0.0, end, observed=[2.0])
    return bk.evidence.estimate(model, method=method, progressbar=False, random_seed=1, **options)


def test_impossible_data_have_no_evidence_if_it_is_exact():
    impossible = estimate("exact")
    assert impossible.log_evidence == -np.inf
    assert impossible.mcse == 0.0
    with pm.Model() as model:
        pm.Uniform("y", 0.0, 3.0, observed=[2.0])
    table = compare({"right": bk.evidence.estimate(model), "wrong": impossible})
    assert table["probability"].to_dict() == {"right": 1.0, "wrong": 0.0}
    assert estimate("exact", repetitions=2).log_evidence == -np.inf


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("bridge", "no density there. Are the data impossible"),
        ("smc", "minus infinity at all draws"),
        ("quadrature", "density at the start is -inf"),
        ("laplace", "density at the start is -inf"),
    ],
)
def test_impossible_data_are_a_failure_of_other_methods(method, reason):
    options = {"draws": 100, "chains": 2} if method in ("bridge", "smc") else {}
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=reason):
        estimate(method, **options)


@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
def test_estimates_that_are_no_numbers(value, monkeypatch):
    """Whatever a sampler returns, and if only one of several runs returns it."""
    found = iter([Evidence(-1.0, 0.1, "smc"), Evidence(value, 0.1, "smc")])
    monkeypatch.setattr(SequentialMonteCarlo, "run", lambda *_, **__: next(found))
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="log evidence by smc is"):
        estimate("smc", repetitions=2)


def test_infinite_densities():
    with pm.Model() as model:
        pm.Beta("y", 0.5, 0.5, observed=[0.0])
    with pytest.raises(ValueError, match="exact is inf: the density of the data is infinite"):
        bk.evidence.estimate(model)


def test_different_data():
    with pytest.raises(ValueError, match=r"different data.*a, c; b"):
        compare({"a": result(0.0), "b": result(0.0, digest="other"), "c": result(0.0)})


def test_unknown_data():
    with pytest.raises(ValueError, match="data of b are not known"):
        compare({"a": result(0.0), "b": result(0.0, digest="")})


def test_different_inputs_are_mentioned(caplog):
    with caplog.at_level(logging.INFO, logger="bayeskernels"):
        compare({"a": result(0.0, digest="y-1"), "b": result(0.0, digest="y-2")})
    assert "different inputs" in caplog.text


def test_results_without_error():
    laplace = Evidence(-1.0, np.nan, "laplace", 0, {}, "same")
    with pytest.raises(ValueError, match=r"evidence of b has no error \(by laplace\)"):
        compare({"a": result(0.0), "b": laplace})


@pytest.mark.parametrize(
    "bad",
    [
        result(np.nan),
        result(np.nan, 0.1),
        Evidence(np.nan, np.nan, "laplace", 0, {}, "same"),
        result(np.inf),
        result(np.inf, 0.1),
        result(-np.inf, 0.1),
        Evidence(-np.inf, 0.0, "tempering", 0, {}, "same"),
    ],
)
def test_evidences_that_are_no_numbers(bad):
    with pytest.raises(ValueError, match=r"log evidence of b \((nan|inf|-inf)\) is not a number"):
        compare({"a": result(0.0, 0.1), "b": bad})
    with pytest.raises(ValueError, match=r"log evidence of b \((nan|inf|-inf)\) is not a number"):
        compare({"a": result(0.0).to_datatree(), "b": bad.to_datatree()})


@pytest.mark.parametrize("error", [np.nan, np.inf])
def test_errors_that_are_no_numbers(error):
    with pytest.raises(ValueError, match="evidence of b has no error"):
        compare({"a": result(0.0), "b": result(1.0, error)})


def test_negative_errors():
    with pytest.raises(ValueError, match="mcse must not be negative"):
        result(0.0, -0.1)


def test_what_is_not_a_result():
    with pytest.raises(TypeError, match="dict"):
        compare([result(0.0), result(1.0)])
    with pytest.raises(ValueError, match="at least two"):
        compare({"a": result(0.0)})
    with pytest.raises(TypeError, match="'b' is a float"):
        compare({"a": result(0.0), "b": 1.0})


def test_results_in_datatrees(caplog):
    trees = {"a": result(0.0).to_datatree(), "b": result(-1.0, 0.1, warning="Bad.").to_datatree()}
    table = compare(trees)
    assert table["warning"].tolist() == [False, True]
    assert "Evidence of b: Bad." in caplog.text


def test_digests():
    y = [1.0, 2.0, 3.0]
    with pm.Model() as other_names:
        pm.Normal("observation", pm.Normal("m"), 1.0, observed=y)
    mean = bk.models.gaussian_mean(y)
    assert data_digest(other_names) == data_digest(mean)
    with pm.Model() as counts:
        pm.Poisson("y", pm.Gamma("m", 1.0, 1.0), observed=[1, 2, 3])
    # Probabilities of counts and densities of numbers are different things.
    assert data_digest(counts) != data_digest(mean)
    assert data_digest(bk.models.gaussian_mean(y[::-1])) != data_digest(mean)
    with mean:
        pm.set_data({"x_data": [1.0, 2.0, 4.0]})
    assert data_digest(other_names) != data_digest(mean)
    with pm.Model() as potential:
        pm.Potential("p", pm.Normal("m"))
    assert data_digest(potential) == ""


def test_digests_of_classifiers():
    X, y = bk.data.make_two_moons(20, random_seed=1)
    digests = {
        data_digest(model)
        for model in (
            bk.models.label_noise_classifier(X, y, noise=0.1),
            bk.models.label_noise_classifier(X, y, noise=0.2, kernel=pm.gp.cov.Linear(2, 0.0)),
            bk.models.bayes_point_machine(X, y),
            bk.models.generalized_kernel_model(X, y, max_active=4),
            bk.models.sparse_gp_classifier(X, y, max_active=4),
            bk.models.gp_probit(X, y),
            bk.models.logistic_regression(X, y),
        )
    }
    assert len(digests) == 1
    assert data_digest(bk.models.bayes_point_machine(X + 1, y)) not in digests
    sparse, exact = (
        bk.models.gp_regression(
            X, X[:, 0], kernel=pm.gp.cov.ExpQuad(2, ls=1.0), noise=0.5, inducing=inducing
        )
        for inducing in (None, 4)
    )
    assert data_digest(sparse) == data_digest(exact)


@pytest.fixture(scope="module")
def regressions():
    """A vague and a good prior of a mean, with draws and pointwise log-likelihoods."""
    rng = np.random.default_rng(1)
    x = 1.0 + rng.standard_normal(40)
    evidences, loos = {}, {}
    for name, sd in (("good", 1.0), ("vague", 1000.0)):
        evidences[name] = bk.evidence.estimate(bk.models.gaussian_mean(x, prior_sd=sd))
        variance = 1.0 / (sd**-2 + 40)
        mu = variance * x.sum() + np.sqrt(variance) * rng.standard_normal((2, 1000))
        pointwise = -0.5 * (x - mu[..., None]) ** 2 - 0.5 * np.log(2 * np.pi)
        loos[name] = arviz_base.from_dict(
            {"posterior": {"mu": mu}, "log_likelihood": {"x": pointwise}}
        )
    return evidences, loos


def test_beside_cross_validation(regressions):
    """A vague prior costs evidence and no cross-validated score."""
    table = beside_loo(*regressions)
    assert table.index.tolist() == ["good", "vague"]
    assert table["evidence_rank"].tolist() == [1, 2]
    assert sorted(table["loo_rank"]) == [1, 2]
    assert table.loc["good", "probability"] > 0.99
    assert table["elpd_diff"].abs().max() < 0.5
    assert (table["agrees"] == (table["evidence_rank"] == table["loo_rank"])).all()


def test_one_term_is_no_cross_validation(regressions):
    evidences, loos = regressions
    whole = arviz_base.from_dict(
        {"posterior": {"mu": np.zeros((2, 50))}, "log_likelihood": {"x": np.zeros((2, 50))}}
    )
    with pytest.raises(ValueError, match="'vague' has one term for all observations"):
        beside_loo(evidences, {**loos, "vague": whole})


def test_other_names_beside_cross_validation(regressions):
    evidences, loos = regressions
    with pytest.raises(ValueError, match="dict with the names"):
        beside_loo(evidences, {"good": loos["good"]})


def prediction(mean, sd):
    return xr.Dataset(
        {"mean": ("obs_new", mean), "sd": ("obs_new", sd)}, {"obs_new": np.arange(len(mean))}
    )


def test_average_of_regressions():
    """Moments of the mixture, by many draws of it."""
    parts = {"a": prediction([0.0, 1.0], [1.0, 2.0]), "b": prediction([4.0, 1.0], [0.5, 1.0])}
    averaged = average_predictions({"a": 0.25, "b": 0.75}, parts)
    rng = np.random.default_rng(1)
    from_a = rng.random(200_000) < 0.25
    for i in range(2):
        draws = np.where(
            from_a,
            rng.normal(parts["a"]["mean"][i], parts["a"]["sd"][i], 200_000),
            rng.normal(parts["b"]["mean"][i], parts["b"]["sd"][i], 200_000),
        )
        assert abs(draws.mean() - float(averaged["mean"][i])) < 0.03
        assert abs(draws.std() - float(averaged["sd"][i])) < 0.03


def votes(probability):
    probability = np.column_stack([1 - np.array(probability), probability])
    return xr.Dataset(
        {
            "probability": (("obs_new", "class"), probability),
            "vote": (("obs_new", "class"), probability.round()),
            "latent": ("obs_new", probability[:, 1] - 0.5),
        },
        {"obs_new": np.arange(len(probability)), "class": ["no", "yes"]},
    )


def test_average_of_classifiers():
    table = compare({"a": result(np.log(3.0)), "b": result(0.0)})
    averaged = average_predictions(table, {"b": votes([0.9, 0.9]), "a": votes([0.4, 0.1])})
    np.testing.assert_allclose(averaged["probability"][:, 1], [0.525, 0.3])
    assert averaged["label"].values.tolist() == ["yes", "no"]
    np.testing.assert_allclose(averaged["vote"][:, 1], [0.25, 0.25])
    np.testing.assert_allclose(averaged["entropy"], 0.8112781)
    assert "latent" not in averaged
    assert averaged.attrs["weights"] == "a: 0.75, b: 0.25"


def test_average_of_what_does_not_match():
    weights = {"a": 0.5, "b": 0.5}
    with pytest.raises(ValueError, match="same points"):
        average_predictions(weights, {"a": votes([0.1]), "b": votes([0.1, 0.2])})
    with pytest.raises(ValueError, match="dict with the names"):
        average_predictions(weights, {"a": votes([0.1])})
    with pytest.raises(ValueError, match="cannot be averaged"):
        average_predictions(weights, {"a": votes([0.1]), "b": prediction([0.1], [1.0])})
    with pytest.raises(ValueError, match="add up to 1"):
        average_predictions({"a": 0.5, "b": 0.6}, {"a": votes([0.1]), "b": votes([0.1])})
    with pytest.raises(TypeError, match="table of compare"):
        average_predictions([0.5, 0.5], {})
