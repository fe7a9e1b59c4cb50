"""Problems of the generalized kernel benchmark: kernel matrices with labels, and samplers."""

import os
from pathlib import Path

import numpy as np
from _contest import clock
from scipy.spatial.distance import pdist, squareform

from bayeskernels.samplers.active_sets.chain import ActiveSetSampler

__all__ = ["active_set_sampler", "labelled_kernel", "made_kernel", "trace_of_sweeps"]

_FOLDERS = [os.environ.get("BAYESKERNELS_DATA", ""), Path(__file__).parents[2] / "shared" / "data"]


def _gram(X):
    distances = pdist(X)
    return np.exp(-((squareform(distances) / distances.mean()) ** 2))


def made_kernel(n):
    """Kernel matrix and labels of n points in ten dimensions."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10))
    return _gram(X), X[:, 0] + X[:, 1] * X[:, 2] > 0


def labelled_kernel(name, n):
    """Kernel matrix and labels of n points of a data set; None where there is none."""
    for folder in _FOLDERS:
        file = Path(folder) / f"{name}.npz"
        if folder and file.is_file():
            with np.load(file) as data:
                X, y = data["X"], data["y"]
            chosen = np.random.default_rng(0).permutation(len(X))[:n]
            X = X[chosen]
            return _gram((X - X.mean(axis=0)) / X.std(axis=0)), y[chosen] > 0
    return None


def active_set_sampler(gram, positive, k_max, **options):
    """Sampler on a stored kernel matrix."""
    return ActiveSetSampler(
        lambda points: gram[points], np.diag(gram).copy(), positive, k_max, **options
    )


def trace_of_sweeps(gram, positive, k_max, start, *, seconds, n_outputs, rng):
    """Active points and first outputs after each sweep of so many CPU seconds, from ``start``."""
    sampler = active_set_sampler(gram, positive, k_max)
    sampler.place(rng.permutation(len(gram))[:start], 0.0, None, 1.0, 1.0, rng)
    sampler.sweep(rng)
    trace = []
    began = clock()
    while clock() - began < seconds:
        sampler.sweep(rng)
        trace.append([len(sampler.points), *sampler.f[0, :n_outputs]])
    return np.array(trace, dtype=float)
