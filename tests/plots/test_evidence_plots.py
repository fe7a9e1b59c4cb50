"""Evidence as dots with error bars: what is drawn where, and what cannot be drawn."""

import numpy as np
import pytest

import bayeskernels as bk
from bayeskernels.evidence import Evidence


@pytest.fixture
def evidences():
    return {
        "worse": Evidence(-12.0, 0.5, "bridge", 0, {"warning": "Short."}, "same"),
        "best": Evidence(-10.0, 0.1, "tempering", 0, {}, "same"),
        "exact": Evidence(-30.0, 0.0, "exact", 0, {}, "same"),
    }


def test_dots(evidences):
    ax = bk.plots.evidence(evidences)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["best", "worse", "exact"]
    places = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(places, [[-10.0, 2.0], [-12.0, 1.0], [-30.0, 0.0]])
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose(bars[1][:, 0], [-13.0, -11.0])  # two standard errors
    best, worse, exact = [text.get_text() for text in ax.texts]
    share = bk.evidence.compare(evidences).loc["best", "probability"]
    assert abs(float(best.rstrip("%")) - 100 * share) < 0.051
    assert abs(float(best.rstrip("%")) + float(worse.rstrip("%")) - 100) < 0.11
    assert exact == "< 0.1%"
    faces = ax.collections[-1].get_facecolors()
    assert faces[1].tolist() == [1.0, 1.0, 1.0, 1.0]  # hollow: it came with a warning
    assert faces[0].tolist() != faces[1].tolist()


def test_relative_dots_into_given_axes(evidences):
    import matplotlib.pyplot as plt

    _, given = plt.subplots()
    ax = bk.plots.evidence(bk.evidence.compare(evidences), relative=True, ax=given)
    assert ax is given
    np.testing.assert_allclose(ax.collections[-1].get_offsets()[:, 0], [0.0, -2.0, -20.0])
    assert "relative" in ax.get_xlabel()


def test_models_without_evidence_have_no_dot(evidences):
    evidences["impossible"] = Evidence(-np.inf, 0.0, "exact", 0, {}, "same")
    ax = bk.plots.evidence(evidences)
    assert len(ax.collections[-1].get_offsets()) == 3
    assert ax.texts[-1].get_text() == "0.0%"


def test_what_cannot_be_drawn(evidences):
    with pytest.raises(TypeError, match="one number; plot a dict"):
        bk.plots.evidence(evidences["best"])
    with pytest.raises(TypeError, match="got int"):
        bk.plots.evidence(3)
    with pytest.raises(ValueError, match="lacks the columns"):
        bk.plots.evidence(bk.evidence.compare(evidences)[["mcse"]])
