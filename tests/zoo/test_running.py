import dataclasses
import json
import logging

import numpy as np
import pytest

from bayeskernels.evidence import Evidence
from bayeskernels.zoo import find_entry, run_entry, run_zoo
from bayeskernels.zoo.table import COLUMNS, DASH, cells


@pytest.fixture(scope="module")
def result():
    return run_entry(find_entry("label-noise"), draws=150, chains=2)


def test_numbers_of_a_run(result):
    assert result.r_hat < 1.1
    assert result.ess > 50
    assert result.ess_errors > 20
    assert result.ess_per_second > 0
    assert result.test_error < 0.1
    assert result.evidence.method == "tempering"
    assert -40 < result.log_evidence < -20
    assert 0 < result.log_evidence_mcse < 0.5
    assert dict(result.watched.sizes) == {"chain": 2, "draw": 150, "point": 25}


def test_watched_outputs_belong_to_their_chain_and_draw(result):
    w = result.idata["posterior"]["w"]
    features = result.model.bayeskernels_specification.feature_map(
        result.problem.X_test[result.watched["point"].values]
    )
    expected = w.values @ features.T
    np.testing.assert_allclose(result.watched["output"].values, expected, atol=1e-12)


def test_the_seed_decides(result):
    entry = find_entry("label-noise")
    again = run_entry(entry, draws=20, chains=1)
    other = run_entry(entry, draws=20, chains=1, random_seed=2)
    same = run_entry(entry, draws=20, chains=1)
    assert (again.watched["output"].values == same.watched["output"].values).all()
    assert (again.watched["output"].values != other.watched["output"].values).any()


def test_record_is_plain_json(result):
    record = result.as_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["steps"] == ["RefractiveBilliard"]
    assert record["log_evidence"] == result.log_evidence
    assert record["evidence_method"] == "tempering"


def test_row_of_the_table(result):
    row = cells(result)
    assert len(row) == len(COLUMNS)
    assert row[3] == "2 × 150"
    assert row[-1].startswith(f"{result.log_evidence:.2f} ± ")
    assert cells(dataclasses.replace(result, evidence=None))[-1] == DASH


def test_version_space_has_no_errors_and_no_r_hat_of_them():
    result = run_entry(find_entry("version-space"), draws=60, chains=2)
    assert "errors" not in result.watched
    assert result.ess_errors is None
    assert result.r_hat < 1.2


def test_evidence_hook_fills_the_column():
    def evidence(model, idata, random_seed):
        return Evidence(-12.345, 0.1, "smc", diagnostics={"warning": "populations disagree"})

    entry = dataclasses.replace(find_entry("version-space"), evidence=evidence)
    result = run_entry(entry, draws=20, chains=2)
    assert cells(result)[-1] == "-12.35 ± 0.10 ?"
    assert result.as_dict()["log_evidence"] == -12.345


def test_scalar_unknowns_are_watched_and_pymc_keeps_quiet(caplog):
    entry = find_entry("label-noise-by-class")
    with caplog.at_level(logging.INFO):
        [result] = run_zoo([entry], draws=30, chains=2)
    assert result.watched["noise"].dims == ("chain", "draw", "class")
    assert not [r for r in caplog.records if r.name.startswith("pymc")]


def test_kernel_gibbs_is_really_used():
    entry = dataclasses.replace(find_entry("label-noise-kernel-gibbs"), tune=10)
    result = run_entry(entry, draws=20, chains=2)
    assert "kernel_gibbs_errors" in result.idata["sample_stats"]


@pytest.mark.slow
def test_regressions_run_and_are_reported():
    from bayeskernels.zoo.report import render_report

    linear = run_entry(find_entry("bayesian-linear-regression"), draws=100, chains=2)
    network = run_entry(find_entry("rbf-network"), draws=100, chains=2)
    # Noise of variance 0.02 on targets of variance 0.75: 0.03 is the best there is.
    assert 0.02 < network.test_error < 0.1
    assert network.test_error < linear.test_error
    # A grid over both precisions, refined until nothing changes: no Monte Carlo error.
    assert linear.evidence.method == "quadrature"
    assert linear.log_evidence_mcse < 1e-10
    assert abs(linear.log_evidence + 32.00) < 0.01
    assert linear.watched["output"].dims == ("chain", "draw", "point")
    assert {"alpha", "beta"} <= set(linear.watched)
    assert "Mean and band" in render_report([linear, network], random_seed=1)


@pytest.mark.slow
def test_random_kernel_width_runs():
    result = run_entry(find_entry("label-noise-kernel-width"), draws=100, chains=2)
    assert result.test_error < 0.2
    assert "width" in result.watched


@pytest.mark.slow
def test_a_regression_runs_and_is_reported():
    from bayeskernels.zoo.report import render_report

    result = run_entry(find_entry("gp-regression"), draws=50, chains=2)
    # Noise of variance 0.04 on a sine of variance 0.5: 0.07 is the best there is.
    assert 0.04 < result.test_error < 0.15
    assert set(result.watched) == {"amplitude", "ls", "noise", "output"}
    assert "Mean and band" in render_report([result], random_seed=1)
