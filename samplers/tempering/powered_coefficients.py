r"""Moves of offset, coefficients and their precisions under a power of the probit likelihood.

In the coordinates :math:`w = (u \sqrt\eta, z)` the prior is standard normal and the predictor is
:math:`f = W^T w`. Newton's method finds mode m and curvature :math:`H = C C^T` of the log-density
of w, which depend on active set and precisions only. In the coordinates :math:`x = C^T (w - m)` the
conditional distribution is nearly standard normal; the preconditioned Crank-Nicolson proposal
(Cotter et al. 2013) leaves that one as it is, so most proposals are accepted. A precision that
moves with x fixed takes mode and curvature along (*transport*), nearly as if coefficients had been
integrated out.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT, log_normal_cdf
from bayeskernels.samplers.active_sets.forked_windows import powered_terms
from bayeskernels.samplers.compiled import dot, slice_logarithm

__all__ = ["ETA", "OFFSET", "G", "log_likelihood", "move_coefficients", "move_precisions"]

#: Steps out of a slice: from far out in the tails of the prior it may be endless.
MAX_STEPS = 200

#: Where the array of scalars of a chain has precisions and offset.
G, ETA, OFFSET = range(3)

#: Newton's method ends when no output changes by more, or after so many steps. It need not
#: converge: any mode and curvature that depend on active set and precisions only leave the target.
TOLERANCE, MAX_NEWTON = 0.05, 10


@numba.njit(**JIT)
def log_likelihood(base, part, scale, positive):
    """Log-probability of the labels where the predictor is ``base + scale * part``."""
    total = 0.0
    product = 1.0
    for i in range(len(base)):
        f = base[i] + scale * part[i]
        margin = f if positive[i] else -f
        if margin > -20.0:
            # One logarithm for many factors.
            product *= 0.5 * math.erfc(-margin * 0.7071067811865476)
            if product < 1e-200:
                total += math.log(product)
                product = 1.0
        else:
            total += log_normal_cdf(margin)
    return total + math.log(product)


@numba.njit(**JIT)
def _log_scale_density(log_precision, base, part, positive, power, shape, rate):
    """Log-density of the logarithm of a precision that scales ``part`` by one over its root."""
    density = shape * log_precision - rate * math.exp(log_precision)
    return density + power * log_likelihood(base, part, math.exp(-0.5 * log_precision), positive)


@numba.njit(**JIT)
def move_precisions(state, f, z, scalars, positive, power, hyper, rng):
    """Precisions given the function, then given whitened coefficients, the function moving along.

    ``hyper`` are shape and rate of the priors of g and eta; a negative shape stands for a fixed
    value. Predictor f, whitened coefficients z and ``scalars`` (g, eta, u) are updated in place.
    """
    n = len(f)
    k = state.size[0]
    shape_g, rate_g, shape_eta, rate_eta = hyper
    u = scalars[OFFSET]
    base = np.empty(n)
    part = np.empty(n)
    if shape_g > 0.0:
        g = scalars[G]
        energy = dot(z[:k], z[:k])
        new = rng.gamma(shape_g + 0.5 * k, 1.0 / (rate_g + 0.5 * energy / g))
        growth = math.sqrt(new / g)
        for a in range(k):
            z[a] *= growth
        root = math.sqrt(new)
        for i in range(n):
            base[i] = u
            part[i] = (f[i] - u) * root
        given = (base, part, positive, power, shape_g, rate_g)
        g = slice_logarithm(new, _log_scale_density, given, rng, MAX_STEPS)
        scalars[G] = g
        scale = 1.0 / math.sqrt(g)
        for i in range(n):
            f[i] = u + scale * part[i]
    if shape_eta > 0.0:
        eta = rng.gamma(shape_eta + 0.5, 1.0 / (rate_eta + 0.5 * u * u))
        whitened = u * math.sqrt(eta)
        for i in range(n):
            base[i] = f[i] - u
            part[i] = whitened
        given = (base, part, positive, power, shape_eta, rate_eta)
        eta = slice_logarithm(eta, _log_scale_density, given, rng, MAX_STEPS)
        scalars[ETA] = eta
        scalars[OFFSET] = whitened / math.sqrt(eta)
        for i in range(n):
            f[i] = base[i] + scalars[OFFSET]


@numba.njit(**JIT)
def _features(state, g, eta):
    """W: a row of 1 / sqrt(eta), then the whitened columns over sqrt(g)."""
    k = state.size[0]
    n = state.V.shape[2]
    W = np.empty((k + 1, n))
    W[0] = 1.0 / math.sqrt(eta)
    scale = 1.0 / math.sqrt(g)
    for a in range(k):
        for i in range(n):
            W[a + 1, i] = scale * state.V[0, a, i]
    return W


@numba.njit(**JIT)
def _solve_transposed(C, x):
    """Solve C'y = x for lower triangular C, in place."""
    for a in range(len(x) - 1, -1, -1):
        x[a] /= C[a, a]
        for e in range(a):
            x[e] -= C[a, e] * x[a]


@numba.njit(**JIT)
def _solve(C, x):
    """Solve C y = x for lower triangular C, in place."""
    for a in range(len(x)):
        x[a] = (x[a] - dot(C[a, :a], x[:a])) / C[a, a]


@numba.njit(**JIT)
def _laplace(W, positive, power):
    """Mode, Cholesky factor of the curvature, and half of its log-determinant."""
    size, n = W.shape
    mode = np.zeros(size)
    f = np.zeros(n)
    slope = np.empty(n)
    bend = np.empty(n)
    weighted = np.empty((size, n))
    C = np.eye(size)
    for _ in range(MAX_NEWTON):
        powered_terms(f, positive, power, slope, bend)
        for a in range(size):
            for i in range(n):
                weighted[a, i] = W[a, i] * bend[i]
        H = np.dot(weighted, W.T)
        for a in range(size):
            H[a, a] += 1.0
        C = np.linalg.cholesky(H)
        step = np.dot(W, slope)
        for a in range(size):
            step[a] -= mode[a]
        _solve(C, step)
        _solve_transposed(C, step)
        for a in range(size):
            mode[a] += step[a]
        change = np.dot(step, W)
        largest = 0.0
        for i in range(n):
            f[i] += change[i]
            largest = max(largest, math.fabs(change[i]))
        if largest < TOLERANCE:
            break
    half_log_det = 0.0
    for a in range(size):
        half_log_det += math.log(C[a, a])
    return mode, C, half_log_det


@numba.njit(**JIT)
def _weight(w, x, f, positive, power, zeros):
    """Log-ratio of the target to the standard normal density of x."""
    return power * log_likelihood(f, zeros, 0.0, positive) + 0.5 * (dot(x, x) - dot(w, w))


@numba.njit(**JIT)
def _at(x, laplace, W, positive, power, zeros):
    """Coefficients w, predictor and weight at x, given mode and curvature."""
    mode, C, _ = laplace
    w = x.copy()
    _solve_transposed(C, w)
    for a in range(len(w)):
        w[a] += mode[a]
    f = np.dot(w, W)
    return w, f, _weight(w, x, f, positive, power, zeros)


@numba.njit(**JIT)
def _log_prior_of_logs(g, eta, hyper):
    """Log-density of log g and log eta, up to a constant."""
    shape_g, rate_g, shape_eta, rate_eta = hyper
    total = 0.0
    if shape_g > 0.0:
        total += shape_g * math.log(g) - rate_g * g
    if shape_eta > 0.0:
        total += shape_eta * math.log(eta) - rate_eta * eta
    return total


@numba.njit(**JIT)
def move_coefficients(
    state, f, z, scalars, positive, power, hyper, n_steps, n_transports, rng, counts
):
    """Crank-Nicolson steps of offset and coefficients, transports of their precisions.

    Parameters
    ----------
    state, f, z, scalars, positive, power, hyper, rng
        As for :func:`move_precisions`.
    n_steps, n_transports : int
        Steps, of which some follow each transport.
    counts : array of int, shape (2, 2)
        Proposed and accepted steps, and transports, added to.
    """
    n = len(f)
    k = state.size[0]
    zeros = np.zeros(n)
    g, eta = scalars[G], scalars[ETA]
    W = _features(state, g, eta)
    laplace = _laplace(W, positive, power)
    mode, C, half_log_det = laplace
    w = np.empty(k + 1)
    w[0] = scalars[OFFSET] * math.sqrt(eta)
    w[1:] = z[:k]
    x = np.dot(C.T, w - mode)
    now = np.dot(w, W)
    weight = _weight(w, x, now, positive, power, zeros)
    is_free = hyper[0] > 0.0 or hyper[2] > 0.0
    if not is_free:
        n_transports = 0
    new_x = np.empty(k + 1)
    for turn in range(n_transports + 1):
        for step in range(n_steps):
            # A fresh draw, or a short step where the Gaussian fits badly.
            stay = 0.0 if step % 2 == 0 else 0.8
            go = math.sqrt(1.0 - stay * stay)
            for a in range(k + 1):
                new_x[a] = stay * x[a] + go * rng.standard_normal()
            new_w, new_f, new_weight = _at(new_x, laplace, W, positive, power, zeros)
            counts[0, 0] += 1
            if math.log(1.0 - rng.random()) < new_weight - weight:
                counts[0, 1] += 1
                x[:] = new_x
                w, now, weight = new_w, new_f, new_weight
        if turn == n_transports:
            break
        reach = 0.5 if rng.random() < 0.5 else 1.5
        new_g, new_eta = g, eta
        if hyper[0] > 0.0:
            new_g = g * math.exp(reach * rng.standard_normal())
        if hyper[2] > 0.0:
            new_eta = eta * math.exp(reach * rng.standard_normal())
        new_W = _features(state, new_g, new_eta)
        new_laplace = _laplace(new_W, positive, power)
        new_w, new_f, new_weight = _at(x, new_laplace, new_W, positive, power, zeros)
        log_ratio = new_weight - new_laplace[2] - weight + half_log_det
        log_ratio += _log_prior_of_logs(new_g, new_eta, hyper) - _log_prior_of_logs(g, eta, hyper)
        counts[1, 0] += 1
        if math.log(1.0 - rng.random()) < log_ratio:
            counts[1, 1] += 1
            g, eta, W, laplace, half_log_det = new_g, new_eta, new_W, new_laplace, new_laplace[2]
            w, now, weight = new_w, new_f, new_weight
    scalars[G] = g
    scalars[ETA] = eta
    scalars[OFFSET] = w[0] / math.sqrt(eta)
    z[:k] = w[1:]
    f[:] = now
