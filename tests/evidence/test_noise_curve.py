"""Evidence of label-noise classifiers by tempering: exact cells, refusals, storage, calibration."""

import itertools

import numpy as np
import pymc as pm
import pytest
from scipy.integrate import quad
from scipy.stats import beta

import bayeskernels as bk
from bayeskernels.distributions import FlipRate
from bayeskernels.evidence import Evidence
from bayeskernels.evidence.noise_curve import noise_nodes
from bayeskernels.testing import label_noise_cells

RATES = [0.0, 0.02, 0.1, 0.3]


def _problem(seed):
    """Points in two or three dimensions, some labels flipped, now and then awkward ones."""
    rng = np.random.default_rng(seed)
    m, r = int(rng.integers(6, 16)), 2 + seed % 2
    features = rng.standard_normal((m, r))
    if seed % 5 == 0:
        features[1] = -0.5 * features[0]
    y = (features @ rng.standard_normal(r) > 0) ^ (rng.random(m) < 0.1)
    if seed % 10 == 5:
        features[3], y[3] = features[2], not y[2]
    y[0] = not y[1:].all()
    return features, y


def _noisy_moons(m, rate, seed):
    X, y = bk.data.make_two_moons(m, random_seed=seed)
    return X, bk.data.flip_labels(y, rate, random_seed=seed)[0]


def _exact(features, y, q):
    try:
        return label_noise_cells(features, y, q).log_evidence
    except ValueError:
        return -np.inf


def _classifier(features, y, **options):
    return bk.models.label_noise_classifier(None, y, kernel=features @ features.T, **options)


def _estimate(model, **options):
    options = {"method": "tempering", "progressbar": False, "random_seed": 1, **options}
    return bk.evidence.estimate(model, **options)


@pytest.mark.parametrize("seed", [0, 5])
def test_curve_equals_exact_areas(seed):
    features, y = _problem(seed)
    evidence = _estimate(_classifier(features, y, noise=0.1), lowest=0.0)
    curve = evidence.curve(RATES)
    exact = np.array([_exact(features, y, q) for q in RATES])
    for value, truth, error in zip(
        curve.log_evidence.values, exact, curve.mcse.values, strict=True
    ):
        assert (value == truth) if np.isinf(truth) else abs(value - truth) < 0.08
        assert np.isinf(truth) or abs(value - truth) < 4 * error
    assert evidence.log_evidence == pytest.approx(float(curve.log_evidence[2]))
    posterior = label_noise_cells(features, y, 0.1)
    assert float(curve.errors[2]) == pytest.approx(
        posterior.probabilities @ posterior.errors, abs=0.05
    )


@pytest.mark.slow
def test_curves_of_twenty_problems_equal_exact_areas():
    # Errors of about 0.012 nats: a limit of 0.05 is four of them, for 80 numbers.
    for seed in range(20):
        features, y = _problem(seed)
        model = _classifier(features, y, noise=0.1)
        curve = _estimate(model, lowest=0.0, draws=20_000, tune=400, cores=1).curve(RATES)
        for q, value in zip(RATES, curve.log_evidence.values, strict=True):
            truth = _exact(features, y, q)
            assert (value == truth) if np.isinf(truth) else abs(value - truth) < 0.05


@pytest.mark.slow
def test_errors_are_calibrated():
    """The truth lies within two errors in at least 85% of 50 short runs, at several levels."""
    features, y = _problem(3)
    rates = [0.02, 0.1, 0.3]
    exact = np.array([_exact(features, y, q) for q in rates])
    model = _classifier(features, y, noise=0.1)
    within = []
    for seed in range(50):
        curve = _estimate(model, random_seed=seed, draws=150, tune=100, lowest=0.02, cores=1).curve(
            rates
        )
        within.append(np.abs(curve.log_evidence.values - exact) < 2 * curve.mcse.values)
    assert np.mean(within, axis=0).min() >= 0.85


def test_random_noise_is_integrated():
    features, y = _problem(2)
    prior = FlipRate.dist(2, 9)

    def joint(q):
        return np.exp(_exact(features, y, q) + pm.logp(prior, q).eval())

    # Few nodes will do: the function is a polynomial in q.
    nodes, weights = np.polynomial.legendre.leggauss(12)
    exact = np.log(
        sum(0.25 * w * joint(0.25 + 0.25 * x) for x, w in zip(nodes, weights, strict=True))
    )
    evidence = _estimate(_classifier(features, y, noise=FlipRate.dist(2, 9)))
    assert abs(evidence.log_evidence - exact) < 4 * evidence.mcse < 0.3
    flat = evidence.noise_posterior(lambda q: np.full_like(q, np.log(2)))
    own = evidence.noise_posterior()
    assert own.log_evidence == pytest.approx(evidence.log_evidence)
    assert own.interval[0] > flat.interval[0]  # this prior vanishes at zero


def test_quadrature_over_noise_levels_is_exact():
    q, weights = noise_nodes()
    assert weights.sum() == pytest.approx(0.5, abs=1e-8)
    assert weights @ (q**3 * (1 - q) ** 7) == pytest.approx(
        quad(lambda x: x**3 * (1 - x) ** 7, 0, 0.5)[0], rel=1e-10
    )


def test_posterior_of_the_noise_level_of_independent_points():
    """Independent outputs: errors are binomial in the prior, and the evidence does not know q."""
    evidence = _estimate(_classifier(np.eye(3), [0, 1, 1], noise=0.1), lowest=0.0)
    curve = evidence.curve([0.0, 0.1, 0.4, 0.5])
    np.testing.assert_allclose(
        curve.log_evidence, 3 * np.log(0.5), atol=4 * curve.mcse.max() + 1e-9
    )
    posterior = evidence.noise_posterior(probability=0.5)
    low, high = posterior.interval
    assert high - low == pytest.approx(0.25, abs=0.02)
    assert posterior.mean == pytest.approx(0.25, abs=0.02)


def test_rates_by_class():
    features, y = _problem(7)
    exact = label_noise_cells(features, y, 0.05, 0.2).log_evidence
    evidence = _estimate(_classifier(features, y, noise=(0.05, 0.2)))
    assert abs(evidence.log_evidence - exact) < 4 * evidence.mcse < 0.3
    with pytest.raises(TypeError, match="one number, not a curve"):
        evidence.curve([0.1])
    with pytest.raises(TypeError, match="small rate"):
        _estimate(_classifier(np.eye(2), [0, 1], noise=(0.0, 0.2)))


def test_unknown_rates_by_class_and_unknown_widths_are_refused():
    X = np.arange(6.0)[:, None]
    y = np.arange(6) > 2
    with pytest.raises(TypeError, match="unknown rates differ by class"):
        _estimate(bk.models.label_noise_classifier(X, y, noise=("infer", "infer")))
    with pm.Model() as model:
        width = pm.HalfNormal("width")
        bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(1, ls=width), noise=0.1)
    with pytest.raises(TypeError, match=r"width.* is unknown.*bk\.evidence\.scan"):
        _estimate(model)
    with pytest.raises(TypeError, match="label_noise_classifier"):
        _estimate(bk.models.gaussian_mean([1.0, 2.0]))


def test_levels_below_the_ladder_are_refused():
    X, y = _noisy_moons(40, 0.2, 1)
    evidence = _estimate(bk.models.label_noise_classifier(X, y, noise=0.2), lowest=0.1, draws=100)
    assert evidence.lowest == pytest.approx(0.1)
    with pytest.raises(ValueError, match=r"down to q = 0\.1.*lowest=0\.01"):
        evidence.curve([0.01, 0.2])
    with pytest.raises(ValueError, match=r"\[0, 1/2\]"):
        evidence.curve([0.7])
    with pytest.raises(ValueError, match="draws must be at least 20"):
        _estimate(bk.models.label_noise_classifier(X, y, noise=0.2), draws=3)


def test_a_ladder_covers_the_posterior_of_the_noise_level_by_itself():
    X, y = _noisy_moons(60, 0.1, 2)
    evidence = _estimate(bk.models.label_noise_classifier(X, y, noise=0.3), draws=100)
    assert evidence.lowest < 0.05
    assert evidence.noise_posterior().interval[0] > evidence.lowest


def test_seeds_threads_storage_and_repetitions():
    features, y = _problem(4)
    model = _classifier(features, y, noise=0.2)
    one = _estimate(model, draws=200, cores=1)
    two = _estimate(model, draws=200, cores=2)
    assert (
        one.log_evidence
        == two.log_evidence
        != _estimate(model, draws=200, random_seed=2).log_evidence
    )
    back = Evidence.from_datatree(one.to_datatree())
    assert isinstance(back, type(one))
    assert back.curve([0.1, 0.3]).identical(one.curve([0.1, 0.3]))
    both = _estimate(model, draws=200, repetitions=3)
    curve = both.curve([0.2])
    assert float(curve.log_evidence[0]) == pytest.approx(both.log_evidence)
    assert float(curve.mcse[0]) == pytest.approx(both.mcse, rel=0.05)
    assert both.noise_posterior().log_evidence < 0


def test_few_round_trips_are_reported():
    X, y = _noisy_moons(100, 0.2, 1)
    evidence = _estimate(bk.models.label_noise_classifier(X, y, noise=0.1), draws=20, tune=10)
    assert "round trips" in evidence.warning or "swap" in evidence.warning


@pytest.mark.slow
def test_planted_noise_levels_lie_within_their_intervals():
    """Labels of functions drawn from the prior; 94% intervals, 30 sets.

    Fewer than 25 happen by chance with probability 0.6%. ``benchmarks/evidence.py`` has 90 sets.
    """
    m, inside = 300, 0
    for rate, seed in itertools.product((0.05, 0.1, 0.2), range(10)):
        rng = np.random.default_rng([seed, int(1000 * rate)])
        X = rng.uniform(-2.0, 2.0, (m, 2))
        gram = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
        f = np.linalg.cholesky(gram + 1e-8 * np.eye(m)) @ rng.standard_normal(m)
        y, _ = bk.data.flip_labels(np.where(f > 0, 1, -1), rate, random_seed=rng)
        model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=1.0))
        evidence = _estimate(model, draws=300, tune=100, ladders=2, cores=1)
        low, high = evidence.noise_posterior().interval
        inside += low <= rate <= high
        assert high - low < 0.3
    assert inside >= 25


@pytest.mark.parametrize(
    "prior",
    [
        pm.Uniform.dist(0.2999, 0.3001),
        pm.Uniform.dist(0.3 - 1e-9, 0.3 + 1e-9),
        pm.Beta.dist(30_000.1, 70_000.1),
        pm.Beta.dist(30_000.0, 70_000.0),
        pm.Beta.dist(3e8, 7e8),
        pm.Truncated.dist(pm.Normal.dist(0.3, 1e-5), lower=0.0, upper=0.5),
    ],
    ids=["uniform", "hairline", "beta", "beta of round numbers", "beta of large numbers", "normal"],
)
def test_narrow_priors(prior):
    """They are as good as a fixed level, wherever the nodes of a quadrature lie."""
    features, y = _problem(1)
    evidence = _estimate(_classifier(features, y, noise=prior), draws=300, lowest=0.02)
    fixed = evidence.curve([0.3])
    assert evidence.log_evidence == pytest.approx(float(fixed.log_evidence[0]), abs=1e-3)
    again = Evidence.from_datatree(evidence.to_datatree())
    assert again.noise_posterior().mean == pytest.approx(0.3, abs=1e-4)


def test_a_narrow_prior_against_quadrature():
    """Five standard errors: a false alarm in 2 million."""
    features, y = _problem(1)
    a, b = 20_000.0, 80_000.0
    model = _classifier(features, y, noise=pm.Beta.dist(a, b))
    evidence = _estimate(model, draws=1000)
    exact, _ = quad(
        lambda q: np.exp(_exact(features, y, q)) * beta.pdf(q, a, b), 0.19, 0.21, points=[0.2]
    )
    assert abs(evidence.log_evidence - np.log(exact)) < 5 * evidence.mcse
    assert evidence.mcse < 0.05


def test_priors_beyond_the_ladder():
    features, y = _problem(1)
    model = _classifier(features, y, noise=pm.Uniform.dist(1e-9, 2e-9))
    assert "below" in _estimate(model, draws=300).warning
    assert "below" not in _estimate(model, draws=300, lowest=1e-9).warning


def test_priors_that_are_not_normalised():
    features, y = _problem(1)
    evidence = _estimate(_classifier(features, y, noise=0.1), draws=200)
    with pytest.raises(ValueError, match=r"has the integral 0\.5 over"):
        evidence.noise_posterior(lambda q: np.zeros_like(q))
    with pytest.raises(ValueError, match="has the integral 0 over"):
        evidence.noise_posterior(lambda q: np.where(abs(q - 0.3) < 1e-9, np.log(5e8), -np.inf))
