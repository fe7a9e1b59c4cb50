import numpy as np
import pytest

from bayeskernels.command.cli import main
from bayeskernels.reproduction.gp_benchmark import run_split, summarise


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
    options = {"seed": 1, "starts": 2, "tune": 30, "draws": 50, "data_dir": folder}
    ours, theirs, bayes = (
        run_split(f"mcycle/3/{method}", **options)
        for method in ("evidence", "scikit-learn", "bayes")
    )
    assert (ours["n_train"], ours["n_test"], ours["p"]) == (54, 6, 1)
    assert 2 < ours["rmse"] < 12
    # Both find the same maximum, so they predict the same.
    assert np.isclose(ours["log_evidence"], theirs["log_evidence"], atol=1e-3)
    assert np.isclose(ours["rmse"], theirs["rmse"], rtol=1e-2)
    assert np.isclose(ours["log_density"], theirs["log_density"], atol=1e-2)
    # With 54 points and three hyperparameters the posterior is narrow.
    assert np.isclose(bayes["rmse"], ours["rmse"], rtol=0.2)
    assert np.isclose(bayes["log_density"], ours["log_density"], atol=0.3)
    assert bayes["max_rhat"] < 1.2
    assert bayes["min_ess"] > 10


def records(ours, theirs):
    def rows(values):
        sizes = {"n_train": 9, "n_test": 1, "p": 1, "seconds": 1.0}
        return {str(k): {"rmse": v, "log_density": -v, **sizes} for k, v in enumerate(values)}

    return {"a": {"evidence": rows(ours), "scikit-learn": rows(theirs)}}


def test_differences_are_paired_and_judged_by_their_error():
    better = summarise(records([1.0, 2.0], [1.1, 2.3]))["a"]["methods"]["evidence"]
    assert better["rmse"]["mean"] == 1.5
    assert np.isclose(better["rmse"]["difference"], -0.2)
    assert np.isclose(better["rmse"]["difference_error"], 0.1)
    assert better["rmse"]["no_worse"]
    assert better["log_density"]["no_worse"]
    worse = summarise(records([1.2, 2.3], [1.0, 2.0]))["a"]["methods"]["evidence"]
    assert not worse["rmse"]["no_worse"]
    assert not worse["log_density"]["no_worse"]


def test_fewer_splits_are_compared_with_the_same_ones():
    fewer = summarise(records([1.0], [2.0, 9.0]))["a"]["methods"]
    assert fewer["evidence"]["splits"] == 1
    assert fewer["evidence"]["rmse"]["difference"] == -1.0
    assert (
        "difference"
        not in summarise(records([1.0, 2.0], [2.0]))["a"]["methods"]["evidence"]["rmse"]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sets", "iris"], "no data set 'iris'"),
        (["--methods", "magic"], "no method 'magic'"),
        (["--splits", "21"], "--splits must be between 1 and 20"),
        (["--starts", "0"], "--starts, --tune and --draws must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(arguments, message, capsys):
    assert main(["reproduce", "gp-benchmark", *arguments]) != 0
    assert message in capsys.readouterr().err
