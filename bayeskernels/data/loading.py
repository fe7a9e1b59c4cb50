"""Benchmark data sets by name."""

import difflib
import hashlib
import os
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bayeskernels.data.openml import download
from bayeskernels.data.registry import CHECKSUMS, OPENML, SKLEARN

__all__ = ["DATA_VARIABLE", "Dataset", "load", "names"]

#: The environment variable that names a folder of ``NAME.npz`` files.
DATA_VARIABLE = "BAYESKERNELS_DATA"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set, as :func:`load` returns it.

    Attributes
    ----------
    X : ndarray of float, shape (n, p)
    y : ndarray, shape (n,)
        Two classes: -1 and +1. Several classes: 0, 1, ... . Regression: float.
    X_test, y_test : ndarray or None
        The source's own test part, where it has one.
    name : str
    source : str
        Where the arrays were read from.
    extras : dict
        Further arrays: ``feature_names``, ``train_idx`` and ``test_idx`` (one row per published
        split), ``X_raw``, ``y_raw``, ``target_names``, ... .
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray | None = None
    y_test: np.ndarray | None = None
    name: str = ""
    source: str = ""
    extras: dict[str, np.ndarray] = field(default_factory=dict)

    def split(self, number: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return ``X_train, y_train, X_test, y_test`` of a published split.

        Parameters
        ----------
        number : int
            Row of ``extras["train_idx"]``; 0 is the fixed test part where that is what the set has.

        Raises
        ------
        ValueError
            If there is no such split.
        """
        train, test = self.extras.get("train_idx"), self.extras.get("test_idx")
        if train is not None and test is not None:
            if not 0 <= number < len(train):
                raise ValueError(f"{self.name} has splits 0 to {len(train) - 1}, not {number}.")
            rows, others = train[number], test[number]
            return self.X[rows], self.y[rows], self.X[others], self.y[others]
        if self.X_test is None or self.y_test is None:
            raise ValueError(
                f"{self.name} ({self.source}) comes without a published split; "
                "draw some with bayeskernels.data.random_splits."
            )
        if number != 0:
            raise ValueError(f"{self.name} has one fixed test part, split 0, not {number}.")
        return self.X, self.y, self.X_test, self.y_test

    def __repr__(self) -> str:
        test = "" if self.X_test is None else f", X_test: {self.X_test.shape}"
        extras = f", extras: {', '.join(sorted(self.extras))}" if self.extras else ""
        return f"Dataset({self.name!r}, X: {self.X.shape}{test}{extras}, source: {self.source})"


def names() -> list[str]:
    """Return the names of the known data sets, in alphabetical order.

    Not every one of them can be had everywhere: see :func:`load`.

    Examples
    --------
    >>> "heart" in names(), "iris" in names()
    (True, True)
    """
    return sorted({*CHECKSUMS, *OPENML, *SKLEARN})


def load(name: str, *, data_dir: str | os.PathLike | None = None, dtype=float) -> Dataset:
    """Load a benchmark data set.

    A file ``NAME.npz`` is looked for in `data_dir`, in the folder that the environment variable
    ``BAYESKERNELS_DATA`` names, and in pooch's cache folder for this package; the first one found
    is read. Otherwise sets that scikit-learn contains come from there (iris, wine, digits,
    breast_cancer with +1 for benign), and those of a short list are downloaded from OpenML. The
    package itself ships no data.

    A file in a folder need not be a known set: any npz with arrays ``X`` and ``y`` will do.

    Parameters
    ----------
    name : str
        See :func:`names`. "diabetes" is the two-class Pima set, not scikit-learn's regression set.
    data_dir : path-like, optional
        A folder to look in first.
    dtype : dtype or None
        Type of ``X``, ``X_test`` and ``X_raw``; None keeps the stored type, which is an unsigned
        integer for some sets (less memory, but differences wrap around).

    Raises
    ------
    ValueError
        If the name is unknown.
    FileNotFoundError
        If a folder or the data set is not there.

    Warns
    -----
    UserWarning
        If a known set's file or download is not the one that published results refer to.

    Notes
    -----
    What comes from OpenML may have its rows in another order, and has no published splits.

    Examples
    --------
    >>> iris = load("iris")
    >>> iris.X.shape, iris.extras["target_names"].tolist()
    ((150, 4), ['setosa', 'versicolor', 'virginica'])
    """
    folders = _folders(data_dir)
    if re.fullmatch(r"\w+", name):
        for folder in folders:
            path = folder / f"{name}.npz"
            if path.is_file():
                return _dataset(name, _read(name, path), source=path.name, dtype=dtype)
    if name in SKLEARN:
        return _dataset(name, _bundled(name), source="scikit-learn", dtype=dtype)
    if name in OPENML:
        try:
            arrays = download(name, folders[-1] / "openml")
        except OSError as error:
            raise FileNotFoundError(
                f"Data set {name!r} was not found in a folder, and OpenML could not be reached "
                f"({error}). {_how_to_provide(name)}"
            ) from error
        source = f"OpenML data set {OPENML[name].data_id}"
        return _dataset(name, arrays, source=source, dtype=dtype)
    if name in CHECKSUMS:
        raise FileNotFoundError(
            f"Data set {name!r} was not found, and no download is known for it. "
            f"{_how_to_provide(name)}"
        )
    raise ValueError(_unknown_name(name, folders))


def _folders(data_dir: str | os.PathLike | None) -> list[Path]:
    """Return the folders to look in, the cache last."""
    import pooch

    given = [("data_dir", data_dir), (DATA_VARIABLE, os.environ.get(DATA_VARIABLE) or None)]
    folders = [
        (origin, Path(folder).expanduser()) for origin, folder in given if folder is not None
    ]
    for origin, folder in folders:
        if not folder.is_dir():
            raise FileNotFoundError(f"{origin} names {str(folder)!r}, which is not a folder.")
    return [folder for _, folder in folders] + [Path(pooch.os_cache("bayeskernels"))]


def _read(name: str, path: Path) -> dict[str, np.ndarray]:
    """Read an npz file, with a warning if it is not the known one."""
    expected = CHECKSUMS.get(name)
    if expected is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            warnings.warn(
                f"{path.name} has sha256 {found[:12]}..., not {expected[:12]}...: it is not the "
                "file that published results refer to.",
                stacklevel=3,
            )
    with np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    missing = {"X", "y"} - set(arrays)
    if missing:
        raise ValueError(
            f"{path.name} lacks {' and '.join(sorted(missing))}; it holds {sorted(arrays)}."
        )
    return arrays


def _bundled(name: str) -> dict[str, np.ndarray]:
    """Read one of scikit-learn's own sets."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    target = bunch.target
    return {
        "X": bunch.data,
        "y": 2 * target - 1 if len(bunch.target_names) == 2 else target,
        "feature_names": np.array(bunch.feature_names, dtype=str),
        "target_names": np.array(bunch.target_names, dtype=str),
    }


def _dataset(name: str, arrays: dict[str, np.ndarray], *, source: str, dtype) -> Dataset:
    """Bring the arrays to types that are safe to compute with, and pack them."""
    converted = {}
    for key, array in arrays.items():
        if key in ("X", "X_test", "X_raw") and dtype is not None:
            array = array.astype(dtype, copy=False)
        elif array.dtype.kind in "iu" and (key in ("y", "y_test", "y_raw") or "_idx" in key):
            # Stored as int8 and int16, in which a dot product overflows.
            array = array.astype(np.int64, copy=False)
        converted[key] = array
    X, y = converted["X"], converted["y"]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(
            f"{name} ({source}): expected X of shape (n, p) and y of shape (n,), "
            f"got {X.shape} and {y.shape}."
        )
    own = {key: converted.pop(key, None) for key in ("X", "y", "X_test", "y_test")}
    return Dataset(**own, name=name, source=source, extras=converted)


def _how_to_provide(name: str) -> str:
    return (
        f"Put {name}.npz (arrays X and y) into a folder, and name that folder in the environment "
        f"variable {DATA_VARIABLE} or pass it as data_dir."
    )


def _unknown_name(name: str, folders: list[Path]) -> str:
    in_folders = {path.stem for folder in folders for path in folder.glob("*.npz")}
    known = sorted({*names(), *in_folders})
    close = difflib.get_close_matches(name.lower(), known, n=3)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"Unknown data set {name!r}.{hint} Known names: {', '.join(known)}."
