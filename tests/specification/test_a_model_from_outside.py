"""Models that are defined wholly here, by a builder and a specification, work with all tools."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeskernels as bk
from bayeskernels.inputs import as_inputs, as_two_classes
from bayeskernels.linear.basis import Basis, as_basis
from bayeskernels.specification.base import (
    LabelSpecification,
    ModelSpecification,
    attach_specification,
)
from bayeskernels.specification.outputs import LinearFunctions

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 2))
LABELS = np.where(X[:, 0] + 0.3 * RNG.normal(size=30) > 0, "yes", "no")
COUNTS = RNG.poisson(np.exp(0.5 + 0.8 * X[:, 0]))
X_NEW = np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, 0.0]])


@dataclass(frozen=True, kw_only=True)
class RareEventSpecification(LinearFunctions, LabelSpecification):
    """Two classes with the complementary log-log link."""

    feature_map: Basis = field(repr=False)

    def class_probability(self, idata, outputs, rest):
        return -np.expm1(-np.exp(outputs)), 0.0


def rare_events(X, y):
    """A classifier: P(second class) = 1 - exp(-exp(<w, x>))."""
    X, columns = as_inputs(X)
    classes = as_two_classes(y, len(X))
    with pm.Model(coords={"basis": columns, "feature": columns}) as model:
        inputs = pm.Data("X", X, dims=("obs", "feature"))
        labels = pm.Data("y_data", classes.codes, dims="obs")
        w = pm.Normal("w", 0.0, 2.0, dims="basis")
        rate = pm.math.exp(inputs @ w)
        pm.Bernoulli("y", -pm.math.expm1(-rate), observed=labels, dims="obs")
        attach_specification(
            RareEventSpecification(
                kind="rare_events",
                model=model,
                training=X,
                class_names=classes.names,
                feature_map=as_basis(None, X, columns),
            )
        )
    return model


@dataclass(frozen=True, kw_only=True)
class CountSpecification(ModelSpecification):
    """Counts, which are neither labels nor Gaussian targets."""

    def output_blocks(self, idata, X=None, *, diagonal=None, progressbar=True):
        X = self.X if X is None else X
        yield slice(0, len(X)), X @ self.draws_of(idata, "w").T, None

    def predictive(self, idata, X_new, *, beyond_span=True, diagonal=None, progressbar=True):
        [(_, outputs, _)] = self.output_blocks(idata, X_new)
        rates = np.exp(outputs)
        mean = rates.mean(axis=1)
        sd = np.sqrt(mean + rates.var(axis=1))
        return xr.Dataset({"mean": ("obs_new", mean), "sd": ("obs_new", sd)})

    def watched(self, idata, *, progressbar=True):
        [(_, outputs, _)] = self.output_blocks(idata)
        sizes = idata["posterior"].sizes
        total = np.exp(outputs).sum(axis=0).reshape(sizes["chain"], sizes["draw"])
        return {"total": xr.DataArray(total, dims=("chain", "draw"))}

    def held_out_densities(self, idata, *, progressbar=True):
        for part, outputs, _ in self.output_blocks(idata):
            y = self.observed[part, None]
            logs = [np.log(np.arange(1, k + 1)).sum() for k in y[:, 0]]
            yield part, y * outputs - np.exp(outputs) - np.array(logs)[:, None]

    def evidence_refusal(self, method):
        return "Counts are skew. Use 'quadrature'." if method == "laplace" else None


def count_regression(X, y):
    """Counts whose logarithmic rates are linear."""
    with pm.Model() as model:
        inputs = pm.Data("X", X)
        w = pm.Normal("w", 0.0, 1.0, shape=X.shape[1])
        pm.Poisson("y", pm.math.exp(inputs @ w), observed=pm.Data("y_data", y))
        attach_specification(CountSpecification(kind="count_regression", model=model, training=X))
    return model


def invent(model, seed=5):
    """Draws of weights around plausible ones: three chains of 200."""
    w = np.array([0.8, 0.0]) + 0.03 * np.random.default_rng(seed).normal(size=(3, 200, 2))
    return az.from_dict({"posterior": {"w": w}}, dims={"w": ["basis"]})


@pytest.fixture(scope="module")
def rare():
    model = rare_events(X, LABELS)
    return SimpleNamespace(model=model, idata=invent(model))


@pytest.fixture(scope="module")
def counts():
    model = count_regression(X, COUNTS)
    return SimpleNamespace(model=model, idata=invent(model))


def by_hand(idata, X):
    return X @ idata["posterior"]["w"].values.reshape(-1, 2).T


def test_a_classifier_predicts(rare):
    prediction = bk.predict(rare.model, rare.idata, X_NEW)
    outputs = by_hand(rare.idata, X_NEW)
    expected = (1 - np.exp(-np.exp(outputs))).mean(axis=1)
    np.testing.assert_allclose(prediction["probability"].values[:, 1], expected)
    np.testing.assert_allclose(prediction["vote"].values[:2, 1], (outputs[:2] > 0).mean(axis=1))
    assert prediction["label"].values[:2].tolist() == ["yes", "no"]
    np.testing.assert_allclose(prediction["latent_sd"], outputs.std(axis=1))
    curve = bk.rejection_curve(bk.predict(rare.model, rare.idata, X), LABELS)
    assert curve.error.iloc[0] < 0.3


def test_a_classifier_is_watched(rare):
    watched = bk.diagnostics.monitor(rare.model, rare.idata, X_NEW)["posterior"]
    outputs = by_hand(rare.idata, X)
    errors = ((outputs > 0) != (LABELS == "yes")[:, None]).sum(axis=0)
    np.testing.assert_array_equal(watched["errors"].values.ravel(), errors)
    at_points = by_hand(rare.idata, X_NEW).T.reshape(3, 200, 3)
    np.testing.assert_allclose(watched["output"].values, at_points)
    # Weights have the dim basis: single ones are not watched.
    assert set(watched.data_vars) == {"output", "errors"}


def test_a_classifier_is_drawn(rare):
    ax = bk.plots.decision_boundaries(rare.model, rare.idata, resolution=5, n_boundaries=4)
    assert ax.get_legend_handles_labels()[1] == ["class no", "class yes", "4 boundaries"]


def test_copies_and_new_data_of_a_model_from_outside(rare):
    copy = pm.do(rare.model, {})
    assert bk.specification_of(copy).model is copy
    opposite = rare_events(X, np.where(LABELS == "yes", "no", "yes"))
    pm.set_data({"y_data": (LABELS == "yes").astype(int)}, model=opposite)
    watched = [bk.diagnostics.monitor(m, rare.idata) for m in (rare.model, opposite)]
    assert watched[0]["posterior"]["errors"].identical(watched[1]["posterior"]["errors"])


def test_a_regression_predicts_and_is_watched(counts):
    prediction = bk.predict(counts.model, counts.idata, X_NEW)
    rates = np.exp(by_hand(counts.idata, X_NEW))
    np.testing.assert_allclose(prediction["mean"], rates.mean(axis=1))
    watched = bk.diagnostics.monitor(counts.model, counts.idata, max_points=2)["posterior"]
    assert watched["point"].values.tolist() == [0, 29]
    total = np.exp(by_hand(counts.idata, X)).sum(axis=0)
    np.testing.assert_allclose(watched["total"].values.ravel(), total)


def test_a_model_that_knows_its_densities_leaves_one_out(counts):
    """The same as ArviZ says of what PyMC computes."""
    with counts.model:
        pm.compute_log_likelihood(counts.idata, progressbar=False)
    own, arviz = bk.diagnostics.loo(counts.model, counts.idata), az.loo(counts.idata)
    assert own.elpd == pytest.approx(arviz.elpd, rel=1e-8)
    np.testing.assert_allclose(own.elpd_i, arviz.elpd_i, rtol=1e-8)


def test_a_model_says_which_methods_of_evidence_know_it(counts):
    reasons = bk.evidence.suitable_methods(counts.model)
    assert reasons["laplace"] == "Counts are skew. Use 'quadrature'."
    with pytest.raises(TypeError, match=r"laplace.*does not fit this model\. Counts are skew"):
        bk.evidence.estimate(counts.model, method="laplace")
    assert reasons["quadrature"] == reasons["bridge"] == ""
    assert "generalized_kernel_model" in reasons["power-tempering"]
    evidence = bk.evidence.estimate(counts.model, method="quadrature", progressbar=False)
    w = np.random.default_rng(1).normal(size=(2, 200_000))
    outputs = X @ w
    logs = np.array([np.log(np.arange(1, k + 1)).sum() for k in COUNTS])
    values = (COUNTS[:, None] * outputs - np.exp(outputs) - logs[:, None]).sum(axis=0)
    # The estimate from prior draws has an error of 0.01 or so.
    by_prior = values.max() + np.log(np.exp(values - values.max()).mean())
    assert evidence.log_evidence == pytest.approx(by_prior, abs=0.05)


REFUSALS = {
    "flip_probability": lambda m: bk.flip_probability(m.model, m.idata),
    "bayes_point": lambda m: bk.bayes_point(m.model, m.idata),
    "version_space": lambda m: bk.plots.version_space(m.model),
    "log_posterior_sphere": lambda m: bk.plots.log_posterior_sphere(m.model),
    "PermutationPerceptron": lambda m: bk.samplers.PermutationPerceptron.of_model(m.model),
    "ReversibleJump": lambda m: bk.samplers.ReversibleJump(model=m.model),
    "PowerTempering": lambda m: bk.samplers.PowerTempering(m.model),
    "bk.gp": lambda m: bk.gp.loo(m.model, m.idata),
    "inclusion_map": lambda m: bk.plots.active_sets.inclusion_map(m.model, m.idata),
}


@pytest.mark.parametrize("tool", REFUSALS)
def test_tools_refuse_in_one_sentence(rare, counts, tool):
    with pytest.raises(TypeError, match=f"^{tool} is for .*; this is a rare_events of two classes"):
        REFUSALS[tool](rare)
    with pytest.raises(TypeError, match=f"^{tool} is for .*; this is a count_regression, which is"):
        REFUSALS[tool](counts)


def test_a_classifier_with_a_smooth_likelihood_has_loo_of_arviz(rare):
    with pytest.raises(TypeError, match=r"^loo is for .*; this is a rare_events .* az\.loo work"):
        bk.diagnostics.loo(rare.model, rare.idata)


def test_draws_of_another_model_are_refused(rare):
    foreign = az.from_dict({"posterior": {"w": np.zeros((1, 4, 3))}})
    with pytest.raises(ValueError, match="directions of 3 coordinates, the model has 2"):
        bk.predict(rare.model, foreign, X_NEW)
