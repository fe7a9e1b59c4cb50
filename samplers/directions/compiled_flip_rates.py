r"""Flip rates inside a compiled loop: exact draws given the errors, and the walls they make.

Given the outputs it is known which labels are wrong, and a rate has the density :math:`q^{a-1}
(1-q)^{b-1}` on (0, 1/2), a Beta density cut off at one half.
:mod:`bayeskernels.samplers.directions.flip_rate_gibbs` draws it by inverting its distribution
function; in compiled code there is none, so it is drawn by rejection.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT

__all__ = ["FlipRates", "draw_rates", "draw_truncated_beta", "set_heights"]


class FlipRates(NamedTuple):
    """Rates of the two classes, and what is known of them.

    Attributes
    ----------
    rates : array of shape (2,)
        Probabilities that a label of the negative and of the positive class is flipped; changed in
        place.
    errors : array of float, shape (2, 2, n_walls)
        Labels that are wrong above and below each wall, by label: ``errors[side, label, wall]``.
    always : array of shape (2,)
        Labels that are wrong everywhere.
    totals : array of shape (2,)
        Labels of each class.
    alpha, beta : arrays of shape (2,)
        Parameters of the Beta priors; of the first alone where the classes share one rate.
    is_shared, is_unknown : bool
    """

    rates: np.ndarray
    errors: np.ndarray
    always: np.ndarray
    totals: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    is_shared: bool
    is_unknown: bool

    @classmethod
    def fixed(cls):
        """Rates that stay what the walls say."""
        nothing = np.zeros(2)
        errors = np.zeros((2, 2, 0))
        return cls(np.zeros(2), errors, nothing, nothing, nothing, nothing, False, False)


@numba.njit(**JIT)
def draw_truncated_beta(a, b, rng):
    """Draw from Beta(a, b) restricted to (0, 1/2), by rejection.

    Where the Beta has much of its mass below one half it is its own proposal. Elsewhere the density
    rises towards one half and is log-concave (a > 1 and a + b > 2), so it lies below an exponential
    one. Of the proposals at least 0.15 are accepted either way.
    """
    if a - b <= math.sqrt(a + b):
        while True:
            q = rng.beta(a, b)
            if q < 0.5:
                return max(q, 1e-300)
    slope = 2.0 * (a - b)
    while True:
        distance = -math.log1p(rng.random() * math.expm1(-0.5 * slope)) / slope
        q = 0.5 - distance
        if q <= 0.0:
            continue
        excess = (a - 1.0) * math.log(2.0 * q) + (b - 1.0) * math.log(2.0 - 2.0 * q)
        if math.log(rng.random()) < excess + slope * distance and q < 0.5:
            return q


@numba.njit(**JIT)
def set_heights(flip_rates, heights):
    """Set the energy below less the energy above each wall at the present rates."""
    errors, rates = flip_rates.errors, flip_rates.rates
    at_negative = math.log1p(-rates[0]) - math.log(rates[1])
    at_positive = math.log1p(-rates[1]) - math.log(rates[0])
    for j in range(len(heights)):
        heights[j] = (errors[1, 0, j] - errors[0, 0, j]) * at_negative + (
            errors[1, 1, j] - errors[0, 1, j]
        ) * at_positive


@numba.njit(**JIT)
def draw_rates(flip_rates, f, heights, rng):
    """Draw the rates given outputs f at the walls, and set the heights that go with them."""
    errors, rates = flip_rates.errors, flip_rates.rates
    wrong_negative, wrong_positive = flip_rates.always[0], flip_rates.always[1]
    for j in range(len(f)):
        side = 0 if f[j] > 0.0 else 1
        wrong_negative += errors[side, 0, j]
        wrong_positive += errors[side, 1, j]
    alpha, beta, totals = flip_rates.alpha, flip_rates.beta, flip_rates.totals
    if flip_rates.is_shared:
        wrong = wrong_negative + wrong_positive
        rates[0] = draw_truncated_beta(
            alpha[0] + wrong, beta[0] + totals[0] + totals[1] - wrong, rng
        )
        rates[1] = rates[0]
    else:
        # A positive label that is wrong is one of the negative class that was flipped.
        rates[0] = draw_truncated_beta(
            alpha[0] + wrong_positive, beta[0] + totals[0] - wrong_negative, rng
        )
        rates[1] = draw_truncated_beta(
            alpha[1] + wrong_negative, beta[1] + totals[1] - wrong_positive, rng
        )
    set_heights(flip_rates, heights)
