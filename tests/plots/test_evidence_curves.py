import numpy as np
import pytest

import bayeskernels as bk


@pytest.fixture(scope="module")
def evidence():
    X, y = bk.data.make_two_moons(30, random_seed=1)
    y, _ = bk.data.flip_labels(y, 0.1, random_seed=1)
    model = bk.models.label_noise_classifier(X, y)
    return bk.evidence.estimate(model, draws=200, random_seed=1, progressbar=False)


@pytest.fixture(scope="module")
def scan():
    return bk.evidence.scan(
        lambda prior_sd, sd: bk.models.gaussian_mean([0.9, 1.3], prior_sd=prior_sd, sd=sd),
        {"prior_sd": [0.1, 1.0, 10.0], "sd": [0.3, 1.0]},
        progressbar=False,
    )


def test_noise_curve_shows_the_curve_its_error_and_the_planted_level(evidence):
    ax = bk.plots.evidence(evidence, q=np.linspace(0.05, 0.45, 9), planted=0.1, label="moons")
    planted, line, best = ax.lines
    curve = evidence.curve(np.linspace(0.05, 0.45, 9))
    np.testing.assert_allclose(line.get_ydata(), curve["log_evidence"])
    assert set(planted.get_xdata()) == {0.1}
    assert best.get_ydata()[0] == pytest.approx(float(curve["log_evidence"].max()))
    top = ax.collections[0].get_paths()[0].get_extents().y1
    assert top == pytest.approx(float((curve["log_evidence"] + 2 * curve["mcse"]).max()))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["planted", "moons"]


def test_noise_posterior_shades_the_interval(evidence):
    ax = bk.plots.noise_posterior(evidence, planted=0.1, probability=0.8)
    low, high = evidence.noise_posterior(probability=0.8).interval
    extent = ax.collections[0].get_paths()[0].get_extents()
    assert extent.x0 == pytest.approx(low, abs=0.005)
    assert extent.x1 == pytest.approx(high, abs=0.005)


def test_scans_are_heat_maps_or_curves(scan):
    ax = bk.plots.evidence(scan)
    values = scan.dataset["log_evidence"].values
    np.testing.assert_allclose(ax.images[0].get_array(), values - values.max())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sd", "prior_sd")
    ax = bk.plots.evidence(scan, along="prior_sd")
    assert ax.get_xscale() == "log"
    np.testing.assert_allclose(ax.lines[0].get_ydata(), values.max(axis=1))


def test_names_are_categories_and_three_parameters_are_refused():
    scan = bk.evidence.scan(
        lambda prior: bk.models.gaussian_mean([0.9], prior_sd=prior),
        {"prior": {"narrow": 0.1, "wide": 3.0}},
        progressbar=False,
    )
    ax = bk.plots.evidence(scan)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["narrow", "wide"]
    cube = bk.evidence.scan(
        lambda a, b, c: bk.models.gaussian_mean([0.9], prior_sd=a + b + c),
        {"a": [1.0], "b": [1.0, 2.0], "c": [1.0]},
        progressbar=False,
    )
    with pytest.raises(ValueError, match=r"3 parameters.*along"):
        bk.plots.evidence(cube)
    assert bk.plots.evidence(cube, along="b").get_xlabel() == "b"
