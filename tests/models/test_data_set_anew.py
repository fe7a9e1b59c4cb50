"""Data that were set by ``pm.set_data`` count, everywhere, at the moment of use."""

import warnings

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from every_builder import (
    CASES,
    KERNEL,
    LABELS,
    PLAIN,
    X,
    build,
    data_of,
    for_every_builder,
    inverted,
    prediction,
    relabelled,
    some_draws,
)

import bayeskernels as bk
from bayeskernels.evidence.data_digest import data_digest
from bayeskernels.samplers import (
    ExpectationPropagation,
    KernelGibbs,
    PowerTempering,
    RefractiveBilliard,
    ReversibleJump,
    sample_directions,
)

#: Models with a step of their own.
STEPS = {
    "label_noise_classifier": RefractiveBilliard,
    "inferred noise": RefractiveBilliard,
    "noise zero": RefractiveBilliard,
    "soft boundaries": KernelGibbs,
    "one against the rest": RefractiveBilliard,
    "generalized_kernel_model": ReversibleJump,
    "dense": ReversibleJump,
    "logistic link": ReversibleJump,
    "identity link": ReversibleJump,
    "learned width": ReversibleJump,
    "sparse_gp_classifier": ReversibleJump,
    "three classes": ReversibleJump,
    "two kernels": ReversibleJump,
}
TWO_CLASSES = ["label_noise_classifier", "inferred noise"]


def test_no_builder_is_missing():
    assert set(bk.models.__all__) - {"mean_evolution"} <= set(CASES)


@for_every_builder
def test_new_observations_are_those_of_a_new_model(name):
    model, fresh = relabelled(name), build(name)
    point = fresh.initial_point(random_seed=1)
    densities = [m.compile_logp(mode=PLAIN)(point) for m in (model, fresh)]
    assert densities[0] == pytest.approx(densities[1], rel=1e-10)
    start = model.initial_point(random_seed=1)
    for key, value in point.items():
        np.testing.assert_array_equal(start[key], value)
    draws = some_draws(fresh)
    xr.testing.assert_allclose(prediction(model, draws), prediction(fresh, draws), rtol=1e-9)
    watched = [bk.diagnostics.monitor(m, draws, progressbar=False) for m in (model, fresh)]
    xr.testing.assert_allclose(watched[0], watched[1], rtol=1e-9)
    assert data_digest(model) == data_digest(fresh)
    assert data_digest(model) != data_digest(CASES[name][1](inverted(CASES[name][0])))


def draws_of(step, model, n=4):
    step.setup_chain(np.random.default_rng(3), tune=0, draws=n)
    point = model.initial_point(random_seed=1)
    points = []
    for _ in range(n):
        point, _ = step.step(point)
        points.append(point)
    return points


@pytest.mark.parametrize("name", STEPS)
def test_steps_sample_the_posterior_of_new_observations(name):
    model = CASES[name][1](inverted(CASES[name][0]))
    step = STEPS[name](model=model)
    before = draws_of(step, model)
    pm.set_data(data_of(model, CASES[name][0]), model=model)
    fresh = build(name)
    expected = draws_of(STEPS[name](model=fresh), fresh)
    # Made before the data were set, and made afterwards.
    for found in (draws_of(step, model), draws_of(STEPS[name](model=model), model)):
        for point, other in zip(found, expected, strict=True):
            for key, value in other.items():
                np.testing.assert_array_equal(point[key], value, err_msg=key)
    assert any(not np.array_equal(before[-1][key], expected[-1][key]) for key in expected[-1])


def test_a_step_sees_noise_that_was_set_anew():
    model = build("label_noise_classifier")
    step = RefractiveBilliard(model=model)
    draws_of(step, model)
    pm.set_data({"noise": 0.3}, model=model)
    fresh = bk.models.label_noise_classifier(X, LABELS, kernel=KERNEL, noise=0.3)
    found, expected = draws_of(step, model), draws_of(RefractiveBilliard(model=fresh), fresh)
    np.testing.assert_array_equal(found[-1]["w_unitvector__"], expected[-1]["w_unitvector__"])


def test_noise_that_was_set_to_zero_has_a_start():
    model = build("label_noise_classifier")
    pm.set_data({"noise": 0.0}, model=model)
    assert np.isfinite(model.compile_logp(mode=PLAIN)(model.initial_point(random_seed=1)))


def test_labels_that_leave_no_classifier_are_refused_at_the_start():
    model = bk.models.label_noise_classifier(
        X, LABELS, kernel=lambda A, B: A[:, :1] @ B[:, :1].T, noise=0.0
    )
    wrong = LABELS.copy()
    wrong[0] = 1 - wrong[0]
    pm.set_data({"y_data": wrong}, model=model)
    with pytest.raises(ValueError, match="noise = 0 allows no error"):
        model.initial_point()


@pytest.mark.parametrize("name", TWO_CLASSES)
def test_flips_and_loo_of_new_labels(name):
    model, fresh = relabelled(name), build(name)
    draws = some_draws(fresh)
    flips = [bk.flip_probability(m, draws, progressbar=False) for m in (model, fresh)]
    xr.testing.assert_identical(flips[0], flips[1])
    elpds = [bk.diagnostics.loo(m, draws, progressbar=False) for m in (model, fresh)]
    np.testing.assert_array_equal(elpds[0].elpd_i, elpds[1].elpd_i)


def test_samplers_without_chains_use_new_labels():
    model, fresh = relabelled("label_noise_classifier"), build("label_noise_classifier")
    fits = [ExpectationPropagation(m).fit() for m in (model, fresh)]
    np.testing.assert_array_equal(fits[0].mean, fits[1].mean)
    ws = [sample_directions(m, draws=20, chains=1, random_seed=1) for m in (model, fresh)]
    xr.testing.assert_identical(ws[0]["posterior"]["w"], ws[1]["posterior"]["w"])


def test_power_tempering_uses_labels_that_were_set_after_it_was_made():
    y, builder = CASES["generalized_kernel_model"]
    model, fresh = builder(inverted(y)), builder(y)
    options = {"repetitions": 1, "particles": 8, "random_seed": 1, "progressbar": False}
    tempering = PowerTempering(model)
    pm.set_data({"y_data": y}, model=model)
    assert tempering.smc_evidence(**options) == PowerTempering(fresh).smc_evidence(**options)


def test_evidence_of_new_labels():
    values = [
        bk.evidence.estimate(m, method="ep", progressbar=False).log_evidence
        for m in (relabelled("label_noise_classifier"), build("label_noise_classifier"))
    ]
    assert values[0] == values[1]


@for_every_builder
def test_methods_of_evidence_answer_after_new_inputs(name):
    model = build(name)
    if name in ("gaussian_mean", "process of a function"):
        pytest.skip("no inputs that can be set")
    pm.set_data({"X": X[:3]}, model=model)
    reasons = bk.evidence.suitable_methods(model)
    assert all("inputs at 3 points but 12 observations" in reason for reason in reasons.values())
    with pytest.raises(ValueError, match="inputs at 3 points but 12 observations"):
        bk.evidence.estimate(model)


@pytest.mark.parametrize("name", ["generalized_kernel_model", "dense", "two kernels"])
def test_active_sets_refuse_new_inputs(name):
    model = build(name)
    step = STEPS[name](model=model)
    pm.set_data({"X": X + 1.0}, model=model)
    with pytest.raises(ValueError, match="other points than those with which the model was built"):
        STEPS[name](model=model)
    with pytest.raises(ValueError, match="other points than those with which the model was built"):
        step.setup_chain(np.random.default_rng(1), tune=0, draws=1)


def test_expansions_stay_with_the_points_of_training():
    model = build("generalized_kernel_model")
    draws = some_draws(model)
    before = prediction(model, draws)
    pm.set_data({"X": X[:3] + 1.0}, model=model)
    xr.testing.assert_identical(prediction(model, draws), before)


@pytest.mark.parametrize("name", ["bayesian_linear_regression", "gp_regression", "rbf_network"])
def test_regressions_refuse_inputs_without_targets(name):
    model = build(name)
    draws = some_draws(model)
    pm.set_data({"X": X[:3]}, model=model)
    with pytest.raises(ValueError, match="inputs at 3 points but 12 observations"):
        prediction(model, draws)


@pytest.mark.parametrize("name", ["bayesian_linear_regression", "gp_regression", "rbf_network"])
def test_regressions_take_new_inputs_with_their_targets(name):
    y, builder = CASES[name]
    model = builder(y)
    draws = some_draws(model)
    order = np.arange(12)[::-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pm.set_data({"X": X[order], "y_data": y[order]}, model=model)
    xr.testing.assert_allclose(prediction(model, draws), prediction(builder(y), draws), rtol=1e-6)


def test_a_process_with_constant_kernel_values_keeps_its_inputs():
    model = build("process of a function")
    pm.set_data({"X": X}, model=model)
    with pytest.raises(ValueError, match="X cannot be set anew"):
        pm.set_data({"X": X[:3]}, model=model)


def test_labels_that_are_no_numbers_of_classes_are_refused():
    model = build("label_noise_classifier")
    pm.set_data({"y_data": 2 * LABELS - 1}, model=model)
    with pytest.raises(ValueError, match="numbers of classes, 0 to 1"):
        bk.flip_probability(model, some_draws(model), progressbar=False)


@for_every_builder
def test_log_likelihood_of_every_model(name):
    model = build(name)
    draws = some_draws(model)
    if not model.observed_RVs:
        pytest.skip("a potential instead of observed targets")
    with model:
        pm.compute_log_likelihood(draws, progressbar=False, compile_kwargs={"mode": PLAIN})
    values = draws["log_likelihood"][model.observed_RVs[0].name]
    assert (values.sizes["chain"], values.sizes["draw"]) == (2, 4)
    assert not np.isnan(values).any()


@pytest.mark.parametrize(
    "name", ["one against the rest", "three classes", "two kernels", "dense", "inferred noise"]
)
@pytest.mark.parametrize("n_new", [5, 20])
def test_posterior_predictive_draws_at_new_points(name, n_new):
    model = build(name)
    draws = some_draws(model)
    with model:
        pm.set_data({"X": np.random.default_rng(1).normal(size=(n_new, 2))})
        drawn = pm.sample_posterior_predictive(
            draws,
            var_names=["y"],
            # Invented draws do not say with which data they were made.
            freeze_vars=[rv.name for rv in model.free_RVs],
            progressbar=False,
            compile_kwargs={"mode": PLAIN},
        )
    assert drawn["posterior_predictive"]["y"].sizes["obs"] == n_new
