"""The digits of the Bayes point machine paper, on small stand-ins."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bayeskernels.command.cli import main
from bayeskernels.reproduction import bpm_figure_9
from bayeskernels.reproduction.bpm_figure_9 import learn_digits, polynomial, summarise


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Scikit-learn's digits under the names of the paper's sets."""
    monkeypatch.setattr("bayeskernels.data.loading.CHECKSUMS", {})
    digits = load_digits()
    X, y = digits.data, digits.target.astype(np.int8)
    for name, m in [("usps", 300), ("mnist", 500)]:
        np.savez(tmp_path / f"{name}.npz", X=X[:m], y=y[:m], X_test=X[m:1500], y_test=y[m:1500])
    bpm_figure_9._digits.cache_clear()
    yield tmp_path
    bpm_figure_9._digits.cache_clear()


def test_kernel():
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((4, 3)), rng.standard_normal((5, 3))
    np.testing.assert_allclose(polynomial(X, Z), (X @ Z.T + 1) ** 5)


def test_learning_and_rejection(folder):
    record = learn_digits("mnist/0", seed=1, permutations=2, data_dir=folder)
    assert record["n_train"] == 500
    assert record["error"][0] < 0.1
    assert record["error"][-1] < record["error"][0]
    assert (
        learn_digits("mnist/0", seed=1, permutations=2, data_dir=folder)["error"]
        == (record["error"])
    )
    other = learn_digits("mnist/1", seed=1, permutations=2, data_dir=folder)
    assert other["updates"] != record["updates"]


def test_command_line_resumes(folder, tmp_path, monkeypatch):
    out, report = tmp_path / "out.jsonl", tmp_path / "report.json"
    arguments = ["reproduce", "bpm-figure-9", "--permutations", "1", "--data-dir", str(folder)]
    arguments += ["--out", str(out), "--json", str(report)]
    learn = bpm_figure_9.learn_digits
    learned = []

    def stop_at_mnist(name, **settings):
        learned.append(name)
        if name.startswith("mnist") and learned.count(name) == 1:
            raise KeyboardInterrupt
        return learn(name, **settings)

    monkeypatch.setattr(bpm_figure_9, "learn_digits", stop_at_mnist)
    assert main(arguments) == 130
    assert len(out.read_text().splitlines()) == 1
    assert main(arguments) == 0
    assert learned == ["usps/0", "mnist/0", "mnist/0"]
    summary = json.loads(report.read_text())
    assert list(summary) == ["usps", "mnist"]
    assert summary["mnist"]["paper"]["bpm"] == 1.46


def test_summary_says_whether_the_error_falls():
    row = {"seconds": 1.0, "support": 5, "updates": 9, "most_used": [], "n_train": 5, "n_test": 9}
    falling = summarise({"usps": [row | {"error": np.linspace(0.05, 0.01, 11).tolist()}]})["usps"]
    assert falling["is_near"]
    assert falling["falls"]
    flat = summarise({"usps": [row | {"error": [0.06] * 11}]})["usps"]
    assert not flat["is_near"]
    assert not flat["falls"]


def test_refusals(tmp_path, capsys):
    def message(*arguments):
        assert main(["reproduce", "bpm-figure-9", *arguments]) == 2
        return " ".join(capsys.readouterr().err.split())

    assert "no data set 'letters': expected some of usps, mnist" in message("--sets", "letters")
    assert "must be at least 1" in message("--permutations", "0")
    assert "needs a folder with usps.npz" in message("--data-dir", str(tmp_path))
