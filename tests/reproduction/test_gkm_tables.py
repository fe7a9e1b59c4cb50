import json
from types import SimpleNamespace

import numpy as np
import pooch
import pytest

from bayeskernels.cli import main
from bayeskernels.data import make_two_moons
from bayeskernels.data.loading import DATA_VARIABLE
from bayeskernels.reproduction import gkm_methods, gkm_partitions, gkm_tables

# The stand-ins have the names of known sets, but not their checksums.
pytestmark = pytest.mark.filterwarnings("ignore:.*not the file that published results:UserWarning")

SHORT = {"draws": 20, "tune": 10}
FAST = ["--draws", "20", "--tune", "10"]
TABLE_13 = ["reproduce", "gkm-table-13", "--sets", "thyroid", "twonorm", *FAST]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """No folder in the environment, an empty cache, a wide terminal, a small grid for the SVM."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path / "cache")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(gkm_methods, "COSTS", np.array([1.0, 16.0]))
    monkeypatch.setattr(gkm_methods, "WIDTHS", np.array([0.25, 1.0]))
    gkm_partitions.read_rows.cache_clear()


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    """Parts of 40 points, as many rows as the files below have."""
    for name, row in gkm_partitions.SETS.items():
        changes = {"n_train": 40, "n_test": 50, "max_active": 15}
        if row.per_class is not None:
            changes["per_class"] = 42
        if row.n_words is not None:
            changes["n_words"] = 3
        small = gkm_partitions.GkmSet(**{**vars(row), **changes})
        monkeypatch.setitem(gkm_partitions.SETS, name, small)


@pytest.fixture
def folder(tmp_path):
    """Small data sets under the names of the tables'."""
    folder = tmp_path / "sets"
    folder.mkdir()
    for seed, name in enumerate(("bci", "thyroid", "twonorm")):
        X, y = make_two_moons(90, scatter=0.1, random_seed=seed)
        X = np.column_stack([5 + 3 * X, np.ones(90)])
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


def draw(name, folder, seed=0):
    return gkm_partitions.draw_partition(name, np.random.default_rng(seed), str(folder))


def test_sizes_are_those_of_the_paper(monkeypatch):
    monkeypatch.undo()
    assert set(gkm_partitions.SETS) == set().union(*gkm_tables.PAPER.values())
    waveform, letters = (gkm_partitions.SETS[name] for name in ("waveform", "letter_a_c"))
    assert (waveform.n_train, waveform.n_test, waveform.max_active) == (400, 4600, 400)
    assert (letters.n_train, letters.n_test, letters.max_active) == (300, 1225, 100)


def test_a_partition_is_normalised_on_its_training_part(folder):
    partition = draw("thyroid", folder)
    assert partition.X.shape == (40, 3)
    assert partition.X_test.shape == (50, 3)
    np.testing.assert_allclose(partition.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(partition.X.std(axis=0), [1.0, 1.0, 0.0], atol=1e-12)
    assert np.abs(partition.X_test[:, :2].mean(axis=0)).min() > 1e-6
    other = draw("thyroid", folder, seed=1)
    assert not np.array_equal(other.X, partition.X)


def test_two_classes_of_several(folder):
    _, y = gkm_partitions.read_rows("usps_0_9", str(folder))
    assert np.unique(y, return_counts=True)[1].tolist() == [60, 30]
    partition = draw("usps_0_9", folder)
    assert (len(partition.y), len(partition.y_test)) == (40, 32), "42 zeros and all of 30 nines"
    both = np.concatenate([partition.y, partition.y_test])
    assert np.sum(both > 0) == 30
    assert len(draw("usps_0_1", folder).y_test) == 44


def test_words_are_chosen_by_information_gain(folder):
    partition = draw("newsgroups", folder)
    assert partition.X.shape == (40, 3)
    for column, sign in enumerate((1, 1, -1)):
        np.testing.assert_array_equal(np.sign(partition.X[:, column]), sign * partition.y)


def without_times(record):
    for method in record["methods"].values():
        assert method.pop("seconds") > 0
    return record


def test_record_of_a_partition(folder):
    settings = {"seed": 1, "methods": ["bgkm", "sgpc", "fbgkm", "svm"], "data_dir": str(folder)}
    record = without_times(gkm_tables.compare_partition("bci/3", **settings, **SHORT))
    assert (record["n_train"], record["n_test"], record["max_active"]) == (40, 50, 15)
    methods = record["methods"]
    assert list(methods) == settings["methods"]
    assert all(0.0 <= method["error"] < 0.5 for method in methods.values())
    assert set(methods["svm"]) == {"error"}
    assert methods["bgkm"]["size"] == 40
    assert 0 < methods["fbgkm"]["size"] <= 15
    for key in ("rhat", "ess"):
        assert methods["fbgkm"][key] == methods["sgpc"][key], "of both chains together"
        assert methods["bgkm"][key] > 0
    again = without_times(gkm_tables.compare_partition("bci/3", **settings, **SHORT))
    assert record == json.loads(json.dumps(again))
    settings["methods"] = ["svm"]
    alone = gkm_tables.compare_partition("bci/3", **settings, **SHORT)
    assert alone["methods"]["svm"]["error"] == methods["svm"]["error"]


def test_prediction_is_that_of_the_model(folder):
    import pymc as pm

    from bayeskernels.models import generalized_kernel_model
    from bayeskernels.prediction import predict

    partition = draw("bci", folder)
    seeds = dict.fromkeys(gkm_methods.METHODS, np.random.SeedSequence(3))
    options = {"max_active": 15, "draws": 600, "tune": 200, "seeds": seeds}
    found = gkm_methods.fit_methods(partition, ["fbgkm"], **options)["fbgkm"]
    with generalized_kernel_model(partition.X, partition.y, max_active=15) as model:
        idata = pm.sample(600, tune=200, chains=1, quiet=True, random_seed=1)
    label = predict(model, idata, partition.X_test, progressbar=False).label.values
    assert found["error"] == pytest.approx(np.mean(label != partition.y_test), abs=0.05)
    size = idata.posterior["gamma"].sum("obs").mean().item()
    assert found["size"] == pytest.approx(size, abs=2.0)


@pytest.mark.parametrize("method", ["bsvm", "csvm"])
def test_support_vector_machines_with_a_posterior(folder, method):
    partition = draw("bci", folder)
    seeds = {method: np.random.SeedSequence(1)}
    options = {"max_active": 15, "draws": 100, "tune": 200, "seeds": seeds}
    record = gkm_methods.fit_methods(partition, [method], **options)[method]
    assert record["error"] < 0.3
    assert record["rhat"] > 0.9


def test_convergence_of_chains():
    rng = np.random.default_rng(0)
    mixed = gkm_methods._convergence(rng.normal(size=(2, 400)))
    assert mixed["rhat"] < 1.05
    assert mixed["ess"] > 200
    apart = rng.normal(size=(2, 400)) + np.array([[0.0], [5.0]])
    assert gkm_methods._convergence(apart)["rhat"] > 1.5
    assert gkm_methods._convergence([apart.ravel()])["rhat"] > 1.5, "halves of one chain"
    assert gkm_methods._convergence(np.ones((2, 400))) == {"rhat": None, "ess": None}
    assert gkm_methods._convergence(rng.normal(size=(1, 7))) == {"rhat": None, "ess": None}


def test_table_has_all_columns(folder, capsys):
    assert main([*TABLE_13, "--partitions", "2", "--data-dir", str(folder), "--json"]) == 0
    printed = capsys.readouterr()
    titles = ("FBGKM", "SGPC", "SVM, tuned", "IVM, paper", "(2.45 ± 0.15)", "R-hat", "40 + 50")
    for title in titles:
        assert title in printed.err
    record = json.loads(printed.out)
    assert record["table"] == "gkm-table-13"
    assert list(record["sets"]) == ["thyroid", "twonorm"], "in the order of the paper"
    for row in record["sets"].values():
        assert row["partitions"] == 2
        assert set(row["methods"]) == {"fbgkm", "sgpc", "svm"}
        assert row["methods"]["svm"]["against_svm"] is None


def test_second_table(folder, capsys):
    argv = ["reproduce", "gkm-table-2", *FAST, "--partitions", "1", "--data-dir", str(folder)]
    argv += ["--sets", "usps_0_1", "newsgroups", "--methods", "svm", "bgkm", "--json"]
    assert main(argv) == 0
    printed = capsys.readouterr()
    for title in ("BGKM", "BSVM, paper", "(4.92 ± 0.28)"):
        assert title in printed.err
    methods = json.loads(printed.out)["sets"]["newsgroups"]["methods"]
    assert list(methods) == ["bgkm", "svm"], "in the order of the table"
    assert methods["bgkm"]["standard_deviation"] is None
    assert methods["svm"]["z"] is None, "the paper has no SVM here"


def test_a_stopped_run_is_taken_up(folder, tmp_path, monkeypatch):
    out, data = tmp_path / "done.jsonl", tmp_path / "table.json"
    argv = [*TABLE_13, "--partitions", "2", "--data-dir", str(folder), "--out", str(out)]
    compare, begun = gkm_tables.compare_partition, []

    def killed(name, **settings):
        if len(begun) == 3:
            raise KeyboardInterrupt
        begun.append(name)
        return compare(name, **settings)

    monkeypatch.setattr(gkm_tables, "compare_partition", killed)
    assert main(argv) == 130
    assert begun == ["thyroid/0", "twonorm/0", "thyroid/1"]
    finished = out.read_text()
    monkeypatch.setattr(gkm_tables, "compare_partition", compare)
    assert main([*argv, "--json", str(data)]) == 0
    assert out.read_text().startswith(finished)
    names = [json.loads(line)["repetition"] for line in out.read_text().splitlines()]
    assert names == [*begun, "twonorm/1"]
    assert main([*argv, "--methods", "svm"]) == 2


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["--sets", "iris"], ["no data set 'iris'", "ringnorm, thyroid"]),
        (["--methods", "lasso"], ["no method 'lasso'", "bsvm, csvm, bgkm"]),
        (["--partitions", "0"], ["must be at least 1"]),
        (["--draws", "0"], ["must be at least 1"]),
        (["--tune", "-1"], ["--tune at least 0"]),
        (["--data-dir", "nowhere"], ["'nowhere', which is not a folder", "--data-dir"]),
    ],
)
def test_errors_say_what_to_do(arguments, messages, capsys):
    assert main(["reproduce", "gkm-table-13", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    for message in messages:
        assert message in printed


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(3), [0, 1, 2], "must have the labels -1 and \\+1"),
        (np.eye(4), [1, 1, -1, -1], "has 4 rows, too few for 40 training points"),
        (np.eye(400), np.r_[1, -np.ones(399, dtype=int)], "has one class only"),
    ],
)
def test_bad_files(folder, X, y, message):
    np.savez(folder / "thyroid.npz", X=X, y=np.array(y))
    with pytest.raises(ValueError, match=message):
        draw("thyroid", folder)


def row(**errors):
    sampled = {"seconds": 2.0, "size": 30.0, "rhat": 1.2, "ess": 40.0}
    methods = {name: {"error": error, **sampled} for name, error in errors.items()}
    return {"methods": methods, "n_train": 140, "n_test": 75, "max_active": 140}


def test_summary():
    rows = [row(fbgkm=0.04, svm=0.05), row(fbgkm=0.05, svm=0.05)]
    rows[1]["methods"]["fbgkm"] |= {"rhat": None, "ess": None}
    summary = gkm_tables.summarise("gkm-table-13", {"thyroid": rows})
    thyroid = summary["sets"]["thyroid"]["methods"]["fbgkm"]
    assert thyroid["mean"] == pytest.approx(4.5)
    assert thyroid["standard_deviation"] == pytest.approx(np.sqrt(0.5))
    assert thyroid["z"] == pytest.approx(-0.1 / (2.65 * np.sqrt(1 / 2 + 1 / 20)))
    assert thyroid["against_svm"] == pytest.approx({"mean": -0.5, "standard_error": 0.5})
    assert (thyroid["unconverged"], thyroid["max_rhat"], thyroid["ess"]) == (1, 1.2, 40.0)
    assert "far" not in gkm_tables._cell(summary["sets"]["thyroid"], "fbgkm")
    summary = gkm_tables.summarise("gkm-table-13", {"thyroid": [row(fbgkm=0.2)]})
    assert "far" in gkm_tables._cell(summary["sets"]["thyroid"], "fbgkm")
    assert summary["sets"]["thyroid"]["methods"]["fbgkm"]["against_svm"] is None


def test_options_of_the_commands():
    for table, methods in gkm_tables.DEFAULT_METHODS.items():
        added = []
        parser = SimpleNamespace(add_argument=lambda name, added=added, **_: added.append(name))
        gkm_tables._add_arguments(table, parser)
        assert {"--partitions", "--sets", "--methods", "--draws", "--tune"} < set(added)
        assert set(methods) <= set(gkm_methods.METHODS)
