"""The ball where a plain billiard gets stuck: few dimensions, many walls, little signal."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats
from scipy.special import betainc, betaln

import bayeskernels as bk
from bayeskernels.samplers import WallGeometry, label_costs
from bayeskernels.samplers.directions.billiards.billiard_ball import BilliardBall
from bayeskernels.samplers.directions.compiled_flip_rates import FlipRates, draw_truncated_beta
from bayeskernels.testing import check_sampler, label_noise_cells, sign_cells


def _walls(features, is_positive, q):
    geometry = WallGeometry.from_features(features, is_positive)
    return geometry.with_costs(label_costs(is_positive, q, q))


def _r_hats(walls, *, draws=500, tune=100, chains=4, seed=1, **options):
    """R-hat of the error count, the worst R-hat of 30 outputs, and the numbers of rungs."""
    errors, outputs, rungs = [], [], []
    for chain in range(chains):
        rng = np.random.default_rng([seed, chain])
        ball = BilliardBall(walls, rng.standard_normal(walls.dimension), sweeps=3, **options)
        path, counts = ball.run(rng, tune + draws)
        path /= np.linalg.norm(path, axis=1, keepdims=True)
        errors.append(counts[tune:, 0].astype(float))
        outputs.append(path[tune:] @ walls.normals[:30].T)
        rungs.append(ball.n_rungs)
    r_hat = az.rhat(
        az.convert_to_dataset({"errors": np.array(errors), "outputs": np.array(outputs)})
    )
    return float(r_hat.errors), float(r_hat.outputs.max()), rungs


STUCK = {
    "two dimensions": {"d": 2, "bias": 0.0, "share": 0.5, "q": 0.1},
    "three and a bias": {"d": 3, "bias": 1.0, "share": 0.5, "q": 0.1},
    "five and a bias": {"d": 5, "bias": 1.0, "share": 0.5, "q": 0.05},
    "rare class": {"d": 5, "bias": 0.0, "share": 0.05, "q": 0.05},
    "ten dimensions": {"d": 10, "bias": 0.0, "share": 0.5, "q": 0.05},
}


def _without_signal(d, bias, share, q, m=120, seed=1):
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.standard_normal((m, d)), np.full(m, np.sqrt(bias))])
    return _walls(features, rng.random(m) < share, q)


@pytest.mark.parametrize("name", STUCK)
def test_chains_agree_without_signal(name):
    """R-hat below 1.1 from four random starts after a short run; the seeds are fixed."""
    errors, outputs, _ = _r_hats(_without_signal(**STUCK[name]))
    assert errors < 1.1
    assert outputs < 1.1


@pytest.mark.slow
@pytest.mark.parametrize("name", STUCK)
def test_plain_pm_sample_converges_without_signal(name):
    """What users do: 200 points, all defaults. Trajectories alone end with R-hats of 1.3 to 3.3."""
    problem = STUCK[name]
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((200, problem["d"])), rng.random(200) < problem["share"]
    model = bk.models.label_noise_classifier(
        X, y, kernel=pm.gp.cov.Linear(problem["d"], c=0.0), noise=problem["q"], bias=problem["bias"]
    )
    with model:
        idata = pm.sample(chains=4, cores=1, random_seed=1, quiet=True)
    monitored = bk.diagnostics.monitor(model, idata)
    assert max(float(r_hat.max()) for r_hat in az.rhat(monitored).data_vars.values()) < 1.03


def test_a_plain_billiard_gets_stuck():
    """What the ladder is for: the same problem, the same seeds, trajectories only."""
    walls = _without_signal(**STUCK["ten dimensions"])
    _, outputs, rungs = _r_hats(walls, tempering=False, circles=False)
    assert rungs == [1] * 4
    assert outputs > 1.3


@pytest.mark.parametrize("d", [3, 10])
def test_no_ladder_where_labels_have_a_signal(d):
    rng = np.random.default_rng(2)
    features = rng.standard_normal((120, d))
    is_positive = (features[:, 0] > 0) ^ (rng.random(120) < 0.1)
    errors, outputs, rungs = _r_hats(_walls(features, is_positive, 0.1), draws=300)
    assert rungs == [1] * 4
    assert max(errors, outputs) < 1.05


def test_tiny_noise_in_two_dimensions_against_exact_cells():
    """A thin version space, and cells of one error that weigh as much (chi-square, 1e-4).

    A ball that has run into a cell has no energy for a wall of 14 nats: it stays for ever.
    """
    q = 1e-6
    angles = np.array([0.0, np.pi + 2e-6, 0.9, 2.0, 2.7, 0.4])
    features = np.column_stack([np.cos(angles), np.sin(angles)])
    is_positive = np.ones(6, dtype=bool)
    is_positive[2:] = features[2:] @ [0.0, -1.0] > 0
    exact = label_noise_cells(features, is_positive, q, q)
    ball = BilliardBall(_walls(features, is_positive, q), np.array([1.0, -1.0]))
    path, _ = ball.run(np.random.default_rng(1), 4000)
    counts = np.bincount(exact.locate(path[100::3]), minlength=len(exact.probabilities))
    often = exact.probabilities * counts.sum() > 5
    assert often.sum() >= 2
    expected = exact.probabilities[often] / exact.probabilities[often].sum()
    assert counts[often].sum() == counts.sum()
    assert stats.chisquare(counts[often], expected * counts.sum()).pvalue > 1e-4


@pytest.mark.parametrize("q", [0.02, 0.2])
def test_ladder_samples_exact_cells(q):
    """A ladder where none is needed changes nothing (chi-square, false-alarm rate 1e-4)."""
    rng = np.random.default_rng(4)
    features = rng.standard_normal((7, 3))
    is_positive = rng.random(7) < 0.5
    exact = label_noise_cells(features, is_positive, q, q)
    ball = BilliardBall(
        _walls(features, is_positive, q), np.ones(3), sweeps=3, tempering=True, circles=False
    )
    path, counted = ball.run(np.random.default_rng(1), 6000)
    assert ball.n_rungs > 2
    cell = exact.locate(path)
    counts = np.bincount(cell, minlength=len(exact.probabilities))
    often = exact.probabilities * len(path) > 5
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(exact.probabilities[often], exact.probabilities[~often].sum())
    keep = expected > 0
    assert stats.chisquare(observed[keep], expected[keep] * len(path)).pvalue > 1e-4
    walls = ball.walls
    np.testing.assert_array_equal(counted[:, 0], walls.count_errors(path @ walls.normals.T))
    np.testing.assert_allclose(ball.outputs, walls.normals @ ball.z, atol=1e-10)


@pytest.mark.parametrize(
    ("a", "b"), [(1.0, 1.0), (0.5, 3.0), (3.0, 40.0), (30.0, 28.0), (60.0, 30.0), (500.0, 20.0)]
)
def test_truncated_beta(a, b):
    """Kolmogorov-Smirnov against the exact distribution function; false-alarm rate 1e-4 each."""
    rng = np.random.default_rng(1)
    draws = np.array([draw_truncated_beta(a, b, rng) for _ in range(2000)])
    assert draws.min() > 0
    assert draws.max() < 0.5
    # The logarithm of the mass below one half is needed where it is tiny.
    cdf = betainc(a, b, draws) / betainc(a, b, 0.5)
    assert stats.kstest(cdf, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("is_shared", [True, False])
@pytest.mark.parametrize("tempering", [False, True])
def test_rates_and_errors_against_enumeration(is_shared, tempering):
    """Mean errors and rates with unknown rates, all cells summed up; 4.5 standard errors (1e-5)."""
    rng = np.random.default_rng(6)
    features = rng.standard_normal((8, 3))
    features[5], features[6], features[7] = features[0], 0.0, features[1]
    is_positive = rng.random(8) < 0.5
    is_positive[5], is_positive[7] = not is_positive[0], is_positive[1]
    alpha, beta = np.array([1.5, 1.0]), np.array([4.0, 2.0])
    geometry = WallGeometry.from_features(features, is_positive)
    walls, errors, always, totals = geometry.by_label(is_shared=is_shared)
    rates = FlipRates(np.full(2, 0.2), errors, always, totals, alpha, beta, is_shared, True)
    ball = BilliardBall(
        walls, np.ones(3), sweeps=2, flip_rates=rates, reference=2.0 * walls.jumps,
        tempering=tempering,
    )  # fmt: skip
    _, records = ball.run(np.random.default_rng(2), 20_000)
    assert (ball.n_rungs > 1) == tempering

    cells = sign_cells(features)
    wrong = (cells.signs > 0) != is_positive
    wrong[:, 6] = True  # a zero feature vector
    positive_wrong = (wrong & is_positive).sum(axis=1)
    negative_wrong = (wrong & ~is_positive).sum(axis=1)
    if is_shared:
        flips = [positive_wrong + negative_wrong]
        stays = [8 - flips[0]]
    else:
        flips = [positive_wrong, negative_wrong]
        stays = [(~is_positive).sum() - negative_wrong, is_positive.sum() - positive_wrong]
    log_mass = np.zeros(len(cells.probabilities))
    means = []
    for k, (flip, stay) in enumerate(zip(flips, stays, strict=True)):
        a, b = alpha[k] + flip, beta[k] + stay
        log_mass += betaln(a, b) + np.log(betainc(a, b, 0.5))
        means.append(a / (a + b) * betainc(a + 1, b, 0.5) / betainc(a, b, 0.5))
    posterior = cells.probabilities * np.exp(log_mass - log_mass.max())
    posterior /= posterior.sum()
    truth = [posterior @ wrong.sum(axis=1), *(posterior @ mean for mean in means)]
    drawn = records[:, [0, 4, 5][: len(truth)]]
    for values, exact in zip(drawn.T, truth, strict=True):
        batches = values.reshape(100, -1).mean(axis=1)
        assert abs(batches.mean() - exact) < 4.5 * batches.std(ddof=1) / 10


@pytest.fixture(scope="module")
def unknown_noise():
    X, y = bk.data.make_two_moons(20, random_seed=1)
    return bk.models.label_noise_classifier(X, y, noise="infer")


def test_rate_and_direction_share_a_step(unknown_noise):
    report = check_sampler(bk.samplers.RefractiveBilliard, model=unknown_noise, parallel=False)
    assert "state replay" in report.passed
    with unknown_noise:
        idata = pm.sample(20, chains=1, quiet=True, random_seed=1)
        assert "flip_rate_flips" not in idata.sample_stats
        with bk.samplers.prefer(bk.samplers.KernelGibbs):
            idata = pm.sample(20, tune=5, chains=1, quiet=True, random_seed=1)
        assert "flip_rate_flips" in idata.sample_stats
        step = bk.samplers.KernelGibbs()
        idata = pm.sample(20, tune=5, chains=1, quiet=True, random_seed=1, step=step)
        assert "flip_rate_flips" in idata.sample_stats


def test_version_space_as_thin_as_a_millionth():
    rng = np.random.default_rng(1)
    width, centre = 1e-6, 1.0
    half = 0.5 * (np.pi - width)
    angles = np.concatenate([[centre + half, centre - half], centre + rng.uniform(-1, 1, 10)])
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    y = np.where(rng.random(12) < 0.5, 1, -1)
    model = bk.models.label_noise_classifier(
        X * y[:, None], y, kernel=pm.gp.cov.Linear(2, c=0.0), noise=0.0
    )
    idata = bk.samplers.sample_directions(model, draws=300, chains=1, random_seed=1)
    # Uniform on the arc (Kolmogorov-Smirnov, 1e-4): places along it, in widths.
    w = idata.posterior.w.values[0]
    across = w @ np.linalg.svd(w)[2][1] / width
    places = across - across.min()
    assert 0.9 < np.ptp(places) < 1.001
    assert stats.kstest(places / np.ptp(places), "uniform").pvalue > 1e-4
