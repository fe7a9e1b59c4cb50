"""Graphs as NumPy functions: their precision."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

from bayeskernels.graphs.numpy_graphs import numpy_function

ROUND_NUMBERS = {
    "beta": (pm.Beta.dist(2e5, 8e5), 0.2, stats.beta(2e5, 8e5)),
    "gamma": (pm.Gamma.dist(20000.0, 2.0), 1e4, stats.gamma(2e4, scale=0.5)),
    "inverse gamma": (pm.InverseGamma.dist(20000.0, 2.0), 1e-4, stats.invgamma(2e4, scale=2.0)),
    "student": (pm.StudentT.dist(20000.0), 1.0, stats.t(2e4)),
    "chi squared": (pm.ChiSquared.dist(20000), 2e4, stats.chi2(2e4)),
    "von mises": (pm.VonMises.dist(0.0, 500.0), 0.01, stats.vonmises(500.0)),
    "binomial": (pm.Binomial.dist(20000, 0.25), 5000, stats.binom(20000, 0.25)),
    "beta-binomial": (pm.BetaBinomial.dist(2e4, 2e4, 200), 90, stats.betabinom(200, 2e4, 2e4)),
}


@pytest.mark.parametrize("name", ROUND_NUMBERS)
def test_densities_of_round_numbers_have_double_precision(name):
    """PyTensor keeps 20000.0 in single precision, and so its log-gamma function."""
    rv, value, known = ROUND_NUMBERS[name]
    exact = known.logpdf(value) if rv.dtype.startswith("float") else known.logpmf(value)
    assert float(numpy_function([], pm.logp(rv, value))()) == pytest.approx(exact, abs=1e-8)


def test_types_that_are_insisted_on():
    """Not all operations take double precision in the place of single precision."""
    single = pt.sqrt(pt.as_tensor(np.float32(2.0)))
    made = pt.stack([single, pt.as_tensor(np.float32(1.0))])
    first, second = numpy_function([], [made, single + 1])()
    assert first.dtype == np.float32
    assert float(second) == pytest.approx(1.0 + np.sqrt(2.0), abs=1e-14)
