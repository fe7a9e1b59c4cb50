"""Benchmarks of a checkout: the package itself contains none."""

import ast
import subprocess
import sys
from pathlib import Path

__all__ = ["describe", "find_benchmarks", "run_benchmark"]


def find_benchmarks(folder=None):
    """Benchmark scripts by name.

    Parameters
    ----------
    folder : path, optional
        Where they lie; by default ``benchmarks`` in the present folder or beside the package.

    Returns
    -------
    dict of Path

    Raises
    ------
    ValueError
        If there are none, as in a package that was installed without its repository.
    """
    beside = Path(__file__).resolve().parent.parent
    folders = [Path(folder)] if folder else [Path.cwd() / "benchmarks", beside / "benchmarks"]
    for candidate in folders:
        scripts = sorted(p for p in candidate.glob("*.py") if not p.name.startswith("_"))
        if scripts:
            return {script.stem: script for script in scripts}
    raise ValueError(
        "There are no benchmarks here: they are part of the repository, not of the package. Run "
        "this command in a checkout."
    )


def describe(script):
    """First line of a script's docstring."""
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n")[0]


def run_benchmark(scripts, name, arguments=()):
    """Run one of the scripts of :func:`find_benchmarks` in a process of its own.

    It is given the arguments; the result is its exit code.
    """
    if name not in scripts:
        raise ValueError(f"There is no benchmark {name!r}: expected one of {', '.join(scripts)}.")
    return subprocess.run([sys.executable, str(scripts[name]), *arguments], check=False).returncode
