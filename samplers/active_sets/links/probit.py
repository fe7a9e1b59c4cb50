r"""The working response of a probit model (GKM, section 3.1 and appendix A).

A label is the sign of :math:`s_i = f_i + \varepsilon_i` with standard normal noise. Given s the
model is Gaussian, which makes everything else easy; s itself lives inside the sampler only.
"""

import math

import numba
import numpy as np
from numba import types
from numba.extending import overload

from bayeskernels.compiled import JIT, log_normal_cdf
from bayeskernels.samplers.active_sets.links import link

__all__ = [
    "draw_response",
    "probit_labels",
    "probit_terms",
    "truncated_normal",
]


@numba.njit(**JIT)
def probit_terms(f, positive, slope, bend):
    """Log-probability of the labels; slope becomes its gradient by f, bend its curvature.

    The matrix of second derivatives is minus the diagonal matrix of ``bend``.
    """
    total = 0.0
    product = 1.0
    for i in range(len(f)):
        margin = f[i] if positive[i] else -f[i]
        if margin > -20.0:
            probability = 0.5 * math.erfc(-margin * 0.7071067811865476)
            ratio = 0.3989422804014327 * math.exp(-0.5 * margin * margin) / probability
            # One logarithm for many factors.
            product *= probability
            if product < 1e-200:
                total += math.log(product)
                product = 1.0
        else:
            log_probability = log_normal_cdf(margin)
            ratio = 0.3989422804014327 * math.exp(-0.5 * margin * margin - log_probability)
            total += log_probability
        slope[i] = ratio if positive[i] else -ratio
        bend[i] = ratio * (ratio + margin)
    return total + math.log(product)


@numba.njit(**JIT)
def truncated_normal(mean, deviation, positive, rng):
    """Normal number above zero (``positive``) or below it.

    Near the middle by plain rejection, in the tail by exponential proposals (Robert 1995).
    """
    bound = -mean / deviation if positive else mean / deviation
    if bound < 0.45:
        z = rng.standard_normal()
        while z <= bound:
            z = rng.standard_normal()
    else:
        rate = 0.5 * (bound + math.sqrt(bound * bound + 4.0))
        z = bound + rng.standard_exponential() / rate
        while math.log(1.0 - rng.random()) > -0.5 * (z - rate) ** 2:
            z = bound + rng.standard_exponential() / rate
    return mean + deviation * z if positive else mean - deviation * z


@numba.njit(**JIT)
def draw_response(f, positive, s, rng):
    """Draw s given the predictor f: independent truncated normal numbers."""
    for i in range(len(s)):
        s[i] = truncated_normal(f[i], 1.0, positive[i], rng)


def probit_labels(positive):
    """Data of a probit model: its labels as an array of bool."""
    return np.ascontiguousarray(positive, dtype=np.bool_)


def _is_probit(response):
    """Whether data are those of a probit model, an array of bool (as a type of numba)."""
    return isinstance(response, types.Array) and response.dtype == types.boolean


@numba.njit(**JIT)
def _log_likelihood(f, positive):
    total = 0.0
    for i in range(len(f)):
        total += log_normal_cdf(f[i] if positive[i] else -f[i])
    return total


@overload(link.log_likelihood)
def _log_likelihood_of(f, response):
    if _is_probit(response):
        return lambda f, response: _log_likelihood(f[0], response)


@overload(link.label_terms)
def _label_terms(f, response, slope, bend):
    if _is_probit(response):
        return lambda f, response, slope, bend: probit_terms(f[0], response, slope[0], bend[0])


@overload(link.draw_point)
def _draw_point(response, i, mean, deviation, drawn, rng):
    if _is_probit(response):

        def draw(response, i, mean, deviation, drawn, rng):
            drawn[0] = truncated_normal(mean[0], deviation, response[i], rng)

        return draw


@overload(link.impute_response)
def _impute_response(state, S, response, rng):
    if _is_probit(response):
        return lambda state, S, response, rng: link.impute(state, S, response, rng)


@overload(link.renew_response)
def _renew_response(f, response, S, weights, rng):
    if _is_probit(response):
        return lambda f, response, S, weights, rng: draw_response(f[0], response, S[0], rng)
