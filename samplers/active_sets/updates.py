r"""What a sweep does once the active set has moved, steps 3 to 6 of the sampler's list.

Response, offsets, coefficients and precisions of a generalized kernel model
(:mod:`bayeskernels.samplers.active_sets.chain`), for any link.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns.births import activate
from bayeskernels.samplers.active_sets.columns.proposal import new_proposal
from bayeskernels.samplers.active_sets.columns.state import compact_inverse, compact_response
from bayeskernels.samplers.active_sets.links import link
from bayeskernels.samplers.active_sets.links.link import impute_response, slice_precision
from bayeskernels.samplers.compiled import dot

__all__ = ["activate_points", "draw_coefficients", "finish_sweep", "log_likelihood", "renew"]


@numba.njit(**JIT)
def draw_coefficients(state, rng):
    """Offsets times sqrt(eta), (r,), and whitened coefficients, (r, q, k), given the response."""
    inverse = compact_inverse(state)
    response = compact_response(state)
    r, m = response.shape
    factor = np.linalg.cholesky(0.5 * (inverse + inverse.T))
    noise = np.empty(m)
    offsets = np.empty(r)
    z = np.empty((r, len(state.V), state.size[0]))
    for d in range(r):
        for a in range(m):
            noise[a] = rng.standard_normal()
        coefficients = np.dot(inverse, response[d]) + np.dot(factor, noise)
        offsets[d] = coefficients[0]
        z[d] = coefficients[1:].reshape(z.shape[1:])
    return offsets, z


@numba.njit(**JIT)
def _parts(state, z):
    """Sum of each kernel's whitened columns with their coefficients, (q, r, n)."""
    r, q, k = z.shape
    n = state.V.shape[2]
    parts = np.zeros((q, r, n))
    for j in range(q):
        for d in range(r):
            part = parts[j, d]
            for a in range(k):
                weight, v = z[d, j, a], state.V[j, a]
                for i in range(n):
                    part[i] += weight * v[i]
            for i in range(n):
                part[i] /= state.constant[i]
    return parts


@numba.njit(**JIT)
def _predict(u, parts, weights, f):
    """Predictors f from their parts."""
    for d in range(len(f)):
        out = f[d]
        out[:] = u[d]
        for j in range(len(parts)):
            weight, part = weights[j], parts[j, d]
            for i in range(len(out)):
                out[i] += part[i] * weight


@numba.njit(**JIT)
def finish_sweep(state, S, response, scales, hyper, f, rng):
    """Steps 3 to 6; S has to be drawn anew where g is random.

    ``scales`` are the precisions, those of the kernels and then eta, ``hyper`` the shapes and rates
    of their priors; a negative shape stands for a fixed value. f becomes the predictors. Returns
    offsets and whitened coefficients.
    """
    impute_response(state, S, response, rng)
    u, z = draw_coefficients(state, rng)
    u *= state.scales[0]
    r, q, k = z.shape
    weights = state.scales[1:].copy()
    shape_g, rate_g, shape_eta, rate_eta = hyper
    if shape_eta > 0.0:
        scales[q] = rng.gamma(shape_eta + 0.5 * r, 1.0 / (rate_eta + 0.5 * (u * u).sum()))
    parts = _parts(state, z)
    for j in range(q):
        if shape_g < 0.0 or weights[j] == 0.0:
            continue
        energy = 0.0
        for d in range(r):
            energy += dot(z[d, j], z[d, j])
        new = rng.gamma(shape_g + 0.5 * k * r, 1.0 / (rate_g + 0.5 * energy / scales[j]))
        # The function stays, so its whitened coefficients grow with the precision.
        growth = math.sqrt(new / scales[j])
        z[:, j] *= growth
        parts[j] *= growth
        weights[j] = 0.0
        _predict(u, parts, weights, f)
        scales[j] = slice_precision(parts[j], f, new, response, shape_g, rate_g, rng)
        weights[j] = 1.0 / math.sqrt(scales[j])
    _predict(u, parts, weights, f)
    return u, z


@numba.njit(**JIT)
def log_likelihood(f, response):
    """Log-probability of all observations; compiled, so that Python can call it."""
    return link.log_likelihood(f, response)


@numba.njit(**JIT)
def renew(f, response, S, weights, rng):
    """Draw the response given f; compiled, so that Python can call it."""
    link.renew_response(f, response, S, weights, rng)


@numba.njit(**JIT)
def activate_points(state, born, S):
    """Make candidates active, one after the other."""
    proposal = new_proposal(state)
    for a in range(len(born.points)):
        activate(state, born.points[a], born.columns[a], born.diagonal, S, proposal)
