from dataclasses import replace

import numpy as np
import pooch
import pytest

from bayeskernels.data import make_two_moons
from bayeskernels.data.loading import DATA_VARIABLE
from bayeskernels.reproduction.gkm import comparators, partitions


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """No folder in the environment, an empty cache, a wide terminal, a small grid for the SVM."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path / "cache")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(comparators, "COSTS", np.array([1.0, 16.0]))
    monkeypatch.setattr(comparators, "WIDTHS", np.array([0.25, 1.0]))
    partitions._read_file.cache_clear()


@pytest.fixture
def small_sets(monkeypatch):
    """Parts of 40 points and more, as many rows as the files of ``folder`` have."""
    for name, case in partitions.CASES.items():
        n_train = 40 if case.n_train <= 500 else 50
        changes = {"n_train": n_train, "n_test": 50, "max_active": 15}
        if case.per_class is not None:
            changes["per_class"] = 42
        if case.n_words is not None:
            changes["n_words"] = 3
        monkeypatch.setitem(partitions.CASES, name, replace(case, **changes))


@pytest.fixture
def folder(tmp_path, small_sets):
    """Small data sets under the names of the tables'."""
    folder = tmp_path / "sets"
    folder.mkdir()
    for seed, name in enumerate(("bci", "thyroid", "twonorm", "svmguide1", "splice")):
        X, y = make_two_moons(110, scatter=0.1, random_seed=seed)
        X = np.column_stack([5 + 3 * X, np.ones(110)])
        np.savez(folder / f"{name}.npz", X=X, y=y.astype(np.int8))
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 9], [60, 50, 30])
    X = rng.normal(size=(140, 4)) + y[:, None]
    np.savez(folder / "usps.npz", X=X[::2], y=y[::2], X_test=X[1::2], y_test=y[1::2])
    y = np.resize([-1, 1], 80)
    words = rng.poisson(0.5, size=(80, 12)).astype(np.uint16)
    words[:, [2, 7]] = np.where(y > 0, 3, 0)[:, None]
    words[:, 9] = np.where(y > 0, 0, 1)
    name = "newsgroups_atheism_graphics"
    np.savez(folder / f"{name}.npz", X=words[:60], y=y[:60], X_test=words[60:], y_test=y[60:])
    return folder


@pytest.fixture
def draw(folder):
    def draw_partition(name, seed=0):
        return partitions.draw_partition(name, np.random.default_rng(seed), str(folder))

    return draw_partition
