"""The reversible-jump step as PyMC sees it."""

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk
from bayeskernels.samplers import ReversibleJump
from bayeskernels.testing import check_sampler

X, Y = bk.data.make_two_moons(25, random_seed=1)
QUICK = {"chains": 1, "progressbar": False, "random_seed": 1, "compute_convergence_checks": False}


@pytest.fixture
def model():
    return bk.models.generalized_kernel_model(X, Y, max_active=10)


def test_conformance(model):
    check_sampler(ReversibleJump, model=model, parallel=False)


def test_is_chosen_for_all_its_variables(model):
    with model:
        idata = pm.sample(20, tune=5, **QUICK)
    stats = idata.sample_stats
    posterior = idata.posterior
    assert (stats["rj_active"].values == posterior["gamma"].sum("obs").values).all()
    assert ((posterior["beta"] == 0) | (posterior["gamma"] == 1)).all()
    assert float(stats["rj_birth"].mean()) > 0


def test_likelihood_is_that_of_the_model(model):
    with model:
        idata = pm.sample(5, tune=5, **QUICK)
        pm.compute_log_likelihood(idata, progressbar=False)
    total = idata.log_likelihood["y"].sum("obs").values
    np.testing.assert_allclose(total, idata.sample_stats["rj_log_likelihood"], rtol=1e-6)


@pytest.mark.parametrize("form", ["unnamed", "interval", "another name"])
def test_a_prior_of_the_users_own_is_left_to_another_step(form):
    """Whatever its transform and its name: the step reads g as the model has it."""
    with pm.Model() as model:
        prior = {
            "unnamed": lambda: pm.LogNormal.dist(0.0, 1.0),
            "interval": lambda: pm.Uniform.dist(0.5, 2.0),
            "another name": lambda: pm.Uniform("roughness", 0.5, 2.0),
        }[form]()
        bk.models.generalized_kernel_model(X, Y, max_active=10, g=prior)
        step = ReversibleJump()
        point = model.initial_point()
        step.setup_chain(np.random.default_rng(0), 0, 1)
        step.step(point)
        [g] = model.replace_rvs_by_values([model["g"]])
        assert np.isclose(
            step.sampler.g[0],
            g.eval({v: point[v.name] for v in model.value_vars if v in pm.pytensorf.inputvars(g)}),
        )
        idata = pm.sample(20, tune=20, **QUICK)
    assert idata.posterior["g"].std() > 0
    assert idata.sample_stats["rj_active"].std() > 0


def test_fixed_precisions_stay():
    model = bk.models.generalized_kernel_model(X, Y, max_active=10, g=0.5, eta=1.0)
    with model:
        idata = pm.sample(20, tune=5, **QUICK)
    assert sorted(idata.posterior.data_vars) == ["beta", "gamma", "u"]


def test_start_with_many_active_points(model):
    with model:
        idata = pm.sample(
            3,
            tune=0,
            reversible_jump={"start_active": 10, "proposals": 1, "windows": 0},
            **QUICK,
        )
        assert int(idata.sample_stats["rj_active"][0, 0]) >= 9
        with pytest.raises(ValueError, match="start_active must be between 0 and max_active = 10"):
            ReversibleJump(start_active=11)


def test_refusals(model):
    with model:
        with pytest.raises(ValueError, match="at least 1"):
            ReversibleJump(sweeps=0)
        with pytest.raises(ValueError, match="at most one together"):
            ReversibleJump(birth=0.9, death=0.2)
    with bk.models.label_noise_classifier(X, Y), pytest.raises(TypeError, match="generalized"):
        ReversibleJump()
