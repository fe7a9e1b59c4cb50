"""The ensemble of perceptrons on permutations: what it returns, and what it refuses."""

import numpy as np
import pymc as pm
import pytest
from sklearn.datasets import load_digits

import bayeskernels as bk
from bayeskernels.samplers.approximations.permutation_perceptron import (
    PermutationPerceptron,
    most_used,
)


def polynomial(X, Z):
    return (X @ Z.T + 1) ** 3


def make_data(seed=0, m=80, names=("ant", "bee", "cat")):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 5))
    codes = (X @ rng.standard_normal((5, len(names)))).argmax(axis=1)
    return X, np.array(names)[codes]


def draw(ensemble, permutations=5, random_seed=1, **options):
    return ensemble.sample(
        permutations=permutations, random_seed=random_seed, progressbar=False, **options
    )


def test_several_classes():
    X, y = make_data()
    ensemble = PermutationPerceptron(X, y, kernel=polynomial, dtype="float64")
    idata = draw(ensemble)
    alpha = idata["posterior"]["alpha"]
    assert alpha.dims == ("chain", "draw", "class", "support")
    assert alpha.shape[:3] == (1, 5, 3)
    assert alpha["class"].values.tolist() == ["ant", "bee", "cat"]
    support = alpha["support"].values
    assert (np.diff(support) > 0).all()
    assert (alpha != 0).any(("chain", "draw", "class")).all()
    gram = polynomial(X, X)
    outputs = alpha.values[0] @ gram[support]
    signs = np.where(y == np.array([["ant"], ["bee"], ["cat"]]), 1, -1)
    assert (signs * outputs > 0).all()
    inner = gram[np.ix_(support, support)]
    assert np.allclose(np.einsum("lks,st,lkt->lk", alpha.values[0], inner, alpha.values[0]), 1.0)
    stats = idata["sample_stats"]
    assert stats["updates"].dims == stats["passes"].dims == ("chain", "draw", "class")
    assert (stats["updates"] >= (alpha != 0).sum("support")).all()
    assert (stats["passes"] > 1).all()
    margins = (signs * outputs / np.sqrt(np.diag(gram))).min(axis=-1)
    assert np.allclose(stats["margin"].values[0], margins)


def test_two_classes():
    X, y = make_data(1, names=(True, False))
    ensemble = PermutationPerceptron(X, y, kernel=polynomial)
    idata = draw(ensemble)
    alpha = idata["posterior"]["alpha"]
    assert alpha.dims == ("chain", "draw", "support")
    assert idata["sample_stats"]["updates"].dims == ("chain", "draw")
    outputs = alpha.values[0] @ polynomial(X[alpha["support"].values], X)
    assert ((outputs > 0) == y).all()  # the second in sorted order is positive


def test_says_that_it_is_no_markov_chain():
    X, y = make_data()
    idata = draw(PermutationPerceptron(X, y, kernel=polynomial), 1)
    for attributes in (idata.attrs, idata["posterior"].attrs):
        assert attributes["sampler"] == "PermutationPerceptron"
        assert attributes["is_mcmc"] == 0
        assert type(attributes["is_mcmc"]) is int
        assert "not draws of a Markov chain" in attributes["note"]


def test_properties_for_prediction():
    X, y = make_data()
    ensemble = PermutationPerceptron(X, y, kernel=polynomial, softness=0.5)
    assert ensemble.X.dtype == np.float32
    assert np.allclose(ensemble.X, X)
    assert np.array_equal(ensemble.class_names[ensemble.codes], y)
    assert ensemble.kernel.function is polynomial
    assert ensemble.softness == 0.5
    with_covariance = PermutationPerceptron(X, y, kernel=pm.gp.cov.ExpQuad(5, ls=2.0))
    assert with_covariance.X.dtype == np.float64


def test_seeds():
    X, y = make_data()
    ensemble = PermutationPerceptron(X, y, kernel=polynomial)
    first, again, other = (draw(ensemble, random_seed=seed) for seed in (1, 1, 2))
    assert first["posterior"].equals(again["posterior"])
    assert not first["posterior"].equals(other["posterior"])
    alpha = first["posterior"]["alpha"].values[0]
    assert all((alpha[0] != a).any() for a in alpha[1:])
    # More permutations add to those there were.
    stats = draw(ensemble, permutations=8)["sample_stats"].isel(draw=slice(5))
    assert stats["updates"].equals(first["sample_stats"]["updates"])


@pytest.mark.parametrize("options", [{"jobs": 2}, {"jobs": -1}, {"memory_limit": 60_000}])
def test_jobs_and_memory_do_not_change_the_draws(options):
    X, y = make_data(2)
    # In whole numbers kernel values are exact, whatever BLAS does with other batches.
    X = np.round(10 * X)
    ensemble = PermutationPerceptron(X, y, kernel=polynomial)
    assert draw(ensemble, **options)["posterior"].equals(draw(ensemble)["posterior"])


def test_kinds_of_kernels_agree():
    X, y = make_data(3)
    kernels = {
        "function": lambda X, Z: np.exp(-0.125 * ((X[:, None] - Z) ** 2).sum(axis=-1)),
        "covariance": pm.gp.cov.ExpQuad(5, ls=2.0),
    }
    kernels["gram"] = kernels["function"](X, X)
    found = [
        draw(PermutationPerceptron(X, y, kernel=kernel, bias=0.5, dtype="float64"))["posterior"]
        for kernel in kernels.values()
    ]
    for other in found[1:]:
        assert np.array_equal(found[0]["support"], other["support"])
        assert np.allclose(found[0]["alpha"], other["alpha"])
    without_inputs = PermutationPerceptron(None, y, kernel=kernels["gram"], bias=0.5)
    assert without_inputs.X.shape == (80, 80)


def test_softness_allows_training_errors():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = [1, 1, 0, 1]
    with pytest.raises(ValueError, match=r"still errs on \d of 4 training points: .*softness"):
        draw(PermutationPerceptron(X, y, kernel=lambda X, Z: X @ Z.T + 1), max_passes=50)
    ensemble = PermutationPerceptron(X, y, kernel=lambda X, Z: X @ Z.T + 1, softness=3.0)
    posterior = draw(ensemble)["posterior"]
    gram = X @ X.T + 1
    alpha, support = posterior["alpha"].values[0], posterior["support"].values
    hard = alpha @ gram[support]
    soft = hard.copy()
    soft[:, support] += 3.0 * np.diag(gram)[support] * alpha
    signs = np.array([1, 1, -1, 1])
    assert (signs * soft > 0).all()
    assert not (signs * hard > 0).all(axis=1).any()
    # Unit length in the space of the softened kernel.
    assert np.allclose((alpha * soft[:, support]).sum(axis=1), 1.0)


def test_consistent_direction():
    X, y = make_data(4)
    ensemble = PermutationPerceptron(X, y, kernel=polynomial, dtype="float64")
    alpha = ensemble.consistent_direction(random_seed=3)
    assert alpha.shape == (3, 80)
    gram = polynomial(X, X)
    assert ((alpha @ gram > 0) == (np.arange(3)[:, None] == ensemble.codes)).all()
    assert np.allclose(np.diag(alpha @ gram @ alpha.T), 1.0)
    two = PermutationPerceptron(X, y == "ant", kernel=polynomial)
    assert two.consistent_direction(random_seed=3).shape == (80,)


@pytest.mark.parametrize("options", [{}, {"rank": 30}, {"factorization": "eigen"}])
def test_of_model(options):
    X, y = bk.data.make_two_moons(50, scatter=0.1, random_seed=1)
    kernel = pm.gp.cov.ExpQuad(2, ls=0.5)
    model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0, **options)
    ensemble = PermutationPerceptron.of_model(model)
    idata = draw(ensemble, 7)
    w = idata["posterior"]["w"]
    assert w.dims == ("chain", "draw", "basis")
    assert np.allclose(np.linalg.norm(w.values, axis=-1), 1.0)
    specification = bk.specification_of(model)
    outputs = w.values[0] @ specification.feature_map.factor.features.T
    assert ((outputs > 0) == (specification.codes == 1)).all()
    assert (bk.predict(model, idata, X).label.values == y).all()
    assert np.array_equal(ensemble.codes, specification.codes)
    start = ensemble.consistent_direction(random_seed=1)
    assert ((specification.feature_map.factor.features @ start > 0) == ensemble.codes).all()
    assert np.isclose(np.linalg.norm(start), 1.0)


def test_of_model_has_the_layout_of_pymc():
    X, y = bk.data.make_two_moons(30, scatter=0.1, random_seed=1)
    kernel = pm.gp.cov.ExpQuad(2, ls=0.5)
    with pm.Model(name="moons") as model:
        bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0)
    idata = draw(PermutationPerceptron.of_model(model), 4)
    with model:
        sampled = pm.sample(4, tune=1, chains=1, quiet=True, random_seed=1)
    [[name, expected]] = sampled["posterior"].data_vars.items()
    found = idata["posterior"][name]
    assert found.dims == expected.dims
    assert found.coords.equals(expected.coords)


def test_of_model_with_several_classes_and_softness():
    X, y = make_data(5, m=40)
    kernel = pm.gp.cov.ExpQuad(5, ls=2.0)
    model = bk.models.bayes_point_machine(X, y, kernel=kernel, softness=0.5)
    ensemble = PermutationPerceptron.of_model(model)
    idata = draw(ensemble, 3)
    w = idata["posterior"]["w"]
    assert w.dims == ("chain", "draw", *model.named_vars_to_dims["w"])
    assert w["class"].values.tolist() == ["ant", "bee", "cat"]
    assert np.allclose(np.linalg.norm(w.values, axis=-1), 1.0)
    features = bk.specification_of(model).feature_map.factor.features
    outputs = features @ w.values[0].transpose(0, 2, 1)
    assert ((outputs > 0) == (ensemble.codes[:, None] == np.arange(3))).all()
    assert ensemble.softness == 0.5


def test_of_model_needs_a_version_space():
    X, y = bk.data.make_two_moons(30, scatter=0.1, random_seed=1)
    with pytest.raises(ValueError, match=r"noise must be 0; it is \(0.1, 0.1\)"):
        PermutationPerceptron.of_model(bk.models.label_noise_classifier(X, y, noise=0.1))
    with pytest.raises(ValueError, match="it is random"):
        PermutationPerceptron.of_model(bk.models.label_noise_classifier(X, y))
    with pm.Model() as model:
        kernel = pm.gp.cov.ExpQuad(2, ls=pm.HalfNormal("length"))
        bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.1)
    with pytest.raises(TypeError, match="random"):
        PermutationPerceptron.of_model(model)
    with pytest.raises(TypeError, match=r"bayeskernels\.models"):
        PermutationPerceptron.of_model(pm.Model())


def test_most_used():
    X, y = make_data(6)
    idata = draw(PermutationPerceptron(X, y, kernel=polynomial))
    alpha = idata["posterior"]["alpha"]
    table = most_used(idata, n=10)
    assert len(table) == 10
    assert table["classifiers"].is_monotonic_decreasing
    for row in table.itertuples():
        of_point = alpha.sel(support=row.point)
        assert row.classifiers == int((of_point != 0).sum())
        assert np.isclose(row.share, (abs(of_point) / abs(alpha).sum("support")).mean())
    everything = most_used(idata, n=1000)
    assert np.isclose(everything["share"].sum(), 1.0)
    assert everything["classifiers"][0] == (alpha != 0).sum(("chain", "draw", "class")).max()
    with pytest.raises(ValueError, match="n must be"):
        most_used(idata, n=0)
    with pytest.raises(ValueError, match="no group 'posterior', it has sample_stats"):
        most_used(idata.drop_nodes("posterior"))
    with pytest.raises(ValueError, match="no coefficients alpha"):
        most_used(idata["posterior"].to_dataset().rename(alpha="w"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": ["ant"] * 80}, "only one class"),
        ({"y": ["ant", "bee"]}, "one label per row"),
        ({"y": np.where(np.arange(80) == 3, np.nan, np.arange(80) % 2)}, "NaN"),
        ({"X": np.full((80, 2), np.nan)}, "NaN"),
        ({"X": np.ones(80)}, "two dimensions"),
        ({"X": np.ones((80, 2))}, r"Points 0 and \d+ are equal but their labels differ"),
        ({"X": np.zeros((80, 2)), "softness": 1.0, "kernel": np.eye(79)}, "one of 79 points"),
        ({"kernel": lambda X, Z: np.zeros((len(X), len(Z)))}, "zero at every point"),
        ({"kernel": -np.eye(80)}, "not positive semidefinite"),
        ({"bias": -1.0}, "bias"),
        ({"softness": -0.1}, "softness must be"),
        ({"softness": np.nan}, "softness must be"),
        ({"dtype": "int64"}, "dtype must be"),
    ],
)
def test_bad_input_is_refused_at_once(changes, message):
    X, y = make_data()
    options = {"X": X, "y": y, "kernel": polynomial} | changes
    with pytest.raises(ValueError, match=message):
        PermutationPerceptron(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"permutations": 0}, "permutations must be"),
        ({"permutations": 2.5}, "permutations must be"),
        ({"jobs": 0}, "jobs must be"),
        ({"max_passes": True}, "max_passes must be"),
        ({"memory_limit": "4 gigs"}, "memory_limit must be"),
        ({"memory_limit": -5}, "memory_limit must be"),
        ({"memory_limit": "1 KB"}, "A memory limit of 1000 bytes is too small for 80 points"),
        ({"memory_limit": "1 KiB"}, "A memory limit of 1024 bytes is too small for 80 points"),
    ],
)
def test_bad_options_are_refused(options, message):
    X, y = make_data()
    ensemble = PermutationPerceptron(X, y, kernel=polynomial)
    with pytest.raises(ValueError, match=message):
        draw(ensemble, **options)


def test_the_ensemble_takes_the_place_of_a_model_in_prediction():
    """The same classifiers in dual form and in the coordinates of a model predict the same."""
    X, y = bk.data.make_two_moons(60, scatter=0.1, random_seed=1)
    X_new, _ = bk.data.make_two_moons(40, random_seed=2)

    def kernel(X, Z):
        return (X @ Z.T + 1) ** 5

    ensemble = PermutationPerceptron(X, y, kernel=kernel, dtype="float64")
    idata = ensemble.sample(permutations=7, random_seed=1, progressbar=False)
    dual = bk.predict(ensemble, idata, X_new)
    alpha = np.zeros((7, 60))
    alpha[:, idata.posterior["support"].values] = idata.posterior["alpha"].values[0]
    np.testing.assert_allclose(dual["latent"], (kernel(X_new, X) @ alpha.T).mean(axis=1))
    lengths = np.sqrt(np.diag(kernel(X_new, X_new)))
    np.testing.assert_allclose(dual["margin"], np.abs(dual["latent"]) / lengths)
    point = bk.bayes_point(ensemble, idata)
    np.testing.assert_allclose(point.decision_function(X_new), dual["latent"])
    model = bk.models.bayes_point_machine(X, y, kernel=kernel)
    same = PermutationPerceptron.of_model(model).sample(
        permutations=7, random_seed=1, progressbar=False
    )
    own = bk.predict(model, same, X_new)
    np.testing.assert_allclose(own["latent"], dual["latent"], rtol=1e-6)
    # A model takes the dual form as well.
    np.testing.assert_allclose(bk.predict(model, idata, X_new)["latent"], dual["latent"])


def test_several_classes_are_predicted_in_single_precision():
    digits = load_digits()
    X = digits.data / np.linalg.norm(digits.data, axis=1, keepdims=True)
    ensemble = PermutationPerceptron(
        X[:500], digits.target[:500], kernel=lambda X, Z: (X @ Z.T + 1) ** 5
    )
    idata = ensemble.sample(permutations=3, random_seed=1, progressbar=False)
    prediction = bk.predict(ensemble, idata, X[500:])
    assert prediction["latent"].dims == ("obs_new", "class")
    wrong = prediction["label"].values != digits.target[500:]
    assert wrong.mean() < 0.08
    curve = bk.rejection_curve(prediction, digits.target[500:])
    assert curve.error[curve.rejected > 0.2].iloc[0] < 0.5 * wrong.mean()
