r"""Sampler of a sparse generalized kernel model, without PyMC (GKM, sections 3.2 and 6).

A point brings a column for each of q kernels, and there are r predictors: c - 1 for c classes, in
coordinates in which their responses are independent, one otherwise. What depends on the link is in
a file for each (:mod:`bayeskernels.samplers.active_sets.links.link`). The working response S is the
sampler's own: truncated normal numbers in a probit model, functions of Polya-Gamma variables in a
logistic one, the observations themselves in a regression.

One sweep, in an order that keeps the posterior:

1. births, deaths and swaps of active points given the working response S, offsets and coefficients
   integrated out (:mod:`bayeskernels.samplers.active_sets.moves`);
2. in the same way hyperparameters of the kernels, where they are learned
   (:mod:`bayeskernels.samplers.active_sets.kernel_move`), and of several kernels or classes whether
   each kernel is on, with its precision g (:mod:`bayeskernels.samplers.active_sets.switches`);
3. in the same way S of a probit model (Holmes and Held), point by point;
4. offsets and coefficients given S (:mod:`bayeskernels.samplers.active_sets.updates`, as 3, 5, 6);
5. their precisions eta and g given them. The paper's step (b) has these before 4, which is wrong
   once 3 has integrated the coefficients out; its appendix has the right order;
6. each g once more along the other direction, with whitened coefficients fixed and S integrated
   out. Between them 5 and 6 mix where each alone would hardly move;
7. the size of the set with S integrated out and the coefficients explicit
   (:mod:`bayeskernels.samplers.active_sets.windows`), then S afresh, with the row weights of a
   logistic model and the noise of a regression.
"""

import numpy as np

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_sets.columns.row_weights import reweigh
from bayeskernels.samplers.active_sets.columns.state import ActiveColumns, prepare, rebuild
from bayeskernels.samplers.active_sets.links.classes import ClassLabels
from bayeskernels.samplers.active_sets.links.identity import GaussianTargets
from bayeskernels.samplers.active_sets.links.logistic import LogisticLabels
from bayeskernels.samplers.active_sets.links.probit import probit_labels
from bayeskernels.samplers.active_sets.moves import (
    KERNEL,
    WINDOW,
    Candidates,
    SizePrior,
    move_points,
    move_probabilities,
)
from bayeskernels.samplers.active_sets.resumable import Resumable
from bayeskernels.samplers.active_sets.switches import SwitchPrior, move_switch
from bayeskernels.samplers.active_sets.updates import (
    activate_points,
    finish_sweep,
    log_likelihood,
    renew,
)
from bayeskernels.samplers.active_sets.windows import Predictor, move_window

__all__ = ["ActiveSetSampler"]

#: Whitened columns are computed from scratch after so many sweeps.
REBUILD_EVERY = 25

#: Births for which points are drawn ahead, where their columns stay what they are.
BIRTHS_AHEAD = 64


class ActiveSetSampler(Resumable):
    """Chain of a sparse generalized kernel model.

    Parameters
    ----------
    columns : callable
        ``columns(points)`` gives the kernel columns of points, shape (len(points), n), or
        (len(points), q, n) of several kernels; ``columns(points, theta)`` where kernels have
        hyperparameters.
    diagonal : array of shape (n,) or (q, n), or callable
        Kernel values of the points with themselves, or a function of theta.
    response : array of bool of shape (n,), ClassLabels, LogisticLabels or GaussianTargets
        What was observed; an array holds the labels of a probit model of two classes.
    max_active : int
    theta : array, optional
        Hyperparameters of the kernels to begin with, where they have any.
    kernel_move : KernelMove, optional
        How to move them; without it they stay.
    kernel_off : float
        Prior probability of each kernel being off (the paper's rho).
    g_prior, eta_prior : tuple of float or None
        Shape and rate of the Gamma priors; None where the value is fixed. All kernels' precisions
        have the same prior.
    set_prior : tuple of float
        Parameters of the Beta prior of the share of active points.
    moves : array of shape (2, max_active + 1), optional
        From :func:`~bayeskernels.samplers.active_sets.moves.move_probabilities`.
    proposals, windows : int
        Moves of single points given the working response, and of the size of the set within a
        window with the response integrated out, in each sweep.
    width : int
        Windows have up to this many sizes beside the present one. Their widths are random: narrow
        ones are cheap, wide ones go far.
    is_sparse : bool
        False keeps the active points as they are.

    Attributes
    ----------
    active : ActiveColumns
    S, f : arrays of shape (r, n)
        Working responses, times the row weights, and predictors.
    weights : array of shape (n,) or None
        Row weights; None in a probit model, where they are one.
    u : array of shape (r,)
        Offsets.
    z : array of shape (r, q, k)
        Whitened coefficients.
    g : array of shape (q,)
    is_on : array of bool, shape (q,)
        Which kernels take part.
    eta : float
    theta : array or None
    counts : array of int, shape (5, 2)
        Proposed and accepted moves since they were last set to zero: births, deaths, swaps,
        windows, and moves of kernels.
    """

    carried = (
        *("active", "S", "f", "u", "z", "g", "is_on", "eta", "theta"),
        *("pool", "used", "since_rebuild"),
    )

    def __init__(
        self,
        columns,
        diagonal,
        response,
        max_active,
        *,
        theta=None,
        kernel_move=None,
        kernel_off=0.0,
        g_prior=(2.0, 0.05),
        eta_prior=(0.5, 0.05),
        set_prior=(1.0, 1.0),
        moves=None,
        proposals=10,
        windows=4,
        width=64,
        is_sparse=True,
    ):
        self.theta = None if theta is None else np.array(theta, dtype=np.float64)
        self.kernel_move = kernel_move
        self._columns, self._diagonal = columns, diagonal
        self._weights = None
        self.n_responses = 1
        if isinstance(response, LogisticLabels):
            self._weights = response.weights
        elif isinstance(response, GaussianTargets):
            self._weights = np.full(len(response.values), 1.0 / response.noise[0])
            self.carried = (*self.carried, "noise")
        elif isinstance(response, ClassLabels):
            self.n_responses = response.contrasts.shape[1]
        else:
            response = probit_labels(response)
        if self.weights is not None:
            self.carried = (*self.carried, "weights")
        self.response = response
        self.n_kernels, self.n = self.diagonal().shape
        self.max_active = max_active
        self.hyper = tuple(
            float(value) for prior in (g_prior, eta_prior) for value in (prior or (-1.0, -1.0))
        )
        with np.errstate(divide="ignore"):
            log_odds_off = float(np.log(kernel_off) - np.log1p(-kernel_off))
        self.switch_prior = SwitchPrior(log_odds_off, *self.hyper[:2])
        moves = move_probabilities(self.n, max_active) if moves is None else moves
        self.prior = SizePrior(log_size_weights(self.n, max_active, *set_prior), *moves)
        self.proposals, self.windows, self.width = proposals, windows, min(width, self.n)
        self.is_sparse = is_sparse
        self.counts = np.zeros((5, 2), dtype=np.int64)

    @property
    def weights(self):
        """Row weights; the data of a link may share them, so they are written in place."""
        return self._weights

    @weights.setter
    def weights(self, values):
        self._weights[:] = values

    @property
    def kernel_weights(self):
        """Weights w of the kernels, shape (q,)."""
        return self.is_on / np.sqrt(self.g)

    def columns(self, points, theta=None):
        """Kernel columns as the algebra needs them, (len(points), q, n).

        They are multiplied by the row weights of both points.
        """
        if len(points) == 0:
            return np.empty((0, self.n_kernels, self.n))
        if self.theta is None:
            rows = self._columns(points)
        else:
            rows = self._columns(points, self.theta if theta is None else theta)
        if self.weights is not None:
            by_point = self.weights[points].reshape(-1, *(1,) * (rows.ndim - 1))
            rows = rows * self.weights * by_point
        return np.ascontiguousarray(rows).reshape(len(points), self.n_kernels, self.n)

    def diagonal(self, theta=None):
        """Kernel values of all points with themselves, (q, n), times the squared row weights."""
        values = self._diagonal
        if callable(values):
            values = values(self.theta if theta is None else theta)
        values = np.ascontiguousarray(np.atleast_2d(values), dtype=np.float64)
        return values if self.weights is None else values * self.weights**2

    def place(self, points, u, beta, g, eta, rng, is_on=True):
        """Set the chain down at given active points.

        Parameters
        ----------
        points : array of int, shape (k,)
        u : float or array of shape (r,)
        beta : array of shape (r, q, k) or None
            Coefficients of the points, those of kernels that are off included; None for zeros. With
            r = q = 1 an array of shape (k,) will do.
        g : float or array of shape (q,)
        eta : float
        rng : numpy.random.Generator
            For the working response.
        is_on : bool or array of bool, shape (q,)
        """
        r, q, n, k = self.n_responses, self.n_kernels, self.n, len(points)
        if k > self.max_active:
            raise ValueError(
                f"{k} points are active at the start, at most {self.max_active} may be: the chain "
                "could never come back. Start with fewer, or raise max_active."
            )
        points = np.asarray(points, dtype=np.int64)
        self._empty_pool()
        self.since_rebuild = 0
        self.active = ActiveColumns.empty(n, self.max_active, q, r)
        self.u = np.array(np.broadcast_to(u, r), dtype=np.float64)
        self.is_on = np.array(np.broadcast_to(is_on, q), dtype=np.bool_)
        self.set_scales(g, eta)
        shape = (r, q, k)
        beta = np.zeros(shape) if beta is None else np.reshape(beta, shape).astype(np.float64)
        beta = beta * self.is_on[:, None]
        if self.weights is not None:
            # With weights of one these are the kernel columns themselves.
            self.weights = 1.0
        rows = self.columns(points).reshape(k * q, n)
        self.f = np.stack([u + b.T.ravel() @ rows for u, b in zip(self.u, beta, strict=True)])
        self.S = np.empty((r, n))
        self.renew(rng)
        prepare(self.active, self.S, self.kernel_weights, self.eta)
        activate_points(self.active, self._candidates(points), self.S)
        if self.weights is not None:
            beta = beta / self.weights[points]
        self.z = np.empty(shape)
        for d, j in np.ndindex(r, q):
            solved = np.linalg.solve(self.active.T[j, :k, :k].T, beta[d, j])
            self.z[d, j] = np.sqrt(self.g[j]) * solved

    def set_scales(self, g=None, eta=None):
        """Take over precisions that something else has moved."""
        if g is not None:
            self.g = np.array(np.broadcast_to(g, self.n_kernels), dtype=np.float64)
        if eta is not None:
            self.eta = float(eta)

    @property
    def is_lasting(self):
        """Whether columns are good for later sweeps: not where weights or kernels change."""
        return self.weights is None and self.theta is None

    @property
    def has_switches(self):
        """Whether kernels are moved given the response: for g of a single one 5 and 6 do well."""
        has_several = self.n_kernels * self.n_responses > 1
        return self.switch_prior.log_odds_off > -np.inf or (self.hyper[0] > 0.0 and has_several)

    def sweep(self, rng):
        """Make one sweep."""
        if self.since_rebuild >= REBUILD_EVERY:
            rebuild(self.active, self.diagonal())
            self.since_rebuild = 0
        self.since_rebuild += 1
        self._prepare()
        if self.is_sparse:
            self._move(rng)
        if self.kernel_move is not None:
            self.kernel_move(self, rng)
        if self.has_switches:
            self._move_switches(rng)
        scales = np.array([*self.g, self.eta])
        self.u, self.z = finish_sweep(
            self.active, self.S, self.response, scales, self.hyper, self.f, rng
        )
        self.g, self.eta = scales[:-1], float(scales[-1])
        has_windows = self.is_sparse and self.windows > 0
        if has_windows:
            self._move_windows(rng)
        if has_windows or self.hyper[0] > 0.0 or self.weights is not None:
            self.renew(rng)

    def _prepare(self):
        prepare(self.active, self.S, self.kernel_weights, self.eta)

    def _move(self, rng):
        """Births, deaths and swaps given the response."""
        if not self.is_lasting:
            self._empty_pool()
        left = self.proposals
        while left:
            self.used, left = move_points(
                self.active, self.S, self.pool, self.used, self.prior, left, rng, self.counts
            )
            if left:
                self._new_pool(rng, left)

    def _candidates(self, points):
        return Candidates(points, self.columns(points), self.diagonal())

    def _empty_pool(self):
        self.pool = self._candidates(np.empty(0, dtype=np.int64))
        self.used = 0

    def _new_pool(self, rng, left):
        """Draw points to be born, with their kernel columns; in a hurry where most are active.

        Where the pool lasts for this sweep only, no more than the moves that are left may need.
        """
        inactive = max(self.n - len(self.points), 1)
        births = BIRTHS_AHEAD if self.is_lasting else left
        size = int(min(np.ceil(births * self.n / inactive), 20 * self.n + 64))
        self.pool = self._candidates(rng.integers(self.n, size=size))
        self.used = 0

    def _move_switches(self, rng):
        for j in range(self.n_kernels):
            self.is_on[j], self.g[j], accepted = move_switch(
                self.active, self.S, j, self.g[j], self.is_on[j], self.switch_prior, rng
            )
            self._prepare()
            self.counts[KERNEL] += 1, accepted

    def _move_windows(self, rng):
        """Draw the size of the set afresh from windows, with the response integrated out."""
        z = np.zeros((self.n_responses, self.n_kernels, self.max_active))
        z[:, :, : len(self.points)] = self.z
        f = self.f if self.weights is None else self.f * self.weights
        predictor = Predictor(self.S, f, z, self.kernel_weights)
        for _ in range(self.windows):
            k = len(self.points)
            width = int(self.width ** rng.random())
            n_deaths = int(rng.random() * (width + 1))
            n_births = min(width - n_deaths, self.max_active - k)
            born = rng.choice(np.flatnonzero(~self.active.is_active), n_births, replace=False)
            has_changed = move_window(
                self.active,
                predictor,
                self.response,
                self._candidates(born),
                min(n_deaths, k),
                self.prior.log_prior,
                rng,
            )
            self.counts[WINDOW] += 1, has_changed
        self.z = z[:, :, : len(self.points)].copy()
        if self.weights is not None:
            self.f = f / self.weights

    def renew(self, rng):
        """Draw working response, row weights and the parameters of the link given f."""
        if self.weights is None:
            renew(self.f, self.response, self.S, self.f[0], rng)
            return
        renew(self.f, self.response, self.S, self.weights, rng)
        reweigh(self.active, self.weights)

    @property
    def points(self):
        """Active points, in the order in which they came."""
        return self.active.points[: self.active.size[0]]

    @property
    def beta(self):
        """Coefficients of :attr:`points`, shape (r, q, k); zero for kernels that are off."""
        k = len(self.points)
        beta = np.empty_like(self.z)
        for d, j in np.ndindex(beta.shape[:2]):
            beta[d, j] = self.active.T[j, :k, :k].T @ self.z[d, j] / np.sqrt(self.g[j])
        beta *= self.is_on[:, None]
        return beta if self.weights is None else beta * self.weights[self.points]

    @property
    def noise(self):
        """Standard deviation of the noise of a regression."""
        return float(self.response.noise[0])

    @noise.setter
    def noise(self, value):
        self.response.noise[0] = value

    @property
    def log_likelihood(self):
        """Log-probability of the observations at the present predictors."""
        return log_likelihood(self.f, self.response)
