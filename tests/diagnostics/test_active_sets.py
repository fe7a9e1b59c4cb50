"""Diagnostics of active sets on sequences whose answers are known."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import bayeskernels as bk
from bayeskernels import active_sets


def as_idata(gamma, name="gamma"):
    dims = ("chain", "draw", "obs")
    posterior = xr.Dataset({name: (dims, np.asarray(gamma))}, coords={"obs": range(gamma.shape[2])})
    return xr.DataTree.from_dict({"posterior": posterior})


def draw_sets(probability, n_chains=4, n_draws=400, seed=1):
    probability = np.asarray(probability)
    shape = (n_chains, n_draws, probability.shape[-1])
    return np.random.default_rng(seed).binomial(1, probability, size=shape)


def autoregressive(n_chains, n_draws, rho=0.9, seed=1):
    noise = np.random.default_rng(seed).standard_normal((n_chains, n_draws))
    x = noise.copy()
    for t in range(1, n_draws):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return x


def test_sizes_and_visits():
    gamma = np.zeros((2, 5, 4), dtype=int)
    gamma[0, :, 0] = 1
    gamma[0, 2:, 1] = 1
    gamma[1, :, :3] = 1
    idata = as_idata(gamma)
    n_active = active_sets.sizes(idata)
    assert n_active.dims == ("chain", "draw")
    assert n_active.values.tolist() == [[1, 1, 2, 2, 2], [3, 3, 3, 3, 3]]
    visits = active_sets.visits(idata)
    assert visits["size"].values.tolist() == [1, 2, 3]
    assert visits.values.tolist() == [[2, 3, 0], [0, 0, 5]]


def test_known_inclusion():
    gamma = np.zeros((2, 16, 3), dtype=int)
    gamma[0, ::2, 0] = 1
    gamma[:, :, 1] = 1
    gamma[1, :8, 2] = 1
    result = active_sets.inclusion(as_idata(gamma))
    assert result["by_chain"].values.tolist() == [[0.5, 1.0, 0.0], [0.0, 1.0, 0.5]]
    assert result["probability"].values.tolist() == [0.25, 1.0, 0.25]
    # Four batches of four: means 1/2 each; and 1, 1, 0, 0.
    expected = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, np.std([1, 1, 0, 0], ddof=1) / 2]])
    np.testing.assert_allclose(result["mcse_by_chain"], expected)
    np.testing.assert_allclose(result["mcse"], np.sqrt((expected**2).sum(axis=0)) / 2)


def test_errors_of_independent_and_of_sticky_indicators():
    # With 100 batches an error is within 20 percent but for 1 in 200 cases, 8 of them here.
    p = np.array([0.1, 0.5])
    result = active_sets.inclusion(as_idata(draw_sets(p, n_draws=10_000)))
    np.testing.assert_allclose(
        result["mcse_by_chain"], np.tile(np.sqrt(p * (1 - p) / 10_000), (4, 1)), rtol=0.25
    )
    sticky = np.repeat(draw_sets(p, n_draws=2000), 5, axis=1)
    slow = active_sets.inclusion(as_idata(sticky))
    np.testing.assert_allclose(
        slow["mcse_by_chain"], np.tile(np.sqrt(p * (1 - p) / 2000), (4, 1)), rtol=0.25
    )


@pytest.mark.parametrize("n_draws", [400, 401])
@pytest.mark.parametrize("p", [0.03, 0.5, 0.8])
def test_rhat_of_indicators_is_the_rank_normalised_one(n_draws, p):
    gamma = draw_sets([p, p], n_draws=n_draws)
    gamma[0, :50] = 0
    result = active_sets.agreement(as_idata(gamma))
    expected = [float(az.rhat(gamma[:, :, j])) for j in range(2)]
    np.testing.assert_allclose(result.rhat_inclusion, expected, rtol=1e-6)
    n_active = gamma.sum(axis=2)
    assert np.isclose(result.rhat_size, float(az.rhat(n_active)))
    assert result.max_rhat_inclusion == result.rhat_inclusion.max()


def test_chains_that_agree():
    """False alarms at most 5 percent: of 100 cases at most 12 but for a probability of 0.002."""
    p = np.random.default_rng(0).uniform(0, 0.3, 50)
    cases = [active_sets.agreement(as_idata(draw_sets(p, seed=seed))) for seed in range(100)]
    assert sum(case.max_z > case.z_limit for case in cases) <= 12
    assert max(case.rhat_size for case in cases) < 1.05


def test_chains_that_disagree_on_members_but_not_on_the_size():
    p = np.full((4, 1, 20), 0.2)
    p[:2, :, 3], p[2:, :, 4] = 0.6, 0.6
    gamma = draw_sets(p)
    result = active_sets.agreement(as_idata(gamma))
    assert result.rhat_size < 1.05
    assert not result.agrees()
    assert sorted(np.argsort(-result.z.values)[:2]) == [3, 4]
    assert 0.3 < result.max_difference < 0.5
    assert result.max_rhat_inclusion > 1.05


def test_chains_stuck_in_different_sets():
    gamma = np.zeros((2, 100, 4), dtype=int)
    gamma[0, :, 0] = gamma[1, :, 1] = 1
    gamma[:, :, 2] = draw_sets([0.5], n_chains=2, n_draws=100)[:, :, 0]
    result = active_sets.agreement(as_idata(gamma))
    assert np.isinf(result.rhat_inclusion.values[:2]).all()
    assert np.isinf(result.max_z)
    assert result.n_constant == 1
    assert not result.agrees()


def test_a_size_that_never_changes_has_no_rhat():
    result = active_sets.agreement(as_idata(np.ones((2, 20, 3), dtype=int)))
    assert np.isnan(result.rhat_size)
    assert result.max_z == 0.0
    assert not result.agrees()


def count_turns_by_hand(x, centre):
    path = np.cumsum(np.asarray(x, dtype=float) - centre)
    path = np.concatenate([[0.0], path])
    inner = path[1:-1]
    return ((path[:-2] > inner) & (inner < path[2:])) | ((path[:-2] < inner) & (inner > path[2:]))


def test_hairiness_is_the_mean_number_of_turns():
    x = np.random.default_rng(1).standard_normal(50)
    result = active_sets.cusum(x, symmetric=True)
    turns = count_turns_by_hand(x, x.mean())
    np.testing.assert_allclose(result["path"][0], np.cumsum(x - x.mean()))
    np.testing.assert_allclose(result["hairiness"][0, 1:], np.cumsum(turns) / np.arange(1, 50))
    half = norm.ppf(0.95) * np.sqrt(1 / (4 * np.arange(1, 50)))
    np.testing.assert_allclose(result["upper"][0, 1:], 0.5 + half)
    np.testing.assert_allclose(result["lower"][0, 1:], 0.5 - half)


def test_draws_at_the_centre_are_left_out():
    without = [1, -1, 1, 1, -1, -1, 1, -1]
    with_ties = [0, 1, 0, 0, -1, 1, 0, 1, -1, 0, -1, 1, -1, 0]
    plain = active_sets.cusum(np.array(without), centre=0.0)
    tied = active_sets.cusum(np.array(with_ties), centre=0.0)
    kept = np.flatnonzero(with_ties)
    np.testing.assert_allclose(tied["hairiness"][0, kept], plain["hairiness"][0])
    np.testing.assert_allclose(tied["upper"][0, kept], plain["upper"][0])
    assert float(plain["hairiness"][0, -1]) == 5 / 7


INDEPENDENT = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "skewed": lambda rng, shape: rng.exponential(size=shape),
    "two sizes": lambda rng, shape: 5 + rng.binomial(1, 0.3, shape),
    "few sizes": lambda rng, shape: rng.poisson(2.0, shape),
    "ties": lambda rng, shape: rng.integers(-1, 2, shape),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_draws_are_within_the_limits_nine_times_of_ten(name):
    # Standard error 0.0095 for 1000 chains: a false alarm is 4 of them away.
    x = INDEPENDENT[name](np.random.default_rng(1), (1000, 800))
    centre = 0.0 if name == "ties" else "mean"
    share = float(active_sets.cusum(x, centre=centre)["converged"].mean())
    assert share > 0.86
    assert share < (0.94 if name in ("normal", "ties") else 1.0)


def test_brooks_limits_refuse_independent_draws_of_two_sizes():
    x = INDEPENDENT["two sizes"](np.random.default_rng(1), (100, 800))
    assert not active_sets.cusum(x, symmetric=True)["converged"].values[:20].all()
    assert active_sets.cusum(x, symmetric=True)["converged"].mean() < 0.2


def test_random_walks_and_drifts_fail():
    rng = np.random.default_rng(1)
    walks = rng.standard_normal((20, 1000)).cumsum(axis=1)
    drifts = rng.standard_normal((20, 1000)) + np.linspace(0, 6, 1000)
    for series in (walks, drifts, np.round(walks), np.round(drifts)):
        result = active_sets.cusum(series)
        assert not result["converged"].any()
        assert result["burn_in"].isnull().all()


def test_a_chain_that_stands_still_fails():
    result = active_sets.cusum(np.full((1, 50), 7.0))
    assert not result["converged"].any()


def test_thinning_makes_an_autocorrelated_chain_pass():
    x = autoregressive(20, 4000)
    assert not active_sets.cusum(x)["converged"].any()
    thinned = active_sets.cusum(x, thin="auto")
    # At rho = 0.9 the autocorrelation time is 19.
    assert 30 < int(thinned["thin"]) < 50
    # 18 of 20 on average; 13 or fewer once in 400 times.
    assert int(thinned["converged"].sum()) >= 14
    assert thinned["draw"].values[1] == int(thinned["thin"])


def test_burn_in_covers_the_way_down():
    """From 200 active points to about 5: with the mean of the late draws as the centre."""
    rng = np.random.default_rng(1)
    way_down = 200 * np.exp(-np.arange(3000) / 8)
    x = np.round(way_down) + rng.poisson(5.0, (50, 3000))
    result = active_sets.cusum(x, centre="late")
    found = result["burn_in"].values[result["converged"].values]
    assert len(found) > 35
    assert np.median(found) > 30
    assert not active_sets.cusum(x[:, :60], centre=5.0)["converged"].all()


def test_burn_in_is_the_first_draw_after_the_last_outside():
    x = np.concatenate([np.full(30, 1.0), np.tile([-1.0, -1.0, 1.0, 1.0], 400)])
    result = active_sets.cusum(x, centre=0.0, symmetric=True)
    inside = (result["hairiness"] >= result["lower"]) & (result["hairiness"] <= result["upper"])
    last_outside = np.flatnonzero(~inside.values[0])[-1]
    assert float(result["burn_in"][0]) == last_outside + 1
    assert inside.values[0, -1]


def test_data_arrays_keep_their_coordinates():
    n_active = active_sets.sizes(as_idata(draw_sets([0.3] * 10, n_chains=2)))
    n_active = n_active.assign_coords(chain=[3, 4], draw=100 + np.arange(400))
    result = active_sets.cusum(n_active, thin=2)
    assert result["chain"].values.tolist() == [3, 4]
    assert result["draw"].values[:3].tolist() == [100, 102, 104]
    single = active_sets.cusum(n_active.isel(chain=0))
    assert single.sizes == {"chain": 1, "draw": 400}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence"),
        ({"thin": 0}, "thin must be"),
        ({"thin": "some"}, "thin must be"),
        ({"thin": 30}, "tells nothing"),
        ({"centre": "median"}, "centre must be"),
        ({"centre": np.nan}, "centre must be"),
    ],
)
def test_bad_options_of_cusum(options, message):
    with pytest.raises(ValueError, match=message):
        active_sets.cusum(np.arange(50.0), **options)


def test_bad_series():
    with pytest.raises(ValueError, match="shape"):
        active_sets.cusum(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="NaN"):
        active_sets.cusum([1.0, np.nan, 2.0, 1.0])
    with pytest.raises(ValueError, match="dims chain and draw"):
        active_sets.cusum(xr.DataArray(np.zeros((2, 9)), dims=("obs", "draw")))


def test_bad_draws():
    idata = as_idata(draw_sets([0.5, 0.5]))
    with pytest.raises(ValueError, match="no posterior draws of 'mine::gamma'"):
        active_sets.sizes(idata, var_name="mine::gamma")
    with pytest.raises(ValueError, match="zeros and ones"):
        active_sets.sizes(as_idata(np.full((2, 20, 3), 0.5)))
    with pytest.raises(ValueError, match="at least 2 of 8 draws"):
        active_sets.agreement(as_idata(draw_sets([0.5], n_chains=1)))
    four = xr.Dataset({"gamma": (("chain", "draw", "a", "b"), np.zeros((2, 9, 3, 2), dtype=int))})
    with pytest.raises(ValueError, match="one dim beside"):
        active_sets.sizes(xr.DataTree.from_dict({"posterior": four}))


def test_on_a_sampled_model():
    import pymc as pm

    X, y = bk.data.make_two_moons(30, random_seed=1)
    model = bk.models.generalized_kernel_model(X, y, max_active=10)
    with model:
        idata = pm.sample(200, tune=0, chains=2, cores=1, quiet=True, random_seed=1)
    n_active = active_sets.sizes(idata)
    np.testing.assert_array_equal(n_active, idata.sample_stats["rj_active"])
    assert active_sets.inclusion(idata)["probability"].dims == ("obs",)
    assert active_sets.agreement(idata).rhat_inclusion.shape == (30,)
    assert active_sets.cusum(n_active, thin="auto", centre="late").sizes["chain"] == 2
