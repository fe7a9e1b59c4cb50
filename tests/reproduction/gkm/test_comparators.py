import numpy as np
import pytest

from bayeskernels.reproduction.gkm import comparators

pytestmark = pytest.mark.filterwarnings("ignore:.*not the file that published results:UserWarning")


@pytest.mark.parametrize("method", ["bsvm", "csvm"])
def test_support_vector_machines_with_a_posterior(draw, method):
    seeds = {method: np.random.SeedSequence(1)}
    options = {"draws": 100, "tune": 200, "seeds": seeds}
    record = comparators.run_bayesian_svm(method, draw("bci"), **options)[method]
    assert record["error"] < 0.3
    assert record["rhat"] > 0.9
    assert record["seconds"] > 0


def test_gaussian_process_with_inducing_points(draw):
    seeds = {"fic": np.random.SeedSequence(1)}
    record = comparators.run_fic(draw("bci"), 12, draws=100, tune=200, seeds=seeds)["fic"]
    assert record["error"] < 0.3
    assert record["size"] == 12


def test_tuned_support_vector_machine(draw, monkeypatch):
    partition = draw("bci")
    seeds = {"svm": np.random.SeedSequence(1)}
    record = comparators.run_svm(partition, seeds=seeds)["svm"]
    assert record["error"] < 0.3
    assert record["cost"] in comparators.COSTS
    assert record["width"] in comparators.WIDTHS
    # A machine that is tuned on few points still learns from all.
    monkeypatch.setattr(comparators, "TUNING_POINTS", 12)
    assert comparators.run_svm(partition, seeds=seeds)["svm"]["error"] < 0.3


def test_folds_do_with_a_rare_class(draw):
    partition = draw("bci")
    partition.y[:] = -1
    partition.y[:3] = 1
    record = comparators.run_svm(partition, seeds={"svm": np.random.SeedSequence(1)})["svm"]
    assert 0.0 <= record["error"] <= 1.0
