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
from bayeskernels.samplers.compiled import dot

__all__ = [
    "draw_response",
    "impute",
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


@numba.njit(**JIT)
def impute(state, s, positive, rng):
    r"""Draw each :math:`s_i` given the others, with offset and coefficients integrated out.

    Holmes and Held (2006); GKM, Algorithm 1, where the update of b belongs after both branches and
    rho is a variance. s and ``state.response`` are updated in place.
    """
    k = state.size[0]
    n = len(s)
    W = np.empty((n, k + 1))
    for i in range(n):
        W[i, 0] = state.scales[0]
    for a in range(k):
        for i in range(n):
            W[i, a + 1] = state.V[a, i] * state.scales[1]
    inverse = np.ascontiguousarray(state.inverse[: k + 1, : k + 1])
    B = np.dot(W, inverse)
    mean = np.dot(inverse, state.response[: k + 1])
    for i in range(n):
        leverage = dot(W[i], B[i])
        fit = dot(W[i], mean)
        ratio = leverage / max(1.0 - leverage, 1e-12)
        deviation = math.sqrt(1.0 + ratio)
        new = truncated_normal(fit + ratio * (fit - s[i]), deviation, positive[i], rng)
        change = new - s[i]
        s[i] = new
        for a in range(k + 1):
            mean[a] += change * B[i, a]
    state.response[: k + 1] = np.dot(W.T, s)


def probit_labels(positive):
    """Data of a probit model: its labels as an array of bool."""
    return np.ascontiguousarray(positive, dtype=np.bool_)


def _is_probit(response):
    """Whether data are those of a probit model, an array of bool (as a type of numba)."""
    return isinstance(response, types.Array) and response.dtype == types.boolean


@overload(link.log_label)
def _log_label(response, i, f):
    if _is_probit(response):
        return lambda response, i, f: log_normal_cdf(f if response[i] else -f)


@overload(link.label_terms)
def _label_terms(f, response, slope, bend):
    if _is_probit(response):
        return lambda f, response, slope, bend: probit_terms(f, response, slope, bend)


@overload(link.impute_response)
def _impute_response(state, s, response, rng):
    if _is_probit(response):
        return lambda state, s, response, rng: impute(state, s, response, rng)


@overload(link.renew_response)
def _renew_response(f, response, s, weights, rng):
    if _is_probit(response):
        return lambda f, response, s, weights, rng: draw_response(f, response, s, rng)
