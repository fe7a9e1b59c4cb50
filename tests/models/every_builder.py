"""A small model of each builder, in all forms that its specification distinguishes."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy.stats import gamma as gamma_law
from scipy.stats import norm

import bayeskernels as bk

#: Plain Python instead of compiling.
PLAIN = Mode(linker="py", optimizer="fast_compile")

RNG = np.random.default_rng(14)
X = RNG.normal(size=(12, 2))
LABELS = (X[:, 0] > 0).astype(int)
THREE = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.33, 0.67]))
TARGETS = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=12)
KERNEL = pm.gp.cov.ExpQuad(2, ls=1.0)

zoo = bk.models


def with_random_width(builder, y, **options):
    with pm.Model() as model:
        width = pm.LogNormal("width", 0.0, 0.3)
        builder(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=width), **options)
    return model


def direction(y, **options):
    return zoo.label_noise_classifier(X, y, kernel=KERNEL, **options)


def machine(y, **options):
    return zoo.bayes_point_machine(X, y, kernel=KERNEL, **options)


def generalized(y, **options):
    return zoo.generalized_kernel_model(X, y, **options)


#: From a name to the observations and a function of them.
CASES = {
    "label_noise_classifier": (LABELS, lambda y: direction(y, noise=0.1)),
    "inferred noise": (LABELS, direction),
    "random width": (
        LABELS,
        lambda y: with_random_width(zoo.label_noise_classifier, y, noise=0.1),
    ),
    "noise zero": (LABELS, lambda y: direction(y, noise=0.0)),
    "bayes_point_machine": (LABELS, machine),
    "soft boundaries": (LABELS, lambda y: machine(y, softness=1.0)),
    "random softness": (LABELS, lambda y: machine(y, softness=pm.HalfNormal.dist(1.0))),
    "one against the rest": (THREE, lambda y: machine(y, softness=1.0)),
    "generalized_kernel_model": (LABELS, lambda y: generalized(y, max_active=5)),
    "dense": (LABELS, lambda y: generalized(y, sparse=False)),
    "logistic link": (LABELS, lambda y: generalized(y, link="logistic")),
    "identity link": (TARGETS, lambda y: generalized(y, link="identity")),
    "learned width": (LABELS, lambda y: generalized(y, theta="learn")),
    "three classes": (THREE, generalized),
    "two kernels": (
        LABELS,
        lambda y: generalized(y, kernel=[KERNEL, pm.gp.cov.ExpQuad(2, ls=0.3)]),
    ),
    "sparse_gp_classifier": (LABELS, lambda y: zoo.sparse_gp_classifier(X, y)),
    "bayesian_svm": (LABELS, lambda y: zoo.bayesian_svm(X, y)),
    "complete svm": (LABELS, lambda y: zoo.bayesian_svm(X, y, complete=True)),
    "gp_probit": (LABELS, lambda y: zoo.gp_probit(X, y)),
    "fitc": (LABELS, lambda y: zoo.gp_probit(X, y, inducing=4)),
    "gp_probit, random width": (LABELS, lambda y: with_random_width(zoo.gp_probit, y)),
    "gp_regression": (TARGETS, lambda y: zoo.gp_regression(X, y)),
    "process of a function": (
        TARGETS,
        lambda y: zoo.gp_regression(X, y, kernel=lambda A, B: A @ B.T, noise=pm.HalfNormal.dist(1)),
    ),
    "vfe": (TARGETS, lambda y: zoo.gp_regression(X, y, inducing=4)),
    "bayesian_linear_regression": (
        TARGETS,
        lambda y: zoo.bayesian_linear_regression(X, y, basis=2),
    ),
    "marginal": (TARGETS, lambda y: zoo.bayesian_linear_regression(X, y, marginal=True)),
    "logistic_regression": (LABELS, lambda y: zoo.logistic_regression(X, y)),
    "rbf_network": (TARGETS, lambda y: zoo.rbf_network(X, y, centers=3)),
    "adapted network": (TARGETS, lambda y: zoo.rbf_network(X, y, centers=3, adapt="all")),
    "gaussian_mean": (TARGETS, lambda y: zoo.gaussian_mean(y, sd=pm.HalfNormal.dist(1.0))),
}


#: Each draw has a kernel of its own, for which a graph has to be compiled.
SLOW = ("random width", "random softness", "gp_probit, random width")

#: Mark of a test of all cases.
for_every_builder = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in CASES]
)


def build(name):
    y, builder = CASES[name]
    return builder(y)


def inverted(y):
    """Observations that say the opposite."""
    return y.max() - y if y.dtype.kind == "i" else -y


def data_of(model, y):
    """Observations in the form of the model's data, by name."""
    name = "x_data" if "x_data" in model.named_vars else "y_data"
    if model[name].ndim == 2:
        y = (y[:, None] == np.arange(y.max() + 1)).astype(int)
    return {name: y}


def relabelled(name):
    """A model that was built with the opposite of its observations, which were then set anew."""
    y, builder = CASES[name]
    model = builder(inverted(y))
    pm.set_data(data_of(model, y), model=model)
    return model


def some_draws(model, n=4, seed=1):
    """Some values of the unknowns in the form of posterior draws: two chains, near the start."""
    rng = np.random.default_rng(seed)
    start = model.initial_point(random_seed=1)
    variables = [*model.free_RVs, *model.deterministics]
    values = model.replace_rvs_by_values(variables)
    evaluate = model.compile_fn(values, inputs=model.value_vars, mode=PLAIN, point_fn=False)
    draws = []
    for _ in range(2 * n):
        point = {}
        for value in model.value_vars:
            at = np.asarray(start[value.name])
            role = model.values_to_rvs[value].name
            if role == "gamma":
                at = np.zeros_like(at)
                at[rng.choice(len(at), 3, replace=False)] = 1
            elif role == "kernel_on":
                at = np.ones_like(at)
            else:
                at = at + 0.1 * rng.normal(size=at.shape)
            point[value.name] = at
        if "gamma" in point:
            _deactivate(model, point)
        draws.append(evaluate(*(point[v.name] for v in model.value_vars)))
    dataset = {}
    for variable, *arrays in zip(variables, *draws, strict=True):
        dims = model.named_vars_to_dims.get(variable.name) or [
            f"{variable.name}_dim_{k}" for k in range(variable.ndim)
        ]
        array = np.reshape(arrays, (2, n, *arrays[0].shape))
        dataset[variable.name] = (("chain", "draw", *dims), array)
    coords = {"chain": np.arange(2), "draw": np.arange(n)}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(dataset, coords)})


def _deactivate(model, point):
    """Coefficients of points that are not active are zero, and those of classes sum to zero."""
    dims = model.named_vars_to_dims["beta"]
    mask = np.expand_dims(point["gamma"], [k for k, dim in enumerate(dims) if dim != "obs"])
    for name in ("beta", "u"):
        if "class" in (model.named_vars_to_dims.get(name) or ()):
            point[name] = point[name] - point[name].mean(axis=-1, keepdims=True)
    point["beta"] = point["beta"] * mask


def prediction(model, draws):
    """All that bk.predict says of some points, or of the next one where a model has no inputs."""
    has_inputs = bk.specification_of(model).X is not None
    new = X[:5] + 0.1 if has_inputs else None
    return bk.predict(model, draws, new, progressbar=False)


def invent_latent_draws(rank, seed=0, prefix="", without=(), **more):
    """Draws of a process with an offset, as those of gp_probit and bayesian_svm."""
    rng = np.random.default_rng(seed)
    posterior = {
        "w": (("chain", "draw", "basis"), 2 * rng.standard_normal((2, 5, rank))),
        "u": (("chain", "draw"), rng.standard_normal((2, 5))),
        "g": (("chain", "draw"), rng.uniform(0.1, 2.0, (2, 5))),
    }
    kept = {name: values for name, values in posterior.items() if name not in without}
    posterior = {prefix + name: values for name, values in kept.items()} | more
    return xr.DataTree.from_dict({"posterior": xr.Dataset(posterior)})


def log_latent_prior(z, u, g, eta):
    """With the Jacobians of the logarithms of g and eta, which NUTS sees."""
    return (
        gamma_law(2, scale=1 / 0.05).logpdf(g)
        + np.log(g)
        + gamma_law(0.5, scale=1 / 0.05).logpdf(eta)
        + np.log(eta)
        + norm(0, eta**-0.5).logpdf(u)
        + norm.logpdf(z).sum()
    )
