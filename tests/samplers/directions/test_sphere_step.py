"""The steps as PyMC sees them: conformance, choice, options, life beside other steps."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

import bayeskernels as bk
from bayeskernels.distributions import LabelNoise, UniformSphere
from bayeskernels.samplers import (
    FlipRateGibbs,
    KernelGibbs,
    RefractiveBilliard,
    prefer,
)
from bayeskernels.testing import check_sampler, label_noise_cells

QUICK = {
    "chains": 1,
    "quiet": True,
    "progressbar": False,
    "compute_convergence_checks": False,
    "random_seed": 1,
}
#: Plain Python instead of half a minute of compiling.
PLAIN = {"mode": Mode(linker="py", optimizer="fast_compile")}
STEPS = {"refractive": RefractiveBilliard, "kernel_gibbs": KernelGibbs}


@pytest.fixture(scope="module")
def moons():
    return bk.data.make_two_moons(16, random_seed=1)


@pytest.fixture(scope="module")
def noisy(moons):
    return bk.models.label_noise_classifier(*moons, noise="infer")


@pytest.fixture(scope="module")
def random_kernel(moons):
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        kernel = pm.gp.cov.ExpQuad(2, ls=ls)
        bk.models.label_noise_classifier(*moons, kernel=kernel, noise="infer")
    return model


def move_noise(point, k):
    return {**point, "noise_interval__": np.asarray(-1.0 + 0.3 * np.sin(k))}


def move_kernel(point, k):
    # Every third step only: the walls must also stay where they are for a while.
    point = move_noise(point, k)
    return {**point, "ls_log__": np.asarray(0.2 * np.sin(k // 3))}


@pytest.mark.parametrize("prefix", STEPS)
def test_conformance(prefix, noisy):
    report = check_sampler(STEPS[prefix], model=noisy, move_others=move_noise, n_steps=80)
    assert report.passed == ["protocol", "seeds", "per-chain reset", "state replay", "cores"]


@pytest.mark.parametrize("prefix", STEPS)
def test_conformance_with_random_kernel(prefix, random_kernel):
    check_sampler(
        lambda: STEPS[prefix](sweeps=3, compile_kwargs=PLAIN),
        model=random_kernel,
        move_others=move_kernel,
        parallel=False,
    )


@pytest.mark.parametrize("prefix", STEPS)
def test_conformance_in_the_version_space(prefix, moons):
    kernel = pm.gp.cov.ExpQuad(2, ls=0.5)
    model = bk.models.label_noise_classifier(*moons, kernel=kernel, noise=0.0)
    check_sampler(STEPS[prefix], model=model, parallel=False)


def test_conformance_of_the_flip_rate(noisy):
    check_sampler(FlipRateGibbs, model=noisy)


@pytest.mark.parametrize("prefix", STEPS)
def test_known_answers(prefix):
    """Exact means at a false-alarm rate of 1e-4 in all."""
    rng = np.random.default_rng(4)
    features, labels = rng.standard_normal((5, 2)), np.array([1, 1, 0, 1, 0])
    model = bk.models.label_noise_classifier(
        features, labels, kernel=lambda X, Z: X @ Z.T, noise=(0.1, 0.2)
    )
    exact = label_noise_cells(
        bk.specification_of(model).feature_map.factor.features, labels == 1, 0.1, 0.2
    )
    means = {
        f"cell {k}": (lambda p, k=k: inside(p, exact, k), exact.probabilities[k])
        for k in range(len(exact.probabilities))
    }
    report = check_sampler(
        lambda: STEPS[prefix](sweeps=5),
        model=model,
        parallel=False,
        exact_means=means,
        draws=1000,
        tune=50,
    )
    assert "exact means" in report.passed
    assert min(report.effective_draws.values()) > 1000


def inside(posterior, exact, k):
    w = posterior["w"].values
    cell = exact.locate(w.reshape(-1, w.shape[-1])).reshape(w.shape[:2])
    return posterior["w"][..., 0].copy(data=(cell == k).astype(float))


def assigned(model):
    with model:
        _, steps = pm.sampling.mcmc.assign_step_methods(model)
    return {value.name: step.__name__ for step, values in steps.items() for value in values}


def test_choice_of_the_step(noisy, random_kernel):
    assert assigned(noisy) == {
        "w_unitvector__": "RefractiveBilliard",
        "noise_interval__": "RefractiveBilliard",
    }
    with prefer(KernelGibbs):
        assert assigned(noisy) == {
            "w_unitvector__": "KernelGibbs",
            "noise_interval__": "FlipRateGibbs",
        }
    assert assigned(noisy)["w_unitvector__"] == "RefractiveBilliard"
    # The outputs have no gradient, so a kernel's hyperparameters cannot go to NUTS.
    assert assigned(random_kernel)["ls_log__"] not in ("NUTS", "HamiltonianMC")


def test_noise_with_another_prior_goes_to_nuts(moons):
    model = bk.models.label_noise_classifier(*moons, noise=pm.Uniform.dist(0, 0.3))
    assert assigned(model) == {
        "w_unitvector__": "RefractiveBilliard",
        "noise_interval__": "NUTS",
    }


@pytest.mark.parametrize("in_context", [True, False])
def test_direction_of_another_posterior_is_left_to_pymc(in_context):
    """Von Mises-Fisher with concentration 2 on the sphere of R^3: mean is coth 2 - 1/2."""
    with pm.Model() as model:
        w = UniformSphere("w", 3)
        pm.Potential("pull", 2.0 * w[0])
    assert assigned(model) == {"w_unitvector__": "NUTS"}
    options = {**QUICK, "chains": 2, "cores": 1, "nuts_sampler": "pymc"}
    if in_context:
        with model:
            idata = pm.sample(1500, tune=500, **options)
    else:
        idata = pm.sample(20, tune=20, model=model, **options)
        return
    w = idata.posterior["w"]
    np.testing.assert_allclose((w**2).sum("w_dim_0"), 1.0)
    # About 1500 effective draws of standard deviation below 0.6: 4.5 standard errors, 1e-5.
    assert abs(float(w[..., 0].mean()) - (1 / np.tanh(2) - 0.5)) < 4.5 * 0.6 / np.sqrt(1500)


def test_options_through_pm_sample(moons):
    model = bk.models.label_noise_classifier(*moons, noise=0.1)
    with model:
        few = pm.sample(40, tune=0, refractive_billiard={"sweeps": 1}, **QUICK)
        many = pm.sample(40, tune=0, refractive_billiard={"sweeps": 30}, **QUICK)
        with prefer(KernelGibbs):
            gibbs = pm.sample(20, tune=0, kernel_gibbs={"sweeps": 2}, **QUICK)
    events = [float(i.sample_stats["refractive_events"].mean()) for i in (few, many)]
    assert events[1] > 10 * events[0]
    assert set(gibbs.sample_stats.data_vars) >= {"kernel_gibbs_errors", "kernel_gibbs_angle"}


def test_several_directions_need_a_step_each():
    features = np.random.default_rng(0).standard_normal((5, 3))
    with pm.Model() as model:
        for name in ("w1", "w2"):
            w = UniformSphere(name, 3)
            LabelNoise(f"y_{name}", pt.dot(features, w), 0.1, observed=[0, 1, 1, 0, 1])
        with pytest.raises(ValueError, match="one direction"):
            RefractiveBilliard()
        steps = [RefractiveBilliard([model["w1"]]), KernelGibbs([model["w2"]])]
        idata = pm.sample(20, tune=0, step=steps, **QUICK)
    assert np.isfinite(idata.posterior["w1"]).all()
    assert np.isfinite(idata.posterior["w2"]).all()


def test_another_step_may_move_the_direction(noisy):
    with noisy:
        step = RefractiveBilliard(sweeps=1)
    step.setup_chain(np.random.default_rng(0), 0, 10)
    point, _ = step.step(noisy.initial_point(0))
    elsewhere = {**point, "w_unitvector__": -3.0 * point["w_unitvector__"]}
    step.step(elsewhere)
    [ball] = step.samplers
    np.testing.assert_allclose(ball.outputs, ball.walls.normals @ ball.z, atol=1e-12)


def test_saved_while_a_wall_was_switched_off():
    """Opposite labels at one place are a wall only while the two rates differ."""
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    model = bk.models.label_noise_classifier(
        X, [0, 1, 1], kernel=lambda X, Z: X @ Z.T, noise=("infer", "infer")
    )
    point = model.initial_point(0)
    point["noise_interval__"] = np.zeros(2)
    differ = {"noise_interval__": np.array([-1.0, 1.0])}
    with model:
        # The rates are another step's, which may set them to anything.
        step, fresh = (RefractiveBilliard([model["w"]], sweeps=2) for _ in range(2))
    step.setup_chain(np.random.default_rng(0), 0, 10)
    point, _ = step.step(point)
    assert step.samplers[0].walls.n_walls == 1
    fresh.sampling_state = step.sampling_state
    expected, _ = step.step({**point, **differ})
    assert step.samplers[0].walls.n_walls == 2
    replayed, _ = fresh.step({**point, **differ})
    np.testing.assert_array_equal(expected["w_unitvector__"], replayed["w_unitvector__"])


def test_random_kernel_is_sampled(random_kernel):
    with random_kernel:
        idata = pm.sample(100, tune=100, compile_kwargs=PLAIN, **QUICK)
    assert idata.posterior["ls"].std() > 0
    assert idata.posterior["noise"].std() > 0
    # The recorded errors are those of the recorded draws under each draw's own kernel.
    value = random_kernel.rvs_to_values
    inputs = [value[random_kernel[name]] for name in ("ls", "w")]
    [f] = random_kernel.replace_rvs_by_values([bk.specification_of(random_kernel).outputs])
    outputs = pm.pytensorf.compile(inputs, f, **PLAIN)
    codes = bk.specification_of(random_kernel).codes
    posterior = idata.posterior.isel(chain=0)
    errors = [
        np.sum((outputs(np.log(ls), w) > 0) != codes)
        for ls, w in zip(posterior["ls"].values, posterior["w"].values, strict=True)
    ]
    # The length scale may have moved after the direction: alike, not equal.
    assert np.ptp(errors) > 0
    assert abs(np.mean(errors) - float(idata.sample_stats["refractive_errors"].mean())) < 1.0


def test_registered_once():
    from pymc.step_methods import STEP_METHODS

    for step in (RefractiveBilliard, KernelGibbs, FlipRateGibbs):
        assert STEP_METHODS.count(step) == 1


def test_direct_draws_report_trajectories_that_were_given_up(moons, caplog):
    model = bk.models.label_noise_classifier(*moons, noise=0.05)
    options = {"draws": 30, "chains": 2, "random_seed": 1}
    stuck = bk.samplers.sample_directions(model, max_events=1, circles=False, **options)
    assert int(stuck.sample_stats["refractive_capped"].sum()) > 10
    assert "were given up" in caplog.text
    caplog.clear()
    free = bk.samplers.sample_directions(model, **options)
    assert int(free.sample_stats["refractive_capped"].sum()) == 0
    assert not caplog.text
