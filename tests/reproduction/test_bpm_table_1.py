import json

import numpy as np
import pooch
import pytest

from bayeskernels.command.cli import main
from bayeskernels.data import make_two_moons
from bayeskernels.data.loading import DATA_VARIABLE
from bayeskernels.reproduction import bpm_table_1

# The stand-ins have the names of known sets, but not their checksums.
pytestmark = pytest.mark.filterwarnings("ignore:.*not the file that published results:UserWarning")

FAST = ["reproduce", "bpm-table-1", "--sets", "sonar", "thyroid", "--draws", "30"]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """No folder in the environment, an empty cache, a wide terminal, nothing read before."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda _: tmp_path / "cache")
    monkeypatch.setenv("COLUMNS", "140")
    bpm_table_1._inputs_and_labels.cache_clear()


@pytest.fixture
def folder(tmp_path):
    """Small data sets under the names of the table's."""
    folder = tmp_path / "sets"
    folder.mkdir()
    for seed, name in enumerate(bpm_table_1.SETS):
        n = 440 if bpm_table_1.SETS[name].n_train else 40
        X, y = make_two_moons(n, scatter=0.1, random_seed=seed)
        np.savez(folder / f"{name}.npz", X=X, y=y.astype(np.int8))
    return folder


def test_record_of_a_split(folder):
    record = bpm_table_1.compare_split("sonar/3", seed=1, draws=30, data_dir=str(folder))
    assert set(bpm_table_1.COLUMNS) < set(record)
    assert all(0.0 <= record[column] < 0.5 for column in bpm_table_1.COLUMNS)
    assert (record["n_train"], record["n_test"]) == (24, 16)
    assert record["given_up"] == 0
    assert record["ep_settled"]
    again = bpm_table_1.compare_split("sonar/3", seed=1, draws=30, data_dir=str(folder))
    assert record == json.loads(json.dumps(again))
    other = bpm_table_1.compare_split("sonar/4", seed=1, draws=30, data_dir=str(folder))
    assert other["margin"] != record["margin"]


def test_training_part_of_400_points(folder):
    record = bpm_table_1.compare_split("banana/0", seed=1, draws=5, data_dir=str(folder))
    assert (record["n_train"], record["n_test"]) == (400, 40)


def test_table_has_all_columns(folder, capsys):
    assert main([*FAST, "--splits", "2", "--data-dir", str(folder), "--json"]) == 0
    printed = capsys.readouterr()
    for title in (*bpm_table_1.COLUMNS.values(), "p-value", "sonar", "thyroid", "(15.9)", "(0.01)"):
        assert title in printed.err
    record = json.loads(printed.out)
    assert list(record["sets"]) == ["thyroid", "sonar"], "in the order of the paper"
    for row in record["sets"].values():
        assert row["splits"] == 2
        assert set(row["mean"]) == set(row["standard_error"]) == set(bpm_table_1.COLUMNS)


def test_a_killed_run_loses_nothing(folder, tmp_path, monkeypatch):
    out, data = tmp_path / "done.jsonl", tmp_path / "table.json"
    argv = [*FAST, "--splits", "2", "--data-dir", str(folder), "--out", str(out)]
    compare, begun = bpm_table_1.compare_split, []

    def killed(name, **settings):
        if len(begun) == 2:
            raise KeyboardInterrupt
        begun.append(name)
        return compare(name, **settings)

    def counted(name, **settings):
        begun.append(name)
        return compare(name, **settings)

    monkeypatch.setattr(bpm_table_1, "compare_split", killed)
    assert main(argv) == 130
    finished = out.read_text()
    assert [json.loads(line)["repetition"] for line in finished.splitlines()] == begun
    assert len(begun) == 2
    monkeypatch.setattr(bpm_table_1, "compare_split", counted)
    assert main([*argv, "--json", str(data)]) == 0
    assert out.read_text().startswith(finished)
    assert begun == ["thyroid/0", "sonar/0", "thyroid/1", "sonar/1"]
    resumed = json.loads(data.read_text())
    assert main([*argv[:-2], "--json", str(data)]) == 0
    assert json.loads(data.read_text()) == resumed


def test_other_sets_go_into_the_same_file(folder, tmp_path):
    out = tmp_path / "done.jsonl"
    argv = ["reproduce", "bpm-table-1", "--draws", "20", "--splits", "1", "--out", str(out)]
    argv += ["--data-dir", str(folder)]
    assert main([*argv, "--sets", "heart"]) == 0
    assert main([*argv, "--sets", "sonar"]) == 0
    finished = out.read_text()
    assert main([*argv, "--sets", "sonar", "heart"]) == 0
    assert out.read_text() == finished, "nothing is left to do"


def test_folder_from_the_environment(folder, tmp_path, monkeypatch):
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    out = tmp_path / "table.json"
    assert main([*FAST, "--splits", "1", "--json", str(out)]) == 0
    assert json.loads(out.read_text())["sets"]["sonar"]["p_value"] is None


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["--sets", "heart", "iris"], ["no data set 'iris'", "heart, thyroid, diabetes"]),
        (["--splits", "0"], ["must be at least 1"]),
        (["--draws", "0"], ["must be at least 1"]),
        (["--data-dir", "nowhere"], ["'nowhere', which is not a folder", "--data-dir"]),
        (["--sets", "thyroid"], [DATA_VARIABLE, "--data-dir", "thyroid.npz"]),
    ],
)
def test_errors_say_what_to_do(arguments, messages, capsys):
    assert main(["reproduce", "bpm-table-1", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    for message in messages:
        assert message in printed


def test_labels_must_be_signs(folder, capsys):
    np.savez(folder / "sonar.npz", X=np.eye(3), y=np.array([0, 1, 2]))
    assert main([*FAST, "--data-dir", str(folder)]) == 2
    assert "sonar (sonar.npz) must have the labels -1 and +1" in capsys.readouterr().err


def test_a_split_without_hard_boundary_is_left_out(folder):
    np.savez(folder / "sonar.npz", X=np.zeros((10, 2)), y=np.resize([-1, 1], 10))
    record = bpm_table_1.compare_split("sonar/0", seed=1, data_dir=str(folder))
    assert "labels conflict" in record["empty"]
    records = [*rows(svm=[0.15, 0.16]), record]
    summary = bpm_table_1.summarise({"sonar": records})
    assert summary["sets"]["sonar"]["empty"] == 1
    assert summary["sets"]["sonar"]["splits"] == 2
    assert summary["sets"]["sonar"]["mean"]["svm"] == pytest.approx(0.155)
    assert "1 left out" in bpm_table_1._set_cell("sonar", summary["sets"]["sonar"])
    with pytest.raises(ValueError, match="No split of sonar has a classifier"):
        bpm_table_1.summarise({"sonar": [record]})


def test_other_errors_are_not_taken_for_an_empty_version_space(folder):
    np.savez(folder / "sonar.npz", X=np.full((10, 2), np.nan), y=np.resize([-1, 1], 10))
    with pytest.raises(ValueError, match="finite"):
        bpm_table_1.compare_split("sonar/0", seed=1, data_dir=str(folder))


def rows(**errors):
    n = len(errors["svm"])
    columns = {column: [0.2] * n for column in bpm_table_1.COLUMNS} | errors
    fixed = {"n_train": 60, "n_test": 40, "margin": 0.1, "given_up": 0, "ep_settled": True}
    return [{c: values[k] for c, values in columns.items()} | fixed for k in range(n)]


def test_verdict():
    bpm = {"billiard": [0.22, 0.23, 0.23], "refractive": [0.23] * 3, "ep": [0.225] * 3}
    summary = bpm_table_1.summarise({"heart": rows(svm=[0.25, 0.25, 0.26], **bpm)})
    heart = summary["sets"]["heart"]
    assert heart["mean"]["svm"] == pytest.approx(0.76 / 3)
    assert heart["standard_error"]["svm"] == pytest.approx(0.01 / 3)
    assert heart["p_value"] > 0.98, "near one where the BPM is better, as the paper has it"
    assert heart["far"] == []
    assert summary["bpm_below_svm"] == {"heart": True}
    assert summary["wins_reproduced"] is None, "three of the four sets were not run"
    assert summary["all_near"]
    four = dict.fromkeys(bpm_table_1.BPM_WINS, rows(svm=[0.25, 0.25, 0.26], **bpm))
    assert bpm_table_1.summarise(four)["wins_reproduced"]


def test_verdict_against_the_paper():
    summary = bpm_table_1.summarise({"heart": rows(svm=[0.19, 0.21, 0.18], billiard=[0.25] * 3)})
    assert summary["sets"]["heart"]["far"] == ["svm", "billiard", "refractive", "ep"]
    assert summary["sets"]["heart"]["p_value"] < 0.05
    assert not summary["wins_reproduced"]
    assert not summary["all_near"]


def test_no_verdict_on_wins_where_no_such_set_was_run():
    summary = bpm_table_1.summarise({"sonar": rows(svm=[0.154])})
    assert summary["wins_reproduced"] is None
    assert summary["sets"]["sonar"]["standard_error"]["svm"] is None


def test_notes_belong_to_sets_of_the_table():
    assert set(bpm_table_1.NOTES) <= set(bpm_table_1.SETS)
