"""Samplers of one posterior agree; two of them with the flip rate in a calibrated loop."""

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

import bayeskernels as bk
from bayeskernels.distributions import FlipRate, LabelNoise, UniformSphere
from bayeskernels.samplers import (
    FlipRateGibbs,
    KernelGibbs,
    RefractiveBilliard,
    WallGeometry,
    label_costs,
    simulate_billiard,
    simulate_kernel_gibbs,
    simulate_refractive_billiard,
)


@pytest.mark.slow
def test_twenty_functionals_at_a_hundred_points():
    """Outputs at 19 new points and the error count; false-alarm rate 1e-4 in all (Bonferroni)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (119, 2))
    is_positive = np.sin(2 * X[:100, 0]) * np.cos(2 * X[:100, 1]) > 0
    is_positive ^= rng.random(100) < 0.1
    kernel = bk.kernels.argument.as_kernel(pm.gp.cov.ExpQuad(2, ls=0.7), X)
    features = bk.kernels.features.FeatureMap(kernel, X[:100])
    new = features(X[100:])
    geometry = WallGeometry.from_features(features.factor.features, is_positive)
    walls = geometry.with_costs(label_costs(is_positive, 0.1, 0.1))

    def functionals(path):
        w = path.draws / np.linalg.norm(path.draws, axis=1, keepdims=True)
        return np.column_stack([w @ new.T, path.errors])

    billiard, circles = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        start = rng.standard_normal(features.rank)
        path = simulate_refractive_billiard(walls, start, 4000, rng=rng)
        billiard.append(functionals(path)[100:])
        # Begin in equilibrium: great circles would take long to get there.
        path = simulate_kernel_gibbs(walls, path.draws[-1], 3000, rng=rng, sweeps=60)
        circles.append(functionals(path))
    moments = []
    for draws in (np.array(billiard), np.array(circles)):
        effective = np.array([az.ess(draws[:, :, k], method="mean") for k in range(20)])
        assert effective.min() > 50
        moments.append((draws.mean(axis=(0, 1)), draws.var(axis=(0, 1)) / effective))
    (mean_1, variance_1), (mean_2, variance_2) = moments
    z = (mean_1 - mean_2) / np.sqrt(variance_1 + variance_2)
    assert np.abs(z).max() < stats.norm.isf(1e-4 / 20 / 2), z


@pytest.mark.parametrize(
    ("m", "r", "sweeps"),
    [
        (20, 10, 40),
        pytest.param(45, 30, 200, marks=pytest.mark.slow),
        pytest.param(60, 50, 300, marks=pytest.mark.slow),
    ],
)
def test_three_samplers_of_a_version_space(m, r, sweeps):
    """Ten outputs and five squared ones, three pairs; false-alarm rate 1e-4 in all (Bonferroni)."""
    rng = np.random.default_rng(r)
    points, w = rng.standard_normal((m, r)), rng.standard_normal(r)
    positive = points @ w > 0
    walls = WallGeometry.from_features(points, positive).with_costs(label_costs(positive, 0.0, 0.0))
    probes = np.concatenate([points[:5], rng.standard_normal((5, r))])

    def functionals(draws):
        f = draws / np.linalg.norm(draws, axis=1, keepdims=True) @ probes.T
        return np.column_stack([f, f[:, :5] ** 2])

    # Begin in equilibrium: great circles would take long to get there.
    start = simulate_billiard(walls, w, 200, rng=rng).draws[-1]
    rolled = simulate_billiard(walls, start, 6000, rng=rng)
    paths = {
        "billiard": rolled.draws,
        "refractive": simulate_refractive_billiard(walls, start, 6000, rng=rng).draws,
        "great circles": simulate_kernel_gibbs(walls, start, 6000, rng=rng, sweeps=sweeps).draws,
    }
    n_batches = 40
    moments = {}
    for name, draws in paths.items():
        batches = functionals(draws).reshape(n_batches, -1, 15).mean(axis=1)
        moments[name] = batches.mean(axis=0), batches.var(axis=0, ddof=1) / n_batches
        # Batches must be long against the memory of the chain.
        later, earlier = batches[1:] - batches.mean(axis=0), batches[:-1] - batches.mean(axis=0)
        memory = (later * earlier).mean(axis=0) / batches.var(axis=0)
        assert memory.mean() < 0.2, name
    names = list(moments)
    for name, other in [(0, 1), (0, 2), (1, 2)]:
        (a, error_a), (b, error_b) = moments[names[name]], moments[names[other]]
        z = (a - b) / np.sqrt(error_a + error_b)
        assert np.abs(z).max() < stats.t.isf(1e-4 / 45 / 2, n_batches - 1), (names, z)
    # The mean on the path is the mean of the same distribution, with a smaller error.
    outputs = rolled.centres @ probes.T
    batches = outputs.reshape(n_batches, -1, 10).mean(axis=1)
    error = batches.var(axis=0, ddof=1) / n_batches
    (b, error_b) = moments["refractive"]
    z = (outputs.mean(axis=0) - b[:10]) / np.sqrt(error + error_b[:10])
    assert np.abs(z).max() < stats.t.isf(1e-4 / 45 / 2, n_batches - 1), z


class Loop:
    """A model with inferred noise whose labels can be drawn again without compiling anything."""

    def __init__(self, step_class, sweeps, pair=False):
        rng = np.random.default_rng(5)
        self.features = rng.standard_normal((12, 4))
        with pm.Model() as self.model:
            labels = pm.Data("labels", np.zeros(12, dtype=np.int32))
            w = UniformSphere("w", 4)
            q = FlipRate("q", 1.5, 4.0, shape=2) if pair else FlipRate("q", 1.5, 4.0)
            rates = (q[0], q[1]) if pair else (q, q)
            LabelNoise("y", pt.dot(self.features, w), *rates, observed=labels)
            self.flip_rate = FlipRateGibbs([q])
            self.direction = step_class([w], sweeps=sweeps)
        self.shape = (2,) if pair else ()
        self.flip_rate.setup_chain(np.random.default_rng(6), 0, 0)

    def prior(self, rng):
        """A direction and rates from the prior, as a point of the model."""
        law = stats.beta(1.5, 4.0)
        q = law.ppf(rng.random(self.shape) * law.cdf(0.5))
        value = np.asarray(np.log(q) - np.log(0.5 - q))
        return {"w_unitvector__": rng.standard_normal(4), "q_interval__": value}

    def draw_labels(self, point, rng):
        positive = self.features @ point["w_unitvector__"] > 0
        q = np.broadcast_to(0.5 / (1 + np.exp(-point["q_interval__"])), 2)
        flipped = rng.random(12) < q[positive.astype(int)]
        labels = positive ^ flipped
        self.model["labels"].set_value(labels.astype(np.int32))
        # A step reads the labels once. Making a new one for each data set would compile each time.
        self.direction.target._labels = [labels[:, None]]
        self.direction.target._geometry = None

    def begin(self, rng):
        self.direction.setup_chain(rng, 0, 0)

    def sweep(self, point):
        point, _ = self.direction.step(point)
        point, _ = self.flip_rate.step(point)
        return point

    def quantities(self, point):
        """What is ranked: rates, two outputs, and the likelihood of the labels."""
        w = point["w_unitvector__"] / np.linalg.norm(point["w_unitvector__"])
        positive = (self.features @ w > 0).astype(int)
        q = np.broadcast_to(0.5 / (1 + np.exp(-point["q_interval__"])), 2)[positive]
        right = positive == self.model["labels"].get_value()
        log_likelihood = np.log(np.where(right, 1 - q, q)).sum()
        return np.array(
            [*np.atleast_1d(point["q_interval__"]), *(self.features[:2] @ w), log_likelihood]
        )

    def rank(self, rng, n_draws=31, thin=4):
        """Ranks of prior draws among posterior draws given labels drawn from them."""
        truth = self.prior(rng)
        self.draw_labels(truth, rng)
        self.begin(rng)
        point = self.prior(rng)
        draws = []
        for k in range((n_draws + 6) * thin):
            point = self.sweep(point)
            if k % thin == 0:
                draws.append(self.quantities(point))
        return np.sum(np.array(draws)[6:] < self.quantities(truth), axis=0)


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(False, id="one rate"),
        pytest.param(True, id="rates by class", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "step_class", [RefractiveBilliard, pytest.param(KernelGibbs, marks=pytest.mark.slow)]
)
def test_simulation_based_calibration(step_class, pair):
    """Ranks are uniform: chi-square, false-alarm rate 1e-3 shared by the quantities."""
    loop = Loop(step_class, sweeps=8 if step_class is RefractiveBilliard else 25, pair=pair)
    rng = np.random.default_rng(7)
    ranks = np.array([loop.rank(rng) for _ in range(240)])
    p_values = [stats.chisquare(np.bincount(column // 4, minlength=8)).pvalue for column in ranks.T]
    assert min(p_values) > 1e-3 / len(p_values), p_values


@pytest.mark.parametrize("step_class", [RefractiveBilliard, KernelGibbs])
def test_geweke_joint_distribution(step_class):
    """Alternating labels | rest and rest | labels leaves the prior alone (false alarms: 1e-3)."""
    loop = Loop(step_class, sweeps=2)
    rng = np.random.default_rng(8)
    point = loop.prior(rng)
    trace = []
    for _ in range(4000):
        loop.draw_labels(point, rng)
        loop.begin(rng)
        point = loop.sweep(point)
        q = 0.5 / (1 + np.exp(-point["q_interval__"]))
        w = point["w_unitvector__"] / np.linalg.norm(point["w_unitvector__"])
        trace.append([q, q**2, w[0], w[0] ** 2, w[1] * w[2], q * w[3] ** 2])
    trace = np.array(trace)
    law = stats.beta(1.5, 4.0)
    q = law.ppf((np.arange(100_000) + 0.5) / 100_000 * law.cdf(0.5))
    expected = np.array([q.mean(), np.mean(q**2), 0.0, 0.25, 0.0, q.mean() / 4])
    effective = np.array([az.ess(column[None], method="mean") for column in trace.T])
    z = (trace.mean(axis=0) - expected) / (trace.std(axis=0) / np.sqrt(effective))
    assert np.abs(z).max() < stats.norm.isf(1e-3 / 6 / 2), (z, effective)
