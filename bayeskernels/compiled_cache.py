"""Where numba keeps the package's compiled functions.

By itself numba keeps them beside the sources, and compiles a function again when its own file has
changed. A function contains the code of those it calls, so that one of an older release could go on
running inside another. Here they lie in a folder of the user. Its name has a digest of all sources
that compiled code may come from, and of what compiles them: other code is looked for elsewhere. The
folder with the sources may be read-only.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
from numba.core.caching import CacheImpl, _CacheLocator
from numba.misc.appdirs import AppDirs

__all__ = ["PackageCacheLocator", "cache_folder", "sources_digest"]

_PACKAGE = __name__.partition(".")[0]
_IMPORT = re.compile(rb"from (bayeskernels[\w.]*) import ([^(\n]*|\([^)]*\))")
#: Folders of other sources that stay, however long nobody has used them.
_KEPT = 2
_DAY = 86_400


class PackageCacheLocator(_CacheLocator):
    """Tells numba where compiled functions of the package lie; others are none of its business."""

    def __init__(self, py_func):
        self._line = py_func.__code__.co_firstlineno
        self._path = os.path.join(cache_folder(), py_func.__module__)

    def ensure_cache_path(self):
        """Make the folder of a module, when there is something to be written into it."""
        os.makedirs(self._path, exist_ok=True)

    def get_cache_path(self):
        """Folder of a module."""
        return self._path

    def get_source_stamp(self):
        """Nothing: the name of the folder says what the sources were."""
        return 0

    def get_disambiguator(self):
        """Line of the function."""
        return str(self._line)

    @classmethod
    def from_function(cls, py_func, py_file):
        """Take functions of modules of the package."""
        is_ours = (py_func.__module__ or "").startswith(f"{_PACKAGE}.") and os.path.exists(py_file)
        return cls(py_func) if is_ours else None


def register():
    """Let numba ask us first, as PyTensor does for its own functions."""
    if PackageCacheLocator not in CacheImpl._locator_classes:
        CacheImpl._locator_classes.insert(0, PackageCacheLocator)


@cache
def cache_folder():
    """Folder of this release's compiled functions: below ``NUMBA_CACHE_DIR``, or of the user.

    Where neither can be written to, it is one of this process that is removed at its end.
    """
    root = numba.config.CACHE_DIR or AppDirs(appname=_PACKAGE, appauthor=False).user_cache_dir
    folder = Path(root) / f"{_PACKAGE}-{sources_digest()}"
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        if is_new:
            _remove_old(folder)
        elif time.time() - folder.stat().st_mtime > _DAY:
            os.utime(folder)
    except OSError:
        _of_this_process.append(tempfile.TemporaryDirectory(prefix=f"{_PACKAGE}-"))
        return _of_this_process[-1].name
    return str(folder)


#: The folder that is removed at the end of this process.
_of_this_process = []


def _remove_old(folder):
    """Remove folders of other sources that nobody has used for a week, but for the newest two."""
    others = [path for path in folder.parent.glob(f"{_PACKAGE}-*") if path != folder]
    newest_first = sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest_first[_KEPT:]:
        if time.time() - path.stat().st_mtime > 7 * _DAY:
            shutil.rmtree(path, ignore_errors=True)


@cache
def sources_digest():
    """Digest of all sources that compiled code may come from, and of what compiles them."""
    digest = hashlib.sha256()
    made_by = [sys.version, numba.__version__, np.__version__, llvmlite.binding.get_host_cpu_name()]
    digest.update("\n".join(made_by).encode())
    sources = _sources()
    for name in sorted(_compiled_with_all_they_import(sources)):
        digest.update(name.encode())
        digest.update(sources[name])
    return digest.hexdigest()[:16]


def _sources():
    """Sources of the package by the names of their modules."""
    found = {}
    # models and samplers may lie in other folders.
    for package in (_PACKAGE, f"{_PACKAGE}.models", f"{_PACKAGE}.samplers"):
        for top in find_spec(package).submodule_search_locations:
            for folder, _, files in os.walk(top):
                prefix = package + folder[len(top) :].replace(os.sep, ".")
                for file in files:
                    if file.endswith(".py"):
                        with open(os.path.join(folder, file), "rb", buffering=0) as source:
                            found[f"{prefix}.{file[:-3]}".removesuffix(".__init__")] = source.read()
    return found


def _compiled_with_all_they_import(sources):
    """Names of modules with compiled functions, and of those that they import.

    Their functions meet each other by their types as well (``numba.extending.overload``), so that
    one digest is of all of them.
    """
    waiting = [name for name, source in sources.items() if b"njit" in source]
    found = set()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for module, imported in _IMPORT.findall(sources[name]):
            module = module.decode()
            candidates = [module, *(f"{module}.{n}" for n in re.findall(r"\w+", imported.decode()))]
            # A package's own file only gathers names.
            waiting += [c for c in candidates if c in sources and c not in found and c != _PACKAGE]
    return found


register()
