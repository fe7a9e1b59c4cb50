import numpy as np
import pymc as pm
import pytest

from bayeskernels.samplers import IndependenceMetropolis, LaplaceMixture
from bayeskernels.testing import check_sampler


def two_modes():
    """A scale and two numbers, in a posterior that is a mixture far apart."""
    with pm.Model() as model:
        pm.NormalMixture("x", w=[0.3, 0.7], mu=[-8.0, 8.0], sigma=[0.5, 1.0], shape=2)
        pm.HalfNormal("s", 1.0)
    return model


def proposal():
    # Four modes of x, and log s around -0.4; by no means exact.
    modes = [[a, b, -0.4] for a in (-8.0, 8.0) for b in (-8.0, 8.0)]
    return LaplaceMixture(modes, [np.diag([0.8, 0.8, 1.0])] * 4, np.zeros(4))


def test_conformance():
    report = check_sampler(
        lambda: IndependenceMetropolis(proposal(), proposals=3),
        model=two_modes(),
        exact_means={
            "right": (lambda p: p["x"][..., 0] > 0, 0.7),
            "both right": (lambda p: (p["x"] > 0).all("x_dim_0"), 0.49),
            "mean": (lambda p: p["x"][..., 1], 0.7 * 8 - 0.3 * 8),
            "scale": (lambda p: p["s"], np.sqrt(2 / np.pi)),
            "square": (lambda p: p["s"] ** 2, 1.0),
        },
        draws=500,
        tune=50,
    )
    assert "exact means" in report.passed


def test_another_density_and_statistics():
    """With the log density of a standard normal in place of the model's."""
    with pm.Model():
        pm.Normal("x", 5.0, 1.0)
        wide = LaplaceMixture([[0.0]], [[[4.0]]], [0.0])
        step = IndependenceMetropolis(wide, log_density=lambda x: -0.5 * x @ x, proposals=2)
        idata = pm.sample(2000, chains=2, cores=1, step=step, quiet=True, random_seed=1)
    # 4,000 draws of at least a third as many effective ones: 4 standard errors.
    assert abs(idata["posterior"]["x"].mean()) < 4 / np.sqrt(1300)
    assert abs(idata["posterior"]["x"].std() - 1.0) < 4 / np.sqrt(2 * 1300)
    accepted = idata["sample_stats"]["independence_accepted"]
    assert set(np.unique(accepted)) == {0.0, 0.5, 1.0}
    assert (idata["sample_stats"]["independence_mode"] == 0).all()


def test_no_density_is_never_entered():
    with pm.Model():
        pm.Normal("x", 0.0, 1.0)
        wide = LaplaceMixture([[0.0]], [[[4.0]]], [0.0])

        def half(x):
            return -0.5 * x @ x if x[0] > 0 else (np.nan if x[0] > -1 else -np.inf)

        step = IndependenceMetropolis(wide, log_density=half)
        idata = pm.sample(500, chains=1, step=step, initvals={"x": 0.5}, quiet=True, random_seed=1)
    assert (idata["posterior"]["x"] > 0).all()


def test_values_are_reused_where_nobody_moved():
    calls = []

    def log_density(x):
        calls.append(x)
        return -0.5 * x @ x

    with pm.Model() as model:
        pm.Normal("x", 0.0, 1.0)
        wide = LaplaceMixture([[0.0]], [[[4.0]]], [0.0])
        step = IndependenceMetropolis(wide, log_density=log_density, proposals=3, rng=1)
        point = model.initial_point()
        for _ in range(5):
            point, _ = step.step(point)
    assert len(calls) == 1 + 5 * 3
    step.step({"x": np.array(0.25)})  # another step has moved x
    assert len(calls) == 1 + 5 * 3 + 1 + 3


def test_bad_input_is_refused():
    with pm.Model():
        pm.Poisson("k", 3.0)
        with pytest.raises(TypeError, match="k is discrete"):
            IndependenceMetropolis(proposal())
    with two_modes(), pytest.raises(ValueError, match="proposals must be a whole number"):
        IndependenceMetropolis(proposal(), proposals=0)
