r"""What a sweep does once the active set has moved, steps 2 to 5 of the sampler's list.

Response, offset, coefficients and precisions of a generalized kernel model
(:mod:`bayeskernels.samplers.active_sets.chain`), for any link.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns import append, coupling, new_direction, products
from bayeskernels.samplers.active_sets.links.link import (
    impute_response,
    log_label,
    renew_response,
    slice_precision,
)
from bayeskernels.samplers.compiled import dot

__all__ = ["activate_points", "draw_coefficients", "finish_sweep", "log_likelihood", "renew"]


@numba.njit(**JIT)
def draw_coefficients(state, rng):
    """Offset times sqrt(eta), and whitened coefficients, given the response."""
    k = state.size[0]
    inverse = np.ascontiguousarray(state.inverse[: k + 1, : k + 1])
    noise = np.empty(k + 1)
    for a in range(k + 1):
        noise[a] = rng.standard_normal()
    factor = np.linalg.cholesky(0.5 * (inverse + inverse.T))
    return np.dot(inverse, state.response[: k + 1]) + np.dot(factor, noise)


@numba.njit(**JIT)
def finish_sweep(state, s, response, scales, hyper, f, rng):
    """Steps 2 to 5; s has to be drawn anew where g is random.

    ``scales`` are g and eta, ``hyper`` the shapes and rates of their priors; a negative shape
    stands for a fixed value. f becomes the predictor. Returns offset and whitened coefficients.
    """
    impute_response(state, s, response, rng)
    coefficients = draw_coefficients(state, rng)
    k = state.size[0]
    n = len(s)
    u = coefficients[0] * state.scales[0]
    z = coefficients[1:]
    shape_g, rate_g, shape_eta, rate_eta = hyper
    if shape_eta > 0.0:
        scales[1] = rng.gamma(shape_eta + 0.5, 1.0 / (rate_eta + 0.5 * u * u))
    part = np.zeros(n)
    for a in range(k):
        for i in range(n):
            part[i] += z[a] * state.V[a, i]
    for i in range(n):
        part[i] /= state.constant[i]
    if shape_g > 0.0:
        g = scales[0]
        energy = dot(z, z)
        new = rng.gamma(shape_g + 0.5 * k, 1.0 / (rate_g + 0.5 * energy / g))
        # The function stays, so its whitened coefficients grow with the precision.
        growth = math.sqrt(new / g)
        for a in range(k):
            z[a] *= growth
        for i in range(n):
            part[i] *= growth
        scales[0] = slice_precision(part, u, new, response, shape_g, rate_g, rng)
    scale = 1.0 / math.sqrt(scales[0])
    for i in range(n):
        f[i] = u + part[i] * scale
    return u, z


@numba.njit(**JIT)
def log_likelihood(f, response):
    """Log-probability of all observations at the predictors f."""
    total = 0.0
    for i in range(len(f)):
        total += log_label(response, i, f[i])
    return total


@numba.njit(**JIT)
def renew(f, response, s, weights, rng):
    """Draw the response given f; compiled, so that Python can call it."""
    renew_response(f, response, s, weights, rng)


@numba.njit(**JIT)
def activate_points(state, points, columns, diagonal, s):
    """Make points active, one after the other."""
    n = len(s)
    most_rows = len(state.V)
    v = np.empty(n)
    c = np.empty(most_rows)
    m = np.empty(most_rows + 1)
    row = np.empty(most_rows + 1)
    nothing = np.empty(0)
    for a in range(len(points)):
        point = points[a]
        pivot = new_direction(state, point, columns[a], diagonal[point], nothing, v, c)
        own, with_s = products(state, v, s, m)
        schur = coupling(state, own, m, nothing, 1.0, row)
        append(state, point, columns[a], v, c, pivot, own, with_s, m, row, schur, nothing, 1.0)
