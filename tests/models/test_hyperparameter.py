"""Hyperparameters of all builders are read in the same way: same answers to the same mistakes."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.models.parts.hyperparameter import NOT_NEGATIVE, REAL, Hyperparameter, as_number

RNG = np.random.default_rng(3)
X = RNG.normal(size=(12, 2))
LABELS = X[:, 0] > 0
TARGETS = X[:, 0] + 0.1 * RNG.normal(size=12)
KERNEL = pm.gp.cov.ExpQuad(2, ls=1.0)
zoo = bk.models


def regression(**options):
    return zoo.generalized_kernel_model(X, TARGETS, link="identity", **options)


#: Builder and hyperparameter; those of the last entries may be negative, which nothing else may.
CASES = {
    "flip rate": (lambda **q: zoo.label_noise_classifier(X, LABELS, kernel=KERNEL, **q), "noise"),
    "softness": (lambda **q: zoo.bayes_point_machine(X, LABELS, kernel=KERNEL, **q), "softness"),
    "g": (lambda **q: zoo.generalized_kernel_model(X, LABELS, **q), "g"),
    "eta": (lambda **q: zoo.sparse_gp_classifier(X, LABELS, **q), "eta"),
    "width": (lambda **q: zoo.generalized_kernel_model(X, LABELS, **q), "theta"),
    "noise of targets": (regression, "noise"),
    "g of classes": (lambda **q: zoo.generalized_kernel_model(X, np.arange(12) % 3, **q), "g"),
    "g of a process": (lambda **q: zoo.gp_probit(X, LABELS, **q), "g"),
    "eta of a machine": (lambda **q: zoo.bayesian_svm(X, LABELS, **q), "eta"),
    "noise of a process": (lambda **q: zoo.gp_regression(X, TARGETS, **q), "noise"),
    "alpha": (lambda **q: zoo.bayesian_linear_regression(X, TARGETS, **q), "alpha"),
    "alpha of labels": (lambda **q: zoo.logistic_regression(X, LABELS, **q), "alpha"),
    "beta": (lambda **q: zoo.rbf_network(X, TARGETS, centers=3, **q), "beta"),
    "sd": (lambda **q: zoo.gaussian_mean(TARGETS, **q), "sd"),
    "mean": (lambda **q: zoo.gp_regression(X, TARGETS, **q), "mean"),
}
POSITIVE_CASES = [case for case in CASES if case != "mean"]


def refusal(case, value):
    """The message with which a value is refused, before anything is in the model."""
    build, name = CASES[case]
    model = pm.modelcontext(None)
    before = set(model.named_vars)
    with pytest.raises((TypeError, ValueError)) as caught:
        build(**{name: value})
    assert set(model.named_vars) == before
    assert not model.coords
    assert name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_a_variable_of_another_model(case):
    with pm.Model():
        foreign = pm.Uniform("foreign", 0, 0.5)
    for value in (foreign, 0.5 * foreign, pm.Uniform.dist(0, 0.5 * foreign)):
        with pm.Model():
            if case == "width" and value is not foreign:
                continue  # only a plain distribution will do
            assert "'foreign' belongs to another model" in refusal(case, value)


@pytest.mark.parametrize("case", CASES)
def test_a_vector(case):
    with pm.Model():
        message = refusal(case, pm.Uniform.dist(0.1, 0.4, shape=3))
    assert ("no shape without it" if case == "width" else "must be a scalar") in message


@pytest.mark.parametrize("case", POSITIVE_CASES)
def test_a_prior_with_mass_outside(case):
    with pm.Model():
        message = refusal(case, pm.Normal.dist(1.0, 1.0))
    assert "must lie within (0, " in message
    assert "of its mass outside" in message


@pytest.mark.parametrize("case", CASES)
def test_no_number(case):
    with pm.Model():
        assert refusal(case, "some").endswith("or a prior, got 'some'.")
        assert "or a prior, got (1+0j)" in refusal(case, 1 + 0j)


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("width", "softness")])
def test_an_expression_of_variables_of_the_model(case):
    build, name = CASES[case]
    with pm.Model() as model:
        build(**{name: 0.1 + 0.3 * pm.Beta("share", 2.0, 2.0)})
    assert name in [variable.name for variable in model.deterministics]
    assert np.isfinite(model.compile_logp(mode="FAST_COMPILE")(model.initial_point()))


def test_a_variable_of_the_model_around_a_nested_one():
    with pm.Model() as model:
        scale = pm.HalfNormal("scale")
        with pm.Model(name="inner"):
            zoo.gp_probit(X, LABELS, g=scale)
    assert "inner::g" in model.named_vars


def test_precisions_of_kernels_have_their_dims_by_any_name():
    with pm.Model(coords={"kernel": ["a", "b"]}) as model:
        scale = pm.Gamma("scale", 2.0, 1.0, dims="kernel")
        zoo.generalized_kernel_model(X, LABELS, kernel={"a": KERNEL, "b": KERNEL}, g=scale)
    assert model.named_vars_to_dims["g"] == ("kernel",)
    with pytest.raises(ValueError, match=r"A prior of g must have the shape \(2,\)"):
        zoo.generalized_kernel_model(X, LABELS, kernel=[KERNEL] * 2, g=pm.Gamma.dist(2.0, 1.0))


def test_numbers():
    assert as_number("a", np.float32(0.5)) == Hyperparameter("a", np.array(0.5)).number == 0.5
    assert as_number("a", 0, NOT_NEGATIVE) == 0.0
    assert as_number("a", -1, REAL) == -1.0
    for bad in (True, np.True_, np.complex128(1.0), np.array([1.0]), None, [[1.0], [1.0, 2.0]]):
        with pytest.raises((TypeError, ValueError), match="a must be a positive number, got"):
            as_number("a", bad)
    assert Hyperparameter("a", None, words=(None,)).number is None
