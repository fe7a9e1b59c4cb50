import numpy as np
import pymc as pm
import pytest
from scipy import stats

import bayeskernels as bk
from bayeskernels.distributions import FlipRate, LabelNoise
from bayeskernels.samplers import FlipRateGibbs
from bayeskernels.samplers.directions.flip_rate_gibbs import draw_flip_rate

OUTPUTS = np.array([1.0, 2.0, -1.0, -0.5, 3.0, 0.0, -2.0, 1.0])
LABELS = np.array([1, 0, 0, 1, 1, 1, 0, 1])
# True class (sign of the output; an output of zero counts against its label, whatever it is).
TRUE = np.array([1, 1, 0, 0, 1, 0, 0, 1])
FLIPS = np.array([np.sum((TRUE == k) & (LABELS != k)) for k in (0, 1)])
STAYS = np.array([np.sum((TRUE == k) & (LABELS == k)) for k in (0, 1)])


def truncated_beta_cdf(alpha, beta):
    beta_law = stats.beta(alpha, beta)
    return lambda q: beta_law.cdf(np.minimum(q, 0.5)) / beta_law.cdf(0.5)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (3.0, 30.0), (0.5, 0.5), (40.0, 10.0)])
def test_draws_have_the_truncated_beta_law(alpha, beta):
    q = draw_flip_rate(np.full(4000, alpha), beta, np.random.default_rng(1))
    assert ((q > 0) & (q < 0.5)).all()
    # False-alarm rate 1e-4.
    assert stats.kstest(q, truncated_beta_cdf(alpha, beta)).pvalue > 1e-4


def test_draws_stay_inside_at_the_edges():
    rng = np.random.default_rng(1)
    for alpha, beta in [(1e-3, 5.0), (1.0, 1e6), (5000.0, 10.0)]:
        q = draw_flip_rate(np.full(200, alpha), beta, rng)
        assert ((q > 0) & (q < 0.5)).all()
        value = np.log(q) - np.log(0.5 - q)
        assert np.isfinite(value).all()


def draws_of(model, name, n=3000):
    with model:
        step = FlipRateGibbs()
    step.setup_chain(np.random.default_rng(2), 0, n)
    point = model.initial_point()
    draws = []
    for _ in range(n):
        point, [statistics] = step.step(point)
        assert statistics["flip_rate_flips"] == FLIPS_OF[name]
        # The model's Interval(0, 1/2) transform, undone.
        draws.append({k: 0.5 / (1 + np.exp(-v)) for k, v in point.items()})
    return {k: np.array([d[k] for d in draws]) for k in draws[0]}


FLIPS_OF = {
    "shared": FLIPS.sum(),
    "pair": FLIPS.sum(),
    "swapped": FLIPS.sum(),
    "one class": FLIPS[1],
    "two": FLIPS.sum(),
}


@pytest.mark.parametrize("name", FLIPS_OF)
def test_conditional_is_exact(name):
    """The law of each rate given the outputs (Kolmogorov-Smirnov, false-alarm rate 1e-4 each)."""
    with pm.Model() as model:
        if name == "shared":
            q = FlipRate("q", 2.0, 5.0)
            LabelNoise("y", OUTPUTS, q, observed=LABELS)
            expected = {"q_interval__": [(2 + FLIPS.sum(), 5 + STAYS.sum())]}
        elif name == "pair":
            q = FlipRate("q", 2.0, 5.0, shape=2)
            LabelNoise("y", OUTPUTS, q[0], q[1], observed=LABELS)
            expected = {"q_interval__": [(2 + FLIPS[k], 5 + STAYS[k]) for k in (0, 1)]}
        elif name == "swapped":
            q = FlipRate("q", 2.0, 5.0, shape=2)
            LabelNoise("y", OUTPUTS, q[1], q[0], observed=LABELS)
            expected = {"q_interval__": [(2 + FLIPS[k], 5 + STAYS[k]) for k in (1, 0)]}
        elif name == "one class":
            q = FlipRate("q", 2.0, 5.0)
            LabelNoise("y", OUTPUTS, 0.1, q, observed=LABELS)
            expected = {"q_interval__": [(2 + FLIPS[1], 5 + STAYS[1])]}
        else:
            a, b = FlipRate("a", 2.0, 5.0), FlipRate("b", 1.0, 1.0)
            LabelNoise("y", OUTPUTS, a, b, observed=LABELS)
            expected = {
                "a_interval__": [(2 + FLIPS[0], 5 + STAYS[0])],
                "b_interval__": [(1 + FLIPS[1], 1 + STAYS[1])],
            }
    draws = draws_of(model, name)
    for variable, laws in expected.items():
        columns = draws[variable].reshape(len(draws[variable]), -1).T
        for column, law in zip(columns, laws, strict=True):
            assert stats.kstest(column, truncated_beta_cdf(*law)).pvalue > 1e-4


def test_is_chosen_for_its_prior_only():
    X, y = bk.data.make_two_moons(12, random_seed=1)
    for noise, expected in [
        ("infer", {"FlipRateGibbs"}),
        (pm.Uniform.dist(0, 0.3), set()),
        ((0.1, "infer"), {"FlipRateGibbs"}),
        (("infer", "infer"), {"FlipRateGibbs"}),
        (("infer", pm.Uniform.dist(0, 0.5)), {"FlipRateGibbs"}),
    ]:
        model = bk.models.label_noise_classifier(X, y, noise=noise)
        _, chosen = pm.sampling.mcmc.assign_step_methods(model)
        names = {step.__name__ for step in chosen}
        assert names & {"FlipRateGibbs"} == expected
        assert "RefractiveBilliard" in names


def test_other_uses_of_a_rate_are_refused():
    with pm.Model() as model:
        q = FlipRate("q")
        LabelNoise("y", OUTPUTS, q, observed=LABELS)
        pm.Potential("extra", -q)
    with model, pytest.raises(TypeError, match="nothing else"):
        FlipRateGibbs([q])
    with pm.Model() as model:
        q = FlipRate("q")
        LabelNoise("y", OUTPUTS, q / 2, observed=LABELS)
    with model, pytest.raises(TypeError, match="not a function"):
        FlipRateGibbs([q])
    with pm.Model() as model:
        q = FlipRate("q", shape=len(OUTPUTS))  # a rate for each point
        LabelNoise("y", OUTPUTS, q, observed=LABELS)
    with model, pytest.raises(TypeError, match="not a function"):
        FlipRateGibbs([q])
