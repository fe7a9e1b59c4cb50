import json
import re
import sys

import pytensor
import pytest

import bayeskernels as bk
from bayeskernels import __version__, compiled_cache
from bayeskernels.command import benchmarking
from bayeskernels.command.cli import main
from bayeskernels.command.warmup import FIRST_MODELS
from bayeskernels.reproduction import kgs_figure_4

FAST = ["zoo", "--only", "version-space", "--draws", "30", "--chains", "2"]


def exit_code(argv):
    """Code with which the process would end, whether or not argparse ends it."""
    try:
        return main(argv)
    except SystemExit as stop:
        return stop.code


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")


def test_zoo_prints_a_table_and_writes_json_and_report(tmp_path, capsys):
    data, report = tmp_path / "zoo.json", tmp_path / "zoo.html"
    assert main([*FAST, "--json", str(data), "--report", str(report), "--seed", "3"]) == 0
    printed = capsys.readouterr()
    assert "Version space" in printed.out
    assert "2 × 30" in printed.out
    assert printed.err.startswith("1/1 version-space: ")  # not a terminal: a line for each model
    assert printed.err.count("\n") == 1
    record = json.loads(data.read_text(encoding="utf-8"))
    assert record["seed"] == 3
    assert record["versions"]["bayeskernels"] == __version__
    [model] = record["models"]
    assert model["name"] == "version-space"
    assert set(model) == {
        *("name", "model", "source", "data", "steps", "notebook", "chains", "draws"),
        *("n_train", "n_test", "n_features", "r_hat", "ess", "ess_errors", "ess_per_second"),
        *("test_error", "log_evidence", "log_evidence_mcse", "evidence_method", "evidence_warning"),
        *("sampling_seconds", "total_seconds"),
    }
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_json_on_the_standard_output_stands_alone(capsys):
    assert main([*FAST, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["models"][0]["draws"] == 30
    assert "Version space" in printed.err


@pytest.mark.parametrize("width", ["70", "140"])
def test_narrow_terminals_get_the_numbers_too(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", width)
    assert main(FAST) == 0
    printed = capsys.readouterr().out
    assert "2 × 30" in printed
    assert max(map(len, printed.splitlines())) <= int(width)


def test_list(capsys):
    assert main(["zoo", "--list"]) == 0
    printed = capsys.readouterr().out
    assert "label-noise-kernel-gibbs" in printed
    assert "01_kernel_gibbs_sampler.ipynb" in printed


@pytest.mark.parametrize("command", [[], ["zoo"], ["reproduce"], ["reproduce", "kgs-figure-4"]])
def test_help(command, capsys):
    assert exit_code([*command, "--help"]) == 0
    assert "usage: bayeskernels" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "required: COMMAND"),
        (["zoo", "--only", "nope"], "The zoo has no model 'nope'"),
        (["zoo", "--draws", "1"], "--draws must be at least 4, got 1"),
        (["zoo", "--draws", "many"], "invalid int value: 'many'"),
        (["zoo", "--report", "no/such/folder/zoo.html"], "There is no folder"),
        (["zoo", "--fast"], "unrecognized arguments: --fast"),
        (["reproduce", "table-9"], "invalid choice: 'table-9'"),
        (["reproduce", "kgs-figure-4", "--repetitions", "0"], "must be at least 1"),
        (["reproduce", "kgs-figure-4", "--jobs", "0"], "--jobs must be at least 1"),
        (["bench", "nope"], "There is no benchmark 'nope'"),
    ],
)
def test_errors_are_one_line(argv, message, capsys, tmp_path, monkeypatch):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "speed.py").write_text('"""How fast."""\n')
    monkeypatch.chdir(tmp_path)
    assert exit_code(argv) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("bayeskernels")
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_reproduce_lists_what_there_is(capsys):
    assert main(["reproduce"]) == 0
    assert "kgs-figure-4" in capsys.readouterr().out


def test_kgs_figure_4_is_taken_up_where_it_stopped(tmp_path, capsys, monkeypatch):
    out, data = tmp_path / "done.jsonl", tmp_path / "figure.json"
    argv = ["reproduce", "kgs-figure-4", "--draws", "20", "--out", str(out), "--json", str(data)]
    assert main([*argv, "--repetitions", "1"]) == 0
    first = out.read_text()
    assert main([*argv, "--repetitions", "2"]) == 0
    assert out.read_text().startswith(first)
    assert len(out.read_text().splitlines()) == 2
    assert "SVM, no bias" in capsys.readouterr().out
    before = json.loads(data.read_text())
    assert before["repetitions"] == 2
    assert isinstance(before["reproduced"], bool)

    def never(*args, **kwargs):
        raise AssertionError("a finished repetition was run again")

    monkeypatch.setattr(kgs_figure_4, "compare_once", never)
    assert main([*argv, "--repetitions", "2"]) == 0
    assert json.loads(data.read_text()) == before
    assert main([*argv, "--repetitions", "2", "--seed", "2"]) == 2
    assert "other settings (seed)" in capsys.readouterr().err


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "_shared.py").write_text("")
    (folder / "speed.py").write_text('"""How fast it is."""\nimport sys\nsys.exit(len(sys.argv))\n')
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("checkout")
def test_bench_lists_and_runs(capsys):
    assert main(["bench"]) == 0
    printed = capsys.readouterr().out
    assert "speed  How fast it is." in printed
    assert "_shared" not in printed
    assert main(["bench", "speed", "--size", "3"]) == 3


def test_bench_outside_of_a_checkout(tmp_path):
    with pytest.raises(ValueError, match="Run this command in a checkout"):
        benchmarking.find_benchmarks(tmp_path)


def test_python_dash_m(monkeypatch, capsys):
    import runpy

    monkeypatch.setattr(sys, "argv", ["bayeskernels", "--version"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("bayeskernels", run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip() == f"bayeskernels {__version__}"


def test_warmup_says_how_long_it_took_and_where_the_cache_is(capsys):
    assert main(["warmup", "--only", "gaussian_mean", "--only", "label_noise_classifier"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\d+ functions compiled in \d+ s", printed)
    assert compiled_cache.cache_folder() in printed
    assert str(pytensor.config.base_compiledir) in printed
    assert "2/2" in printed


def test_warmup_knows_all_builders(capsys):
    makers = " ".join(FIRST_MODELS)
    builders = set(bk.models.__all__) - {"mean_evolution"}
    assert {name for name in builders if name not in makers} == set()
    assert exit_code(["warmup", "--only", "svm"]) == 2
    assert "invalid choice: 'svm'" in capsys.readouterr().err
