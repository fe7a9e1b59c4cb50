r"""What a sweep does once the active set has moved, steps 3 to 6 of the sampler's list.

Response, offsets, coefficients and precisions of a model of several classes or kernels
(:mod:`bayeskernels.samplers.active_sets.groups.chain`).
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.groups.columns import (
    append_group,
    column_scales,
    group_directions,
    group_products,
)
from bayeskernels.samplers.active_sets.links.classes import (
    draw_classes,
    draw_row,
    labels_log_probability,
)
from bayeskernels.samplers.compiled import slice_logarithm

__all__ = ["activate_groups", "finish_grouped_sweep"]


@numba.njit(**JIT)
def _impute(state, S, labels, contrasts, rng):
    """Draw each row of S given the others, offsets and coefficients integrated out.

    S and ``state.products`` are updated in place.
    """
    k = state.size[0]
    q, n = state.V.shape[1:]
    m = 1 + k * q
    r = S.shape[1]
    factors = column_scales(state.scales, m)
    W = np.empty((n, m))
    for i in range(n):
        W[i, 0] = factors[0]
    for a in range(k):
        for j in range(q):
            p = 1 + a * q + j
            for i in range(n):
                W[i, p] = state.V[a, j, i] * factors[p]
    inverse = np.ascontiguousarray(state.inverse[:m, :m])
    B = np.dot(W, inverse)
    mean = np.empty((r, m))
    for d in range(r):
        mean[d] = np.dot(inverse, state.products[:m, d] * factors)
    fit = np.empty(r)
    row = np.empty(r)
    for i in range(n):
        leverage = 0.0
        for p in range(m):
            leverage += W[i, p] * B[i, p]
        ratio = leverage / max(1.0 - leverage, 1e-12)
        for d in range(r):
            value = 0.0
            for p in range(m):
                value += W[i, p] * mean[d, p]
            fit[d] = value + ratio * (value - S[i, d])
        draw_row(fit, math.sqrt(1.0 + ratio), labels[i], contrasts, row, rng)
        for d in range(r):
            change = row[d] - S[i, d]
            S[i, d] = row[d]
            for p in range(m):
                mean[d, p] += change * B[i, p]
    state.products[0] = S.sum(axis=0)
    state.products[1:m] = np.dot(state.V[:k].reshape(k * q, n), S)


@numba.njit(**JIT)
def _draw_coefficients(state, rng):
    """Offsets times sqrt(eta), and whitened coefficients, (m, r), given the response."""
    m = 1 + state.size[0] * state.V.shape[1]
    r = state.products.shape[1]
    inverse = np.ascontiguousarray(state.inverse[:m, :m])
    factors = column_scales(state.scales, m)
    scaled = np.empty((m, r))
    noise = np.empty((m, r))
    for p in range(m):
        for d in range(r):
            scaled[p, d] = factors[p] * state.products[p, d]
            noise[p, d] = rng.standard_normal()
    factor = np.linalg.cholesky(0.5 * (inverse + inverse.T))
    return np.dot(inverse, scaled) + np.dot(factor, noise)


@numba.njit(**JIT)
def _parts(state, z):
    """Sum of each kernel's whitened columns with their coefficients, (q, n, r)."""
    k = state.size[0]
    q, n = state.V.shape[1:]
    parts = np.zeros((q, n, z.shape[1]))
    for a in range(k):
        for j in range(q):
            for d in range(z.shape[1]):
                weight = z[a * q + j, d]
                for i in range(n):
                    parts[j, i, d] += weight * state.V[a, j, i]
    return parts


@numba.njit(**JIT)
def _log_scale_density(log_g, part, rest, labels, contrasts, shape, rate):
    """Log-density of log g given whitened coefficients, with S integrated out.

    The predictor moves along: f = rest + part / sqrt(g).
    """
    f = rest + math.exp(-0.5 * log_g) * part
    prior = shape * log_g - rate * math.exp(log_g)
    return prior + labels_log_probability(f, labels, contrasts)


@numba.njit(**JIT)
def finish_grouped_sweep(state, S, labels, contrasts, g, eta, hyper, f, rng):
    """Steps 3 to 6. ``hyper`` are shape and rate of the priors of g and of eta.

    A negative shape stands for a fixed value. f becomes the predictors; g is updated in place.
    Returns offsets, whitened coefficients and eta.
    """
    _impute(state, S, labels, contrasts, rng)
    coefficients = _draw_coefficients(state, rng)
    r = S.shape[1]
    u = coefficients[0] * state.scales[0]
    z = coefficients[1:]
    shape_g, rate_g, shape_eta, rate_eta = hyper
    if shape_eta > 0.0:
        eta = rng.gamma(shape_eta + 0.5 * r, 1.0 / (rate_eta + 0.5 * (u * u).sum()))
    parts = _parts(state, z)
    f[:] = u
    for j in range(len(g)):
        f += state.scales[1 + j] * parts[j]
    if shape_g > 0.0:
        for j in range(len(g)):
            if state.scales[1 + j] > 0.0:
                rest = f - state.scales[1 + j] * parts[j]
                given = (parts[j], rest, labels, contrasts, shape_g, rate_g)
                g[j] = slice_logarithm(g[j], _log_scale_density, given, rng)
                state.scales[1 + j] = 1.0 / math.sqrt(g[j])
                f[:] = rest + state.scales[1 + j] * parts[j]
        draw_classes(f, labels, contrasts, S, rng)
    return u, z, eta


@numba.njit(**JIT)
def activate_groups(state, points, columns, diagonal, S):
    """Make points active, one after the other."""
    k_max, q, n = state.V.shape
    v = np.empty((q, n))
    c = np.empty((q, k_max))
    pivots = np.empty(q)
    nothing = np.empty((0, 0))
    for a in range(len(points)):
        group_directions(state, points[a], columns[a], diagonal, nothing, v, c, pivots)
        own, with_columns, with_s = group_products(state, v, S)
        append_group(state, points[a], columns[a], v, c, pivots, own, with_columns, with_s)
