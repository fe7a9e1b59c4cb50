"""One first contact in this process: imports, a model of 100 points, its first draws.

Run as ``python _first_draw.py NAME``; ``pymc`` and ``bayeskernels`` are imports alone. The last
line on the standard output is a record in JSON.
"""

import json
import sys
import time
from collections import Counter


def _logistic_of_pymc():
    import numpy as np
    import pymc as pm

    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 2))
    with pm.Model(coords={"obs": range(len(X)), "column": range(2)}) as model:
        inputs = pm.Data("X", X, dims=("obs", "column"))
        intercept = pm.Normal("intercept", 0.0, 2.0)
        slope = pm.Normal("slope", 0.0, 2.0, dims="column")
        labels = (X[:, 0] > 0).astype(int)
        pm.Bernoulli("y", logit_p=intercept + inputs @ slope, observed=labels, dims="obs")
    return model


PEER = "PyMC's logistic regression"


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
    if name in ("pymc", "bayeskernels"):
        return record
    watch = _Stopwatch()
    from numba.core.event import install_recorder

    with install_recorder("numba:compile") as recorder:
        model = _logistic_of_pymc() if name == PEER else _model_of_ours(name)
        record["build"] = watch.read()
        with model:
            pm.sample(10, tune=10, chains=1, cores=1, random_seed=1, quiet=True)
        record["draw"] = watch.read()
    return record | {"compiled": _compiled(recorder)}


def _model_of_ours(name):
    from bayeskernels.command.warmup import FIRST_MODELS

    return FIRST_MODELS[name]()


if __name__ == "__main__":
    print(json.dumps(first_contact(sys.argv[1])))
