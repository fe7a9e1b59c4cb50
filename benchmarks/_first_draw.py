"""One first contact in this process: imports, a model of 100 points, its first draws.

Run as ``python _first_draw.py NAME``; ``pymc`` and ``bayeskernels`` are imports alone. The last
line on the standard output is a record in JSON.
"""

import json
import sys
import time
from collections import Counter

N = 100


def _data():
    import numpy as np

    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 2))
    output = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, output + 0.1 * rng.normal(size=N), (output > 0).astype(int)


def _logistic_of_pymc(X, targets, labels):
    import pymc as pm

    with pm.Model(coords={"obs": range(len(X)), "column": range(2)}) as model:
        inputs = pm.Data("X", X, dims=("obs", "column"))
        intercept = pm.Normal("intercept", 0.0, 2.0)
        slope = pm.Normal("slope", 0.0, 2.0, dims="column")
        pm.Bernoulli("y", logit_p=intercept + inputs @ slope, observed=labels, dims="obs")
    return model


def _by_builder(builder, *, y="labels", **options):
    """Maker of a model of ours; ``y`` says which observations it takes."""

    def make(X, targets, labels):
        import numpy as np

        import bayeskernels as bk

        classes = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.33, 0.67]))
        observed = {"labels": labels, "classes": classes, "targets": targets}[y]
        build = getattr(bk.models, builder)
        return build(observed, **options) if y == "alone" else build(X, observed, **options)

    return make


def _gaussian_mean(X, targets, labels):
    import pymc as pm

    import bayeskernels as bk

    return bk.models.gaussian_mean(targets, sd=pm.HalfNormal.dist(1.0))


PEER = "PyMC's logistic regression"

#: Default forms of all builders, and other forms of the generalized kernel model.
MODELS = {
    PEER: _logistic_of_pymc,
    "label_noise_classifier": _by_builder("label_noise_classifier"),
    "bayes_point_machine": _by_builder("bayes_point_machine"),
    "generalized_kernel_model": _by_builder("generalized_kernel_model"),
    "generalized, three classes": _by_builder("generalized_kernel_model", y="classes"),
    "generalized, regression": _by_builder(
        "generalized_kernel_model", y="targets", link="identity"
    ),
    "generalized, logistic link": _by_builder("generalized_kernel_model", link="logistic"),
    "generalized, learned width": _by_builder("generalized_kernel_model", theta="learn"),
    "sparse_gp_classifier": _by_builder("sparse_gp_classifier"),
    "bayesian_svm": _by_builder("bayesian_svm"),
    "gp_probit": _by_builder("gp_probit"),
    "gp_regression": _by_builder("gp_regression", y="targets"),
    "bayesian_linear_regression": _by_builder("bayesian_linear_regression", y="targets"),
    "logistic_regression": _by_builder("logistic_regression"),
    "rbf_network": _by_builder("rbf_network", y="targets", centers=5),
    "gaussian_mean": _gaussian_mean,
}


class _Stopwatch:
    """CPU seconds of this process and seconds of the clock since it was made."""

    def __init__(self):
        self.began = time.process_time(), time.perf_counter()

    def read(self):
        cpu, wall = time.process_time(), time.perf_counter()
        return {"cpu": cpu - self.began[0], "wall": wall - self.began[1]}


def _origin(event):
    """Whose function numba compiled, and its name."""
    function = event.data["dispatcher"].py_func
    owner = (function.__module__ or "").partition(".")[0]
    return owner if owner in ("bayeskernels", "numba") else "pytensor", function.__qualname__


def _compiled(recorder):
    """Numbers of functions that numba compiled by whose they are, and the slowest ones."""
    seconds, counts, running = Counter(), Counter(), []
    for moment, event in recorder.buffer:
        if event.is_start:
            running.append([moment, 0.0])
            continue
        began, inside = running.pop()
        if running:
            running[-1][1] += moment - began
        counts[_origin(event)[0]] += 1
        # What a function has compiled of others is theirs.
        seconds[" ".join(_origin(event))] += moment - began - inside
    by_owner = Counter()
    for name, value in seconds.items():
        by_owner[name.partition(" ")[0]] += value
    return {"counts": dict(counts), "seconds": dict(by_owner), "slowest": seconds.most_common(25)}


def first_contact(name):
    """Record of the first contact with a model, or of an import alone."""
    watch = _Stopwatch()
    import pymc as pm

    if name not in ("pymc", PEER):
        import bayeskernels  # noqa: F401
    record = {"import": watch.read()}
    if name not in MODELS:
        return record
    observations = _data()
    watch = _Stopwatch()
    from numba.core.event import install_recorder

    with install_recorder("numba:compile") as recorder:
        with MODELS[name](*observations):
            record["build"] = watch.read()
            pm.sample(10, tune=10, chains=1, cores=1, random_seed=1, quiet=True)
        record["draw"] = watch.read()
    return record | {"compiled": _compiled(recorder)}


if __name__ == "__main__":
    print(json.dumps(first_contact(sys.argv[1])))
