"""The reader of draws: which forms it takes, and which draws it does not take for the model's."""

import itertools

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.backends.arviz import find_constants, find_observations
from pymc.util import get_default_varnames

import bayeskernels as bk
from bayeskernels import models
from bayeskernels.specification.draws import posterior_draws, read_draws

RNG = np.random.default_rng(1)
X = RNG.normal(size=(8, 2))
Y = np.where(X[:, 0] > 0, 1, -1)
Y3 = np.arange(8) % 3
T = X[:, 0] + 0.1 * RNG.normal(size=8)
X_NEW = RNG.normal(size=(3, 2))


def kernel(ls=1.0):
    return pm.gp.cov.ExpQuad(2, ls=ls)


def with_random_width(build, *args, **options):
    with pm.Model() as model:
        build(*args, kernel=kernel(pm.LogNormal("width")), **options)
    return model


BUILDERS = {
    "label noise": lambda: models.label_noise_classifier(X, Y, kernel=kernel()),
    "fixed noise": lambda: models.label_noise_classifier(X, Y, kernel=kernel(), noise=0.1),
    "another kernel": lambda: models.label_noise_classifier(X, Y, kernel=kernel(2.0), noise=0.1),
    "other labels": lambda: models.label_noise_classifier(X, -Y, kernel=kernel(), noise=0.1),
    "other inputs": lambda: models.label_noise_classifier(X + 1, Y, kernel=kernel(), noise=0.1),
    "random width": lambda: with_random_width(models.label_noise_classifier, X, Y, noise=0.1),
    "version space": lambda: models.bayes_point_machine(X, Y, kernel=kernel()),
    "soft": lambda: models.bayes_point_machine(X, Y, kernel=kernel(), softness=0.5),
    "three classes": lambda: models.bayes_point_machine(X, Y3, kernel=kernel()),
    "generalized": lambda: models.generalized_kernel_model(X, Y, kernel=kernel()),
    "dense": lambda: models.generalized_kernel_model(X, Y, kernel=kernel(), sparse=False),
    "logistic link": lambda: models.generalized_kernel_model(
        X, Y, kernel=kernel(), link="logistic"
    ),
    "identity link": lambda: models.generalized_kernel_model(
        X, T, kernel=kernel(), link="identity"
    ),
    "generalized, three classes": lambda: models.generalized_kernel_model(X, Y3, kernel=kernel()),
    "sparse GP": lambda: models.sparse_gp_classifier(X, Y, kernel=kernel()),
    "SVM": lambda: models.bayesian_svm(X, Y, kernel=kernel()),
    "probit": lambda: models.gp_probit(X, Y, kernel=kernel()),
    "process": lambda: models.gp_regression(X, T),
    "network": lambda: models.rbf_network(X, T, centers=2, bias=True),
    "linear": lambda: models.bayesian_linear_regression(X, T),
    "logistic": lambda: models.logistic_regression(X, Y),
    "mean": lambda: models.gaussian_mean(T, sd=pm.HalfNormal.dist(1.0)),
}


@pytest.fixture(scope="module")
def built():
    return {name: build() for name, build in BUILDERS.items()}


def invent(model, chains=2, draws=3, seed=2):
    """Draws of the shapes of a model's variables, with the groups that pm.sample adds."""
    rng = np.random.default_rng(seed)
    specification = bk.specification_of(model)
    lengths = {"obs": 8, "class": 3, "kernel": 2, "feature": 2}
    lengths["basis"] = getattr(specification, "rank", 3)
    variables = {}
    for variable in [*model.free_RVs, *model.deterministics]:
        dims = model.named_vars_to_dims.get(variable.name) or ()
        values = rng.uniform(0.1, 0.4, (chains, draws, *(lengths[dim] for dim in dims)))
        if variable.name == "gamma":
            values = np.ones(values.shape, dtype=int)
        variables[variable.name] = (("chain", "draw", *dims), values)

    def as_dataset(values):
        named = {
            name: ([f"{name}_{k}" for k in range(np.ndim(v))], v) for name, v in values.items()
        }
        return xr.Dataset(named)

    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                variables, coords={"chain": np.arange(chains), "draw": np.arange(draws)}
            ),
            "observed_data": as_dataset(find_observations(model)),
            "constant_data": as_dataset(find_constants(model)),
        }
    )


def predict(model, idata):
    new = None if bk.specification_of(model).X is None else X_NEW
    return bk.predict(model, idata, new, progressbar=False)


def test_every_model_takes_its_own_draws_and_no_others(built):
    """462 pairs; draws of a model whose variables and data are all the same are told by a mark."""
    drawn = {name: invent(model) for name, model in built.items()}
    for name, model in built.items():
        predict(model, drawn[name])
    accepted = []
    for one, other in itertools.permutations(built, 2):
        try:
            predict(built[one], drawn[other])
        except ValueError:
            continue
        accepted.append((one, other))
    assert not accepted


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("version space", "fixed noise", "another kind of model than a bayes_point_machine"),
        ("version space", "label noise", "another kind"),
        ("fixed noise", "label noise", "noise is fixed in this model, and was drawn in theirs"),
        ("sparse GP", "generalized", "another kind of model than a sparse_gp_classifier"),
        ("logistic link", "generalized", "another kind"),
        ("linear", "network", "another kind"),
        ("fixed noise", "another kernel", "with another kernel"),
        ("version space", "soft", "with another kernel"),
        ("fixed noise", "other labels", "the observations y were others"),
        ("fixed noise", "other inputs", "the inputs X were others"),
    ],
)
def test_reasons(built, one, other, reason):
    with pytest.raises(ValueError, match=f"idata does not belong to this model: .*{reason}"):
        predict(built[one], invent(built[other]))


def inducing(points, **options):
    return models.gp_regression(
        X, T, kernel=kernel(), noise=pm.HalfNormal.dist(), inducing=points, **options
    )


HYPERPARAMETERS = {
    "noise": (
        lambda noise: models.label_noise_classifier(X, Y, kernel=kernel(), noise=noise),
        (0.1, 0.2),
        r"noise was 0\.2 when they were drawn, and is 0\.1",
    ),
    "noise of classes": (
        lambda noise: models.label_noise_classifier(X, Y, kernel=kernel(), noise=noise),
        ((0.1, 0.2), (0.2, 0.1)),
        "noise was other numbers",
    ),
    "g": (lambda g: models.generalized_kernel_model(X, Y, kernel=kernel(), g=g), (1, 2), "g was 2"),
    "eta": (lambda eta: models.gp_probit(X, Y, kernel=kernel(), eta=eta), (1, 2), "eta was 2"),
    "g of kernels": (
        lambda g: models.generalized_kernel_model(X, Y, kernel=[kernel(), kernel(2.0)], g=g),
        (1.0, 2.0),
        "g was other numbers",
    ),
    "noise of a process": (lambda noise: models.gp_regression(X, T, noise=noise), (1, 2), "noise"),
    "alpha": (lambda alpha: models.logistic_regression(X, Y, alpha=alpha), (1, 2), "alpha was 2"),
    "centers": (
        lambda k: models.rbf_network(X, T, centers=X[k : k + 2], width=1.0),
        (0, 1),
        "centers was other numbers",
    ),
    "sd": (lambda sd: models.gaussian_mean(T, sd=sd), (1.0, 2.0), "sd was 2"),
    "prior_sd": (lambda sd: models.gaussian_mean(T, prior_sd=sd), (1.0, 2.0), "other options"),
    "inducing": (lambda k: inducing(X[k : k + 3]), (0, 1), "other options"),
    "approximation": (lambda a: inducing(X[:3], approximation=a), ("VFE", "FITC"), "other options"),
    "mean": (lambda mean: models.gp_regression(X, T, mean=mean), (0.0, 1.0), "other options"),
    "max_active": (
        lambda most: models.generalized_kernel_model(X, Y, kernel=kernel(), max_active=most),
        (3, 4),
        "other options",
    ),
}


@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_other_fixed_hyperparameters(name):
    build, (own, other), reason = HYPERPARAMETERS[name]
    model = build(own)
    read_draws(model, invent(build(own)))
    with pytest.raises(ValueError, match=f"idata does not belong to this model: .*{reason}"):
        read_draws(model, invent(build(other)))


def test_constants_that_are_set_anew():
    """A hyperparameter makes another posterior of a model; points and others' data do not."""
    with pm.Model() as model:
        scale, mine = pm.Data("scale", 1.0), pm.Data("mine", [[1.0], [2.0]])
        w = models.label_noise_classifier(X, Y, kernel=kernel(), noise=0.1)["w"]
        pm.Normal("other", scale * w[0] + mine[:, 0], 1.0, observed=[0.0, 1.0])
    idata = invent(model)
    pm.set_data({"X": X_NEW, "scale": 2.0, "mine": [[3.0], [4.0]]}, model=model)
    predict(model, idata)
    pm.set_data({"X": X, "noise": 0.2}, model=model)
    with pytest.raises(ValueError, match=r"noise was 0\.1 when they were drawn, and is 0\.2"):
        predict(model, idata)
    pm.set_data({"noise": 0.1}, model=model)
    predict(model, idata)


def test_names_of_classes_are_no_options():
    named = models.label_noise_classifier(X, np.where(Y > 0, "b", "a"), kernel=kernel(), noise=0.1)
    predict(named, invent(models.label_noise_classifier(X, Y, kernel=kernel(), noise=0.1)))


def test_marks_of_earlier_draws():
    """Draws that were stored before the mark had options are read as they were."""
    model = models.label_noise_classifier(X, Y, kernel=kernel(), noise=0.1)
    idata = invent(model)
    constants = idata["constant_data"].to_dataset()
    idata["constant_data"] = constants.isel(zoo_model___0=slice(2))
    predict(model, idata)


TOOLS = {
    "predict": predict,
    "bayes_point": lambda model, idata: bk.bayes_point(model, idata),
    "flip_probability": lambda model, idata: bk.flip_probability(model, idata),
    "monitor": lambda model, idata: bk.diagnostics.monitor(model, idata),
    "loo": lambda model, idata: bk.diagnostics.loo(model, idata),
    "vote_map": lambda model, idata: bk.plots.vote_map(model, idata, resolution=5),
    "class_map": lambda model, idata: bk.plots.class_map(model, idata, resolution=5),
    "boundaries": lambda model, idata: bk.plots.decision_boundaries(model, idata, resolution=5),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_take_all_forms_of_draws_and_refuse_all_others(built, tool):
    model = built["fixed noise"]
    whole = invent(model)
    posterior = whole["posterior"].to_dataset()
    for form in (
        whole,
        whole["posterior"],
        posterior,
        posterior.sel(chain=0),
        posterior.isel(chain=1, draw=[2]),
        posterior.isel(chain=0, draw=0),
        whole.sel(chain=0),
        az.extract(whole, keep_dataset=True),
        posterior.stack(sample=("chain", "draw")),
    ):
        TOOLS[tool](model, form)
    plt.close("all")
    broken = posterior.copy(deep=True)
    broken["w"][0, 1, 2] = np.nan
    text = posterior.assign(w=posterior["w"].astype(str))
    refused = [
        (broken, ValueError, "'w' are not finite in 1 of 6 draws"),
        (posterior.isel(draw=slice(0)), ValueError, "2 chains of 0 draws"),
        (posterior.isel(chain=slice(0)), ValueError, "0 chains of 3 draws"),
        (posterior.drop_vars("w"), ValueError, "no posterior draws of 'w'"),
        (posterior.rename(w="v"), ValueError, "no posterior draws of 'w'"),
        (posterior.isel(basis=slice(5)), ValueError, "5 coordinates, the model has 8"),
        (posterior.isel(basis=0), ValueError, "draws of w have the dims"),
        (text, ValueError, "'w' are no numbers"),
        (xr.DataTree.from_dict({"prior": posterior}), ValueError, "no group 'posterior'"),
        (invent(built["another kernel"]), ValueError, "another kernel"),
        (None, ValueError, "is needed"),
        (posterior["w"].values, TypeError, "must be a DataTree"),
        ({"w": 1}, TypeError, "must be a DataTree"),
        ("run.nc", TypeError, "must be a DataTree"),
        ([1.0], TypeError, "must be a DataTree"),
    ]
    for idata, error, reason in refused:
        with pytest.raises(error, match=reason):
            TOOLS[tool](model, idata)


def test_all_forms_predict_the_same(built):
    model = built["label noise"]
    whole = invent(model)
    posterior = whole["posterior"].to_dataset()
    expected = predict(model, whole)
    for form in (posterior, az.extract(whole, keep_dataset=True), whole["posterior"]):
        xr.testing.assert_allclose(predict(model, form), expected)
    first = predict(model, posterior.sel(chain=0))
    xr.testing.assert_allclose(first, predict(model, posterior.isel(chain=[0])))


def test_extracted_array_of_one_variable():
    """az.extract makes an array of a posterior with a single variable."""
    model = models.label_noise_classifier(X, Y, kernel=kernel(), noise=0.1)
    whole = invent(model)
    extracted = az.extract(whole)
    assert isinstance(extracted, xr.DataArray)
    xr.testing.assert_allclose(predict(model, extracted), predict(model, whole))
    for no_draws in (extracted.rename(None), extracted.to_pandas()):
        with pytest.raises(TypeError, match=r"give that of pm\.sample"):
            predict(model, no_draws)


def test_wrong_type_where_nothing_is_read():
    """A process and a mean of which nothing is random need no draws, but take no nonsense."""
    process = models.gp_regression(X, T, kernel=kernel(), noise=0.1)
    for model in (process, models.gaussian_mean(T)):
        for nonsense in ("run.nc", 3.0, {"posterior": 1}):
            with pytest.raises(TypeError, match="must be a DataTree"):
                predict(model, nonsense)
    for tool in (bk.gp.log_evidence, bk.gp.dual_coefficients, bk.gp.posterior_predictive):
        with pytest.raises(TypeError, match="must be a DataTree"):
            tool(process, "run.nc")


def test_processes_active_sets_and_evidence(built):
    process = built["process"]
    idata = invent(process)
    posterior = idata["posterior"].to_dataset()
    one = bk.gp.log_evidence(process, posterior.sel(chain=0), progressbar=False)
    np.testing.assert_allclose(one, bk.gp.log_evidence(process, idata, progressbar=False)[:3])
    with pytest.raises(ValueError, match="no posterior draws of 'noise'"):
        bk.gp.log_evidence(process, posterior.drop_vars("noise"))
    with pytest.raises(ValueError, match="'ls' are not finite in 6 of 6"):
        bk.gp.log_evidence(process, posterior.assign(ls=posterior["ls"] * np.nan))
    sparse = invent(built["generalized"])
    assert bk.active_sets.sizes(sparse["posterior"].to_dataset()).shape == (2, 3)
    assert bk.active_sets.sizes(sparse["posterior"].to_dataset().sel(chain=0)).shape == (1, 3)
    for tool in (bk.active_sets.sizes, bk.plots.active_sets.trace, bk.samplers.most_used):
        with pytest.raises(TypeError, match="must be a DataTree"):
            tool("run.nc")
    with pytest.raises(ValueError, match="another kind"):
        bk.plots.active_sets.inclusion_map(built["generalized"], invent(built["sparse GP"]))
    mean = built["mean"]
    for bad, error in (("run.nc", TypeError), (invent(built["linear"]), ValueError)):
        with pytest.raises(error):
            bk.evidence.estimate(mean, method="bridge", idata=bad)
        with pytest.raises(error):
            bk.evidence.suitable_methods(mean, bad)


def test_mark_is_in_the_draws_and_in_no_graph(built):
    """pm.sample stores data variables; graphs of the model leave out names like this one."""
    model = built["label noise"]
    assert "zoo_model__" in find_constants(model)
    shown = get_default_varnames(model.named_vars, include_transformed=False)
    assert "y_data" in shown
    assert "zoo_model__" not in shown
    with pm.Model(name="mine") as named:
        models.label_noise_classifier(X, Y, kernel=kernel(), noise=0.1)
    assert "mine::zoo_model__" in find_constants(named)


def test_additions_of_ones_own_are_kept(built):
    model = built["fixed noise"]
    idata = invent(model)
    idata["posterior"] = idata["posterior"].to_dataset().assign(mine=0.0)
    assert "mine" in read_draws(model, idata)["posterior"]
    assert posterior_draws(idata, "w").shape == (2, 3, 8)
    predict(model, idata)


def test_other_observations_of_a_model_without_inputs():
    means = [bk.models.gaussian_mean(np.arange(5.0) + shift, sd=1.0) for shift in (0.0, 1.0)]
    with means[0]:
        draws = pm.sample(5, tune=5, chains=1, random_seed=1, quiet=True, progressbar=False)
    bk.predict(means[0], draws)
    with pytest.raises(ValueError, match="the observations x were others"):
        bk.predict(means[1], draws)
