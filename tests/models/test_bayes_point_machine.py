"""The Bayes point machine as a PyMC model: version spaces, soft boundaries, several classes."""

import numpy as np
import pymc as pm
import pytest
from sklearn.datasets import load_iris

import bayeskernels as bk
from bayeskernels.models import bayes_point_machine, label_noise_classifier

QUICK = {"chains": 1, "progressbar": False, "random_seed": 1, "compute_convergence_checks": False}
X, Y = bk.data.make_two_moons(40, scatter=0.1, random_seed=1)


def gaussian(X, Z):
    return np.exp(-2 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def linear(X, Z):
    return X @ Z.T


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    return X, data.target_names[data.target]


def test_is_the_label_noise_classifier_at_noise_zero():
    machine = bayes_point_machine(X, Y, kernel=gaussian)
    twin = label_noise_classifier(X, Y, kernel=gaussian, noise=0.0)
    point = machine.initial_point()
    np.testing.assert_array_equal(point["w_unitvector__"], twin.initial_point()["w_unitvector__"])
    assert np.isclose(machine.compile_logp()(point), twin.compile_logp()(point))
    outside = {"w_unitvector__": -point["w_unitvector__"]}
    assert machine.compile_logp()(outside) == -np.inf


def test_draws_make_no_training_error():
    model = bayes_point_machine(X, Y, kernel=gaussian)
    with model:
        idata = pm.sample(50, tune=10, **QUICK)
    assert "refractive_events" in idata.sample_stats
    w = idata.posterior["w"].values[0]
    outputs = bk.specification_of(model).feature_map.factor.features @ w.T
    assert (outputs * np.where(Y == 1, 1, -1)[:, None] > 0).all()
    assert (bk.predict(model, idata, X).label.values == Y).all()


@pytest.mark.parametrize("form", ["callable", "covariance", "gram", "low rank"])
def test_softness_is_a_correction_of_the_diagonal(form):
    """Equation (27): G + lambda diag(G) for training, the plain kernel for new points."""
    kernel = {
        "covariance": pm.gp.cov.Polynomial(2, c=0, d=2, offset=1),
        "gram": (X @ X.T + 1) ** 2,
    }.get(form, lambda X, Z: (X @ Z.T + 1) ** 2)
    gram = (X @ X.T + 1) ** 2
    softened = gram + 0.3 * np.diag(np.diag(gram))
    rank = len(X) - 1 if form == "low rank" else None
    model = bayes_point_machine(X, Y, kernel=kernel, softness=0.3, rank=rank)
    factor = bk.specification_of(model).feature_map.factor
    if rank is None:
        np.testing.assert_allclose(factor.features @ factor.features.T, softened, atol=1e-8)
    # A classifier with coefficients alpha in the support points has outputs K alpha at new points.
    alpha = np.random.default_rng(0).standard_normal(len(factor.support))
    w = alpha @ factor.features[factor.support]
    new = np.array([[0.3, 0.4], [1.0, -1.0]])
    values = (new @ X.T + 1) ** 2
    features = bk.specification_of(model).feature_map(values if form == "gram" else new)
    np.testing.assert_allclose(features @ w, values[:, factor.support] @ alpha, atol=1e-7)


def test_soft_boundaries_make_room_for_errors():
    with pytest.raises(ValueError, match=r"contradict each other.*softness > 0.*label_noise"):
        bayes_point_machine(X, Y, kernel=linear)
    model = bayes_point_machine(X, Y, kernel=linear, softness=1.0)
    with model:
        idata = pm.sample(200, tune=20, **QUICK)
    errors = (bk.predict(model, idata, X).label.values != Y).mean()
    assert 0 < errors < 0.35


def test_training_points_stay_soft_when_they_are_set_again():
    model = bayes_point_machine(X, Y, kernel=linear, softness=1.0)
    point = model.initial_point()
    before = model.compile_logp()(point)
    with model:
        pm.set_data({"X": X[:5], "y_data": np.zeros(5, dtype=int)})
        pm.set_data({"X": X, "y_data": (Y == 1).astype(int)})
    assert np.isfinite(before)
    assert np.isclose(model.compile_logp()(point), before)


def test_conflicting_twins_need_softness():
    doubled, labels = np.concatenate([X, X[:1]]), np.append(Y, -Y[0])
    with pytest.raises(ValueError, match=r"Points 0 and 40 .* conflict.*softness"):
        bayes_point_machine(doubled, labels, kernel=gaussian)
    model = bayes_point_machine(doubled, labels, kernel=gaussian, softness=0.1)
    assert np.isfinite(model.compile_logp()(model.initial_point()))


def test_random_softness():
    with pm.Model() as model:
        softness = pm.HalfNormal("softness", 1.0)
        bayes_point_machine(X[:12], Y[:12], kernel=pm.gp.cov.ExpQuad(2, ls=0.5), softness=softness)
        idata = pm.sample(30, tune=10, compile_kwargs={"mode": "FAST_COMPILE"}, **QUICK)
    assert idata.posterior["softness"].std() > 0
    assert bk.specification_of(model).softness is None
    prediction = bk.predict(model, idata, X[12:20], progressbar=False)
    assert np.isfinite(prediction["latent"]).all()


def test_several_classes(iris):
    inputs, labels = iris
    model = bayes_point_machine(
        inputs[::3], labels[::3], kernel=pm.gp.cov.ExpQuad(4, ls=1.0), bias=1.0
    )
    with model:
        idata = pm.sample(100, tune=20, **QUICK)
    assert idata.posterior["w"].dims == ("chain", "draw", "class", "basis")
    np.testing.assert_allclose((idata.posterior["w"] ** 2).sum("basis"), 1.0)
    prediction = bk.predict(model, idata, inputs)
    assert prediction["latent"].dims == ("obs_new", "class")
    np.testing.assert_allclose(prediction["vote"].sum("class"), 1.0)
    assert (prediction["label"].values == labels)[::3].all()
    assert (prediction["label"].values != labels).mean() < 0.1
    point = bk.bayes_point(model, idata)
    assert point.decision_function(inputs).shape == (150, 3)
    np.testing.assert_array_equal(point.predict(inputs), prediction["label"].values)
    with pytest.raises(TypeError, match="two classes"):
        bk.flip_probability(model, idata)


def test_each_class_against_the_rest_is_a_machine_of_its_own(iris):
    """The means of the outputs agree with those of two-class models of the same labels."""
    inputs, labels = iris[0][::3], iris[1][::3]
    kernel = pm.gp.cov.ExpQuad(4, ls=1.0)
    options = {"draws": 2000, "tune": 50, "chains": 1, "random_seed": 3}
    model = bayes_point_machine(inputs, labels, kernel=kernel)
    idata = bk.samplers.sample_directions(model, **options)
    latent = bk.predict(model, idata, inputs)["latent"]
    for name in np.unique(labels):
        twin = bayes_point_machine(inputs, labels == name, kernel=kernel)
        own = bk.predict(twin, bk.samplers.sample_directions(twin, **options), inputs)["latent"]
        # Outputs have standard deviations below 0.1: 2000 draws leave 0.003.
        np.testing.assert_allclose(latent.sel({"class": name}), own, atol=0.015)


def test_several_classes_through_pm_sample_and_directly_agree(iris):
    inputs, labels = iris[0][::3], iris[1][::3]
    model = bayes_point_machine(inputs, labels, kernel=pm.gp.cov.ExpQuad(4, ls=1.0))
    direct = bk.samplers.sample_directions(model, draws=1000, chains=2, random_seed=1)
    assert direct.posterior["class"].values.tolist() == np.unique(labels).tolist()
    for step in (bk.samplers.RefractiveBilliard, bk.samplers.KernelGibbs):
        with model:
            idata = pm.sample(1000, tune=200, step=step(sweeps=5), **QUICK)
        difference = bk.bayes_point(model, idata).w - bk.bayes_point(model, direct).w
        tolerance = 0.02 if step is bk.samplers.RefractiveBilliard else 0.15
        assert np.abs(difference).max() < tolerance


def test_softness_of_another_model():
    with pm.Model():
        prior = pm.HalfNormal("lambda")
    with pytest.raises(ValueError, match="belongs to another model"):
        bayes_point_machine(X, Y, softness=prior)


def test_start_is_found_where_support_vector_solvers_give_up():
    """Two overlapping clouds under a smooth kernel: the widest direction has a margin of 1e-5."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((150, 2))
    labels = inputs[:, 0] + 0.8 * rng.standard_normal(150) > 0
    model = bayes_point_machine(inputs, labels, kernel=pm.gp.cov.ExpQuad(2, ls=0.35))
    assert np.isfinite(model.compile_logp()(model.initial_point()))
