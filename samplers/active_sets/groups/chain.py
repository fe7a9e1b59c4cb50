r"""Sampler of a probit model of several classes or kernels, without PyMC (GKM, section 6).

One sweep, in an order that keeps the posterior. S is the response, (n, c - 1), in coordinates in
which its columns are independent (:mod:`bayeskernels.samplers.active_sets.links.classes`):

1. births, deaths and swaps of active points given S, offsets and coefficients integrated out;
2. for each kernel, whether it is on and its precision g, in the same way;
3. S given the active set and the weights, in the same way, row by row (Holmes and Held);
4. offsets and coefficients given S;
5. the offsets' precision eta given them;
6. the precisions g once more, with whitened coefficients fixed and S integrated out;
7. the size of the set with S integrated out and the coefficients explicit, then S afresh.
"""

from copy import deepcopy

import numpy as np

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_sets.chain import move_probabilities
from bayeskernels.samplers.active_sets.groups.columns import (
    GroupedColumns,
    prepare_groups,
    rebuild_groups,
)
from bayeskernels.samplers.active_sets.groups.moves import move_groups, move_kernel
from bayeskernels.samplers.active_sets.groups.updates import activate_groups, finish_grouped_sweep
from bayeskernels.samplers.active_sets.groups.windows import move_group_window
from bayeskernels.samplers.active_sets.links.classes import (
    class_contrasts,
    draw_classes,
    labels_log_probability,
)
from bayeskernels.samplers.active_sets.moves import KERNEL, WINDOW

__all__ = ["GroupedSampler"]

#: Columns and inverses are computed from scratch after this many sweeps.
REBUILD_EVERY = 100


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
        From :func:`~bayeskernels.samplers.active_sets.chain.move_probabilities`.
    proposals, windows : int
        Births, deaths and swaps given the response, and moves of the size of the set within a
        window with the response integrated out, in each sweep.
    width : int
        Windows have up to this many sizes beside the present one; narrow ones are more frequent.
    is_sparse : bool
        Whether the active set moves at all.

    Attributes
    ----------
    active : GroupedColumns
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
        self.active = GroupedColumns.empty(n, self.max_active, q, r)
        self.u = np.array(u, dtype=np.float64).reshape(r)
        self.is_on = np.array(is_on, dtype=np.bool_).reshape(q)
        rows = self.columns(points) if k else np.empty((0, q, n))
        beta = np.zeros((q, k, r)) if beta is None else np.asarray(beta, dtype=np.float64)
        beta = beta * self.is_on[:, None, None]
        self.f = self.u + np.einsum("kqn,qkr->nr", rows, beta)
        self.S = np.empty((n, r))
        draw_classes(self.f, self.labels, self.contrasts, self.S, rng)
        self.set_scales(g, eta)
        prepare_groups(self.active, self.S)
        activate_groups(self.active, points, rows, self.diagonal, self.S)
        z = [
            np.sqrt(self.g[j]) * np.linalg.solve(self.active.T[j, :k, :k].T, beta[j])
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
            rebuild_groups(self.active, self.diagonal)
            self.since_rebuild = 0
        self.since_rebuild += 1
        self.active.scales[0] = 1.0 / np.sqrt(self.eta)
        self.active.scales[1:] = self.is_on / np.sqrt(self.g)
        prepare_groups(self.active, self.S)
        if self.is_sparse:
            self._move(rng)
        self._move_kernels(rng)
        self.u, self.z, self.eta = finish_grouped_sweep(
            self.active,
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
            k = int(self.active.size[0])
            width = int(self.width ** rng.random())
            n_deaths = int(rng.random() * (width + 1))
            n_births = min(width - n_deaths, self.max_active - k)
            born = rng.choice(np.flatnonzero(~self.active.is_active), n_births, replace=False)
            columns = self.columns(born) if n_births else np.empty((0, q, n))
            has_changed = move_group_window(
                self.active,
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
        self.z = z[1 : 1 + self.active.size[0] * q].copy()

    def _move_kernels(self, rng):
        if self.hyper[0] < 0.0 and self.log_odds_off == -np.inf:
            return
        for j in range(len(self.g)):
            self.is_on[j], self.g[j], accepted = move_kernel(
                self.active,
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
                self.active,
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
        inactive = max(n - int(self.active.size[0]), 1)
        size = int(min(np.ceil(160 * n / inactive), 20 * n + 64))
        self.pool = rng.integers(n, size=size)
        self.pool_columns = self.columns(self.pool)
        self.used = 0

    @property
    def points(self):
        """Active points."""
        return self.active.points[: self.active.size[0]]

    @property
    def beta(self):
        """Coefficients of :attr:`points`, shape (q, k, c - 1); zero for kernels that are off."""
        k, q = int(self.active.size[0]), len(self.g)
        z = self.z.reshape(k, q, len(self.u))
        factors = self.is_on / np.sqrt(self.g)
        return np.stack([self.active.T[j, :k, :k].T @ z[:, j] * factors[j] for j in range(q)])

    @property
    def log_likelihood(self):
        """Log-probability of the labels at the present predictors."""
        return labels_log_probability(self.f, self.labels, self.contrasts)

    _carried = (
        *("S", "f", "u", "z", "g", "is_on", "eta"),
        *("pool", "pool_columns", "used", "since_rebuild"),
    )

    @property
    def state(self):
        """All that changes from sweep to sweep."""
        values = {name: getattr(self, name) for name in self._carried}
        return deepcopy(values | {"active": tuple(self.active)})

    @state.setter
    def state(self, values):
        values = deepcopy(values)
        self.active = GroupedColumns(*values.pop("active"))
        for name, value in values.items():
            setattr(self, name, value)
