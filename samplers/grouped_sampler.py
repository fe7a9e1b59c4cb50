r"""Sampler of a probit model of several classes or kernels, without PyMC (GKM, section 6).

One sweep, in an order that keeps the posterior. S is the response, (n, c - 1), in coordinates in
which its columns are independent (:mod:`bayeskernels.samplers.class_response`):

1. births, deaths and swaps of active points given S, offsets and coefficients integrated out;
2. for each kernel, whether it is on and its precision g, in the same way;
3. S given the active set and the weights, in the same way, row by row (Holmes and Held);
4. offsets and coefficients given S;
5. the offsets' precision eta given them;
6. the precisions g once more, with whitened coefficients fixed and S integrated out;
7. the size of the set with S integrated out and the coefficients explicit, then S afresh.
"""

import math
from copy import deepcopy

import numba
import numpy as np

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_set_moves import WINDOW
from bayeskernels.samplers.active_set_sampler import move_probabilities
from bayeskernels.samplers.class_response import (
    class_contrasts,
    draw_classes,
    draw_row,
    labels_log_probability,
)
from bayeskernels.samplers.grouped_columns import (
    GroupedColumns,
    append_group,
    column_scales,
    group_directions,
    group_products,
    prepare_groups,
    rebuild_groups,
)
from bayeskernels.samplers.grouped_moves import move_groups, move_kernel
from bayeskernels.samplers.grouped_windows import move_group_window

__all__ = ["GroupedSampler"]

_JIT = {"cache": True, "nogil": True, "error_model": "numpy"}

#: Row of the counts of moves in which those of kernels are.
KERNEL = 4

#: Columns and inverses are computed from scratch after this many sweeps.
REBUILD_EVERY = 100


@numba.njit(**_JIT)
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


@numba.njit(**_JIT)
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


@numba.njit(**_JIT)
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


@numba.njit(**_JIT)
def _log_scale_density(log_g, part, rest, labels, contrasts, shape, rate):
    """Log-density of log g given whitened coefficients, with S integrated out."""
    f = rest + math.exp(-0.5 * log_g) * part
    prior = shape * log_g - rate * math.exp(log_g)
    return prior + labels_log_probability(f, labels, contrasts)


@numba.njit(**_JIT)
def _slice_scale(part, rest, g, labels, contrasts, shape, rate, rng):
    """Slice move of g that keeps the whitened coefficients: f = rest + part / sqrt(g)."""
    here = math.log(g)
    level = _log_scale_density(here, part, rest, labels, contrasts, shape, rate)
    level += math.log(1.0 - rng.random())
    left = here - rng.random()
    right = left + 1.0
    while _log_scale_density(left, part, rest, labels, contrasts, shape, rate) > level:
        left -= 1.0
    while _log_scale_density(right, part, rest, labels, contrasts, shape, rate) > level:
        right += 1.0
    while True:
        new = left + (right - left) * rng.random()
        if _log_scale_density(new, part, rest, labels, contrasts, shape, rate) > level:
            return math.exp(new)
        if new < here:
            left = new
        else:
            right = new


@numba.njit(**_JIT)
def _finish_sweep(state, S, labels, contrasts, g, eta, hyper, f, rng):
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
                g[j] = _slice_scale(parts[j], rest, g[j], labels, contrasts, shape_g, rate_g, rng)
                state.scales[1 + j] = 1.0 / math.sqrt(g[j])
                f[:] = rest + state.scales[1 + j] * parts[j]
        draw_classes(f, labels, contrasts, S, rng)
    return u, z, eta


@numba.njit(**_JIT)
def _activate(state, points, columns, diagonal, S):
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


class GroupedSampler:
    """Chain of a sparse probit model of several classes, several kernels, or both.

    Parameters
    ----------
    columns : callable
        ``columns(points)`` gives the kernel columns of points, shape (len(points), q, n).
    diagonal : array of shape (q, n)
        Kernel values of the points with themselves.
    labels : array of int, shape (n,)
        Numbers of the classes.
    n_classes, max_active : int
    g_prior, eta_prior : tuple of float or None
        Shape and rate of the Gamma priors; None where the values are fixed. All kernels' precisions
        have the same prior.
    kernel_off : float
        Prior probability of each kernel being off (the paper's rho).
    set_prior : tuple of float
        Parameters of the Beta prior of the share of active points.
    moves : array of shape (2, max_active + 1), optional
        From :func:`~bayeskernels.samplers.active_set_sampler.move_probabilities`.
    proposals, windows : int
        Births, deaths and swaps given the response, and moves of the size of the set within a
        window with the response integrated out, in each sweep.
    width : int
        Windows have up to this many sizes beside the present one; narrow ones are more frequent.
    is_sparse : bool
        Whether the active set moves at all.

    Attributes
    ----------
    state : GroupedColumns
    S, f : arrays of shape (n, c - 1)
        Response and predictors, in the coordinates of ``contrasts``.
    u : array of shape (c - 1,)
    z : array of shape (k q, c - 1)
        Whitened coefficients.
    g : array of shape (q,)
    is_on : array of bool, shape (q,)
    eta : float
    counts : array of int, shape (5, 2)
        Proposed and accepted moves since they were last set to zero; the last row is of kernels.
    """

    def __init__(
        self,
        columns,
        diagonal,
        labels,
        n_classes,
        max_active,
        *,
        g_prior=(2.0, 0.05),
        eta_prior=(0.5, 0.05),
        kernel_off=0.0,
        set_prior=(1.0, 1.0),
        moves=None,
        proposals=10,
        windows=2,
        width=64,
        is_sparse=True,
    ):
        self.columns = columns
        self.diagonal = np.ascontiguousarray(diagonal, dtype=np.float64)
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        self.contrasts = class_contrasts(n_classes)
        self.max_active = max_active
        n = len(self.labels)
        self.hyper = tuple(
            float(value) for prior in (g_prior, eta_prior) for value in (prior or (-1.0, -1.0))
        )
        with np.errstate(divide="ignore"):
            self.log_odds_off = float(np.log(kernel_off) - np.log1p(-kernel_off))
        self.log_prior = log_size_weights(n, max_active, *set_prior)
        self.moves = move_probabilities(n, max_active) if moves is None else moves
        self.proposals, self.windows, self.width = proposals, windows, min(width, n)
        self.is_sparse = is_sparse
        self.counts = np.zeros((5, 2), dtype=np.int64)

    def place(self, points, u, beta, g, is_on, eta, rng):
        """Set the chain down at given active points.

        Parameters
        ----------
        points : array of int, shape (k,)
        u : array of shape (c - 1,)
        beta : array of shape (q, k, c - 1) or None
            Coefficients of the points, those of kernels that are off included; None for zeros.
        g : array of shape (q,)
        is_on : array of bool, shape (q,)
        eta : float
        rng : numpy.random.Generator
            For the response.
        """
        n, (q, r) = len(self.labels), (len(self.diagonal), self.contrasts.shape[1])
        points = np.asarray(points, dtype=np.int64)
        if len(points) > self.max_active:
            raise ValueError(
                f"{len(points)} points are active at the start, at most {self.max_active} may be: "
                "the chain could never come back. Start with fewer, or raise max_active."
            )
        k = len(points)
        self.state = GroupedColumns.empty(n, self.max_active, q, r)
        self.u = np.array(u, dtype=np.float64).reshape(r)
        self.is_on = np.array(is_on, dtype=np.bool_).reshape(q)
        rows = self.columns(points) if k else np.empty((0, q, n))
        beta = np.zeros((q, k, r)) if beta is None else np.asarray(beta, dtype=np.float64)
        beta = beta * self.is_on[:, None, None]
        self.f = self.u + np.einsum("kqn,qkr->nr", rows, beta)
        self.S = np.empty((n, r))
        draw_classes(self.f, self.labels, self.contrasts, self.S, rng)
        self.set_scales(g, eta)
        prepare_groups(self.state, self.S)
        _activate(self.state, points, rows, self.diagonal, self.S)
        z = [
            np.sqrt(self.g[j]) * np.linalg.solve(self.state.T[j, :k, :k].T, beta[j])
            for j in range(q)
        ]
        self.z = np.stack(z, axis=1).reshape(k * q, r)
        self.pool = np.empty(0, dtype=np.int64)
        self.pool_columns = np.empty((0, q, n))
        self.used = 0
        self.since_rebuild = 0

    def set_scales(self, g, eta):
        """Take over precisions that something else has moved."""
        self.g = np.array(g, dtype=np.float64).reshape(len(self.diagonal))
        self.eta = float(eta)

    def sweep(self, rng):
        """Make one sweep."""
        if self.since_rebuild >= REBUILD_EVERY:
            rebuild_groups(self.state, self.diagonal)
            self.since_rebuild = 0
        self.since_rebuild += 1
        self.state.scales[0] = 1.0 / np.sqrt(self.eta)
        self.state.scales[1:] = self.is_on / np.sqrt(self.g)
        prepare_groups(self.state, self.S)
        if self.is_sparse:
            self._move(rng)
        self._move_kernels(rng)
        self.u, self.z, self.eta = _finish_sweep(
            self.state,
            self.S,
            self.labels,
            self.contrasts,
            self.g,
            self.eta,
            self.hyper,
            self.f,
            rng,
        )
        if self.is_sparse and self.windows:
            self._move_windows(rng)
            draw_classes(self.f, self.labels, self.contrasts, self.S, rng)

    def _move_windows(self, rng):
        q, n = self.diagonal.shape
        z = np.zeros((1 + self.max_active * q, len(self.u)))
        z[1 : 1 + len(self.z)] = self.z
        for _ in range(self.windows):
            k = int(self.state.size[0])
            width = int(self.width ** rng.random())
            n_deaths = int(rng.random() * (width + 1))
            n_births = min(width - n_deaths, self.max_active - k)
            born = rng.choice(np.flatnonzero(~self.state.is_active), n_births, replace=False)
            columns = self.columns(born) if n_births else np.empty((0, q, n))
            has_changed = move_group_window(
                self.state,
                self.S,
                self.f,
                z,
                self.labels,
                self.contrasts,
                born,
                columns,
                self.diagonal,
                min(n_deaths, k),
                self.log_prior,
                rng,
            )
            self.counts[WINDOW] += 1, has_changed
        self.z = z[1 : 1 + self.state.size[0] * q].copy()

    def _move_kernels(self, rng):
        if self.hyper[0] < 0.0 and self.log_odds_off == -np.inf:
            return
        for j in range(len(self.g)):
            self.is_on[j], self.g[j], accepted = move_kernel(
                self.state,
                self.S,
                j,
                self.g[j],
                self.is_on[j],
                self.log_odds_off,
                *self.hyper[:2],
                rng,
            )
            self.counts[KERNEL] += 1, accepted

    def _move(self, rng):
        birth, death = self.moves
        left = self.proposals
        while left:
            self.used, left = move_groups(
                self.state,
                self.S,
                self.pool,
                self.pool_columns,
                self.diagonal,
                self.used,
                birth,
                death,
                self.log_prior,
                left,
                rng,
                self.counts,
            )
            if left:
                self._new_pool(rng)

    def _new_pool(self, rng):
        """Draw points to be born, with their kernel columns; in a hurry where most are active."""
        n = len(self.labels)
        inactive = max(n - int(self.state.size[0]), 1)
        size = int(min(np.ceil(160 * n / inactive), 20 * n + 64))
        self.pool = rng.integers(n, size=size)
        self.pool_columns = self.columns(self.pool)
        self.used = 0

    @property
    def points(self):
        """Active points."""
        return self.state.points[: self.state.size[0]]

    @property
    def beta(self):
        """Coefficients of :attr:`points`, shape (q, k, c - 1); zero for kernels that are off."""
        k, q = int(self.state.size[0]), len(self.g)
        z = self.z.reshape(k, q, len(self.u))
        factors = self.is_on / np.sqrt(self.g)
        return np.stack([self.state.T[j, :k, :k].T @ z[:, j] * factors[j] for j in range(q)])

    @property
    def log_likelihood(self):
        """Log-probability of the labels at the present predictors."""
        return labels_log_probability(self.f, self.labels, self.contrasts)

    _carried = (
        *("S", "f", "u", "z", "g", "is_on", "eta"),
        *("pool", "pool_columns", "used", "since_rebuild"),
    )

    @property
    def snapshot(self):
        """All that changes from sweep to sweep."""
        values = {name: getattr(self, name) for name in self._carried}
        return deepcopy(values | {"state": tuple(self.state)})

    @snapshot.setter
    def snapshot(self, values):
        values = deepcopy(values)
        self.state = GroupedColumns(*values.pop("state"))
        for name, value in values.items():
            setattr(self, name, value)
