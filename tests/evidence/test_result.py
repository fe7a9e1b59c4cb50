"""The result: its text, its way into a DataTree and back, several as one."""

import pickle
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
import xarray as xr

from bayeskernels.evidence import Evidence
from bayeskernels.evidence.repetitions import combine

DIAGNOSTICS = {
    "ess": 812.5,
    "path": "prior",
    "converged": True,
    "rungs": 7,
    "swap_rates": np.array([0.5, 0.25]),
    "warning": "Too short.",
}


@pytest.fixture
def evidence():
    return Evidence(-12.3456, 0.0789, "bridge", 4000, DIAGNOSTICS, "abc-def")


def test_text(evidence):
    lines = str(evidence).splitlines()
    assert lines[0] == "log evidence -12.346 ± 0.079 (bridge)"
    assert lines[1] == "Not to be trusted: Too short."
    assert str(Evidence(-1.25, 0.0, "exact")) == "log evidence -1.2500 (exact)"
    assert "unknown error" in str(Evidence(-1.25, np.nan, "laplace"))
    assert str(Evidence(-1234.5678, 12.3, "smc")) == "log evidence -1235 ± 12 (smc)"
    assert "-inf" in str(Evidence(-np.inf, 0.0, "exact"))
    assert "2 numbers" in evidence._repr_html_()


def test_frozen(evidence):
    with pytest.raises(AttributeError):
        evidence.mcse = 0.0
    with pytest.raises(TypeError):
        evidence.diagnostics["ess"] = 1.0
    with pytest.raises(ValueError, match="negative"):
        Evidence(-1.0, -0.1, "smc")


def same(one, other):
    assert type(one) is type(other)
    for name in ("log_evidence", "mcse", "method", "n_evaluations", "data_digest"):
        assert getattr(one, name) == getattr(other, name)
    assert set(one.diagnostics) == set(other.diagnostics)
    for name, value in one.diagnostics.items():
        np.testing.assert_array_equal(value, other.diagnostics[name])
        assert isinstance(other.diagnostics[name], type(value))


def test_stored_and_read_back(evidence):
    idata = xr.DataTree.from_dict({"posterior": xr.Dataset({"p": ("draw", [1.0, 2.0])})})
    assert evidence.to_datatree(idata) is idata
    assert set(idata.children) == {"posterior", "evidence"}
    same(evidence, Evidence.from_datatree(idata))
    same(evidence, Evidence.from_datatree(idata["evidence"].to_dataset()))
    replace(evidence, mcse=1.0).to_datatree(idata)  # replaces what is there
    assert Evidence.from_datatree(idata).mcse == 1.0
    same(evidence, pickle.loads(pickle.dumps(evidence)))


def test_stored_in_a_file(evidence, tmp_path):
    pytest.importorskip("zarr")
    evidence.to_datatree().to_zarr(tmp_path / "evidence.zarr", consolidated=False)
    with xr.open_datatree(tmp_path / "evidence.zarr", engine="zarr", consolidated=False) as tree:
        same(evidence, Evidence.from_datatree(tree))


def test_nothing_stored():
    with pytest.raises(ValueError, match="no group 'evidence'"):
        Evidence.from_datatree(xr.DataTree())


def test_no_curve(evidence):
    assert not evidence.has_curve
    with pytest.raises(TypeError, match=r"'bridge' is one number.*tempering"):
        evidence.curve(0.1)


def test_subclasses_come_back_as_what_they_were():
    @dataclass(frozen=True, eq=False)
    class Curve(Evidence):
        log_counts: np.ndarray = field(default=None, repr=False)
        has_curve: ClassVar[bool] = True

        def _arrays(self):
            return {"log_counts": ("errors", self.log_counts)}

    try:
        curve = Curve(-1.0, 0.1, "tempering", log_counts=np.array([1.0, 2.0]))
        back = Evidence.from_datatree(curve.to_datatree())
        same(curve, back)
        assert back.log_counts.tolist() == [1.0, 2.0]
    finally:
        del Evidence._kinds["Curve"]
    with pytest.raises(ValueError, match="'Curve', which this version does not know"):
        Evidence.from_datatree(curve.to_datatree())


def test_repetitions():
    results = [Evidence(v, 0.3, "smc", 10, {"a": 1}) for v in (-10.0, -10.1, -9.9)]
    both = combine(results)
    assert np.isclose(both.log_evidence, -10.0)
    assert np.isclose(both.mcse, 0.3 / np.sqrt(3))  # the spread is smaller
    assert np.isclose(combine(results, is_independent=False).mcse, 0.3)
    assert both.n_evaluations == 30
    assert both.diagnostics["repetitions"].tolist() == [-10.0, -10.1, -9.9]
    assert combine(results[:1]) is results[0]


def test_spread_takes_part_in_the_error():
    results = [Evidence(v, 1e-3, "smc") for v in (-10.0, -12.0)]
    assert np.isclose(combine(results).mcse, 1.0)
    assert np.isnan(combine([Evidence(-1.0, np.nan, "ep")] * 2).mcse)


def test_warnings_stay():
    calm, loud = Evidence(-1.0, 0.1, "smc"), Evidence(-1.0, 0.1, "smc", 0, {"warning": "Oh."})
    assert combine([calm, loud, loud]).warning == "Oh."
