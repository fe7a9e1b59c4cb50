r"""Sampler of a sparse probit model with its active set, without PyMC (GKM, section 3.2).

One sweep, in an order that keeps the posterior:

1. births, deaths and swaps of active points given the working response s, offset and coefficients
   integrated out (:mod:`bayeskernels.samplers.active_set_moves`);
2. s given the active set, in the same way (Holmes and Held);
3. offset and coefficients given s;
4. their precisions eta and g given them. The paper's step (b) has these before 3, which is wrong
   once 2 has integrated the coefficients out; its appendix has the right order;
5. g once more along the other direction, with whitened coefficients fixed and s integrated out.
   Between them 4 and 5 mix where each alone would hardly move;
6. the size of the set with s integrated out and the coefficients explicit, then s afresh.
"""

import math
from copy import deepcopy

import numba
import numpy as np

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_columns import (
    ActiveColumns,
    append,
    new_direction,
    prepare,
    products,
    rebuild,
)
from bayeskernels.samplers.active_set_moves import WINDOW, move_points, move_window
from bayeskernels.samplers.probit_response import (
    draw_response,
    impute,
    log_normal_cdf,
    slice_precision,
)

__all__ = ["ActiveSetSampler", "move_probabilities"]

_JIT = {"cache": True, "nogil": True, "error_model": "numpy"}

#: Columns and inverses are computed from scratch after this many sweeps.
REBUILD_EVERY = 25


def move_probabilities(n, k_max, birth=0.3, death=0.3):
    """Probabilities of births and deaths by the number of active points, as the paper sets them.

    Parameters
    ----------
    n, k_max : int
    birth, death : float
        Where neither is impossible; what is left is for swaps.

    Returns
    -------
    array of shape (2, k_max + 1)

    Examples
    --------
    >>> move_probabilities(10, 3).tolist()
    [[1.0, 0.3, 0.3, 0.0], [0.0, 0.3, 0.3, 1.0]]
    """
    if not (0 < birth and 0 < death and birth + death <= 1):
        raise ValueError(
            f"birth and death must be positive and at most one together, got {birth} and {death}."
        )
    probabilities = np.empty((2, k_max + 1))
    probabilities[:, :] = [[birth], [death]]
    probabilities[:, 0] = 1.0, 0.0
    probabilities[:, k_max] = 0.0, 1.0
    return probabilities


@numba.njit(**_JIT)
def _draw_coefficients(state, rng):
    """Offset times sqrt(eta), and whitened coefficients, given the response."""
    k = state.size[0]
    inverse = np.ascontiguousarray(state.inverse[: k + 1, : k + 1])
    noise = np.empty(k + 1)
    for a in range(k + 1):
        noise[a] = rng.standard_normal()
    factor = np.linalg.cholesky(0.5 * (inverse + inverse.T))
    return np.dot(inverse, state.response[: k + 1]) + np.dot(factor, noise)


@numba.njit(**_JIT)
def _finish_sweep(state, s, positive, scales, hyper, f, rng):
    """Steps 2 to 5. ``scales`` are g and eta, ``hyper`` the shapes and rates of their priors.

    A negative shape stands for a fixed value. f becomes the predictor. Returns offset and whitened
    coefficients.
    """
    impute(state, s, positive, rng)
    coefficients = _draw_coefficients(state, rng)
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
    if shape_g > 0.0:
        g = scales[0]
        energy = 0.0
        for a in range(k):
            energy += z[a] * z[a]
        new = rng.gamma(shape_g + 0.5 * k, 1.0 / (rate_g + 0.5 * energy / g))
        # The function stays, so its whitened coefficients grow with the precision.
        growth = math.sqrt(new / g)
        for a in range(k):
            z[a] *= growth
        for i in range(n):
            part[i] *= growth
        scales[0] = slice_precision(part, u, new, positive, shape_g, rate_g, rng)
    scale = 1.0 / math.sqrt(scales[0])
    for i in range(n):
        f[i] = u + part[i] * scale
    if shape_g > 0.0:
        draw_response(f, positive, s, rng)
    return u, z


@numba.njit(**_JIT)
def _log_likelihood(f, positive):
    total = 0.0
    for i in range(len(f)):
        total += log_normal_cdf(f[i] if positive[i] else -f[i])
    return total


@numba.njit(**_JIT)
def _activate(state, points, columns, diagonal, s):
    """Make points active, one after the other."""
    n = len(s)
    k_max = len(state.points)
    v = np.empty(n)
    c = np.empty(k_max)
    m = np.empty(k_max + 1)
    nothing = np.empty(0)
    for a in range(len(points)):
        point = points[a]
        pivot = new_direction(state, point, columns[a], diagonal[point], nothing, v, c)
        own, with_s = products(state, v, s, m)
        append(state, point, columns[a], v, c, pivot, own, with_s, m)


class ActiveSetSampler:
    """Chain of a sparse probit model.

    Parameters
    ----------
    columns : callable
        ``columns(points)`` gives the kernel columns of points as rows, shape (len(points), n).
    diagonal : array of shape (n,)
        Kernel values of the points with themselves.
    positive : array of bool, shape (n,)
        Labels.
    max_active : int
    g_prior, eta_prior : tuple of float or None
        Shape and rate of the Gamma priors; None where the value is fixed.
    set_prior : tuple of float
        Parameters of the Beta prior of the share of active points.
    moves : array of shape (2, max_active + 1)
        From :func:`move_probabilities`.
    proposals, windows : int
        Moves of single points given the working response, and of the size of the set within a
        window with the response integrated out, in each sweep.
    width : int
        Windows have up to this many sizes beside the present one. Their widths are random: narrow
        ones are cheap, wide ones go far.

    Attributes
    ----------
    state : ActiveColumns
    s, f : arrays of shape (n,)
        Working response and predictor.
    u, g, eta : float
    z : array of shape (k,)
        Whitened coefficients.
    counts : array of int, shape (4, 2)
        Proposed and accepted moves since they were last set to zero.
    """

    def __init__(
        self,
        columns,
        diagonal,
        positive,
        max_active,
        *,
        g_prior=(2.0, 0.05),
        eta_prior=(0.5, 0.05),
        set_prior=(1.0, 1.0),
        moves=None,
        proposals=10,
        windows=4,
        width=64,
        is_sparse=True,
    ):
        n = len(positive)
        self.columns = columns
        self.diagonal = np.ascontiguousarray(diagonal, dtype=np.float64)
        self.positive = np.ascontiguousarray(positive, dtype=np.bool_)
        self.max_active = max_active
        self.hyper = tuple(
            value for prior in (g_prior, eta_prior) for value in (prior or (-1.0, -1.0))
        )
        self.log_prior = log_size_weights(n, max_active, *set_prior)
        self.moves = move_probabilities(n, max_active) if moves is None else moves
        self.proposals, self.windows, self.width = proposals, windows, min(width, n)
        self.is_sparse = is_sparse
        self.counts = np.zeros((4, 2), dtype=np.int64)

    def place(self, points, u, z_or_none, g, eta, rng):
        """Set the chain down at given active points.

        Parameters
        ----------
        points : array of int, shape (k,)
        u : float
        z_or_none : array of shape (k,) or None
            Coefficients beta of the points; None stands for zeros.
        g, eta : float
        rng : numpy.random.Generator
            For the working response.
        """
        n = len(self.positive)
        if len(points) > self.max_active:
            raise ValueError(
                f"{len(points)} points are active at the start, at most {self.max_active} may be: "
                "the chain could never come back. Start with fewer, or raise max_active."
            )
        self.state = ActiveColumns.empty(n, self.max_active)
        self.g, self.eta, self.u = float(g), float(eta), float(u)
        points = np.asarray(points, dtype=np.int64)
        rows = self.columns(points) if len(points) else np.empty((0, n))
        beta = np.zeros(len(points)) if z_or_none is None else np.asarray(z_or_none)
        self.f = self.u + beta @ rows
        self.s = np.empty(n)
        draw_response(self.f, self.positive, self.s, rng)
        prepare(self.state, self.s, self.g, self.eta)
        _activate(self.state, points, rows, self.diagonal, self.s)
        k = len(points)
        self.z = np.sqrt(self.g) * np.linalg.solve(self.state.T[:k, :k].T, beta)
        self.pool = np.empty(0, dtype=np.int64)
        self.pool_columns = np.empty((0, n))
        self.used = 0
        self.since_rebuild = 0

    def sweep(self, rng):
        """Make one sweep."""
        if self.since_rebuild >= REBUILD_EVERY:
            rebuild(self.state, self.diagonal)
            self.since_rebuild = 0
        self.since_rebuild += 1
        prepare(self.state, self.s, self.g, self.eta)
        if self.is_sparse:
            self._move(rng)
        scales = np.array([self.g, self.eta])
        self.u, self.z = _finish_sweep(
            self.state, self.s, self.positive, scales, self.hyper, self.f, rng
        )
        self.g, self.eta = scales.tolist()
        if self.is_sparse and self.windows:
            self._move_windows(rng)
            draw_response(self.f, self.positive, self.s, rng)

    def _move_windows(self, rng):
        n = len(self.positive)
        z = np.zeros(self.max_active)
        z[: len(self.z)] = self.z
        for _ in range(self.windows):
            k = int(self.state.size[0])
            width = int(self.width ** rng.random())
            n_deaths = int(rng.random() * (width + 1))
            n_births = min(width - n_deaths, self.max_active - k)
            born = rng.choice(np.flatnonzero(~self.state.is_active), n_births, replace=False)
            columns = self.columns(born) if n_births else np.empty((0, n))
            has_changed = move_window(
                self.state,
                self.s,
                self.f,
                z,
                self.g,
                self.positive,
                born,
                columns,
                self.diagonal,
                min(n_deaths, k),
                self.log_prior,
                rng,
            )
            self.counts[WINDOW] += 1, has_changed
        self.z = z[: self.state.size[0]].copy()

    def _move(self, rng):
        birth, death = self.moves
        left = self.proposals
        while left:
            self.used, left = move_points(
                self.state,
                self.s,
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
        n = len(self.positive)
        inactive = max(n - int(self.state.size[0]), 1)
        size = int(min(np.ceil(64 * n / inactive), 20 * n + 64))
        self.pool = rng.integers(n, size=size)
        self.pool_columns = self.columns(self.pool)
        self.used = 0

    @property
    def points(self):
        """Active points, in the order in which they came."""
        return self.state.points[: self.state.size[0]]

    @property
    def beta(self):
        """Coefficients of :attr:`points`."""
        k = int(self.state.size[0])
        if k == 0:
            return np.zeros(0)
        return self.state.T[:k, :k].T @ self.z / np.sqrt(self.g)

    @property
    def log_likelihood(self):
        """Log-probability of the labels at the present predictor."""
        return _log_likelihood(self.f, self.positive)

    _carried = ("s", "f", "u", "z", "g", "eta", "pool", "pool_columns", "used", "since_rebuild")

    @property
    def snapshot(self):
        """All that changes from sweep to sweep."""
        values = {name: getattr(self, name) for name in self._carried}
        return deepcopy(values | {"state": tuple(self.state)})

    @snapshot.setter
    def snapshot(self, values):
        values = deepcopy(values)
        self.state = ActiveColumns(*values.pop("state"))
        for name, value in values.items():
            setattr(self, name, value)
