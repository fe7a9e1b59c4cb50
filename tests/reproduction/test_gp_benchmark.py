import numpy as np
import pytest

from bayeskernels.cli import main
from bayeskernels.reproduction.gp_benchmark import compare_split, summarise


@pytest.fixture
def folder(tmp_path):
    """A set of the benchmark's name with other, generated values."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 60, size=(60, 1))
    y = 40 * np.sin(X[:, 0] / 8) + 5 * rng.normal(size=60)
    np.savez(tmp_path / "mcycle.npz", X=X, y=y)
    return tmp_path


@pytest.mark.filterwarnings("ignore:mcycle.npz has sha256")
def test_one_split_in_the_units_of_the_set(folder):
    options = {"seed": 1, "starts": 2, "tune": 1, "draws": 1, "bayes_splits": 0}
    record = compare_split(
        "mcycle/3", methods=["evidence", "scikit-learn"], data_dir=folder, **options
    )
    ours, theirs = (record["methods"][m] for m in ("evidence", "scikit-learn"))
    assert (record["n_train"], record["n_test"], record["p"]) == (54, 6, 1)
    assert 2 < ours["rmse"] < 12
    # Both find the same maximum, so they predict the same.
    assert np.isclose(ours["log_evidence"], theirs["log_evidence"], atol=1e-3)
    assert np.isclose(ours["rmse"], theirs["rmse"], rtol=1e-2)
    assert np.isclose(ours["log_density"], theirs["log_density"], atol=1e-2)


def record(ours, theirs):
    def method(rmse):
        return {"rmse": rmse, "log_density": -rmse, "seconds": 1.0}

    methods = {"evidence": method(ours), "scikit-learn": method(theirs)}
    return {"methods": methods, "n_train": 9, "n_test": 1, "p": 1}


def test_differences_are_paired_and_judged_by_their_error():
    better = summarise({"a": [record(1.0, 1.1), record(2.0, 2.3)]})["a"]["methods"]["evidence"]
    assert better["rmse"]["mean"] == 1.5
    assert np.isclose(better["rmse"]["difference"], -0.2)
    assert np.isclose(better["rmse"]["difference_error"], 0.1)
    assert better["rmse"]["no_worse"]
    assert better["log_density"]["no_worse"]
    worse = summarise({"a": [record(1.2, 1.0), record(2.3, 2.0)]})["a"]["methods"]["evidence"]
    assert not worse["rmse"]["no_worse"]
    assert not worse["log_density"]["no_worse"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sets", "iris"], "Unknown: 'iris'"),
        (["--methods", "magic"], "Unknown: 'magic'"),
        (["--splits", "21"], "--splits must be between 1 and 20"),
        (["--starts", "0"], "--starts, --tune and --draws must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(arguments, message, capsys):
    assert main(["reproduce", "gp-benchmark", *arguments]) != 0
    assert message in capsys.readouterr().err
