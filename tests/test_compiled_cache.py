"""Compiled functions on disk: never those of other sources, and not beside the sources."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

from bayeskernels import compiled_cache

SOURCES = Path(compiled_cache.__file__).parent

CALLEE = """
import numba
from bayeskernels.compiled import JIT
from bayeskernels.constant import SUMMAND

@numba.njit(**JIT)
def callee(x):
    return x + SUMMAND
"""
CALLER = """
import numba
from bayeskernels.compiled import JIT
from bayeskernels.callee import callee

@numba.njit(**JIT)
def caller(x):
    return callee(x)

print(caller(0.0), sum(caller.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path):
    """A package of three modules, in which a compiled function calls that of another file."""
    folder = tmp_path / "bayeskernels"
    for part in (folder, folder / "models", folder / "samplers"):
        part.mkdir()
        (part / "__init__.py").touch()
    for name in ("compiled.py", "compiled_cache.py"):
        shutil.copy(SOURCES / name, folder)
    (folder / "constant.py").write_text("SUMMAND = 1.0\n")
    (folder / "callee.py").write_text(CALLEE)
    (folder / "caller.py").write_text(CALLER)
    return folder


def call(package, cache):
    """What the caller gives, and how many functions it took from the cache."""
    done = subprocess.run(
        [sys.executable, "-c", "import bayeskernels.caller"],
        cwd=package.parent,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    value, hits = done.stdout.split()
    return float(value), int(hits)


def rewrite(path, old, new):
    """Change a file to one of the same size and age, as an installer may do."""
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=times)


@pytest.mark.parametrize(
    ("file", "old", "new", "value"),
    [("callee.py", "x + SUMMAND", "x - SUMMAND", -1.0), ("constant.py", "1.0", "2.0", 2.0)],
)
def test_a_changed_callee_is_compiled_again(package, tmp_path, file, old, new, value):
    assert call(package, tmp_path / "cache") == (1.0, 0)
    assert call(package, tmp_path / "cache") == (1.0, 1)
    # Python's own cache of bytecode looks at size and time.
    shutil.rmtree(package / "__pycache__", ignore_errors=True)
    rewrite(package / file, old, new)
    assert call(package, tmp_path / "cache") == (value, 0)


def test_nothing_is_written_beside_the_sources(package, tmp_path):
    package.chmod(0o555)
    try:
        assert call(package, tmp_path / "cache") == (1.0, 0)
        assert call(package, tmp_path / "cache") == (1.0, 1)
    finally:
        package.chmod(0o755)
    assert not list(package.rglob("*.nb[ic]"))
    assert list((tmp_path / "cache").rglob("*.nbc"))


def test_where_no_folder_can_be_written_functions_are_compiled_anyway(package, tmp_path):
    (tmp_path / "a file").touch()
    assert call(package, tmp_path / "a file") == (1.0, 0)


def test_old_folders_are_removed(tmp_path, monkeypatch):
    days_ago = {"1" * 16: 1, "2" * 16: 10, "3" * 16: 20, "4" * 16: 30}
    for name, days in days_ago.items():
        folder = tmp_path / f"bayeskernels-{name}"
        folder.mkdir()
        (folder / "a file").touch()
        os.utime(folder, times=2 * (time.time() - 86_400 * days,))
    (tmp_path / "another's").mkdir()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    present = compiled_cache.cache_folder.__wrapped__()
    assert {path.name for path in tmp_path.iterdir()} == {
        "another's",
        Path(present).name,
        "bayeskernels-1111111111111111",
        "bayeskernels-2222222222222222",
    }


def test_the_digest_is_of_all_that_compiled_code_imports():
    sources = compiled_cache._sources()
    found = compiled_cache._compiled_with_all_they_import(sources)
    assert {"bayeskernels.compiled", "bayeskernels.samplers.compiled"} <= found
    assert not [name for name in found if "plots" in name or "evidence" in name]
