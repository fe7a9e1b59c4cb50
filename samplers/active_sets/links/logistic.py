r"""The working response of a logistic model, by Polya-Gamma variables.

A label is positive with probability :math:`1 / (1 + e^{-f})`. With :math:`\kappa = \pm 1/2` its
likelihood is a mixture of Gaussians in f (Polson, Scott and Windle 2013),

.. math:: p(y \mid f) = \frac12 \int e^{\kappa f - \omega f^2 / 2} \, p(\omega) \, d\omega,
    \qquad \omega \sim PG(1, 0),

so given :math:`\omega_i \sim PG(1, f_i)` everything is as if :math:`\kappa_i / \omega_i` had been
observed with the precision :math:`\omega_i`. This is exact.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import overload

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.links import link
from bayeskernels.samplers.active_sets.links.polya_gamma import draw_polya_gamma

__all__ = ["LogisticLabels", "logistic_terms"]


class LogisticLabels(NamedTuple):
    """Data of a logistic model.

    Attributes
    ----------
    positive : array of bool, shape (n,)
    weights : array of shape (n,)
        Row weights, the roots of the Polya-Gamma variables.
    """

    positive: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, positive):
        """Labels, with weights of one."""
        return cls(np.ascontiguousarray(positive, dtype=np.bool_), np.ones(len(positive)))


@numba.njit(**JIT)
def _log_logistic(margin):
    """Logarithm of the logistic function."""
    if margin > 0.0:
        return -math.log1p(math.exp(-margin))
    return margin - math.log1p(math.exp(margin))


@numba.njit(**JIT)
def logistic_terms(f, positive, weights, slope, bend):
    """Log-probability of the labels; slope becomes its gradient by f, bend its curvature.

    f is the predictor times the row weights, as the linear algebra has it.
    """
    total = 0.0
    for i in range(len(f)):
        output = f[i] / weights[i]
        margin = output if positive[i] else -output
        log_probability = _log_logistic(margin)
        total += log_probability
        wrong = math.exp(log_probability - margin)
        slope[i] = (wrong if positive[i] else -wrong) / weights[i]
        bend[i] = wrong * (1.0 - wrong) / (weights[i] * weights[i])
    return total


@numba.njit(**JIT)
def _draw_weights(f, positive, s, weights, rng):
    for i in range(len(f)):
        root = math.sqrt(draw_polya_gamma(f[i], rng))
        weights[i] = root
        s[i] = (0.5 if positive[i] else -0.5) / root


def _is_logistic(response):
    return isinstance(response, types.NamedTuple) and response.instance_class is LogisticLabels


@numba.njit(**JIT)
def _log_likelihood(f, positive):
    total = 0.0
    for i in range(len(f)):
        total += _log_logistic(f[i] if positive[i] else -f[i])
    return total


@overload(link.log_likelihood)
def _log_likelihood_of(f, response):
    if _is_logistic(response):
        return lambda f, response: _log_likelihood(f[0], response.positive)


@overload(link.label_terms)
def _label_terms(f, response, slope, bend):
    if _is_logistic(response):
        return lambda f, response, slope, bend: logistic_terms(
            f[0], response.positive, response.weights, slope[0], bend[0]
        )


@overload(link.impute_response)
def _impute_response(state, S, response, rng):
    if _is_logistic(response):
        return lambda state, S, response, rng: None


@overload(link.renew_response)
def _renew_response(f, response, S, weights, rng):
    if _is_logistic(response):
        return lambda f, response, S, weights, rng: _draw_weights(
            f[0], response.positive, S[0], weights, rng
        )
