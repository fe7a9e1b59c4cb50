"""The step of models of several classes or kernels as PyMC sees it."""

import numpy as np
import pymc as pm
import pytest
from pymc.step_methods import STEP_METHODS

import bayeskernels as bk
from bayeskernels.models.generalized_kernel_model import mean_distance_kernel
from bayeskernels.models.parts.grouped_kernel_model import build_grouped_kernel_model
from bayeskernels.samplers import GroupedReversibleJump, ReversibleJump
from bayeskernels.testing import check_sampler
from bayeskernels.testing.mean_comparison import mean_and_error

X = np.random.default_rng(1).standard_normal((24, 2))
THREE = np.digitize(X[:, 0], [-0.4, 0.5])
TWO = THREE > 0
QUICK = {"chains": 1, "progressbar": False, "random_seed": 1, "compute_convergence_checks": False}

OPTIONS = {
    **{"default": mean_distance_kernel, "max_active": 8, "sparse": True, "bias": 0.0},
    **{"g": None, "eta": None, "inclusion": (1.0, 1.0), "kernel_off": 0.0},
}


def near(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2))


def straight(X, Z):
    return X @ Z.T


def classes():
    return bk.models.generalized_kernel_model(X, THREE, kernel=near, max_active=8)


def kernels(**options):
    return bk.models.generalized_kernel_model(
        X, TWO, kernel={"near": near, "straight": straight}, max_active=8, **options
    )


@pytest.mark.parametrize("build", [classes, kernels])
def test_conformance(build):
    check_sampler(ReversibleJump, model=build(), parallel=False)


def test_three_classes_sum_to_zero():
    model = classes()
    with model:
        idata = pm.sample(30, tune=5, **QUICK)
        pm.compute_log_likelihood(idata, progressbar=False)
    posterior, stats = idata.posterior, idata.sample_stats
    assert posterior["beta"].dims == ("chain", "draw", "obs", "class")
    for name in ("u", "beta"):
        np.testing.assert_allclose(posterior[name].sum("class"), 0.0, atol=1e-10)
    assert ((posterior["beta"] == 0) | (posterior["gamma"] == 1)).all()
    assert (stats["rj_active"].values == posterior["gamma"].sum("obs").values).all()
    total = idata.log_likelihood["y"].sum("obs").values
    np.testing.assert_allclose(total, stats["rj_log_likelihood"], rtol=1e-6)


def test_kernels_that_are_off_have_no_coefficients():
    model = kernels()
    with model:
        idata = pm.sample(100, tune=5, **QUICK)
        pm.compute_log_likelihood(idata, progressbar=False)
    posterior, stats = idata.posterior, idata.sample_stats
    assert posterior["beta"].dims == ("chain", "draw", "kernel", "obs")
    on = posterior["kernel_on"] == 1
    assert 0 < on.mean() < 1
    assert ((posterior["beta"] == 0) | on).all()
    weight = posterior["kernel_weight"]
    np.testing.assert_allclose(weight, on / np.sqrt(posterior["g"]))
    assert (stats["rj_kernels"].values == on.sum("kernel").values).all()
    total = idata.log_likelihood["y"].sum("obs").values
    np.testing.assert_allclose(total, stats["rj_log_likelihood"], rtol=1e-6)


def test_dense_model_and_fixed_precisions():
    model = kernels(sparse=False, g=0.5, eta=1.0, kernel_off=0.0)
    with model:
        idata = pm.sample(5, tune=5, **QUICK)
    assert sorted(idata.posterior.data_vars) == ["beta", "kernel_weight", "u"]
    assert (idata.posterior["beta"] != 0).all()


def test_a_prior_of_the_users_own_is_left_to_another_step():
    model = kernels(g=pm.Uniform.dist(0.5, 2.0, shape=2))
    assert model.named_vars_to_dims["g"] == ("kernel",)
    with model:
        step = ReversibleJump()
        assert sorted(v.name for v in step.vars) == ["beta", "eta_log__", "gamma", "kernel_on", "u"]
        point = model.initial_point()
        step.setup_chain(np.random.default_rng(0), 0, 1)
        new, _ = step.step(point)
        np.testing.assert_allclose(step.sampler.g, 1.25)  # the middle, where it starts
        new["g_interval__"] = np.array([1.0, -1.0])
        step.step(new)
        assert (np.diff(step.sampler.g) < 0).all()


def test_precisions_with_other_numbers_stay_with_the_step():
    model = kernels(g=bk.distributions.GroupedPrecision.dist(2.0, 3.0, shape=2))
    with model:
        assert ReversibleJump().sampler.hyper[:2] == (2.0, pytest.approx(3.0))
    uneven = kernels(g=bk.distributions.GroupedPrecision.dist([2.0, 1.0], 3.0, shape=2))
    with uneven, pytest.raises(ValueError, match="the same prior"):
        ReversibleJump()


def test_refusals():
    with classes():
        with pytest.raises(ValueError, match="at least 1"):
            ReversibleJump(proposals=0)
        with pytest.raises(ValueError, match="start_active must be between 0 and max_active = 8"):
            ReversibleJump(start_active=9)
        for option in ({"kernel_move": "slice"}, {"kernel_moves": 4}, {"kernel_scale": 0.4}):
            with pytest.raises(TypeError, match=f"{next(iter(option))} .* several classes"):
                ReversibleJump(**option)


def test_one_step_for_all_generalized_kernel_models():
    """Statistics and defaults are those of the model's form; the old name is the same class."""
    assert GroupedReversibleJump is ReversibleJump
    assert STEP_METHODS.count(ReversibleJump) == 1
    single = bk.models.generalized_kernel_model(X, TWO, kernel=near, max_active=8)
    for model, own, windows in ((single, "rj_kernel", 4), (classes(), "rj_kernels", 2)):
        with model:
            step = ReversibleJump()
            with pytest.raises(ValueError, match="beta too: pass it in vars"):
                ReversibleJump([rv for rv in model.free_RVs if rv.name != "beta"])
        assert {"rj_kernel", "rj_kernels"} & set(step.stats_dtypes_shapes) == {own}
        assert step.sampler.windows == windows


@pytest.mark.slow
@pytest.mark.parametrize("form", ["two classes", "one kernel"])
def test_agrees_with_the_model_of_two_classes_and_one_kernel(form):
    """Means of six numbers; a z-score beyond 4.5 comes once in 20,000 runs for all of them."""
    binary = bk.models.generalized_kernel_model(X, TWO, kernel=near, max_active=8)
    other = build_grouped_kernel_model(
        "generalized_kernel_model",
        X,
        TWO,
        kernel=[near] if form == "one kernel" else near,
        by_class=form == "two classes",
        **OPTIONS,
    )
    summaries = []
    for model in (binary, other):
        with model:
            idata = pm.sample(3000, tune=200, **QUICK | {"chains": 2, "cores": 1})
        posterior = idata.posterior.to_dataset()
        beta, u = posterior["beta"], posterior["u"]
        if form == "two classes" and model is other:
            beta, u = ((v.isel({"class": 1}) - v.isel({"class": 0})) / 2**0.5 for v in (beta, u))
        beta = beta.isel(kernel=0) if "kernel" in beta.dims else beta
        outputs = beta.values @ near(X, X[[0, 7, 15]]) + u.values[..., None]
        size = posterior["gamma"].sum("obs").astype(float)
        watched = {"size": size, "log g": np.log(posterior["g"]).squeeze(drop=True), "u": u}
        watched |= {f"f{k}": size.copy(data=outputs[..., k]) for k in range(3)}
        summaries.append({name: mean_and_error(name, v) for name, v in watched.items()})
    for name, (mean, error, *_) in summaries[0].items():
        other_mean, other_error, *_ = summaries[1][name]
        assert abs(mean - other_mean) < 4.5 * np.hypot(error, other_error), name
