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
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.active_sets.links.link import slice_precision
from bayeskernels.samplers.active_sets.links.probit import draw_response, probit_labels
from bayeskernels.samplers.active_sets.resumable import Resumable
from bayeskernels.samplers.active_sets.updates import log_likelihood
from bayeskernels.samplers.compiled import slice_logarithm, weighted_dot
from bayeskernels.samplers.directions.billiards.orthant_billiard import bounce_in_orthant
from bayeskernels.samplers.directions.block_draws import outputs_at

__all__ = ["DenseProbitSampler"]

#: Draws of the process N(0, K) for velocities are made so many at a time: one matrix product.
BLOCK_SIZE = 64

#: Events after which a trajectory is given up; typical are n / 3.
MAX_EVENTS = 1_000_000


class EigenBasis(NamedTuple):
    """A kernel matrix in its eigenbasis.

    Attributes
    ----------
    values : array of shape (n,)
        Eigenvalues of the covariance matrix of the function, where g is one.
    ones : array of shape (n,)
        The vector of ones.
    columns, rows : arrays of shape (n, n)
        Eigenvectors as columns and as rows: both lie in memory as they are read.
    covariance : array of shape (n, n)
        Of the function, in the order of the points.
    """

    values: np.ndarray
    ones: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    covariance: np.ndarray


class Place(NamedTuple):
    """Where a chain is.

    Attributes
    ----------
    s, f : arrays of shape (n,)
        Working response and predictor.
    x : array of shape (n,)
        Whitened function in the eigenbasis.
    scales : array of shape (2,)
        g and eta.
    """

    s: np.ndarray
    f: np.ndarray
    x: np.ndarray
    scales: np.ndarray


@numba.njit(**JIT)
def _response_form(g, eta, basis, r):
    """Log-determinant of Q and the quadratic form s' Q^-1 s; r is s in the eigenbasis."""
    log_det = 0.0
    values, ones = basis.values, basis.ones
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
def _log_direction_density(log_g, eta, basis, r, shape, rate):
    """Log-density of log g given the direction of the response."""
    g = math.exp(log_g)
    log_det, form = _response_form(g, eta, basis, r)
    return shape * log_g - rate * g - 0.5 * log_det - 0.5 * len(r) * math.log(form)


@numba.njit(**JIT)
def _bounce(s, function, positive, covariance, scales, rng):
    """Move the response along one trajectory; ``function`` is a draw of N(0, K)."""
    g, eta = scales[0], scales[1]
    offset = rng.standard_normal() / math.sqrt(eta)
    amplitude = 1.0 / math.sqrt(g)
    velocity = np.empty(len(s))
    signs = np.empty(len(s))
    for i in range(len(s)):
        velocity[i] = offset + amplitude * function[i] + rng.standard_normal()
        signs[i] = 1.0 if positive[i] else -1.0
    duration = 1.2 + 0.7 * rng.random()
    bounce_in_orthant(s, velocity, signs, covariance, 1.0 / g, 1.0 / eta, duration, MAX_EVENTS)


@numba.njit(**JIT)
def _sweep(place, positive, function, basis, hyper, rng):
    """One sweep; the place is updated, the offset is returned."""
    s, f, x, scales = place
    values, ones = basis.values, basis.ones
    n = len(s)
    shape_g, rate_g, shape_eta, rate_eta = hyper
    _bounce(s, function, positive, basis.covariance, scales, rng)
    r = np.dot(basis.rows, s)
    if shape_g > 0.0:
        given = (scales[1], basis, r, shape_g, rate_g)
        g = slice_logarithm(scales[0], _log_direction_density, given, rng)
        _, form = _response_form(g, scales[1], basis, r)
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
    part = np.dot(basis.columns, part)
    if shape_g > 0.0:
        rest = np.full((1, n), u)
        scales[0] = slice_precision(part.reshape(1, n), rest, g, positive, shape_g, rate_g, rng)
    scale = 1.0 / math.sqrt(scales[0])
    for i in range(n):
        f[i] = u + part[i] * scale
    draw_response(f, positive, s, rng)
    return u


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
    s : array of shape (n,)
        Working response.
    f : array of shape (1, n)
        Predictor.
    x : array of shape (n,)
        Whitened function in the eigenbasis.
    u, g : arrays of shape (1,)
    eta : float
    """

    #: The kernel takes part, for those who ask.
    is_on = np.ones(1, dtype=np.bool_)
    carried = ("s", "f", "x", "u", "g", "eta", "functions", "used")

    def __init__(self, gram, positive, *, g_prior=(2.0, 0.05), eta_prior=(0.5, 0.05)):
        values, basis = np.linalg.eigh(gram)
        values = np.maximum(values, 0.0)
        # The prior of coefficients has a multiple of the diagonal added to K, f itself has not.
        self.precisions = values + ACTIVE_JITTER * np.diag(gram).mean()
        values = values**2 / self.precisions
        columns, rows = np.ascontiguousarray(basis), np.ascontiguousarray(basis.T)
        self.factor = np.ascontiguousarray(columns * np.sqrt(values))
        covariance = outputs_at(self.factor, self.factor)
        self.basis = EigenBasis(values, rows.sum(axis=1), columns, rows, covariance)
        self.response = probit_labels(positive)
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
        u : float or array of shape (1,)
        beta : array of n numbers or None
            Coefficients; None stands for zeros.
        g : float or array of shape (1,)
        eta : float
        rng : numpy.random.Generator
            For the working response.
        """
        n = len(self.response)
        if not np.array_equal(points, np.arange(n)):
            raise ValueError(f"All of the {n} points are active in a dense model.")
        beta = np.zeros(n) if beta is None else np.reshape(beta, n).astype(np.float64)
        self.u = np.array(np.broadcast_to(u, 1), dtype=np.float64)
        self.set_scales(g, eta)
        basis = self.basis
        x = np.sqrt(self.g * self.precisions) * (basis.rows @ beta)
        f = self.u + basis.columns @ (np.sqrt(basis.values / self.g) * x)
        self.x, self.f, self.s = x, f[None], np.empty(n)
        draw_response(f, self.response, self.s, rng)
        self.functions, self.used = np.empty((0, n)), 0

    def set_scales(self, g=None, eta=None):
        """Take over precisions that something else has moved."""
        if g is not None:
            self.g = np.array(np.broadcast_to(g, 1), dtype=np.float64)
        if eta is not None:
            self.eta = float(eta)

    def sweep(self, rng):
        """Make one sweep."""
        if self.used == len(self.functions):
            noise = rng.standard_normal((BLOCK_SIZE, len(self.s)))
            self.functions, self.used = outputs_at(noise, self.factor), 0
        scales = np.array([*self.g, self.eta])
        place = Place(self.s, self.f[0], self.x, scales)
        function = self.functions[self.used]
        self.u = np.array([_sweep(place, self.response, function, self.basis, self.hyper, rng)])
        self.set_scales(*scales)
        self.used += 1

    @property
    def points(self):
        """All points."""
        return np.arange(len(self.response))

    @property
    def beta(self):
        """Coefficients of all points, shape (1, 1, n)."""
        beta = self.basis.columns @ (self.x / np.sqrt(self.g * self.precisions))
        return beta[None, None]

    @property
    def log_likelihood(self):
        """Log-probability of the labels at the present predictor."""
        return log_likelihood(self.f, self.response)
