"""Calls in another Python process, where nothing but the arguments may be the same."""

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import cloudpickle
import numpy as np

__all__ = ["call_elsewhere"]

#: Kept alive, so that later arrays lie elsewhere in memory than they did before.
_clutter = []


def call_elsewhere(function, *arguments, cache=None, hash_seed=1):
    """Call a function in a fresh process, with other hashes and another layout of the memory.

    Parameters
    ----------
    function : callable
        May be a lambda or a closure. It and its arguments are pickled, as is the result.
    *arguments
    cache : path, optional
        Folder of the compilers' caches: one that is empty makes the process compile all it calls,
        and the next one with the same folder finds it compiled. By default those of this process.
    hash_seed : int
        Decides the order of sets of strings.

    Returns
    -------
    object
        What the function returned.

    Raises
    ------
    RuntimeError
        With the process's own error message.

    Examples
    --------
    >>> call_elsewhere(os.getpid) == os.getpid()
    False
    """
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed)}
    if cache is not None:
        flags = [os.environ.get("PYTENSOR_FLAGS"), f"base_compiledir={Path(cache) / 'pytensor'}"]
        environment["NUMBA_CACHE_DIR"] = str(Path(cache) / "numba")
        environment["PYTENSOR_FLAGS"] = ",".join(filter(None, flags))
    with tempfile.TemporaryDirectory() as folder:
        task, result = Path(folder) / "task", Path(folder) / "result"
        # Modules by which functions are found must be known before the functions are read.
        task.write_bytes(pickle.dumps(sys.path) + cloudpickle.dumps((function, arguments)))
        done = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import _serve; _serve()", task, result],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"The other process failed:\n{done.stderr}")
        return pickle.loads(result.read_bytes())


def _serve():
    """Make the call, in the other process."""
    rng = np.random.default_rng(1)
    _clutter.extend(np.empty(size, dtype=np.uint8) for size in rng.integers(1, 4096, 4096))
    del _clutter[::2]
    task, result = map(Path, sys.argv[1:])
    with task.open("rb") as file:
        sys.path[:] = pickle.load(file)
        function, arguments = pickle.load(file)
    result.write_bytes(cloudpickle.dumps(function(*arguments)))
