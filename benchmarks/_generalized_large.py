"""A generalized kernel model from start to end; run as a program, for its memory and its start.

``python benchmarks/_generalized_large.py N K_MAX SWEEPS`` prints one line of JSON.
"""

import json
import sys
import time

IMPORTING = time.perf_counter()

import numpy as np  # noqa: E402
from _large_set import peak_gib  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

from bayeskernels.models import generalized_kernel_model  # noqa: E402
from bayeskernels.samplers import ReversibleJump  # noqa: E402

IMPORTED = time.perf_counter()


def main():
    n, k_max, sweeps = map(int, sys.argv[1:])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n) > 0
    began = time.perf_counter()
    with generalized_kernel_model(X, y, max_active=k_max) as model:
        step = ReversibleJump(rng=1, start_active=k_max)
        point, _ = step.step(model.initial_point())
        first = time.perf_counter() - began
        began = time.process_time()
        for _ in range(sweeps):
            point, _ = step.step(point)
    result = {
        "import_seconds": IMPORTED - IMPORTING,
        "first_sweep_seconds": first,
        "seconds_per_sweep": (time.process_time() - began) / sweeps,
        "active": len(step.sampler.points),
        "peak_gib": peak_gib(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
