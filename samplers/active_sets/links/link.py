r"""What the sampler of a generalized kernel model asks of a link (GKM, section 2.1).

A link says how an observation depends on its predictors: one, or one for each contrast of several
classes. Each has a file of its own with a tuple of its data and the functions below for it:
:mod:`~bayeskernels.samplers.active_sets.links.probit` (whose data are an array of bool, the
labels), :mod:`~bayeskernels.samplers.active_sets.links.classes`,
:mod:`~bayeskernels.samplers.active_sets.links.logistic` and
:mod:`~bayeskernels.samplers.active_sets.links.identity`. Compiled code picks a function by the type
of the data when it is compiled, so a link costs nothing at run time. Predictors and responses have
the shape (r, n) everywhere.

Given the auxiliary variables of a link its likelihood is Gaussian in the predictor, with a working
response and a precision :math:`d_i^2` for each point. The linear algebra is that of unit noise: the
roots d of the precisions are *row weights*, by which response, offset column and kernel are
multiplied (:mod:`~bayeskernels.samplers.active_sets.columns.row_weights`).
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns.state import (
    column_factors,
    compact_inverse,
    compact_response,
    replace_response,
)
from bayeskernels.samplers.compiled import dot, slice_logarithm

__all__ = [
    "draw_point",
    "impute",
    "impute_response",
    "label_terms",
    "log_likelihood",
    "renew_response",
    "slice_precision",
]


def log_likelihood(f, response):
    """Log-probability (or density) of all observations at the predictors f."""
    raise NotImplementedError("Only compiled code can call this.")


def label_terms(f, response, slope, bend):
    """Log-likelihood; slope becomes its gradient by f, bend its curvature with the sign changed.

    f is in units of the row weights: the predictor times d.
    """
    raise NotImplementedError("Only compiled code can call this.")


def draw_point(response, i, mean, deviation, drawn, rng):
    """Draw the working response of one point from a normal distribution, cut off by its label.

    Mean and result have the shape (r,). Only for links with such a response.
    """
    raise NotImplementedError("Only compiled code can call this.")


def impute_response(state, S, response, rng):
    """Draw auxiliary variables with offset and coefficients integrated out, where that is easy."""
    raise NotImplementedError("Only compiled code can call this.")


def renew_response(f, response, S, weights, rng):
    """Draw auxiliary variables, and parameters of the link, given the predictors f.

    S becomes the working response times the row weights, ``weights`` the latter.
    """
    raise NotImplementedError("Only compiled code can call this.")


@numba.njit(**JIT)
def impute(state, S, response, rng):
    r"""Draw each point's response given the others', with offset and coefficients integrated out.

    Holmes and Held (2006); GKM, Algorithm 1, where the update of b belongs after both branches and
    rho is a variance. S and the state's products with it are updated in place.
    """
    k = state.size[0]
    r, n = S.shape
    factors = column_factors(state)
    W = np.empty((n, len(factors)))
    for i in range(n):
        W[i, 0] = factors[0]
    for j in range(len(state.V)):
        for a in range(k):
            p = 1 + j * k + a
            for i in range(n):
                W[i, p] = state.V[j, a, i] * factors[p]
    inverse = compact_inverse(state)
    B = np.dot(W, inverse)
    known = compact_response(state)
    mean = np.empty((r, len(factors)))
    for d in range(r):
        mean[d] = np.dot(inverse, known[d])
    fit = np.empty(r)
    drawn = np.empty(r)
    for i in range(n):
        leverage = dot(W[i], B[i])
        ratio = leverage / max(1.0 - leverage, 1e-12)
        for d in range(r):
            value = dot(W[i], mean[d])
            fit[d] = value + ratio * (value - S[d, i])
        draw_point(response, i, fit, math.sqrt(1.0 + ratio), drawn, rng)
        for d in range(r):
            change = drawn[d] - S[d, i]
            S[d, i] = drawn[d]
            for p in range(len(factors)):
                mean[d, p] += change * B[i, p]
    for d in range(r):
        known[d] = np.dot(W.T, S[d])
    replace_response(state, known)


@numba.njit(**JIT)
def _log_scale_density(log_g, part, rest, response, shape, rate):
    """Log-density of log g given whitened coefficients, auxiliary variables integrated out."""
    f = rest + part * math.exp(-0.5 * log_g)
    return shape * log_g - rate * math.exp(log_g) + log_likelihood(f, response)


@numba.njit(**JIT)
def slice_precision(part, rest, g, response, shape, rate, rng):
    """Slice move of a kernel's g that keeps the whitened coefficients z: f moves along.

    The predictors are f = rest + part / sqrt(g), ``part`` being V z. Auxiliary variables are
    integrated out, so they have to be drawn anew afterwards. The prior of g is Gamma(shape, rate).
    """
    return slice_logarithm(g, _log_scale_density, (part, rest, response, shape, rate), rng)
