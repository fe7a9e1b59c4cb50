"""Copies of models: by ``model.copy()``, ``pm.do``, ``pm.observe`` and pickling."""

import cloudpickle
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from every_builder import (
    CASES,
    PLAIN,
    SLOW,
    X,
    build,
    data_of,
    for_every_builder,
    inverted,
    prediction,
    some_draws,
)
from pymc.model.fgraph import clone_model

import bayeskernels as bk


@for_every_builder
def test_copies_predict_and_have_data_of_their_own(name):
    model = build(name)
    draws = some_draws(model)
    expected = prediction(model, draws)
    point = model.initial_point(random_seed=1)
    log_density = model.compile_logp(mode=PLAIN)
    before = log_density(point)
    through_pickle = cloudpickle.loads(cloudpickle.dumps(model))
    for copy in (model.copy(), clone_model(clone_model(model)), through_pickle):
        assert bk.specification_of(copy).model is copy
        xr.testing.assert_identical(prediction(copy, draws), expected)
        new = inverted(CASES[name][0])
        pm.set_data(data_of(copy, new), model=copy)
        opposite = CASES[name][1](new)
        other = prediction(opposite, draws)
        xr.testing.assert_allclose(prediction(copy, draws), other, rtol=1e-9)
        if name not in ("gaussian_mean", "process of a function"):
            pm.set_data({"X": X[::-1]}, model=copy)
            pm.set_data({"X": X[::-1]}, model=opposite)
            assert copy.compile_logp(mode=PLAIN)(point) == pytest.approx(
                opposite.compile_logp(mode=PLAIN)(point), rel=1e-9
            )
        # The original knows nothing of all this.
        assert log_density(point) == before
        xr.testing.assert_identical(prediction(model, draws), expected)


def without(draws, *names):
    return xr.DataTree.from_dict({"posterior": draws["posterior"].to_dataset().drop_vars(names)})


def at(draws, **values):
    """The same draws with a variable at one value."""
    posterior = draws["posterior"].to_dataset()
    for name, value in values.items():
        posterior[name] = xr.full_like(posterior[name], value)
    return xr.DataTree.from_dict({"posterior": posterior})


#: A variable that is fixed, at which value.
FIXED = {
    "inferred noise": ("noise", 0.2),
    "random width": ("width", 1.3),
    "identity link": ("noise", 0.4),
    "learned width": ("theta", 1.5),
    "fitc": ("g", 2.0),
    "gp_probit, random width": ("width", 0.7),
    "gp_regression": ("ls", 0.8),
    "bayesian_linear_regression": ("beta", 3.0),
    "adapted network": ("alpha", 0.5),
    "gaussian_mean": ("sd", 0.6),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in FIXED]
)
def test_variables_that_are_fixed_or_observed_in_a_copy(name):
    variable, value = FIXED[name]
    model = build(name)
    draws = at(some_draws(model), **{variable: value})
    expected = prediction(model, draws)
    for copy in (pm.do(model, {variable: value}), pm.observe(model, {variable: value})):
        found = prediction(copy, without(draws, variable))
        xr.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_copy_whose_coefficients_are_fixed_is_refused():
    model = build("generalized_kernel_model")
    copy = pm.do(model, {"u": 0.0})
    with pytest.raises(ValueError, match="no posterior draws of 'u'"):
        prediction(copy, without(some_draws(model), "u"))


def test_a_relabelled_copy_in_context_starts_without_errors():
    model = build("noise zero")
    copy = model.copy()
    pm.set_data(data_of(copy, inverted(CASES["noise zero"][0])), model=copy)
    with copy:
        start = copy.initial_point(random_seed=1)
    assert np.isfinite(copy.compile_logp(mode=PLAIN)(start))
    assert np.isfinite(model.compile_logp(mode=PLAIN)(model.initial_point(random_seed=1)))


def test_copies_are_sampled_by_the_same_steps():
    model = build("generalized_kernel_model")
    copy = model.copy()
    steps = [bk.samplers.ReversibleJump(model=m) for m in (model, copy)]
    for step in steps:
        step.setup_chain(np.random.default_rng(1), tune=0, draws=2)
    points = [step.step(model.initial_point(random_seed=1))[0] for step in steps]
    np.testing.assert_array_equal(points[0]["beta"], points[1]["beta"])
