"""Does calibration see planted errors, and leave right draws alone?

Posterior draws are in closed form or by the bare billiard here, so that a replication takes
milliseconds; `tests/models/test_calibration.py` goes through ``pm.sample``.
"""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

import bayeskernels as bk
from bayeskernels.testing import check_calibration, simulate_calibration
from bayeskernels.testing.calibration import PlainSample, ReusedSteps
from bayeskernels.testing.uniformity import uniformity_p_value

OPTIONS = {"replications": 100, "random_seed": 1}


def draws_of(**variables):
    values = {name: (("chain", "draw"), v[None]) for name, v in variables.items()}
    return {"posterior": xr.Dataset(values)}


def gaussian_sampler(prior_sd=1.0, weight=1.0, sign=1.0, spread=1.0):
    """Exact draws of the mean of a Gaussian with sd one; other arguments plant an error."""

    def sample(model, seed):
        x = model["x_data"].get_value()
        precision = 1 / prior_sd**2 + weight * len(x)
        mean = sign * weight * x.sum() / precision
        rng = np.random.default_rng(seed)
        return draws_of(mu=mean + spread * rng.standard_normal(19) / np.sqrt(precision))

    return sample


@pytest.fixture(scope="module")
def gaussian():
    return bk.models.gaussian_mean(np.zeros(4))


def test_p_values_are_uniform():
    rng = np.random.default_rng(1)
    p = [uniformity_p_value(rng.integers(20, size=60), 19) for _ in range(100)]
    # False-alarm rate 0.001; p-values are discrete, so each may only be too large.
    assert stats.kstest(p, "uniform", alternative="greater").pvalue > 0.001


@pytest.mark.parametrize(("n", "largest"), [(4, 2), (5, 3)])
def test_p_value_is_that_of_an_enumeration(n, largest):
    def smallest_tail(ranks):
        below = np.cumsum(np.bincount(ranks, minlength=largest + 1))[:-1]
        shares = np.arange(1, largest + 1) / (largest + 1)
        tails = stats.binom.cdf(below, n, shares), stats.binom.sf(below - 1, n, shares)
        return np.min(tails)

    everything = np.stack(np.meshgrid(*[range(largest + 1)] * n), axis=-1).reshape(-1, n)
    statistics = np.array([smallest_tail(ranks) for ranks in everything])
    for ranks in (everything[0], everything[7], everything[-2]):
        expected = np.mean(statistics <= smallest_tail(ranks) * (1 + 1e-9))
        assert uniformity_p_value(ranks, largest) == pytest.approx(expected, abs=1e-12)


def test_right_draws_are_calibrated(gaussian):
    report = check_calibration(gaussian, sample=gaussian_sampler(), **OPTIONS)
    assert report.ranks["mu"].shape == (100,)
    # The standard error of the mean of 100 correlations of 19 draws is 0.024.
    assert abs(report.autocorrelations["mu"]) < 0.1
    assert "log likelihood" in str(report)


def test_data_are_put_back(gaussian):
    simulate_calibration(gaussian, sample=gaussian_sampler(), replications=2, random_seed=1)
    assert (gaussian["x_data"].get_value() == 0.0).all()


@pytest.mark.parametrize(
    "error", [{"prior_sd": 0.5}, {"weight": 3.0}, {"sign": -1.0}, {"spread": 0.5}, {"spread": 2.0}]
)
def test_wrong_draws_are_not(gaussian, error):
    with pytest.raises(AssertionError, match="uniform ranks"):
        check_calibration(gaussian, sample=gaussian_sampler(**error), **OPTIONS)


def test_only_the_log_likelihood_sees_data_that_are_ignored(gaussian):
    report = simulate_calibration(gaussian, sample=gaussian_sampler(weight=0.0), **OPTIONS)
    assert report.p_values["mu"] > 0.001  # false-alarm rate
    assert report.p_values["log likelihood"] < 1e-6


X = np.random.default_rng(1).normal(size=(8, 2))


def classifier(noise):
    return bk.models.label_noise_classifier(X, np.arange(8) % 2, noise=noise)


def billiard(other=None, sign=1.0):
    """Draws by the bare billiard; another model or sign plants an error."""

    def sample(model, seed):
        if other is not None:
            with other:
                pm.set_data({"y_data": model["y_data"].get_value()})
        idata = bk.samplers.sample_directions(other or model, draws=57, chains=1, random_seed=seed)
        return {"posterior": sign * idata["posterior"].to_dataset()}

    return sample


def test_label_noise_is_calibrated():
    check_calibration(classifier(0.1), sample=billiard(), **OPTIONS)


@pytest.mark.parametrize("error", [{"other": classifier(0.35)}, {"sign": -1.0}])
def test_wrong_flip_rate_or_sign_shows(error):
    with pytest.raises(AssertionError, match="uniform ranks"):
        check_calibration(classifier(0.1), sample=billiard(**error), **OPTIONS)


def test_reused_steps_give_the_draws_of_pm_sample():
    model = classifier("infer")
    reused, plain = ReusedSteps(model, 10, 5), PlainSample(10, 5)
    for labels in (np.arange(8) % 2, np.arange(8) < 6):
        with model:
            pm.set_data({"y_data": labels.astype(int)})
        draws, expected = (sample(model, 7)["posterior"] for sample in (reused, plain))
        for name in ("w", "noise"):
            np.testing.assert_allclose(draws[name], expected[name], rtol=1e-12)


def test_likelihood_that_is_a_potential():
    with pm.Model() as model:
        mu = pm.Normal("mu")
        data = pm.Data("x_data", np.zeros(4))
        pm.Potential("x", pm.logp(pm.Normal.dist(mu), data).sum())

    def simulate(truth, rng):
        return {"x_data": truth["mu"] + rng.standard_normal(4)}

    check_calibration(model, sample=gaussian_sampler(), simulate=simulate, **OPTIONS)
    with pytest.raises(AssertionError, match="uniform ranks"):
        check_calibration(model, sample=gaussian_sampler(sign=-1), simulate=simulate, **OPTIONS)
    assert (data.get_value() == 0.0).all()


def test_ties_are_broken_at_random():
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        pm.Binomial("coins", 1, p, shape=2)
        pm.Bernoulli("y", p, observed=pm.Data("y_data", np.zeros(1, dtype=int)))

    def sample(model, seed):
        rng = np.random.default_rng(seed)
        y = int(model["y_data"].get_value()[0])
        p = rng.beta(1 + y, 2 - y, size=19)
        coins = rng.binomial(1, p[:, None], size=(19, 2))
        drawn = draws_of(p=p)
        drawn["posterior"]["coins"] = (("chain", "draw", "coin"), coins[None])
        return drawn

    report = check_calibration(model, sample=sample, **OPTIONS)
    assert set(report.ranks) == {"p", "sum of coins", "output 0 of y", "log likelihood"}


def test_refusals(gaussian):
    with pytest.raises(ValueError, match="kept must be"):
        simulate_calibration(gaussian, draws=10, kept=19)
    with pytest.raises(ValueError, match="scalar graph"):
        simulate_calibration(gaussian, quantities={"data": gaussian["x_data"]})
    with pytest.raises(ValueError, match="refused 5000"):
        simulate_calibration(gaussian, accept=lambda data: False)
    with pm.Model() as fixed:
        pm.Normal("y", pm.Normal("mu"), observed=[1.0])
    with pytest.raises(ValueError, match=r"pm\.Data"):
        simulate_calibration(fixed)
    with pm.Model() as empty:
        pm.Normal("y", 0.0, observed=[1.0])
    with pytest.raises(ValueError, match="no free variables"):
        simulate_calibration(empty)
