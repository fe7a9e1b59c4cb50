r"""The response of a regression: the observations themselves (GKM, section 2.1, identity link).

:math:`y_i = f_i + \sigma \varepsilon_i`. Nothing has to be imputed; every point has the row weight
:math:`1 / \sigma`. The standard deviation has a half-normal prior or is fixed; given the predictor
its density depends on the sum of squared residuals only.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import overload

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.links import link
from bayeskernels.samplers.compiled import slice_logarithm

__all__ = ["GaussianTargets", "gaussian_terms", "slice_noise"]


class GaussianTargets(NamedTuple):
    """Data of a regression.

    Attributes
    ----------
    values : array of shape (n,)
        Observations y.
    noise : array of shape (1,)
        Standard deviation of the noise.
    prior_scale : float
        Scale of the half-normal prior of the noise; negative where it is fixed.
    """

    values: np.ndarray
    noise: np.ndarray
    prior_scale: float

    @classmethod
    def of(cls, values, noise, prior_scale=None):
        """Observations with a start value of the noise; it is fixed where there is no prior."""
        return cls(
            np.ascontiguousarray(values, dtype=np.float64),
            np.array([float(noise)]),
            -1.0 if prior_scale is None else float(prior_scale),
        )


@numba.njit(**JIT)
def gaussian_terms(f, values, noise, slope, bend):
    """Log-density of the observations; slope becomes its gradient by f, bend its curvature.

    f is the predictor divided by the noise, as the linear algebra has it.
    """
    total = -len(f) * math.log(noise * math.sqrt(2.0 * math.pi))
    for i in range(len(f)):
        residual = values[i] / noise - f[i]
        total -= 0.5 * residual * residual
        slope[i] = residual
        bend[i] = 1.0
    return total


@numba.njit(**JIT)
def _log_noise_density(log_noise, n, squares, prior_scale):
    """Log-density of the logarithm of the noise given the sum of squared residuals."""
    noise = math.exp(log_noise)
    return (1 - n) * log_noise - 0.5 * squares / noise**2 - 0.5 * (noise / prior_scale) ** 2


@numba.njit(**JIT)
def slice_noise(noise, n, squares, prior_scale, rng):
    """Slice move of the noise given the predictor, on the scale of logarithms."""
    return slice_logarithm(noise, _log_noise_density, (n, squares, prior_scale), rng)


@numba.njit(**JIT)
def _renew(f, response, s, weights, rng):
    n = len(f)
    values, noise, prior_scale = response
    if prior_scale > 0.0:
        squares = 0.0
        for i in range(n):
            squares += (values[i] - f[i]) ** 2
        noise[0] = slice_noise(noise[0], n, squares, prior_scale, rng)
    for i in range(n):
        weights[i] = 1.0 / noise[0]
        s[i] = values[i] / noise[0]


def _is_gaussian(response):
    return isinstance(response, types.NamedTuple) and response.instance_class is GaussianTargets


@numba.njit(**JIT)
def _log_likelihood(f, values, noise):
    total = -len(f) * math.log(noise * math.sqrt(2.0 * math.pi))
    for i in range(len(f)):
        residual = (values[i] - f[i]) / noise
        total -= 0.5 * residual * residual
    return total


@overload(link.log_likelihood)
def _log_likelihood_of(f, response):
    if _is_gaussian(response):
        return lambda f, response: _log_likelihood(f[0], response.values, response.noise[0])


@overload(link.label_terms)
def _label_terms(f, response, slope, bend):
    if _is_gaussian(response):
        return lambda f, response, slope, bend: gaussian_terms(
            f[0], response.values, response.noise[0], slope[0], bend[0]
        )


@overload(link.impute_response)
def _impute_response(state, S, response, rng):
    if _is_gaussian(response):
        return lambda state, S, response, rng: None


@overload(link.renew_response)
def _renew_response(f, response, S, weights, rng):
    if _is_gaussian(response):
        return lambda f, response, S, weights, rng: _renew(f[0], response, S[0], weights, rng)
