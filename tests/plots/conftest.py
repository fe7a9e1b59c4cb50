import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    from matplotlib import pyplot

    pyplot.close("all")
