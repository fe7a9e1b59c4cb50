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
    "quiet": True,
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
        smc = pm.sample_smc(
            2000,
            chains=2,
            cores=1,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
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


# Bad input gets a clear error before any sampling


def with_bad_value(value):
    bad = X.copy()
    bad[3, 1] = value
    return bad


BAD_INPUT = {
    "NaN": ((with_bad_value(np.nan), Y), {}, ValueError, "row 3"),
    "infinite": ((with_bad_value(np.inf), Y), {}, ValueError, "NaN or infinite"),
    "one dimension": ((X[:, 0], Y), {}, ValueError, "two dimensions"),
    "three dimensions": ((X[:, :, None], Y), {}, ValueError, "two dimensions"),
    "text": ((np.full((20, 2), "a"), Y), {}, TypeError, "numeric"),
    "empty": ((np.empty((0, 2)), []), {}, ValueError, "empty"),
    "no columns": ((np.empty((20, 0)), Y), {}, ValueError, "empty"),
    "too few labels": ((X, Y[:-1]), {}, ValueError, "one label per row"),
    "matrix of labels": ((X, np.stack([Y, Y], axis=1)), {}, ValueError, "one label per row"),
    "one class": ((X, np.ones(20)), {}, ValueError, "only one class"),
    "three classes": ((X, np.arange(20) % 3), {}, ValueError, "two classes apart"),
    "NaN label": ((X, np.where(Y == 1, np.nan, 0.0)), {}, ValueError, "y has NaN"),
    "missing label": ((X, [None, *Y[1:]]), {}, ValueError, "no label at position 0"),
    "negative noise": ((X, Y), {"noise": -0.1}, ValueError, r"\[0, 1/2\)"),
    "noise of one half": ((X, Y), {"noise": 0.5}, ValueError, r"\[0, 1/2\)"),
    "NaN noise": ((X, Y), {"noise": np.nan}, ValueError, r"\[0, 1/2\)"),
    "unknown noise": ((X, Y), {"noise": "guess"}, ValueError, "infer"),
    "noise of another type": ((X, Y), {"noise": object()}, TypeError, "noise must be"),
    "three rates": ((X, Y), {"noise": (0.1, 0.1, 0.1)}, ValueError, "two classes"),
    "bad rate in a pair": ((X, Y), {"noise": (0.1, 0.6)}, ValueError, r"\[0, 1/2\)"),
    "vector prior": ((X, Y), {"noise": pm.Beta.dist(1, 9, shape=2)}, ValueError, "scalar"),
    "kernel for three columns": (
        (X, Y),
        {"kernel": pm.gp.cov.ExpQuad(3, ls=1.0)},
        ValueError,
        "3 input columns",
    ),
    "kernel of another type": ((X, Y), {"kernel": "rbf"}, TypeError, "kernel must be"),
    "kernel of wrong shape": ((X, Y), {"kernel": lambda A, B: A}, ValueError, "shape"),
    "NaN kernel": ((X, Y), {"kernel": lambda A, B: A @ B.T * np.nan}, ValueError, "not finite"),
    "zero kernel": ((X, Y), {"kernel": lambda A, B: 0 * A @ B.T}, ValueError, "zero at every"),
    "asymmetric kernel": (
        (X, Y),
        {"kernel": lambda A, B: A @ B.T + A[:, :1]},
        ValueError,
        "not symmetric",
    ),
    "indefinite kernel": (
        (X, Y),
        {"kernel": lambda A, B: np.tanh(A @ B.T - 1)},
        ValueError,
        "not positive semidefinite",
    ),
    "negative kernel": ((X, Y), {"kernel": lambda A, B: -A @ B.T}, ValueError, "semidefinite"),
    "NaN kernel of low rank": (
        (X, Y),
        {"kernel": lambda A, B: A @ B.T * np.nan, "rank": 2},
        ValueError,
        "not finite",
    ),
    "zero kernel of low rank": (
        (X, Y),
        {"kernel": lambda A, B: 0 * A @ B.T, "rank": 2},
        ValueError,
        "zero at every",
    ),
    "Gram matrix not square": ((None, Y), {"kernel": np.ones((20, 19))}, ValueError, "square"),
    "Gram matrix with NaN": (
        (None, Y),
        {"kernel": np.full((20, 20), np.nan)},
        ValueError,
        "NaN",
    ),
    "Gram matrix of other points": ((None, Y), {"kernel": np.eye(19)}, ValueError, "per row"),
    "indefinite Gram matrix": (
        (None, [0, 1]),
        {"kernel": np.array([[1.0, 2.0], [2.0, 1.0]])},
        ValueError,
        "semidefinite",
    ),
    "no inputs": ((None, Y), {}, (TypeError, ValueError), "X"),
    "negative bias": ((X, Y), {"bias": -1.0}, ValueError, "bias"),
    "bias as text": ((X, Y), {"bias": "large"}, (TypeError, ValueError), "bias"),
    "rank zero": ((X, Y), {"rank": 0}, ValueError, "rank"),
    "unknown factorization": ((X, Y), {"factorization": "qr"}, ValueError, "'cholesky' or 'eigen'"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input(name):
    arguments, options, error, message = BAD_INPUT[name]
    with pytest.raises(error, match=message):
        label_noise_classifier(*arguments, **{"noise": 0.1, **options})


CONFLICTS = {
    "equal points": np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]),
    "equal up to scale": np.array([[1.0, 2.0], [3.0, 6.0], [0.0, 1.0]]),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_conflicting_points_without_noise(name):
    with pytest.raises(ValueError, match="Points 0 and 1"):
        label_noise_classifier(CONFLICTS[name], [0, 1, 1], kernel=linear, noise=0.0)
    label_noise_classifier(CONFLICTS[name], [0, 1, 1], kernel=linear, noise=0.01)


def test_opposite_points_with_equal_labels_without_noise():
    with pytest.raises(ValueError, match="Points 0 and 2"):
        label_noise_classifier(
            np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, -2.0]]), [1, 0, 1], kernel=linear, noise=0.0
        )


def test_inseparable_points_without_noise():
    corners = np.array([[1.0, 1.0], [-1.0, -1.1], [1.0, -1.2], [-1.0, 1.3]])
    with pytest.raises(ValueError, match="could not be separated"):
        label_noise_classifier(corners, [1, 1, 0, 0], kernel=linear, noise=0.0)


def test_zero_point_without_noise():
    with pytest.raises(ValueError, match="zero feature vector"):
        label_noise_classifier(
            np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), [1, 0, 0], kernel=linear, noise=0.0
        )


def test_rank_with_a_random_kernel():
    with pm.Model():
        kernel = pm.gp.cov.ExpQuad(2, ls=pm.LogNormal("ls"))
        with pytest.raises(ValueError, match="fixed hyperparameters"):
            label_noise_classifier(X, Y, kernel=kernel, noise=0.1, rank=3)


def test_prior_of_another_model():
    with pm.Model():
        q = pm.Uniform("q", 0, 0.5)
    with pytest.raises(ValueError, match="another model"):
        label_noise_classifier(X, Y, noise=q)


def test_new_data_with_other_columns():
    model = label_noise_classifier(X, Y, noise=0.1)
    with model, pytest.raises((TypeError, ValueError)):
        pm.set_data({"X": np.ones((3, 5))})


def test_models_of_others_have_no_specification():
    with pytest.raises(TypeError, match=r"bayeskernels\.models"):
        bk.specification_of(pm.Model())


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


def test_gram_matrix_and_inputs_must_fit():
    X, y, kernel = small_problem()
    with pytest.raises(ValueError, match="X has 7 rows"):
        bk.models.label_noise_classifier(X[:7], y, kernel=kernel(X).eval(), noise=0.1)


def test_gram_matrix_may_be_a_data_frame():
    X, y, kernel = small_problem()
    gram = pd.DataFrame(kernel(X).eval())
    assert bk.models.label_noise_classifier(None, y, kernel=gram, noise=0.1)
    with pytest.raises(ValueError, match="X is needed"):
        bk.models.label_noise_classifier(None, y)


@pytest.mark.parametrize("low", [-0.1, -1e-3])
def test_prior_of_the_noise_below_zero_is_refused(low):
    X, y, kernel = small_problem()
    with pytest.raises(ValueError, match="within"):
        bk.models.label_noise_classifier(X, y, kernel=kernel, noise=pm.Uniform.dist(low, 0.4))


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


def test_nothing_is_left_behind_in_an_open_model():
    X, y, kernel = small_problem()
    with pm.Model() as model:
        with pytest.raises(ValueError, match="rank"):
            bk.models.label_noise_classifier(X, y, kernel=kernel, rank=0)
        assert not model.named_vars
        bk.models.label_noise_classifier(X, y, kernel=kernel)
        with pytest.raises(ValueError, match="already holds a classifier"):
            bk.models.label_noise_classifier(X, y, kernel=kernel)
    assert list(model.coords["class"]) == [-1, 1]


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


def test_messages_name_what_was_wrong():
    X, y, kernel = small_problem()
    with pytest.raises(ValueError, match="factorization must be"):
        bk.models.label_noise_classifier(X, y, kernel=kernel, factorization="lu")
    with pytest.raises(TypeError, match="rank must be a whole number"):
        bk.models.label_noise_classifier(X, y, kernel=kernel, rank="a")
    mixed = np.array([1, "a"] * 10, dtype=object)
    with pytest.raises(TypeError, match="of one type"):
        bk.models.label_noise_classifier(X, mixed, kernel=kernel)
