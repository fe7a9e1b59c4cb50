"""The normal distribution function of compiled code against SciPy's."""

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import norm

from bayeskernels.compiled import hazard, log_normal_cdf

#: Both sides of the place where the asymptotic series takes over.
X = np.concatenate([np.linspace(-60.0, 9.0, 500), [-1e4, -20.0 - 1e-9, -20.0, -20.0 + 1e-9]])


def test_log_normal_cdf():
    found = np.array([log_normal_cdf(x) for x in X])
    np.testing.assert_allclose(found, log_ndtr(X), rtol=5e-11, atol=1e-15)


def test_hazard_is_its_derivative():
    found = np.array([hazard(x) for x in X])
    np.testing.assert_allclose(found, np.exp(norm.logpdf(X) - log_ndtr(X)), rtol=1e-8)
