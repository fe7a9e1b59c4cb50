"""The billiard as PyMC sees it: conformance, statistics, state, errors, directions by row."""

import pickle

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayeskernels as bk
from bayeskernels.distributions import LabelNoise, UniformSphere
from bayeskernels.samplers import Billiard, RefractiveBilliard, prefer
from bayeskernels.testing import check_sampler, label_noise_cells

QUICK = {
    "quiet": True,
    "progressbar": False,
    "compute_convergence_checks": False,
    "random_seed": 1,
}
VARIANTS = ["geodesic", "chord"]


def version_space_model(n_points=20, length_scale=0.5):
    X, y = bk.data.make_two_moons(n_points, scatter=0.1, random_seed=1)
    kernel = pm.gp.cov.ExpQuad(2, ls=length_scale)
    return bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.0)


@pytest.fixture(scope="module")
def model():
    return version_space_model()


@pytest.mark.parametrize("variant", VARIANTS)
def test_conformance(variant, model):
    # Directions come in blocks of 128, and outputs are recomputed after 32 draws.
    report = check_sampler(
        lambda: Billiard(variant=variant, path_length=20.0),
        model=model,
        n_steps=80,
    )
    assert report.passed == ["protocol", "seeds", "per-chain reset", "state replay", "cores"]


def test_known_answers():
    """Exact cells of a version space at a false-alarm rate of 1e-4 in all."""
    rng = np.random.default_rng(1)
    features = rng.standard_normal((4, 3))
    labels = (features @ rng.standard_normal(3) > 0).astype(int)
    model = bk.models.label_noise_classifier(
        features, labels, kernel=lambda X, Z: X @ Z.T, noise=0.0
    )
    inner = bk.specification_of(model).feature_map.factor.features
    exact = label_noise_cells(inner, labels == 1, 0.0, probes=rng.standard_normal((4, 3)))
    assert len(exact.probabilities) > 3

    def inside(posterior, k):
        w = posterior["w"].values
        cell = exact.locate(w.reshape(-1, 3)).reshape(w.shape[:2])
        return posterior["w"][..., 0].copy(data=(cell == k).astype(float))

    report = check_sampler(
        lambda: Billiard(path_length=4.0),
        model=model,
        parallel=False,
        exact_means={
            f"cell {k}": (lambda p, k=k: inside(p, k), p_cell)
            for k, p_cell in enumerate(exact.probabilities)
        },
        draws=1000,
        tune=50,
    )
    assert "exact means" in report.passed
    assert min(report.effective_draws.values()) > 1000


@pytest.mark.parametrize("variant", VARIANTS)
def test_centre_is_recorded_the_same_on_one_core_and_two(variant, model):
    third = {"geodesic": "billiard_capped", "chord": "billiard_converged"}[variant]
    runs = []
    for cores in (1, 2):
        with model:
            step = Billiard(variant=variant, path_length=5.0)
            runs.append(pm.sample(30, tune=10, chains=2, cores=cores, step=step, **QUICK))
    one, two = (run.sample_stats for run in runs)
    centre = one["billiard_centre"]
    assert centre.shape == (2, 30, 20)
    assert centre.dtype == np.float64
    assert {name for name in one.data_vars if name.startswith("billiard")} == {
        "billiard_bounces",
        "billiard_refreshments",
        "billiard_centre",
        third,
    }
    for name in one.data_vars:
        if name.startswith("billiard"):
            np.testing.assert_array_equal(one[name], two[name])
    assert not np.array_equal(centre[0], centre[1])
    lengths = np.linalg.norm(centre, axis=-1)
    if variant == "chord":
        np.testing.assert_allclose(lengths, 1.0)
    else:
        assert lengths.max() < 1.0


def test_centre_is_part_of_what_a_state_replays(model):
    with model:
        step, fresh = Billiard(path_length=7.0), Billiard(path_length=7.0)
    step.setup_chain(np.random.default_rng(1), 0, 100)
    point = model.initial_point(0)
    for _ in range(50):
        point, _ = step.step(point)
    fresh.sampling_state = pickle.loads(pickle.dumps(step.sampling_state))
    velocity = step.samplers[0].v.copy()
    other = point
    for _ in range(50):
        point, [stats] = step.step(point)
        other, [stats_again] = fresh.step(other)
        np.testing.assert_array_equal(point["w_unitvector__"], other["w_unitvector__"])
        for name, value in stats.items():
            np.testing.assert_array_equal(value, stats_again[name])
    assert not np.array_equal(velocity, fresh.samplers[0].v)


def test_default_run_finds_the_centre_of_the_refractive_billiard():
    """Outputs at 60 points, default settings: |z| < 5 fails by chance in 3 runs of 100,000."""
    model = version_space_model(60)
    with model:
        rolled = pm.sample(step=Billiard(), chains=2, cores=1, **QUICK)
        bounced = pm.sample(chains=2, cores=1, **QUICK)
    assert "refractive_errors" in bounced.sample_stats
    assert int(rolled.sample_stats["billiard_capped"].sum()) == 0
    features = bk.specification_of(model).feature_map.factor.features

    def moments(w):
        f = w.values @ features.T
        batches = f.reshape(50, 40, -1).mean(axis=1)
        return batches.mean(axis=0), batches.var(axis=0, ddof=1) / 50

    (mean_1, error_1), (mean_2, error_2), (mean_3, error_3) = map(
        moments,
        (rolled.sample_stats["billiard_centre"], bounced.posterior["w"], rolled.posterior["w"]),
    )
    assert np.abs((mean_1 - mean_2) / np.sqrt(error_1 + error_2)).max() < 5
    assert np.abs((mean_3 - mean_2) / np.sqrt(error_3 + error_2)).max() < 5


def test_prefer_and_options(model):
    with model, prefer(Billiard):
        short = pm.sample(20, tune=0, chains=1, billiard={"path_length": 1.0}, **QUICK)
        long = pm.sample(20, tune=0, chains=1, billiard={"path_length": 20.0}, **QUICK)
    bounces = [float(run.sample_stats["billiard_bounces"].mean()) for run in (short, long)]
    assert bounces[1] > 10 * bounces[0]
    with model:
        _, steps = pm.sampling.mcmc.assign_step_methods(model)
    assert list(steps) == [RefractiveBilliard]


def test_without_centre(model):
    with model:
        step = Billiard(record_centre=False)
        idata = pm.sample(10, tune=0, chains=1, step=step, **QUICK)
    assert "billiard_centre" not in idata.sample_stats
    assert "billiard_centre" in Billiard.stats_dtypes_shapes


@pytest.mark.parametrize("variant", VARIANTS)
def test_directions_by_row(variant):
    rng = np.random.default_rng(2)
    A, W = rng.standard_normal((15, 4)), rng.standard_normal((3, 4))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    codes = (A @ W.T > 0).astype(int)
    with pm.Model(coords={"class": list("abc"), "basis": range(4)}) as model:
        w = UniformSphere("w", dims=("class", "basis"), initval=W)
        LabelNoise("y", pt.dot(A, w.T), 0.0, observed=codes)
        step = Billiard(variant=variant)
        idata = pm.sample(200, tune=0, chains=1, step=step, **QUICK)
    assert idata.posterior["w"].dims == ("chain", "draw", "class", "basis")
    draws = idata.posterior["w"].values[0]
    np.testing.assert_allclose(np.linalg.norm(draws, axis=-1), 1.0)
    assert np.array_equal(np.einsum("mr,dkr->dmk", A, draws) > 0, np.tile(codes > 0, (200, 1, 1)))
    assert idata.sample_stats["billiard_centre"].shape == (1, 200, 3, 4)
    replay = check_sampler(lambda: Billiard(variant=variant), model=model, parallel=False)
    assert "state replay" in replay.passed


def test_walls_in_other_places():
    """A kernel that another step moves: the ball goes on where it is, with its velocity."""
    rng = np.random.default_rng(3)
    A, w = rng.standard_normal((12, 5)), rng.standard_normal(5)
    w /= np.linalg.norm(w)
    with pm.Model() as model:
        stretch = pm.Normal("stretch", 0.0, 1.0)
        direction = UniformSphere("w", 5, initval=w)
        features = A * (1.0 + stretch * np.eye(5)[0])
        LabelNoise("y", pt.dot(features, direction), 0.0, observed=(A @ w > 0).astype(int))
        step, chord = Billiard(), Billiard(variant="chord")
    for each in (step, chord):
        each.setup_chain(np.random.default_rng(1), 0, 10)
        point = {**model.initial_point(0), "stretch": np.asarray(0.0)}
        point, _ = each.step(point)
        moved = {**point, "stretch": np.asarray(1e-6)}
        assert np.isfinite(model.compile_logp()(moved))
        point, _ = each.step(moved)
        assert np.isfinite(model.compile_logp()(point))
    ball = step.samplers[0]
    np.testing.assert_allclose(ball.outputs, ball.walls.normals @ ball.w, atol=1e-12)
    np.testing.assert_allclose(ball.output_velocities, ball.walls.normals @ ball.v, atol=1e-12)
    far = {**point, "w_unitvector__": -point["w_unitvector__"]}
    with pytest.raises(ValueError, match="outside the version space"):
        step.step(far)


def test_event_cap_is_counted_and_said(model, caplog):
    with model:
        step = Billiard(path_length=30.0, max_events=3)
        idata = pm.sample(20, tune=0, chains=1, step=step, **QUICK)
    assert int(idata.sample_stats["billiard_capped"].sum()) > 0
    assert caplog.text.count("given up") == 1


def test_label_noise_is_refused():
    X, y = bk.data.make_two_moons(16, random_seed=1)
    noisy = bk.models.label_noise_classifier(X, y, noise=0.1)
    for variant in VARIANTS:
        with noisy:
            step = Billiard(variant=variant)
        step.setup_chain(np.random.default_rng(1), 0, 10)
        with pytest.raises(ValueError, match="RefractiveBilliard"):
            step.step(noisy.initial_point(0))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"variant": "straight"}, ValueError, "chord"),
        ({"path_length": 0.0}, ValueError, "path_length"),
        ({"refresh_rate": -1.0}, ValueError, "refresh_rate"),
        ({"max_events": 0}, ValueError, "max_events"),
        ({"sweeps": 3}, TypeError, "path_length"),
    ],
)
def test_bad_options(options, error, message, model):
    with model, pytest.raises(error, match=message):
        Billiard(**options)
