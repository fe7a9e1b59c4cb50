"""Benchmark sets from OpenML, through scikit-learn, with a check of what came."""

import hashlib
import logging
import warnings
from pathlib import Path

import numpy as np

from bayeskernels.data.registry import OPENML

__all__ = ["content_digest", "download"]

_log = logging.getLogger(__name__)


def content_digest(X: np.ndarray, y: np.ndarray) -> str:
    """Return the sha256 of the values of X (n, p) and y (n,), whatever the order of the rows.

    Values count to six decimals, so that two parsers of one text file agree.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0]]), np.array([-1, 1])
    >>> content_digest(X, y) == content_digest(X[::-1], y[::-1])
    True
    """
    digests = []
    for row, label in zip(X, y, strict=True):
        # Adding zero turns -0.0 into 0.0, which has other bytes.
        values = np.append(np.asarray(row, dtype=float).round(6), float(label)) + 0.0
        digests.append(hashlib.sha256(values.astype("<f8").tobytes()).digest())
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


def download(name: str, cache: Path) -> dict[str, np.ndarray]:
    """Fetch a set of :data:`bayeskernels.data.registry.OPENML`; a second call reads the cache.

    scikit-learn, which keeps what it downloads in the folder ``cache``, checks the md5 sum that
    OpenML publishes with the file; the values are then compared with those of the benchmark folder,
    and a warning says when they differ. Arrays have the names that the ``NAME.npz`` files use.
    """
    from sklearn.datasets import fetch_openml

    source = OPENML[name]
    _log.info("Reading %s from OpenML (data set %d), cache %s", name, source.data_id, cache)
    bunch = fetch_openml(
        data_id=source.data_id, as_frame=False, parser="auto", data_home=cache, n_retries=1
    )
    unknown = set(bunch.target) - set(source.labels)
    if unknown:
        raise ValueError(
            f"OpenML data set {source.data_id} ({name}) has labels {sorted(map(str, unknown))} "
            f"where {sorted(source.labels)} were expected."
        )
    X = np.asarray(bunch.data, dtype=float)
    y = np.array([source.labels[label] for label in bunch.target])
    if content_digest(X, y) != source.content:
        warnings.warn(
            f"OpenML data set {source.data_id} ({name}) differs from the benchmark set that "
            "published results refer to.",
            stacklevel=3,
        )
    arrays = {"X": X, "y": y, "feature_names": np.array(bunch.feature_names, dtype=str)}
    if source.standardise:
        arrays |= {"X": (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), "X_raw": X}
    if source.n_train is not None:
        first = slice(None, source.n_train)
        rest = slice(source.n_train, None)
        arrays |= {"X": X[first], "y": y[first], "X_test": X[rest], "y_test": y[rest]}
    return arrays
