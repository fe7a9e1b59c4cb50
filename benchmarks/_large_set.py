"""One large problem from start to end; run as a program, so that its peak memory is its own.

``python benchmarks/_large_set.py PROBLEM M DRAWS`` prints one line of JSON.
"""

import json
import re
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pymc as pm
from _contest import QUIET, bulk_ess
from _problems import make_problem
from arviz_stats.base import array_stats

CHAINS = 4
TUNE = 30


def peak_gib():
    """Largest resident memory of this process so far."""
    status = Path("/proc/self/status")
    if status.is_file():
        # Linux's ru_maxrss starts from the size of the process that started this one.
        [kib] = re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())
        return int(kib) / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**30 if sys.platform == "darwin" else peak / 2**20


def main():
    name, m, draws = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    imported = peak_gib()
    began = time.perf_counter()
    problem = make_problem(name, m, 0.1)
    model = problem.model()
    ticks = []

    def tick(trace, draw):
        if draw.draw_idx == TUNE - 1 or draw.draw_idx == TUNE + draws - 1:
            ticks.append(time.process_time())

    with model:
        idata = pm.sample(draws, tune=TUNE, chains=CHAINS, callback=tick, quiet=True, **QUIET)
    whole = time.perf_counter() - began
    peak = peak_gib()  # before the problem is factored once more for its test points
    w = idata.posterior["w"].values
    outputs = np.array([problem.outputs(chain) for chain in w])
    errors = idata.sample_stats["refractive_errors"].values
    watched = [outputs[:, :, i] for i in range(outputs.shape[2])]
    seconds = float(np.sum(np.diff(np.reshape(ticks, (CHAINS, 2)), axis=1)))
    result = {
        "seconds": seconds,
        "setup_seconds": whole - idata.posterior.attrs["sampling_time"],
        "median_output_ess": float(np.median([bulk_ess(values) for values in watched])),
        "error_ess": bulk_ess(errors),
        "max_rhat": max(
            float(array_stats.rhat(values, chain_axis=0, draw_axis=1))
            for values in [*watched, errors.astype(float)]
        ),
        "events": int(idata.sample_stats["refractive_events"].values.sum()),
        "rank": w.shape[2],
        "tune": TUNE,
        "peak_gib": peak,
        "import_gib": imported,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
