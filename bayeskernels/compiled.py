"""What all compiled code shares: options of numba, and the normal distribution function.

Draws may depend on nothing but model, data, seed and options. A function that LLVM may reassociate
or contract is rounded as it happens to be optimised: by itself or within its caller, with arrays
that lie near each other in memory or not. Which of the copies of a function in the cache of numba
is run depends on the functions that a process has loaded before, so such draws differ from one
process to the next. Floating-point arithmetic therefore is what the source says.
"""

import math

import numba

import bayeskernels.compiled_cache  # noqa: F401  (before the first function is compiled)

__all__ = ["JIT", "hazard", "log_normal_cdf"]

#: Options of compiled functions. Of "fast" mathematics nothing that rounds may be added.
JIT = {"cache": True, "nogil": True, "error_model": "numpy"}

_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_TAU = 0.5 * math.log(2.0 * math.pi)
_INVERSE_ROOT_TAU = 1.0 / math.sqrt(2.0 * math.pi)


@numba.njit(**JIT)
def log_normal_cdf(x):
    """Logarithm of the standard normal distribution function; an asymptotic series on the left.

    Examples
    --------
    >>> round(log_normal_cdf(0.0), 6), round(log_normal_cdf(-40.0), 6)
    (-0.693147, -804.608442)
    """
    if x > -20.0:
        return math.log(0.5 * math.erfc(-x * _ROOT_HALF))
    r = 1.0 / (x * x)
    return (
        -0.5 * x * x - math.log(-x) - _LOG_ROOT_TAU + math.log1p(r * (-1.0 + r * (3.0 - 15.0 * r)))
    )


@numba.njit(**JIT)
def hazard(x):
    """Derivative of the logarithm of the normal distribution function."""
    if x > -20.0:
        return _INVERSE_ROOT_TAU * math.exp(-0.5 * x * x) / (0.5 * math.erfc(-x * _ROOT_HALF))
    return math.exp(-0.5 * x * x - _LOG_ROOT_TAU - log_normal_cdf(x))
