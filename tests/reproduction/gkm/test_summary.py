import numpy as np
import pytest

from bayeskernels.reproduction.gkm import views
from bayeskernels.reproduction.gkm.summary import summarise

SETTINGS = {"seed": 1, "draws": 40, "tune": 20, "nuts_draws": 5, "nuts_tune": 5}


def cell(error, **more):
    sizes = {"n_train": 140, "n_test": 75, "max_active": 140}
    return {"error": error, "seconds": 2.0, "rhat": 1.2, "ess": 40.0, "size": 30.0} | sizes | more


def summary_of(table, case, **cells):
    return summarise(table, {case: cells}, SETTINGS)["sets"][case]


def test_errors():
    fbgkm = {0: cell(0.04), 1: cell(0.05, rhat=None, ess=None)}
    svm = {0: cell(0.05, rhat=None), 1: cell(0.05, rhat=None), 2: cell(0.5, rhat=None)}
    found = summary_of("gkm-table-13", "thyroid", fbgkm=fbgkm, svm=svm)["methods"]
    thyroid = found["fbgkm"]
    assert thyroid["mean"] == pytest.approx(4.5)
    assert thyroid["standard_deviation"] == pytest.approx(np.sqrt(0.5))
    assert thyroid["z"] == pytest.approx(-0.1 / (2.65 * np.sqrt(1 / 2 + 1 / 20)))
    expected = {"mean": -0.5, "standard_error": 0.5}
    assert thyroid["against_svm"] == pytest.approx(expected), "only where both were run"
    assert (thyroid["unconverged"], thyroid["max_rhat"], thyroid["ess"]) == (1, 1.2, 40.0)
    assert (thyroid["partitions"], found["svm"]["partitions"]) == (2, 3)
    assert found["svm"]["against_svm"] is None


def test_marks():
    near = summary_of("gkm-table-13", "thyroid", fbgkm={0: cell(0.045), 1: cell(0.05)})
    text = views._error_cell(near["methods"]["fbgkm"])
    assert text == "4.75 ± 0.35 (2) ?2"
    far = summary_of("gkm-table-13", "thyroid", fbgkm={0: cell(0.2, rhat=1.01)})
    assert far["methods"]["fbgkm"]["against_svm"] is None
    text = views._error_cell(far["methods"]["fbgkm"])
    assert text == "20.00 (1) far"


def test_sizes_after_the_burn_in():
    sizes = [100] * 20 + [7, 8, 8, 9] * 10
    other = [1] * 20 + [5, 6, 6, 6] * 10
    fbgkm = {0: cell(0.1, sizes=sizes), 4: cell(0.1, sizes=other)}
    found = summary_of("gkm-table-7", "bci", fbgkm=fbgkm)
    distribution = found["methods"]["fbgkm"]["distribution"]
    assert distribution == {"max": 7.5, "min": 6.0, "most": 7.0, "share": 0.625}
    text = views._size_cell(found["methods"]["fbgkm"])
    assert text == "6 to 8, 7 (62%) ?2"
    assert views._paper_size(found["paper"]["fbgkm"], None) == "(85 to 100, 99 (18%))"


def test_burn_in():
    rng = np.random.default_rng(1)
    hairy = rng.integers(10, 20, size=600)
    early = np.concatenate([np.arange(60, 20, -4), hairy])
    cells = {0: cell(0.1, sizes=early.tolist()), 1: cell(0.1, sizes=[30] * 600)}
    found = summary_of("gkm-table-12", "splice", fbgkm=cells, sgpc={0: cells[1]})["methods"]
    length = found["fbgkm"]["burn_in"]
    assert length["passed"] == 1, "a chain that stands still says nothing"
    assert length["sweeps"] >= 10
    assert length["seconds"] == pytest.approx(2.0 * length["sweeps"] / 610)
    assert found["sgpc"]["burn_in"] == {"sweeps": None, "seconds": None, "passed": 0}
    assert views._burn_in_cell(found["sgpc"]) == "none (0 of 1)"


def test_times_say_how_much_faster():
    found = summary_of("gkm-table-3", "g241d", bgkm={0: cell(0.1)})
    ours, paper = found["methods"]["bgkm"], found["paper"]["bgkm"]
    assert views._time_cell(ours) == "2.0"
    assert views._paper_time(paper, ours) == "(1,819, 910 times)"
    assert views._paper_time(paper, None) == "(1,819)"
