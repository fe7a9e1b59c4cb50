"""Scans over grids: values, resuming, gaps, refusals."""

import json

import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk

DATA = [0.9, 1.3, 0.7]


def _mean(prior_sd, sd=1.0):
    return bk.models.gaussian_mean(DATA, prior_sd=prior_sd, sd=sd)


def _scan(build, grid, **options):
    return bk.evidence.scan(build, grid, progressbar=False, **options)


def test_values_are_those_of_estimate():
    grid = {"prior_sd": np.array([0.1, 1.0, 10.0]), "sd": [0.5, 1.0]}
    scan = _scan(_mean, grid)
    for prior_sd in grid["prior_sd"]:
        for sd in grid["sd"]:
            exact = bk.evidence.estimate(_mean(prior_sd, sd)).log_evidence
            found = scan.dataset["log_evidence"].sel(prior_sd=prior_sd, sd=sd)
            assert float(found) == pytest.approx(exact, abs=1e-12)
    assert scan.best == {"prior_sd": 1.0, "sd": 0.5}
    assert scan.table["log_evidence"].is_monotonic_decreasing
    assert float(scan.probability.sum()) == pytest.approx(1.0)
    assert "6 models; best prior_sd = 1.0, sd = 0.5" in str(scan)
    narrow = scan.along("sd")
    assert list(narrow.dataset.dims) == ["sd"]
    np.testing.assert_allclose(
        narrow.dataset["log_evidence"], scan.dataset["log_evidence"].max("prior_sd")
    )
    with pytest.raises(ValueError, match=r"no parameter width.*prior_sd, sd"):
        scan.along("width")


def test_a_scan_is_taken_up_where_it_stopped(tmp_path):
    out = tmp_path / "scan.jsonl"
    built = []

    def build(prior_sd):
        built.append(prior_sd)
        return _mean(prior_sd)

    _scan(build, {"prior_sd": [0.1, 1.0]}, out=out)
    assert len(out.read_text().splitlines()) == 2
    built.clear()
    scan = _scan(build, {"prior_sd": [0.1, 1.0, 10.0]}, out=out)
    # The first is built once more, to see that the file belongs to these data.
    assert built == [0.1, 10.0]
    assert scan.best == {"prior_sd": 1.0}
    with pytest.raises(ValueError, match="other settings"):
        _scan(build, {"prior_sd": [0.1]}, out=out, method="laplace")
    with pytest.raises(ValueError, match="other settings"):
        _scan(lambda prior_sd: bk.models.gaussian_mean([5.0]), {"prior_sd": [0.1, 3.0]}, out=out)
    # What was refused has left no line behind.
    assert len(out.read_text().splitlines()) == 3
    _scan(build, {"prior_sd": [0.1, 1.0, 10.0, 30.0]}, out=out)


def test_a_scan_of_other_inputs_is_not_taken_up(tmp_path):
    X, y = bk.data.make_two_moons(12, random_seed=1)
    out = tmp_path / "scan.jsonl"

    def builder(inputs):
        return lambda width: bk.models.label_noise_classifier(
            inputs, y, kernel=pm.gp.cov.ExpQuad(2, ls=width), noise=0.1
        )

    options = {"out": out, "method": "tempering", "draws": 20, "tune": 10}
    _scan(builder(X), {"width": [0.5]}, **options)
    with pytest.raises(ValueError, match="other settings"):
        _scan(builder(50 * X), {"width": [0.5]}, **options)


def test_seeds_belong_to_parameters_not_to_places():
    X, y = bk.data.make_two_moons(20, random_seed=1)

    def build(width):
        return bk.models.label_noise_classifier(
            X, y, kernel=pm.gp.cov.ExpQuad(2, ls=width), noise=0.1
        )

    options = {"draws": 50, "random_seed": 3}
    one = _scan(build, {"width": [0.5, 1.0]}, **options)
    other = _scan(build, {"width": [1.0, 2.0, 0.5]}, **options)
    for width in (0.5, 1.0):
        values = [float(s.dataset["log_evidence"].sel(width=width)) for s in (one, other)]
        assert values[0] == values[1]
    assert float(one.dataset["mcse"].min()) > 0


def test_named_kernels_and_processes():
    X, y = bk.data.make_two_moons(12, random_seed=1)
    kernels = {"wide": pm.gp.cov.ExpQuad(2, ls=5.0), "narrow": pm.gp.cov.ExpQuad(2, ls=0.5)}

    def build(kernel, softness):
        return bk.models.bayes_point_machine(X, y, kernel=kernel, softness=softness)

    grid = {"kernel": kernels, "softness": [0.1, 1.0]}
    scan = _scan(build, grid, n_draws=512, random_seed=1)
    assert scan.dataset["kernel"].values.tolist() == ["wide", "narrow"]
    assert scan.best["kernel"] in kernels


def test_gaps():
    def build(sd):
        if sd > 1:
            raise ValueError("too wide")
        return _mean(1.0, sd)

    with pytest.raises(ValueError, match="too wide"):
        _scan(build, {"sd": [0.5, 2.0]})
    scan = _scan(build, {"sd": [0.5, 2.0]}, skip_errors=True)
    assert np.isnan(scan.dataset["log_evidence"].sel(sd=2.0))
    assert "too wide" in str(scan.dataset["warning"].sel(sd=2.0).item())
    assert scan.best == {"sd": 0.5}
    with pytest.raises(ValueError, match=r"No model could be estimated.*too wide"):
        _scan(build, {"sd": [2.0]}, skip_errors=True)


def test_refusals():
    with pytest.raises(ValueError, match="empty"):
        _scan(_mean, {})
    with pytest.raises(ValueError, match="no values"):
        _scan(_mean, {"sd": []})
    with pytest.raises(ValueError, match="twice"):
        _scan(_mean, {"sd": [1.0, 1.0]})
    with pytest.raises(TypeError, match=r"numbers or texts.*names"):
        _scan(_mean, {"sd": [None]})
    with pytest.raises(TypeError, match="list or a dict"):
        _scan(_mean, {"sd": "rbf"})
    with pytest.raises(TypeError, match="list or a dict"):
        _scan(_mean, {"sd": 1.0})
    with pytest.raises(ValueError, match="cannot be called mcse"):
        _scan(_mean, {"mcse": [1.0]})
    with pytest.raises(ValueError, match="different observations"):
        _scan(lambda x: bk.models.gaussian_mean([x, 1.0]), {"x": [1.0, 2.0]})


def test_the_file_holds_plain_json(tmp_path):
    out = tmp_path / "scan.jsonl"
    _scan(_mean, {"prior_sd": [1.0]}, out=out)
    entry = json.loads(out.read_text())
    assert json.loads(entry["repetition"]) == {"prior_sd": 1.0}
