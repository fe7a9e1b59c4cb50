"""Chains under powers of the likelihood against exact answers."""

import numpy as np
import pytest
from scipy import stats

from bayeskernels.samplers.tempering.powered_chain import PoweredChain, PoweredTarget
from bayeskernels.testing.exact_active_sets import active_set_masses, powered_active_set_masses

PRIORS = {"g_prior": (2.0, 0.05), "eta_prior": 0.5}


def make_problem(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 2))
    positive = X[:, 0] + 0.7 * rng.standard_normal(n) > 0
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1.5), positive


def run(chain, power, n_sweeps, seed=1):
    """Active sets and log g of every sweep."""
    rng = np.random.default_rng(seed)
    chain.draw_prior(rng)
    sets, logs = [], np.empty(n_sweeps)
    for k in range(n_sweeps):
        chain.sweep(power, rng)
        sets.append(tuple(sorted(chain.points.tolist())))
        logs[k] = np.log(chain.scalars[0])
    return sets, logs


def rms_z(sets, masses, n_batches=50):
    """Root mean square of the z-scores of all sets that are to be seen fifty times or more."""
    total = sum(masses.values())
    z = []
    numbers = {points: k for k, points in enumerate(masses)}
    seen = np.array([numbers[points] for points in sets]).reshape(n_batches, -1)
    for points, mass in masses.items():
        share = mass / total
        if share * seen.size > 50:
            batches = (seen == numbers[points]).mean(axis=1)
            z.append((batches.mean() - share) / (batches.std(ddof=1) / np.sqrt(n_batches)))
    return float(np.sqrt(np.mean(np.square(z))))


def z_of_mean(values, truth, n_batches=50):
    batches = values.reshape(n_batches, -1).mean(axis=1)
    return float((batches.mean() - truth) / (batches.std(ddof=1) / np.sqrt(n_batches)))


@pytest.mark.parametrize("max_active", [3, 1])
def test_posterior_of_all_sets(max_active):
    """Power 1, six points: orthants and quadrature over g. False alarms: about one in a hundred."""
    gram, positive = make_problem(6)
    masses = active_set_masses(gram, positive, max_active, g=PRIORS["g_prior"], eta=0.5)
    chain = PoweredChain(PoweredTarget(positive, max_active, gram=gram, **PRIORS), windows=2)
    sets, _ = run(chain, 1.0, 6000)
    assert rms_z(sets, masses) < (1.3 if max_active > 1 else 1.7)


@pytest.mark.slow
@pytest.mark.parametrize("is_fixed", [True, False], ids=["fixed", "random"])
def test_posterior_of_all_sets_of_eight(is_fixed):
    gram, positive = make_problem(8)
    g = 0.7 if is_fixed else (2.0, 0.05)
    masses = active_set_masses(gram, positive, 4, g=g, eta=0.5)
    target = PoweredTarget(positive, 4, gram=gram, g_prior=g, eta_prior=0.5)
    sets, _ = run(PoweredChain(target, windows=2), 1.0, 40_000)
    assert rms_z(sets, masses) < 1.3


@pytest.mark.parametrize("power", [0.4, 1.0])
def test_intermediate_power(power):
    """Three points, by quadrature over everything; the sets and log g.

    Offset and coefficients are free to be large, so that the power matters.
    """
    gram = np.array([[1.0, 0.3, 0.1], [0.3, 1.0, 0.3], [0.1, 0.3, 1.0]])
    positive = np.array([True, False, True])
    masses, mean_log_g = powered_active_set_masses(
        gram, positive, 2, g=(2.0, 10.0), eta=0.5, power=power, size=20
    )
    target = PoweredTarget(positive, 2, gram=gram, g_prior=(2.0, 10.0), eta_prior=0.5)
    sets, logs = run(PoweredChain(target, windows=2), power, 6000)
    assert rms_z(sets, masses) < 1.8  # of seven sets
    assert abs(z_of_mean(logs, mean_log_g)) < 3.5


def test_power_zero_leaves_the_prior():
    """Sweeps at power zero: sizes are uniform, log g and log eta have their Gamma priors."""
    gram, positive = make_problem(6)
    target = PoweredTarget(positive, 4, gram=gram, g_prior=(2.0, 0.05), eta_prior=(0.5, 0.05))
    chain = PoweredChain(target, windows=2)
    sets, logs = run(chain, 0.0, 6000)
    sizes = np.array([len(points) for points in sets], dtype=float)
    assert abs(z_of_mean(sizes, 2.0)) < 3.5
    exact = stats.gamma(2.0, scale=1 / 0.05).expect(np.log)
    assert abs(z_of_mean(logs, exact)) < 3.5


def test_draws_of_the_prior():
    gram, positive = make_problem(6)
    target = PoweredTarget(positive, 4, gram=gram).with_references((3.0, 2.0), (1.0, 1.0))
    chain = PoweredChain(target)
    rng = np.random.default_rng(1)
    sizes, g = [], []
    for _ in range(4000):
        chain.draw_prior(rng)
        sizes.append(len(chain.points))
        g.append(chain.scalars[0])
    assert stats.chisquare(np.bincount(sizes, minlength=5)).pvalue > 1e-3
    assert stats.kstest(g, stats.gamma(3.0, scale=0.5).cdf).pvalue > 1e-3


def test_references_do_not_matter_at_power_one():
    """The target at power 1 is the posterior whatever the references are."""
    gram, positive = make_problem(6)
    plain = PoweredTarget(positive, 3, gram=gram)
    other = plain.with_references((1.0, 3.0), (2.0, 2.0))
    assert other.hyper(1.0) == pytest.approx(plain.hyper(1.0))
    assert other.hyper(0.0) == (1.0, 3.0, 2.0, 2.0)
    ratio = other.energy(-2.0, 0.3, 0.4) - plain.energy(-2.0, 0.3, 0.4)
    by_scipy = sum(
        stats.gamma(a, scale=1 / b).logpdf(x) - stats.gamma(c, scale=1 / d).logpdf(x)
        for (a, b), (c, d), x in zip(
            plain.priors, ((1.0, 3.0), (2.0, 2.0)), (0.3, 0.4), strict=True
        )
    )
    assert ratio == pytest.approx(by_scipy)


def test_carried_predictor_and_columns():
    """Predictor, whitened columns and coefficients agree with the kernel after many moves."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 2))
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    chain = PoweredChain(PoweredTarget(X[:, 0] > 0, 20, gram=gram))
    chain.draw_prior(rng)
    for _ in range(150):
        chain.sweep(0.6, rng)
    points, (_, _, u) = chain.points, chain.scalars
    k = len(points)
    assert sorted(points) == np.flatnonzero(chain.active.is_active).tolist()
    np.testing.assert_allclose(u + chain.beta @ gram[points], chain.f, atol=1e-6)
    V = chain.active.V[0, :k]
    np.testing.assert_allclose(V, chain.active.T[0, :k, :k] @ gram[points], atol=1e-6)
    where, f = chain.state, chain.f.copy()
    chain.place(where)
    np.testing.assert_allclose(chain.f, f, atol=1e-6)
    assert chain.energy == pytest.approx(where.energy, abs=1e-6)


def test_columns_on_demand_give_the_same_posterior():
    """Where the kernel matrix is not stored, the same moves are made."""
    gram, positive = make_problem(6)
    options = {"columns": gram.__getitem__, "diagonal": np.diag(gram)}
    chains = [
        PoweredChain(PoweredTarget(positive, 3, **kernel), windows=2)
        for kernel in ({"gram": gram}, options)
    ]
    first, second = (run(chain, 1.0, 50) for chain in chains)
    assert first[0] == second[0]
    np.testing.assert_allclose(first[1], second[1])


def test_far_tails_of_the_prior():
    """Draws of a heavy-tailed prior may lie anywhere; a sweep from there stays finite."""
    gram, positive = make_problem(6)
    chain = PoweredChain(PoweredTarget(positive, 6, gram=gram))
    rng = np.random.default_rng(1)
    for offset in (1e3, -1e6, 1e9):
        chain.draw_prior(rng)
        chain.scalars[1:] = 1 / offset**2, offset
        chain._set_predictor()
        for _ in range(5):
            chain.sweep(0.01, rng)
        assert np.isfinite(chain.f).all()
        assert np.isfinite(chain.energy)
