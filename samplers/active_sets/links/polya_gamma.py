r"""Polya-Gamma random numbers (Polson, Scott and Windle 2013), for the logistic link.

PG(1, c) has the density of :math:`\frac{1}{2 \pi^2} \sum_k E_k / ((k - 1/2)^2 + c^2 / (4 \pi^2))`
with standard exponential E. It is a quarter of a tilted Jacobi variable, which Devroye's method
draws by rejection from an exponential tail and a truncated inverse Gaussian; the density is an
alternating series whose partial sums decide. On average less than 1.1 proposals are needed.
"""

import math

import numba

from bayeskernels.compiled import JIT, log_normal_cdf

__all__ = ["draw_polya_gamma"]

#: Where the two forms of the series, and the two parts of the proposal, meet.
SPLIT = 0.64


@numba.njit(**JIT)
def _coefficient(k, x):
    """Term k of the alternating series of the density at x."""
    h = k + 0.5
    if x > SPLIT:
        return math.pi * h * math.exp(-0.5 * h * h * math.pi * math.pi * x)
    return math.pi * h * (2.0 / (math.pi * x)) ** 1.5 * math.exp(-2.0 * h * h / x)


@numba.njit(**JIT)
def _left_part(z, rng):
    """Inverse Gaussian number of mean 1 / z and shape 1, below the split."""
    if z * SPLIT < 1.0:
        while True:
            first = rng.standard_exponential()
            second = rng.standard_exponential()
            while first * first > 2.0 * second / SPLIT:
                first = rng.standard_exponential()
                second = rng.standard_exponential()
            x = SPLIT / (1.0 + SPLIT * first) ** 2
            if rng.random() < math.exp(-0.5 * z * z * x):
                return x
    mean = 1.0 / z
    while True:
        y = rng.standard_normal() ** 2
        x = mean + 0.5 * mean * mean * y
        x -= 0.5 * mean * math.sqrt(4.0 * mean * y + (mean * y) ** 2)
        if rng.random() > mean / (mean + x):
            x = mean * mean / x
        if x < SPLIT:
            return x


@numba.njit(**JIT)
def draw_polya_gamma(c, rng):
    """Draw a number from PG(1, c)."""
    z = 0.5 * abs(c)
    rate = 0.125 * math.pi * math.pi + 0.5 * z * z
    right = 0.5 * math.pi / rate * math.exp(-rate * SPLIT)
    root = 1.0 / math.sqrt(SPLIT)
    left = 2.0 * math.exp(-z + log_normal_cdf(root * (SPLIT * z - 1.0)))
    left += 2.0 * math.exp(z + log_normal_cdf(-root * (SPLIT * z + 1.0)))
    while True:
        if rng.random() * (left + right) < right:
            x = SPLIT + rng.standard_exponential() / rate
        else:
            x = _left_part(z, rng)
        total = _coefficient(0, x)
        level = rng.random() * total
        k = 0
        while True:
            k += 1
            if k % 2 == 1:
                total -= _coefficient(k, x)
                if level <= total:
                    return 0.25 * x
            else:
                total += _coefficient(k, x)
                if level > total:
                    break
