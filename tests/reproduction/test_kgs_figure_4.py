import numpy as np
import pytest

from bayeskernels.data import make_kgs_sphere
from bayeskernels.reproduction import all_reproductions, find_reproduction, kgs_figure_4, register


def test_errors_of_one_repetition():
    errors = kgs_figure_4.compare_once(0, seed=1, levels=(0.05, 0.1), n_test=400)
    assert set(errors) == {"bpm", "svm", "svm_bias"}
    for values in errors.values():
        assert len(values) == 2
        assert all(0.0 < value < 0.2 for value in values)
    assert errors == kgs_figure_4.compare_once(0, seed=1, levels=(0.05, 0.1), n_test=400)
    assert errors != kgs_figure_4.compare_once(1, seed=1, levels=(0.05, 0.1), n_test=400)


def test_a_training_set_with_one_class_is_drawn_again():
    _, first = make_kgs_sphere(3, random_seed=np.random.default_rng(1))
    assert len(set(first)) == 1, "this seed no longer shows it"
    _, y = kgs_figure_4._with_both_classes(3, np.random.default_rng(1))
    assert set(y) == {-1, 1}


@pytest.mark.parametrize("slack", [0.02, 0.1])
def test_svm_without_bias_solves_the_dual_with_the_ridge_on_the_kernel(slack):
    """Its KKT conditions, from the primal solution: alpha_i = max(0, 1 - y_i f_i) / lambda."""
    X, y = make_kgs_sphere(60, random_seed=3)
    svm = kgs_figure_4.svm_without_bias(slack, tol=1e-10).fit(X, y)
    w = svm.coef_[0]
    alpha = np.maximum(0.0, 1 - y * (X @ w)) / slack
    np.testing.assert_allclose((alpha * y) @ X, w, atol=1e-4)
    outputs = y * ((X @ X.T + slack * np.eye(60)) @ (alpha * y))
    assert (outputs > 1 - 1e-4).all()
    np.testing.assert_allclose(outputs[alpha > 1e-3], 1.0, atol=1e-4)


def test_verdict():
    records = [
        {"bpm": [0.05, 0.06], "svm": [0.06, 0.05], "svm_bias": [0.07, 0.08]},
        {"bpm": [0.05, 0.06], "svm": [0.08, 0.05], "svm_bias": [0.07, 0.08]},
    ]
    summary = kgs_figure_4.summarise(records, levels=(0.02, 0.1))
    assert summary["bpm_below_both"] == [True, False]
    assert not summary["reproduced"]
    assert summary["mean"]["svm"] == pytest.approx([0.07, 0.05])
    assert summary["standard_error"]["svm"] == pytest.approx([0.01, 0.0])
    assert summary["gain"]["svm"]["mean"] == pytest.approx(0.005)


def test_one_repetition_has_no_standard_error():
    record = {"bpm": [0.05], "svm": [0.06], "svm_bias": [0.07]}
    summary = kgs_figure_4.summarise([record], levels=(0.02,))
    assert summary["standard_error"]["bpm"] == [None]
    assert summary["reproduced"]


def test_registry():
    assert "kgs-figure-4" in [entry.name for entry in all_reproductions()]
    with pytest.raises(ValueError, match="no reproduction 'x': expected one of kgs-figure-4"):
        find_reproduction("x")
    with pytest.raises(ValueError, match="already is a reproduction 'kgs-figure-4'"):
        register(name="kgs-figure-4", title="", source="KGS")(lambda options, console: None)
