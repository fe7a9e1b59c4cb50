"""Whether a change that should change no draw changes none: compare with digests on record.

Run ``python tests/samplers/same_draws.py --store`` before the change and without ``--store`` after
it. Rounding differs between processors and releases of NumPy and SciPy, so that a record is worth
something only where it was made; the script says so where it was made elsewhere.
"""

import argparse
import hashlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from every_step import CALLS, COMPILED_STEPS, STEPS, chain_of, plain

RECORD = Path(__file__).with_name("same_draws.json")


def digest(arrays):
    found = hashlib.sha256()
    for array in arrays:
        found.update(array if isinstance(array, bytes) else np.asarray(array).tobytes())
    return found.hexdigest()[:16]


def arrays_of_chain(name):
    chain = chain_of(name)
    for point, _ in chain.run(chain.begin(chain.new_step(), 1)):
        yield from (point[variable] for variable in sorted(point))


def arrays_of_call(name):
    result = plain(CALLS[name]())
    if isinstance(result, float):
        return [result]
    return [result[variable] for variable in sorted(result)]


def machine():
    [cpu, *_] = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ] or [platform.processor()]
    return {"cpu": cpu} | {name: version(name) for name in ("numpy", "scipy", "numba", "pytensor")}


def make():
    for name in STEPS | COMPILED_STEPS:
        yield name, digest(arrays_of_chain(name))
    for name in CALLS:
        yield name, digest(arrays_of_call(name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", action="store_true", help="make the record anew")
    if parser.parse_args().store:
        RECORD.write_text(
            json.dumps({"machine": machine(), "draws": dict(make())}, indent=1) + "\n"
        )
        return
    record = json.loads(RECORD.read_text())
    if record["machine"] != machine():
        sys.exit(f"The record was made on {record['machine']}, this is {machine()}.")
    changed = []
    for name, now in make():
        is_same = now == record["draws"].get(name)
        sys.stdout.write(f"{'same   ' if is_same else 'CHANGED'}  {name}\n")
        if not is_same:
            changed.append(name)
    if changed:
        sys.exit(f"{len(changed)} changed: {', '.join(changed)}")


if __name__ == "__main__":
    main()
