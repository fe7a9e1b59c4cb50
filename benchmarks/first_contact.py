"""First contact: what an import and the first draw of every builder cost, cold and warm.

Every figure is of a process of its own. Cold means empty caches of numba and PyTensor; warm is the
same once more.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from _bench import run_parts
from _first_draw import PEER

from bayeskernels.command.warmup import FIRST_MODELS

__all__ = ["main"]

#: Most CPU seconds of a first draw beyond imports.
COLD, WARM = 12.0, 1.5
#: Of the models whose draws are quick to start.
QUICK = {"label_noise_classifier": 6.0, "bayes_point_machine": 6.0}
#: Most seconds of ``import bayeskernels``, in those of ``import pymc``.
IMPORT = 1.8


def contact(name, caches):
    """Record of a first contact in a process that keeps its caches in a folder."""
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(Path(caches) / "numba"),
        "PYTENSOR_FLAGS": f"base_compiledir={Path(caches) / 'pytensor'}",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    # Without its files of bytecode every import would compile the package's sources anew.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    script = Path(__file__).with_name("_first_draw.py")
    done = subprocess.run(
        [sys.executable, str(script), name],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def imports(bench):
    rounds = 3 if bench.quick else 7
    seconds = {"pymc": [], "bayeskernels": []}
    with tempfile.TemporaryDirectory() as caches:
        for turn in range(rounds + 1):
            for name, found in seconds.items():
                bench.say(f"import {name}")
                record = contact(name, caches)["import"]
                if turn:  # The first ones compile Python's own bytecode.
                    found.append(record)
    best = {name: min(record["cpu"] for record in found) for name, found in seconds.items()}
    wall = {name: min(record["wall"] for record in found) for name, found in seconds.items()}
    for name, value in best.items():
        bench.add("imports", name, "CPU s", value, note=f"{wall[name]:.2f} s of the clock")
    ratio = best["bayeskernels"] / best["pymc"]
    bench.add("imports", "bayeskernels / pymc", "ratio of CPU s", ratio, IMPORT, at_most=True)


def draws(bench):
    ours = ["label_noise_classifier", "generalized_kernel_model"] if bench.quick else FIRST_MODELS
    names = [PEER, *ours]
    totals = {}
    for name in names:
        with tempfile.TemporaryDirectory() as caches:
            for part, limit in ("cold", QUICK.get(name, COLD)), ("warm", WARM):
                bench.say(f"{part}: {name}")
                record = contact(name, caches)
                compiled = record["compiled"]
                totals[name, part] = record["draw"]["cpu"]
                totals[name, f"{part} with import"] = (
                    record["draw"]["cpu"] + record["import"]["cpu"]
                )
                bench.add(
                    part,
                    name,
                    "CPU s",
                    record["draw"]["cpu"],
                    None if name == PEER else limit,
                    at_most=True,
                    note=_note(record),
                    details=record,
                )
                for function, seconds in compiled["slowest"][:5] if part == "cold" else ():
                    bench.notes.append(f"{name}: {seconds:.2f} s {function}")
    for name in names:
        if name != PEER:
            ratio = totals[name, "cold"] / totals[PEER, "cold"]
            bench.add("beside PyMC", name, "ratio of cold CPU s", ratio, 1.0, at_most=True)
    ratio = totals["label_noise_classifier", "warm with import"] / totals[PEER, "warm with import"]
    bench.add("beside PyMC", "label_noise_classifier", "import and warm", ratio, 1.0, at_most=True)


def _note(record):
    """Clock, and whose functions were compiled."""
    counts = record["compiled"]["counts"]
    ours = counts.get("bayeskernels", 0)
    others = sum(counts.values()) - ours
    return f"{record['draw']['wall']:.1f} s of the clock; compiled {ours} of ours, {others} others"


def main():
    warnings.filterwarnings("ignore")
    parts = {"imports": imports, "draws": draws}
    run_parts("First contact: seconds until something happens", __doc__, parts)


if __name__ == "__main__":
    main()
