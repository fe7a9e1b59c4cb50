r"""Sampler of a probit model whose points are all active (the paper's BGKM).

Silverman's prior then makes :math:`f = u + \zeta` with :math:`\zeta \sim N(0, K / g)`, a Gaussian
process, and the working response s, offset and function integrated out, is N(0, Q) with the signs
of the labels, :math:`Q = I + 1 1^T / \eta + K / g`. One sweep costs O(n^2), in the eigenbasis of K,
which never changes:

1. s by a billiard in its orthant
   (:mod:`bayeskernels.samplers.directions.billiards.orthant_billiard`), which goes much farther
   than drawing s given f and f given s (Albert and Chib) by turns;
2. g given the *direction* of s, with offset, function and the length of s integrated out: an
   orthant has room for any length, so the length need not hold g back. A slice move whose density
   costs O(n) an evaluation. Then the length, whose square is Gamma distributed;
3. offset, its precision and the function given s;
4. g once more along another direction, with the whitened function fixed and s integrated out;
5. s given the predictor.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT, log_normal_cdf
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.active_sets.active_set_chain import Resumable
from bayeskernels.samplers.active_sets.links.link import slice_precision
from bayeskernels.samplers.active_sets.links.probit import draw_response
from bayeskernels.samplers.compiled import slice_logarithm, weighted_dot
from bayeskernels.samplers.directions.billiards.orthant_billiard import bounce_in_orthant
from bayeskernels.samplers.directions.block_draws import outputs_at

__all__ = ["DenseProbitSampler"]

#: Draws of the process N(0, K) for velocities are made so many at a time: one matrix product.
BLOCK_SIZE = 64

#: Events after which a trajectory is given up; typical are n / 3.
MAX_EVENTS = 1_000_000


@numba.njit(**JIT)
def _response_form(g, eta, values, ones, r):
    """Log-determinant of Q and the quadratic form s' Q^-1 s.

    ``ones`` and r are the vector of ones and the response in the eigenbasis.
    """
    log_det = 0.0
    n = len(values)
    inverse_g = 1.0 / g
    variances = np.empty(n)
    weights = np.empty(n)
    for j in range(n):
        variances[j] = 1.0 + values[j] * inverse_g
        weights[j] = 1.0 / variances[j]
    for start in range(0, n, 16):
        # One logarithm for sixteen factors.
        product = 1.0
        for j in range(start, min(start + 16, n)):
            product *= variances[j]
        log_det += math.log(product)
    rr = weighted_dot(weights, r, r)
    ro = weighted_dot(weights, r, ones)
    oo = weighted_dot(weights, ones, ones)
    log_det += math.log(1.0 + oo / eta)
    return log_det, rr - ro * ro / (eta + oo)


@numba.njit(**JIT)
def _log_direction_density(log_g, eta, values, ones, r, shape, rate):
    """Log-density of log g given the direction of the response."""
    g = math.exp(log_g)
    log_det, form = _response_form(g, eta, values, ones, r)
    return shape * log_g - rate * g - 0.5 * log_det - 0.5 * len(r) * math.log(form)


@numba.njit(**JIT)
def _bounce(s, function, signs, covariance, scales, rng):
    """Move the response along one trajectory; ``function`` is a draw of N(0, K)."""
    g, eta = scales[0], scales[1]
    offset = rng.standard_normal() / math.sqrt(eta)
    amplitude = 1.0 / math.sqrt(g)
    velocity = np.empty(len(s))
    for i in range(len(s)):
        velocity[i] = offset + amplitude * function[i] + rng.standard_normal()
    duration = 1.2 + 0.7 * rng.random()
    bounce_in_orthant(s, velocity, signs, covariance, 1.0 / g, 1.0 / eta, duration, MAX_EVENTS)


@numba.njit(**JIT)
def _sweep(
    s, f, x, scales, positive, signs, function, covariance, basis, rows, values, ones, hyper, rng
):
    """One sweep; s, f, scales (g and eta) and x (whitened function) are updated, u is returned.

    ``basis`` has the eigenvectors as columns, ``rows`` as rows: both lie in memory as they are
    read.
    """
    n = len(s)
    shape_g, rate_g, shape_eta, rate_eta = hyper
    _bounce(s, function, signs, covariance, scales, rng)
    r = np.dot(rows, s)
    if shape_g > 0.0:
        given = (scales[1], values, ones, r, shape_g, rate_g)
        g = slice_logarithm(scales[0], _log_direction_density, given, rng)
        _, form = _response_form(g, scales[1], values, ones, r)
        length = math.sqrt(2.0 * rng.standard_gamma(0.5 * n) / form)
        for i in range(n):
            r[i] *= length
        scales[0] = g
    g, eta = scales[0], scales[1]
    # Offset with the function integrated out, then the function given the offset.
    oo = 0.0
    ro = 0.0
    for j in range(n):
        weight = 1.0 / (1.0 + values[j] / g)
        oo += weight * ones[j] * ones[j]
        ro += weight * ones[j] * r[j]
    u = ro / (eta + oo) + rng.standard_normal() / math.sqrt(eta + oo)
    if shape_eta > 0.0:
        scales[1] = rng.gamma(shape_eta + 0.5, 1.0 / (rate_eta + 0.5 * u * u))
    part = np.empty(n)
    for j in range(n):
        ratio = math.sqrt(values[j] / g)
        precision = 1.0 + ratio * ratio
        mean = ratio * (r[j] - u * ones[j]) / precision
        x[j] = mean + rng.standard_normal() / math.sqrt(precision)
        part[j] = math.sqrt(values[j]) * x[j]
    part = np.dot(basis, part)
    if shape_g > 0.0:
        scales[0] = slice_precision(part, u, g, positive, shape_g, rate_g, rng)
    scale = 1.0 / math.sqrt(scales[0])
    for i in range(n):
        f[i] = u + part[i] * scale
    draw_response(f, positive, s, rng)
    return u


@numba.njit(**JIT)
def _log_likelihood(f, positive):
    total = 0.0
    for i in range(len(f)):
        total += log_normal_cdf(f[i] if positive[i] else -f[i])
    return total


class DenseProbitSampler(Resumable):
    """Chain of a probit model with all points active.

    Parameters
    ----------
    gram : array of shape (n, n)
        Kernel matrix.
    positive : array of bool, shape (n,)
        Labels.
    g_prior, eta_prior : tuple of float or None
        Shape and rate of the Gamma priors; None where the value is fixed.

    Attributes
    ----------
    s, f : arrays of shape (n,)
        Working response and predictor.
    x : array of shape (n,)
        Whitened function in the eigenbasis.
    u, g, eta : float
    """

    carried = ("s", "f", "x", "u", "g", "eta", "functions", "used")

    def __init__(self, gram, positive, *, g_prior=(2.0, 0.05), eta_prior=(0.5, 0.05)):
        values, basis = np.linalg.eigh(gram)
        values = np.maximum(values, 0.0)
        # The prior of coefficients has a multiple of the diagonal added to K, f itself has not.
        self.precisions = values + ACTIVE_JITTER * np.diag(gram).mean()
        self.values = values**2 / self.precisions
        self.basis, self.rows = np.ascontiguousarray(basis), np.ascontiguousarray(basis.T)
        self.ones = self.rows.sum(axis=1)
        self.factor = np.ascontiguousarray(self.basis * np.sqrt(self.values))
        self.covariance = outputs_at(self.factor, self.factor)
        self.positive = np.ascontiguousarray(positive, dtype=np.bool_)
        self.signs = np.where(self.positive, 1.0, -1.0)
        # No moves of points, for those who count them.
        self.counts = np.zeros((5, 2), dtype=np.int64)
        self.hyper = tuple(
            float(value) for prior in (g_prior, eta_prior) for value in (prior or (-1.0, -1.0))
        )

    def place(self, points, u, beta, g, eta, rng):
        """Set the chain down; ``points`` has to name all points in order.

        Parameters
        ----------
        points : array of int, shape (n,)
        u : float
        beta : array of shape (n,) or None
            Coefficients; None stands for zeros.
        g, eta : float
        rng : numpy.random.Generator
            For the working response.
        """
        n = len(self.positive)
        if not np.array_equal(points, np.arange(n)):
            raise ValueError(f"All of the {n} points are active in a dense model.")
        beta = np.zeros(n) if beta is None else np.asarray(beta, dtype=float)
        self.g, self.eta, self.u = float(g), float(eta), float(u)
        self.x = np.sqrt(self.g * self.precisions) * (self.rows @ beta)
        self.f = self.u + self.basis @ (np.sqrt(self.values / self.g) * self.x)
        self.s = np.empty(n)
        draw_response(self.f, self.positive, self.s, rng)
        self.functions, self.used = np.empty((0, n)), 0

    def sweep(self, rng):
        """Make one sweep."""
        if self.used == len(self.functions):
            noise = rng.standard_normal((BLOCK_SIZE, len(self.s)))
            self.functions, self.used = outputs_at(noise, self.factor), 0
        scales = np.array([self.g, self.eta])
        self.u = _sweep(
            self.s,
            self.f,
            self.x,
            scales,
            self.positive,
            self.signs,
            self.functions[self.used],
            self.covariance,
            self.basis,
            self.rows,
            self.values,
            self.ones,
            self.hyper,
            rng,
        )
        self.g, self.eta = scales.tolist()
        self.used += 1

    @property
    def points(self):
        """All points."""
        return np.arange(len(self.positive))

    @property
    def beta(self):
        """Coefficients of all points."""
        return self.basis @ (self.x / np.sqrt(self.g * self.precisions))

    @property
    def log_likelihood(self):
        """Log-probability of the labels at the present predictor."""
        return _log_likelihood(self.f, self.positive)
