import hashlib
import io
import os
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pooch
import pytest
import sklearn.datasets

from bayeskernels import data
from bayeskernels.data import registry
from bayeskernels.data.loading import DATA_VARIABLE
from bayeskernels.data.openml import content_digest

REAL_FOLDER = os.environ.get(DATA_VARIABLE)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """An empty cache, no folder in the environment, and no network."""
    folder = tmp_path / "cache"

    def no_network(**_):
        raise URLError("no network in the tests")

    monkeypatch.setattr(pooch, "os_cache", lambda _: folder)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    return folder


def write_npz(folder: Path, name: str, **arrays) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.npz"
    np.savez(path, **arrays)
    return path


def toy_arrays(shift: int = 0) -> dict:
    return {
        "X": np.arange(12, dtype=np.uint8).reshape(6, 2) + np.uint8(shift),
        "y": np.array([1, -1, 1, -1, 1, -1], dtype=np.int8),
    }


@pytest.fixture
def toy_as_known(monkeypatch):
    """Register the toy set as the known content of ``sonar.npz``."""
    buffer = io.BytesIO()
    np.savez(buffer, **toy_arrays())
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    monkeypatch.setitem(registry.CHECKSUMS, "sonar", digest)
    return buffer.getvalue()


def test_own_file_from_folder_needs_no_checksum(tmp_path):
    extras = {"feature_names": np.array(["a", "b"]), "date": np.arange(6, dtype=np.int32)}
    write_npz(tmp_path, "mine", **toy_arrays(), **extras)
    mine = data.load("mine", data_dir=tmp_path)
    assert (mine.name, mine.source) == ("mine", "mine.npz")
    assert mine.X.dtype == np.float64
    assert mine.y.dtype == np.int64
    assert mine.X_test is None
    assert mine.y_test is None
    assert set(mine.extras) == {"feature_names", "date"}
    np.testing.assert_array_equal(mine.X, toy_arrays()["X"])
    np.testing.assert_array_equal(mine.y, toy_arrays()["y"])
    assert data.load("mine", data_dir=str(tmp_path), dtype=None).X.dtype == np.uint8
    assert repr(mine) == "Dataset('mine', X: (6, 2), extras: date, feature_names, source: mine.npz)"


def test_dataset_is_frozen(tmp_path):
    write_npz(tmp_path, "mine", **toy_arrays())
    with pytest.raises(AttributeError):
        data.load("mine", data_dir=tmp_path).X = None


def test_folders_are_searched_in_order(tmp_path, monkeypatch, cache):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    write_npz(cache, "mine", **toy_arrays(3))
    assert data.load("mine").X[0, 0] == 3
    write_npz(second, "mine", **toy_arrays(2))
    monkeypatch.setenv(DATA_VARIABLE, str(second))
    assert data.load("mine").X[0, 0] == 2
    assert data.load("mine", data_dir=first).X[0, 0] == 2
    write_npz(first, "mine", **toy_arrays(1))
    assert data.load("mine", data_dir=first).X[0, 0] == 1


def test_right_checksum_gives_no_warning(tmp_path, toy_as_known):
    (tmp_path / "sonar.npz").write_bytes(toy_as_known)
    assert data.load("sonar", data_dir=tmp_path).X.shape == (6, 2)


def test_wrong_checksum_warns_and_loads(tmp_path, toy_as_known):
    write_npz(tmp_path, "sonar", **toy_arrays(1))
    with pytest.warns(UserWarning, match=r"sonar\.npz has sha256") as caught:
        sonar = data.load("sonar", data_dir=tmp_path)
    assert sonar.X[0, 0] == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros((3, 2))}, "lacks y"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(2)}, "expected X of shape"),
        ({"X": np.zeros(3), "y": np.zeros(3)}, "expected X of shape"),
    ],
)
def test_malformed_file(tmp_path, arrays, message):
    write_npz(tmp_path, "mine", **arrays)
    with pytest.raises(ValueError, match=message):
        data.load("mine", data_dir=tmp_path)


def test_unknown_name_lists_names_and_close_matches(tmp_path):
    write_npz(tmp_path, "mine", **toy_arrays())
    with pytest.raises(ValueError, match=r"Did you mean 'sonar'\?") as caught:
        data.load("Sonarr", data_dir=tmp_path)
    for name in [*data.names(), "mine"]:
        assert name in str(caught.value)
    with pytest.raises(ValueError, match=r"Unknown data set '\.\./mine'"):
        data.load("../mine", data_dir=tmp_path)


def test_missing_folder_is_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="data_dir names"):
        data.load("sonar", data_dir=tmp_path / "absent")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match="BAYESKERNELS_DATA names"):
        data.load("sonar")


def test_set_without_download_names_the_variable():
    with pytest.raises(FileNotFoundError, match="no download is known") as caught:
        data.load("banana")
    assert "BAYESKERNELS_DATA" in str(caught.value)


def test_failed_download_names_the_variable():
    with pytest.raises(FileNotFoundError, match="OpenML could not be reached") as caught:
        data.load("sonar")
    assert "BAYESKERNELS_DATA" in str(caught.value)
    assert isinstance(caught.value.__cause__, URLError)


@pytest.fixture
def small_openml(monkeypatch, cache):
    """A stand-in for OpenML's heart data, of four rows."""
    X = np.array([[1.0, 0.0], [2.0, 0.5], [3.0, 2.5], [4.0, -1.0]])
    y = np.array([1, -1, -1, 1])

    def fetch(*, data_id, data_home, **_):
        assert data_id == 53
        assert Path(data_home).is_relative_to(cache)
        target = np.array(["present", "absent", "absent", "present"], dtype=object)
        return SimpleNamespace(data=X, target=target, feature_names=["age", "sex"])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return X, y


def test_openml_labels_and_standardisation(small_openml, monkeypatch):
    X, y = small_openml
    source = registry.OpenMLSource(
        53, {"present": 1, "absent": -1}, content_digest(X, y), standardise=True, n_train=None
    )
    monkeypatch.setitem(registry.OPENML, "heart", source)
    heart = data.load("heart")
    np.testing.assert_array_equal(heart.y, y)
    np.testing.assert_array_equal(heart.extras["X_raw"], X)
    np.testing.assert_allclose(heart.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(heart.X.std(axis=0, ddof=1), 1)
    assert heart.source == "OpenML data set 53"


def test_openml_fixed_test_part(small_openml, monkeypatch):
    X, y = small_openml
    source = registry.OpenMLSource(
        53, {"present": 1, "absent": -1}, content_digest(X, y), n_train=3
    )
    monkeypatch.setitem(registry.OPENML, "heart", source)
    parts = data.load("heart").split()
    for part, expected in zip(parts, (X[:3], y[:3], X[3:], y[3:]), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_openml_with_other_content_warns(small_openml):
    with pytest.warns(UserWarning, match="differs from the benchmark set") as caught:
        data.load("heart")
    assert caught[0].filename == __file__


def test_openml_with_other_labels_is_refused(small_openml, monkeypatch):
    monkeypatch.setitem(registry.OPENML, "heart", registry.OpenMLSource(53, {"present": 1}, ""))
    with pytest.raises(ValueError, match=r"has labels \['absent'\]"):
        data.load("heart")


def test_content_digest_sees_values_and_labels_but_not_order():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 3)), np.where(rng.random(20) < 0.5, 1, -1)
    digest = content_digest(X, y)
    order = rng.permutation(20)
    assert content_digest(X[order], y[order]) == digest
    assert content_digest(X + 0.0001, y) != digest
    assert content_digest(X, -y) != digest
    assert content_digest(np.zeros((1, 1)), [1]) == content_digest(-np.zeros((1, 1)), [1])


def test_names():
    names = data.names()
    assert names == sorted(set(names))
    assert {"heart", "sonar", "banana", "iris", "wine", "digits", "breast_cancer"} <= set(names)


@pytest.mark.parametrize(
    ("name", "shape", "labels"),
    [
        ("iris", (150, 4), [0, 1, 2]),
        ("wine", (178, 13), [0, 1, 2]),
        ("breast_cancer", (569, 30), [-1, 1]),
        ("digits", (1797, 64), list(range(10))),
    ],
)
def test_sets_of_scikit_learn(name, shape, labels):
    found = data.load(name)
    assert found.X.shape == shape
    assert np.unique(found.y).tolist() == labels
    assert found.source == "scikit-learn"
    assert len(found.extras["feature_names"]) == shape[1]
    assert len(found.extras["target_names"]) == len(labels)


def test_breast_cancer_benign_is_positive():
    cancer = data.load("breast_cancer")
    assert cancer.extras["target_names"].tolist() == ["malignant", "benign"]
    assert np.sum(cancer.y == 1) == 357


def test_published_splits(tmp_path):
    train = np.array([[0, 1, 2], [3, 4, 5]], dtype=np.int16)
    write_npz(tmp_path, "mine", **toy_arrays(), train_idx=train, test_idx=train[::-1])
    mine = data.load("mine", data_dir=tmp_path)
    X_train, y_train, X_test, y_test = mine.split(1)
    np.testing.assert_array_equal(X_train, mine.X[3:])
    np.testing.assert_array_equal(y_train, mine.y[3:])
    np.testing.assert_array_equal(X_test, mine.X[:3])
    np.testing.assert_array_equal(y_test, mine.y[:3])
    with pytest.raises(ValueError, match="has splits 0 to 1, not 2"):
        mine.split(2)


def test_split_without_one():
    with pytest.raises(ValueError, match="without a published split"):
        data.load("iris").split()


@pytest.mark.skipif(not REAL_FOLDER, reason=f"{DATA_VARIABLE} is not set: no benchmark folder")
def test_real_folder():
    """Every known set that is in the folder has the known checksum (a warning is an error)."""
    found = [name for name in registry.CHECKSUMS if Path(REAL_FOLDER, f"{name}.npz").is_file()]
    if not found:
        pytest.skip(f"the folder that {DATA_VARIABLE} names holds none of the benchmark sets")
    for name in set(found) - {"mnist", "newsgroups_atheism_graphics"}:
        benchmark = data.load(name, data_dir=REAL_FOLDER)
        assert np.all(np.isfinite(benchmark.X)), name
        if name in registry.OPENML:
            raw = benchmark.extras.get("X_raw", benchmark.X)
            assert content_digest(raw, benchmark.y) == registry.OPENML[name].content, name
