import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk


@pytest.fixture(scope="module")
def prediction():
    X = np.linspace(0, 1, 10)[:, None]
    t = np.sin(6 * X[:, 0])
    model = bk.models.gp_regression(X, t, kernel=pm.gp.cov.ExpQuad(1, ls=0.2), noise=0.1)
    x = np.linspace(1, 0, 30)
    return bk.predict(model, None, x[:, None]), x, (X, t)


def test_band_is_two_standard_deviations_wide_on_sorted_inputs(prediction):
    found, x, data = prediction
    ax = bk.plots.regression_band(found, x, data=data, truth=np.sin(6 * x))
    light, dark = ax.collections[:2]
    for band, name in ((light, "sd"), (dark, "latent_sd")):
        top = band.get_paths()[0].get_extents().y1
        np.testing.assert_allclose(top, (found["mean"] + 2 * found[name]).max())
    truth, mean = ax.lines
    assert (np.diff(mean.get_xdata()) > 0).all()
    np.testing.assert_allclose(mean.get_ydata(), found["mean"].values[::-1])
    np.testing.assert_allclose(truth.get_ydata(), np.sin(6 * truth.get_xdata()))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["truth", "mean", "data"]


def test_places_must_be_those_of_the_prediction(prediction):
    with pytest.raises(ValueError, match="each of the 30 predictions"):
        bk.plots.regression_band(prediction[0], np.zeros(3))
