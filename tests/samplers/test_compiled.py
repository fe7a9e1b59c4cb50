"""The slice move that all samplers share leaves its density, compiled or not."""

import math

import numba
import numpy as np
import pytest
from scipy.stats import gamma, kstest

from bayeskernels.compiled import JIT
from bayeskernels.samplers.compiled import slice_logarithm, step_out

SHAPE, RATE = 2.5, 0.7


@numba.njit(**JIT)
def _log_density(log_value, shape, rate):
    return shape * log_value - rate * math.exp(log_value)


@numba.njit(**JIT)
def _chain(value, n, max_steps, rng):
    values = np.empty(n)
    for i in range(n):
        value = slice_logarithm(value, _log_density, (SHAPE, RATE), rng, max_steps)
        values[i] = value
    return values


@pytest.mark.parametrize("max_steps", [0, 1, 3])
def test_slice_leaves_its_density(max_steps):
    """Every tenth of 40,000 draws against the distribution; false alarms in one of 1,000 seeds."""
    draws = _chain(1.0, 40_000, max_steps, np.random.default_rng(5))[::10]
    assert kstest(draws, gamma(SHAPE, scale=1 / RATE).cdf).pvalue > 1e-3


def test_slice_without_a_compiler_is_the_same():
    rng, value = np.random.default_rng(2), 1.0
    for expected in _chain(1.0, 20, 0, np.random.default_rng(2)):
        here = math.log(value)
        height = _log_density.py_func(here, SHAPE, RATE)
        new = step_out.py_func(here, height, _log_density.py_func, (SHAPE, RATE), rng)
        value = math.exp(new)
        assert math.isclose(value, expected, rel_tol=1e-12)


def test_number_of_steps_is_limited():
    """A flat density has no end: both sides together grow by less than the limit."""
    rng = np.random.default_rng(1)
    new = [step_out.py_func(0.0, 0.0, lambda x: 1.0, (), rng, 7) for _ in range(500)]
    assert 5.0 < np.ptp(new) <= 14.0
    assert max(map(abs, new)) <= 7.0


def test_a_place_that_rounding_puts_below_its_own_level():
    rng = np.random.default_rng(1)
    assert step_out.py_func(0.3, 0.0, lambda x: -math.inf, (), rng) == 0.3
