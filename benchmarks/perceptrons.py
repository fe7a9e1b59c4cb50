"""Perceptrons on permuted samples at full size: time, memory, error; an SVM beside them.

Run ``python benchmarks/perceptrons.py --help``; how to read the result is in README.md here.
"""

import json
import sys
import time

import numpy as np
from _bench import run_parts
from sklearn.svm import SVC

from bayeskernels.data import load
from bayeskernels.reproduction.bpm_figure_9 import learn_digits, polynomial
from bayeskernels.samplers import PermutationPerceptron

#: Memory for the whole process in GiB, what of it is for kernel rows and all, seconds allowed.
LIMITS = [(8.0, "7.5 GiB", 120.0), (4.0, "3.5 GiB", 240.0)]


def measure_mnist(bench):
    """All of MNIST in a process of its own, on one core, within two limits of memory."""
    for process_gib, limit, seconds in LIMITS[1:] if bench.quick else LIMITS:
        problem = f"mnist, {process_gib:g} GiB"
        bench.say(problem)
        result = bench.own_process(problem, __file__, "--child", limit)
        if result is None:
            continue
        bench.add(
            "mnist",
            problem,
            "seconds for learning, wall clock",
            result["seconds"],
            seconds,
            at_most=True,
            note=f"{result['cpu_seconds']:.0f} CPU seconds; {result['updates']:,} mistakes, "
            f"{result['support']:,} points used",
            details=result,
        )
        bench.add(
            "mnist", problem, "peak memory, GiB", result["peak_gib"], process_gib, at_most=True
        )
        error = 100 * np.array(result["error"])
        bench.add("mnist", problem, "test error, percent", error[0], 1.45, at_most=True)
        bench.add("mnist", problem, "test error, 10% rejected", error[-1], 0.2, at_most=True)


def measure_svc(bench):
    """Scikit-learn's SVC with the same kernel on a part of MNIST, in turns with ours."""
    try:
        data = load("mnist", dtype=np.float32)
    except FileNotFoundError as error:
        bench.notes.append(str(error))
        return
    m = 3000 if bench.quick else 10_000
    unit, tests = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (data.X[:m], data.X_test))
    y, y_test = data.y[:m], data.y_test
    problem = f"mnist, first {m:,} images"
    bench.say(problem)
    ensemble = PermutationPerceptron(unit, y, kernel=polynomial)
    ensemble.sample(permutations=1, progressbar=False)
    began = time.process_time()
    ensemble.sample(permutations=10, random_seed=1, progressbar=False)
    ours = time.process_time() - began
    svm = SVC(kernel="poly", degree=5, gamma=1, coef0=1, C=1e10, cache_size=2000)
    began = time.process_time()
    svm.fit(unit.astype(float), y)
    theirs = time.process_time() - began
    bench.add(
        "svc",
        problem,
        "CPU seconds of SVC over ours",
        theirs / ours,
        note=f"{theirs:.1f} s for 45 hard-margin machines, one class against another (error "
        f"{100 * np.mean(svm.predict(tests[:2000]) != y_test[:2000]):.1f}% of 2,000), against "
        f"{ours:.1f} s for 100 perceptrons, one against the rest",
    )


def child(limit):
    """Learn MNIST once; print what it took as JSON."""
    import resource

    learn_digits("usps/0", seed=0, permutations=1)  # compiles
    began = time.process_time()
    result = learn_digits("mnist/0", seed=1, memory_limit=limit)
    result["cpu_seconds"] = time.process_time() - began
    result["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(result))


PARTS = {"mnist": measure_mnist, "svc": measure_svc}

if __name__ == "__main__":
    if "--child" in sys.argv:
        child(sys.argv[-1])
    else:
        run_parts("Perceptrons at full size", __doc__, PARTS)
