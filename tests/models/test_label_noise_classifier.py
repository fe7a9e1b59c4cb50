import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pytensor.compile.mode import Mode
from scipy import stats

import bayeskernels as bk
from bayeskernels.models import label_noise_classifier
from bayeskernels.testing import label_noise_cells

QUICK = {
    "progressbar": False,
    "compute_convergence_checks": False,
    "random_seed": 1,
}
#: Plain Python instead of compiling.
PLAIN = Mode(linker="py", optimizer="fast_compile")
X, Y = bk.data.make_two_moons(20, random_seed=1)


def linear(A, B):
    return A @ B.T


def free_names(model):
    return sorted(rv.name for rv in model.free_RVs)


# What the builder makes


def test_variables_dims_and_coords():
    model = label_noise_classifier(X, Y, kernel=pm.gp.cov.ExpQuad(2, ls=0.5), noise="infer")
    assert free_names(model) == ["noise", "w"]
    assert model.named_vars_to_dims["w"] == ("basis",)
    assert model.named_vars_to_dims["y"] == ("obs",)
    assert model["X"].get_value().shape == (20, 2)
    assert len(model.initial_point(0)["w_unitvector__"]) == 20
    assert bk.specification_of(model).kind == "label_noise_classifier"
    assert bk.specification_of(model).class_names.tolist() == sorted(set(Y))


@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y == Y.max(), "yes", "no"),
        Y == Y.max(),
        np.where(Y == Y.max(), 7.5, -2.0),
        [["b"] if y == Y.max() else ["a"] for y in Y],
    ],
    ids=["strings", "booleans", "floats", "column"],
)
def test_labels_of_any_type(labels):
    model = label_noise_classifier(X, labels, noise=0.1)
    specification = bk.specification_of(model)
    np.testing.assert_array_equal(specification.codes, Y == Y.max())
    assert len(specification.class_names) == 2


NOISES = {
    "number": (0.1, ["w"]),
    "infer": ("infer", ["noise", "w"]),
    "prior": (lambda: pm.Uniform.dist(0, 0.3), ["noise", "w"]),
    "pair": ((0.1, 0.2), ["w"]),
    "infer both": (("infer", "infer"), ["noise", "w"]),
    "mixed": ((0.1, "infer"), ["noise_1", "w"]),
    "mixed with prior": (lambda: (pm.Uniform.dist(0, 0.5), "infer"), ["noise_0", "noise_1", "w"]),
    "one class never flipped": ((0.0, "infer"), ["noise_1", "w"]),
}


@pytest.mark.parametrize("name", NOISES)
def test_forms_of_noise(name):
    noise, names = NOISES[name]
    model = label_noise_classifier(X, Y, noise=noise() if callable(noise) else noise)
    assert free_names(model) == names
    logp = model.compile_logp(mode=PLAIN)(model.initial_point(0))
    assert np.isfinite(logp)
    idata = pm.sample(10, tune=5, chains=1, model=model, nuts_sampler="pymc", **QUICK)
    assert np.isfinite(idata.posterior["w"]).all()
    codes = bk.specification_of(model).codes
    f = idata.posterior["w"].values[0] @ bk.specification_of(model).feature_map.factor.features.T
    if name == "one class never flipped":
        assert (f[:, codes == 1] > 0).all()
    if name not in ("number", "pair"):
        assert ((idata.posterior["noise"] >= 0) & (idata.posterior["noise"] < 0.5)).all()


def test_noise_as_a_variable_of_the_model():
    with pm.Model() as model:
        q = pm.Deterministic("rate", 0.5 * pm.Beta("b", 1, 4))
        label_noise_classifier(X, Y, noise=q)
    assert free_names(model) == ["b", "w"]
    assert "noise" in model.named_vars


def test_version_space_starts_inside():
    model = label_noise_classifier(X, Y, kernel=pm.gp.cov.ExpQuad(2, ls=0.5), noise=0.0)
    assert np.isfinite(model.compile_logp(mode=PLAIN)(model.initial_point(0)))
    idata = pm.sample(20, tune=5, chains=1, model=model, **QUICK)
    assert (idata.sample_stats["refractive_errors"] == 0).all()


def test_version_space_with_a_random_kernel():
    with pm.Model():
        ls = pm.LogNormal("ls", -0.5, 0.3)
        label_noise_classifier(X, Y, kernel=pm.gp.cov.ExpQuad(2, ls=ls), noise=0.0)
        idata = pm.sample(20, tune=20, chains=1, compile_kwargs={"mode": PLAIN}, **QUICK)
    assert (idata.sample_stats["refractive_errors"] == 0).all()
    assert idata.posterior["ls"].std() > 0


def test_singular_gram_and_bias():
    model = label_noise_classifier(X, Y, kernel=linear, noise=0.1)
    assert bk.specification_of(model).rank == 2
    model = label_noise_classifier(X, Y, kernel=linear, noise=0.1, bias=1.0)
    features = bk.specification_of(model).feature_map.factor.features
    assert features.shape == (20, 3)
    np.testing.assert_allclose(features @ features.T, X @ X.T + 1, atol=1e-10)


@pytest.mark.parametrize("factorization", ["cholesky", "eigen"])
def test_low_rank(factorization):
    model = label_noise_classifier(
        X, Y, kernel=pm.gp.cov.ExpQuad(2, ls=1.0), noise=0.1, rank=5, factorization=factorization
    )
    specification = bk.specification_of(model)
    assert specification.rank == 5
    assert 0 < specification.discarded_trace < 0.3


def test_precomputed_gram():
    gram = X @ X.T
    model = label_noise_classifier(None, Y, kernel=gram, noise=0.1)
    features = bk.specification_of(model).feature_map.factor.features
    np.testing.assert_allclose(features @ features.T, gram, atol=1e-10)
    idata = pm.sample(10, tune=5, chains=1, model=model, **QUICK)
    assert idata.posterior.sizes["basis"] == 2


def test_one_classifier_per_model():
    with pm.Model():
        label_noise_classifier(X, Y, noise=0.1)
        with pytest.raises(ValueError, match="already"):
            label_noise_classifier(X, Y, noise=0.1)


# What PyMC does with it


def test_prior_and_posterior_predictive_and_new_data():
    model = label_noise_classifier(X, Y, kernel=pm.gp.cov.ExpQuad(2, ls=0.5), noise=0.05)
    with model:
        prior = pm.sample_prior_predictive(30, random_seed=1)
        idata = pm.sample(200, tune=50, chains=1, **QUICK)
        first = pm.sample_posterior_predictive(idata, random_seed=1, progressbar=False)
        pm.set_data({"X": X[:3] + 0.01})
        second = pm.sample_posterior_predictive(
            idata, random_seed=1, progressbar=False, predictions=True
        )
    assert prior.prior["w"].dims == ("chain", "draw", "basis")
    assert prior.prior_predictive["y"].shape == (1, 30, 20)
    y = first.posterior_predictive["y"]
    assert y.shape == (1, 200, 20)
    # On training data the posterior predicts the labels that it has seen, by and large.
    codes = bk.specification_of(model).codes
    assert np.mean((y.mean(("chain", "draw")).values > 0.5) == codes) > 0.9
    new = second.predictions["y"]
    assert new.shape == (1, 200, 3)
    # Next to training points the predictions are theirs: the features have followed X.
    near = y.mean(("chain", "draw")).values[:3]
    # Standard error of a difference of two shares of 200: at most 0.05; five of them.
    np.testing.assert_allclose(new.mean(("chain", "draw")).values, near, atol=0.25)
    assert np.ptp(near) > 0.5


def test_set_data_sets_the_features():
    kernel = pm.gp.cov.ExpQuad(2, ls=0.5)
    model = label_noise_classifier(X, Y, kernel=kernel, noise=0.05)
    w = np.random.default_rng(0).standard_normal(20)
    new = np.random.default_rng(1).standard_normal((7, 2))
    with model:
        pm.set_data({"X": new})
    outputs = bk.specification_of(model).outputs.eval({model["w"]: w})
    gram = kernel(X).eval()
    # f(x) = k(x) alpha with alpha = G^-1 f(X): the same function whatever the factor.
    at_training = bk.specification_of(model).feature_map.factor.features @ w
    expected = kernel(new, X).eval() @ np.linalg.solve(gram, at_training)
    np.testing.assert_allclose(outputs, expected, atol=1e-6)


def test_generic_samplers_agree_with_the_exact_posterior():
    """pm.Metropolis and SMC on a problem in the plane; SMC's evidence against the exact one."""
    rng = np.random.default_rng(3)
    features, labels = rng.standard_normal((5, 2)), np.array([1, 0, 1, 1, 0])
    model = label_noise_classifier(features, labels, kernel=linear, noise=(0.1, 0.25))
    coordinates = bk.specification_of(model).feature_map.factor.features
    exact = label_noise_cells(coordinates, labels == 1, 0.1, 0.25)
    with model:
        metropolis = pm.sample(
            3000, tune=500, chains=2, cores=1, step=pm.Metropolis([model["w"]]), **QUICK
        )
        smc = pm.sample_smc(2000, chains=2, cores=1, **QUICK)
    for idata in (metropolis, smc):
        w = idata.posterior["w"].values.reshape(-1, 2)
        share = np.bincount(exact.locate(w), minlength=len(exact.probabilities)) / len(w)
        # At least 300 effective draws; largest of ten cells beyond 5 standard errors: below 1e-5.
        assert np.abs(share - exact.probabilities).max() < 5 * 0.5 / np.sqrt(300)
    log_evidence = [
        float(np.ravel(chain)[-1])
        for chain in smc.sample_stats["log_marginal_likelihood"].values.tolist()
    ]
    assert np.allclose(log_evidence, exact.log_evidence, atol=0.2)


def test_inferred_noise_has_its_exact_posterior():
    """Given the shares g(e) of directions with e errors the posterior of q is known exactly.

    Kolmogorov-Smirnov on thinned draws, false-alarm rate 1e-4.
    """
    rng = np.random.default_rng(6)
    features = rng.standard_normal((9, 3))
    labels = (features[:, 0] > 0) ^ (rng.random(9) < 0.2)
    model = label_noise_classifier(features, labels, kernel=linear, noise="infer")
    coordinates = bk.specification_of(model).feature_map.factor.features
    q = (np.arange(400) + 0.5) / 800
    evidence = np.exp([label_noise_cells(coordinates, labels, x).log_evidence for x in q])
    distribution = np.concatenate([[0.0], np.cumsum(evidence) / evidence.sum()])
    edges = np.concatenate([[0.0], q + 0.5 / 800])
    idata = pm.sample(3000, tune=100, chains=1, model=model, **QUICK)
    draws = idata.posterior["noise"].values[0][::5]
    assert stats.kstest(draws, lambda x: np.interp(x, edges, distribution)).pvalue > 1e-4


def small_problem(m=20):
    X, y = bk.data.make_two_moons(m, random_seed=1)
    return X, y, pm.gp.cov.ExpQuad(2, ls=0.5)


def test_white_noise_in_the_kernel_counts_at_training_points_only():
    X, y, kernel = small_problem()
    noisy = kernel + pm.gp.cov.WhiteNoise(0.7)
    expected = kernel(X).eval() + 0.49 * np.eye(len(X))
    for rank in (None, 19):
        model = bk.models.label_noise_classifier(X, y, kernel=noisy, noise=0.1, rank=rank)
        features = bk.specification_of(model).feature_map.factor.features
        # One pivot short of the rank, only the last point's own value is missing.
        wrong = np.abs(features @ features.T - expected) > 1e-8
        assert np.count_nonzero(wrong) == (0 if rank is None else 1)


def test_gram_matrix_may_be_a_data_frame():
    X, y, kernel = small_problem()
    gram = pd.DataFrame(kernel(X).eval())
    assert bk.models.label_noise_classifier(None, y, kernel=gram, noise=0.1)
    with pytest.raises(ValueError, match="X is needed"):
        bk.models.label_noise_classifier(None, y)


def test_noise_may_be_an_expression_of_variables_or_an_array():
    X, y, kernel = small_problem()
    with pm.Model() as model:
        q = pm.Uniform("q", 0, 0.4)
        bk.models.label_noise_classifier(X, y, kernel=kernel, noise=(q, q / 2))
        idata = pm.sample(10, tune=10, chains=1, quiet=True, random_seed=1)
    np.testing.assert_allclose(
        idata.posterior["noise"][..., 0] / 2, idata.posterior["noise"][..., 1]
    )
    assert bk.predict(model, idata, X[:3]).sizes["obs_new"] == 3
    pair = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=np.array([0.1, 0.2]))
    assert bk.specification_of(pair).noise == (0.1, 0.2)


def test_setting_data_is_checked_and_seen():
    X, y, kernel = small_problem()
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.1)
    with model:
        with pytest.raises(ValueError, match="NaN"):
            pm.set_data({"X": np.full((3, 2), np.nan)})
        pm.set_data({"noise": 0.2})
    assert bk.specification_of(model).noise == (0.2, 0.2)
    with model:
        pm.set_data({"X": X[:3]})
    with pytest.raises(ValueError, match="3 points but 20 labels"):
        bk.samplers.sample_directions(model, draws=5)


def test_named_model():
    X, y, kernel = small_problem()
    with pm.Model(name="sub") as model:
        bk.models.label_noise_classifier(X, y, kernel=kernel, noise="infer")
        idata = pm.sample(20, tune=10, chains=1, quiet=True, random_seed=1)
    assert "sub::w" in idata.posterior
    assert bk.predict(model, idata, X[:3]).sizes["obs_new"] == 3
    assert bk.bayes_point(model, idata).w.shape == (20,)


def test_low_rank_that_leaves_out_much_is_logged(caplog):
    X, y, kernel = small_problem()
    bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.1, rank=3)
    assert "Rank 3 leaves out" in caplog.text


def test_event_cap_is_logged_once_per_chain(caplog):
    X, y, kernel = small_problem()
    with bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.1):
        idata = pm.sample(
            20, tune=5, chains=2, cores=1, random_seed=1, progressbar=False,
            compute_convergence_checks=False, refractive_billiard={"max_events": 2},
        )  # fmt: skip
    assert idata.sample_stats["refractive_capped"].sum() > 20
    assert caplog.text.count("max_events = 2") == 2


@pytest.mark.parametrize("factorization", ["cholesky", "eigen"])
def test_repeated_points_under_a_smooth_kernel_are_one_wall(factorization):
    # Nearly singular Gram matrix: the coordinates of equal points differ by rounding errors.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    X = np.concatenate([X, X[:50]])
    y = np.concatenate([np.repeat([0, 1], 100), 1 - np.repeat([0, 1], 100)[:50]])
    kernel = pm.gp.cov.ExpQuad(2, ls=2.0)
    model = bk.models.label_noise_classifier(
        X, y, kernel=kernel, noise=0.1, factorization=factorization
    )
    features = bk.specification_of(model).feature_map.factor.features
    geometry = bk.samplers.WallGeometry.from_features(features, y == 1)
    assert len(geometry.normals) == 200
    assert (geometry.wall_of_point[:50] == geometry.wall_of_point[200:]).all()
    with pytest.raises(ValueError, match="labels conflict"):
        bk.models.label_noise_classifier(
            X, y, kernel=kernel, noise=0.0, factorization=factorization
        )
