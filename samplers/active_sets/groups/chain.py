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

import numpy as np

from bayeskernels.samplers.active_sets.active_set_chain import ActiveSetChain
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
from bayeskernels.samplers.active_sets.moves import KERNEL

__all__ = ["GroupedSampler"]


class GroupedSampler(ActiveSetChain):
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
    kernel_off : float
        Prior probability of each kernel being off (the paper's rho).
    windows : int
        Moves of the size of the set in each sweep.
    **options
        Other priors and moves:
        see :class:`~bayeskernels.samplers.active_sets.active_set_chain.ActiveSetChain`.

    Attributes
    ----------
    active : GroupedColumns
    s, f : arrays of shape (n, c - 1)
        Response S and predictors, in the coordinates of ``contrasts``.
    u : array of shape (c - 1,)
    z : array of shape (k q, c - 1)
        Whitened coefficients.
    g : array of shape (q,)
    is_on : array of bool, shape (q,)
    eta : float
    """

    rebuild_every = 100
    births_ahead = 160
    move_points = staticmethod(move_groups)
    move_window = staticmethod(move_group_window)
    carried = (*ActiveSetChain.carried, "is_on")

    def __init__(
        self,
        columns,
        diagonal,
        labels,
        n_classes,
        max_active,
        *,
        kernel_off=0.0,
        windows=2,
        **options,
    ):
        self._columns = columns
        self._diagonal = np.ascontiguousarray(diagonal, dtype=np.float64)
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        self.contrasts = class_contrasts(n_classes)
        with np.errstate(divide="ignore"):
            self.log_odds_off = float(np.log(kernel_off) - np.log1p(-kernel_off))
        super().__init__(self._diagonal.shape, max_active, windows=windows, **options)

    def columns(self, points):
        """Kernel columns of points, shape (len(points), q, n)."""
        return self._columns(points)

    def diagonal(self):
        """Kernel values of the points with themselves, shape (q, n)."""
        return self._diagonal

    @property
    def link(self):
        """Numbers of the classes, and the coordinates of the response."""
        return self.labels, self.contrasts

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
        (q, n), r = self.column_shape, self.contrasts.shape[1]
        points = self._begin(points)
        k = len(points)
        self.active = GroupedColumns.empty(n, self.max_active, q, r)
        self.u = np.array(u, dtype=np.float64).reshape(r)
        self.is_on = np.array(is_on, dtype=np.bool_).reshape(q)
        rows = self._columns_of(points)
        beta = np.zeros((q, k, r)) if beta is None else np.asarray(beta, dtype=np.float64)
        beta = beta * self.is_on[:, None, None]
        self.f = self.u + np.einsum("kqn,qkr->nr", rows, beta)
        self.s = np.empty((n, r))
        self.renew(rng)
        self.set_scales(g, eta)
        prepare_groups(self.active, self.s)
        activate_groups(self.active, points, rows, self.diagonal(), self.s)
        z = [
            np.sqrt(self.g[j]) * np.linalg.solve(self.active.T[j, :k, :k].T, beta[j])
            for j in range(q)
        ]
        self.z = np.stack(z, axis=1).reshape(k * q, r)

    def set_scales(self, g, eta):
        """Take over precisions that something else has moved."""
        self.g = np.array(g, dtype=np.float64).reshape(self.column_shape[0])
        self.eta = float(eta)

    def _rebuild(self):
        rebuild_groups(self.active, self.diagonal())

    def _prepare(self):
        self.active.scales[0] = 1.0 / np.sqrt(self.eta)
        self.active.scales[1:] = self.is_on / np.sqrt(self.g)
        prepare_groups(self.active, self.s)

    def _move_kernels(self, rng):
        if self.hyper[0] < 0.0 and self.log_odds_off == -np.inf:
            return
        for j in range(len(self.g)):
            self.is_on[j], self.g[j], accepted = move_kernel(
                self.active,
                self.s,
                j,
                self.g[j],
                self.is_on[j],
                self.log_odds_off,
                *self.hyper[:2],
                rng,
            )
            self.counts[KERNEL] += 1, accepted

    def _draw_coefficients(self, rng):
        self.u, self.z, self.eta = finish_grouped_sweep(
            self.active,
            self.s,
            self.labels,
            self.contrasts,
            self.g,
            self.eta,
            self.hyper,
            self.f,
            rng,
        )

    def _open_window(self):
        # The first row is the offsets'.
        z = np.zeros((1 + self.max_active * len(self.g), len(self.u)))
        z[1 : 1 + len(self.z)] = self.z
        return self.f, z

    def _close_window(self, f, z):
        self.z = z[1 : 1 + len(self.points) * len(self.g)].copy()

    def renew(self, rng):
        """Draw the response given the predictors."""
        draw_classes(self.f, self.labels, self.contrasts, self.s, rng)

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
