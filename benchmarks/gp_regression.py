"""Gaussian-process regression beside scikit-learn's, and sparse processes at n = 50,000.

Run ``python benchmarks/gp_regression.py --help``; how to read the result is in README.md here.
"""

import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from _bench import run_parts
from _gp_bayes import CONTENDERS, slowest
from _hsgp import fit_and_predict
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import bayeskernels as bk
from bayeskernels.gp import EvidenceFunction, maximise_evidence
from bayeskernels.kernels.argument import numpy_function

#: Evaluations of evidence and gradient that either optimiser has.
BUDGET = 20

N_NEW = 1000

#: Wall-clock seconds and GiB allowed to the sparse process.
SECONDS, GIB = 600.0, 8.0


def make_problem(n, p=8, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.3 * X[:, 2]
    return X, f - f.mean() + 0.2 * rng.normal(size=n)


def ours(X, y, X_new, budget):
    model = bk.models.gp_regression(X, y, ard=True)
    model.set_initval(model["amplitude"], 1.0)
    model.set_initval(model["ls"], np.full(X.shape[1], 2.0))
    model.set_initval(model["noise"], np.sqrt(0.1))
    best = maximise_evidence(model, starts=1, max_evaluations=budget, progressbar=False)
    prediction = bk.predict(model, best, X_new)
    return best.log_evidence, int(best.starts["evaluations"][0]), prediction["sd"].values


def theirs(X, y, X_new, budget):
    used = 0

    def climb(objective, start, bounds):
        nonlocal used
        from scipy.optimize import minimize

        result = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxfun": budget, "maxiter": budget, "gtol": 1e-5},
        )
        used = result.nfev
        return result.x, result.fun

    kernel = ConstantKernel(1.0) * RBF(np.full(X.shape[1], 2.0)) + WhiteKernel(0.1)
    peer = GaussianProcessRegressor(kernel, optimizer=climb)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X, y)
    _, sd = peer.predict(X_new, return_std=True)
    return float(peer.log_marginal_likelihood_value_), used, sd


def measure_exact(bench):
    """Fit with the same budget from the same start and predict, in turns; CPU seconds."""
    ours(*make_problem(50), make_problem(5)[0], 2)  # numba compiles
    for n in (300, 1000) if bench.quick else (1000, 3000):
        X, y = make_problem(n)
        X_new, _ = make_problem(N_NEW, seed=2)
        seconds = {"ours": [], "theirs": []}
        for _ in range(2 if n <= 1000 else 1):
            for name, run in (("ours", ours), ("theirs", theirs)):
                bench.say(f"exact: n = {n}: {name}")
                began = time.process_time()
                evidence, evaluations, _ = run(X, y, X_new, BUDGET)
                seconds[name].append(time.process_time() - began)
                seconds[f"{name} per evaluation"] = seconds[name][-1] / evaluations
                seconds[f"{name} evidence"] = evidence
        total = {name: float(np.median(seconds[name])) for name in ("ours", "theirs")}
        bench.add(
            "exact",
            f"n = {n:,}, 8 columns, ARD",
            "CPU seconds of scikit-learn over ours, fit and predict",
            total["theirs"] / total["ours"],
            1.0 if n >= 1000 else None,
            note=f"{total['ours']:.1f} s against {total['theirs']:.1f} s; log evidence "
            f"{seconds['ours evidence']:.1f} against {seconds['theirs evidence']:.1f}",
            details=seconds,
        )
        bench.add(
            "exact",
            f"n = {n:,}, 8 columns, ARD",
            "the same per evaluation of the optimiser",
            seconds["theirs per evaluation"] / seconds["ours per evaluation"],
        )


def measure_bayes(bench):
    """All hyperparameters by NUTS, each contender with its own defaults and as many draws.

    CPU seconds are those of the whole call: compiling or looking for modes, tuning, drawing.
    """
    n, draws = (100, 100) if bench.quick else (300, 500)
    X, y = make_problem(n)
    problem = f"n = {n:,}, 8 columns, ARD"
    found = {}
    for name, sample in CONTENDERS.items():
        bench.say(f"bayes: {problem}: {name}")
        try:
            found[name] = slowest(sample, bk.models.gp_regression(X, y, ard=True), draws)
        except ImportError as error:
            bench.notes.append(f"{problem}, {name} left out: {error}")
    our_ess, our_seconds, our_means, our_sds = found.pop("ours")
    for name, (ess, seconds, means, _) in found.items():
        error = np.abs(our_means - means) / our_sds
        bench.add(
            "bayes",
            problem,
            f"ours over {name}, ESS/s of the slowest hyperparameter, whole call",
            (our_ess / our_seconds) / (ess / seconds),
            1.0,
            note=f"{our_ess:.0f} in {our_seconds:.0f} s against {ess:.0f} in {seconds:.0f} s; "
            f"means of the logarithms differ by at most {error.max():.2f} standard deviations",
        )


def sparse_problem(n):
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, size=(n + 1000, 2))
    f = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.3 * X[:, 1]
    return X, f, f + 0.2 * rng.normal(size=len(X))


def measure_sparse(bench):
    """VFE at n = 50,000, fit by evidence and 1,000 predictions, beside PyMC's HSGP.

    Each in a process of its own, for its memory. HSGP has 22 x 22 = 484 basis functions.
    """
    n, m = (5_000, 200) if bench.quick else (50_000, 500)
    problem = f"n = {n:,}, {m} inducing points"
    bench.say(f"sparse: {problem}")

    def child_of(what, n, m):
        return bench.own_process(f"{problem}, {what},", __file__, "--child", what, n, m)

    add = partial(bench.add, "sparse", problem)
    result = child_of("fit", n, m)
    if result is None:
        return
    add(
        "seconds to fit and predict, wall clock",
        result["seconds"],
        SECONDS,
        at_most=True,
        note=f"{result['cpu_seconds']:.0f} CPU seconds, {result['evaluations']} evaluations, "
        f"converged: {result['converged']}; noise {result['noise']:.4f} (true 0.2)",
        details=result,
    )
    add("peak memory, GiB", result["peak_gib"], GIB, at_most=True)
    add("RMSE against the true function", result["rmse"], 0.05, at_most=True)
    bench.say("sparse: HSGP")
    peer = child_of("hsgp", n, 14 if bench.quick else 22)
    if peer is not None:
        add(
            "CPU seconds of HSGP over ours, fit and predict",
            peer["cpu_seconds"] / result["cpu_seconds"],
            note=f"{peer['cpu_seconds']:.1f} s and {peer['peak_gib']:.1f} GiB against "
            f"{result['cpu_seconds']:.1f} s and {result['peak_gib']:.1f} GiB; RMSE "
            f"{peer['rmse']:.4f} against {result['rmse']:.4f}; {peer['evaluations']} evaluations, "
            f"noise {peer['noise']:.4f}",
            details=peer,
        )
    bench.say("sparse: one evaluation of PyMC's graph")
    pymcs = child_of("graph", n, m)
    if pymcs is None:
        return
    add(
        "CPU seconds of PyMC's graph over ours, one evaluation with gradient",
        pymcs["cpu_seconds"] / result["cpu_per_evaluation"],
        note=f"{pymcs['cpu_seconds']:.1f} s and {pymcs['peak_gib']:.1f} GiB against "
        f"{result['cpu_per_evaluation']:.1f} s and {result['peak_gib']:.1f} GiB",
        details=pymcs,
    )


def child(what, n, m, evaluations=60):
    """Do one thing and print what it took as JSON.

    By hand, for the memory of a fit cut short: ``--child fit 50000 500 3``.
    """
    X, f, y = sparse_problem(n)
    began, cpu = time.perf_counter(), time.process_time()
    if what == "hsgp":
        result = fit_and_predict(X[:n], y[:n], X[n:], m=m, max_evaluations=evaluations)
        result["rmse"] = float(np.sqrt(np.mean((result.pop("mean") - f[n:]) ** 2)))
        result["seconds"] = time.perf_counter() - began
        result["cpu_seconds"] = time.process_time() - cpu
    elif what == "fit":
        model = bk.models.gp_regression(X[:n], y[:n], ard=True, inducing=m)
        best = maximise_evidence(model, starts=1, max_evaluations=evaluations, progressbar=False)
        fitted = time.process_time() - cpu
        prediction = bk.predict(model, best, X[n:])
        result = {
            "seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - cpu,
            "evaluations": int(best.starts["evaluations"][0]),
            "cpu_per_evaluation": fitted / int(best.starts["evaluations"][0]),
            "converged": best.converged,
            "noise": float(best.point["noise"]),
            "rmse": float(np.sqrt(np.mean((prediction["mean"].values - f[n:]) ** 2))),
        }
    else:
        import pytensor.tensor as pt

        model = bk.models.gp_regression(X[:n], y[:n], ard=True, inducing=m)
        values = EvidenceFunction(model)._values
        bound = model.logp(vars=model.potentials)
        function = numpy_function(values, [bound, *pt.grad(bound, values)])
        start = model.initial_point()
        point = [start[v.name] for v in values]
        function(*point)
        cpu = time.process_time()
        function(*point)
        result = {"cpu_seconds": time.process_time() - cpu}
    result["peak_gib"] = peak_gib()
    print(json.dumps(result))


def peak_gib():
    """Peak memory of this process; ``ru_maxrss`` would count that of the parent that forked it."""
    status = Path("/proc/self/status")
    if status.exists():
        [line] = [row for row in status.read_text().splitlines() if row.startswith("VmHWM")]
        return int(line.split()[1]) / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


PARTS = {"exact": measure_exact, "bayes": measure_bayes, "sparse": measure_sparse}

if __name__ == "__main__":
    if "--child" in sys.argv:
        what, *numbers = sys.argv[sys.argv.index("--child") + 1 :]
        child(what, *map(int, numbers))
    else:
        run_parts("Gaussian-process regression", __doc__, PARTS)
