r"""Sampler of a sparse generalized kernel model, without PyMC (GKM, section 3.2).

What depends on the link is in a file for each
(:mod:`bayeskernels.samplers.active_sets.links.link`). The working response s is the sampler's own:
truncated normal numbers in a probit model, functions of Polya-Gamma variables in a logistic one,
the observations themselves in a regression.

One sweep, in an order that keeps the posterior:

1. births, deaths and swaps of active points given the working response s, offset and coefficients
   integrated out (:mod:`bayeskernels.samplers.active_sets.moves`);
2. hyperparameters of the kernel, where they are learned, in the same way
   (:mod:`bayeskernels.samplers.active_sets.kernel_move`), and s of a probit model (Holmes and
   Held);
3. offset and coefficients given s (:mod:`bayeskernels.samplers.active_sets.updates`, as 4 and 5);
4. their precisions eta and g given them. The paper's step (b) has these before 3, which is wrong
   once 2 has integrated the coefficients out; its appendix has the right order;
5. g once more along the other direction, with whitened coefficients fixed and s integrated out.
   Between them 4 and 5 mix where each alone would hardly move;
6. the size of the set with s integrated out and the coefficients explicit, then s afresh, with the
   row weights of a logistic model and the noise of a regression.
"""

import numpy as np

from bayeskernels.samplers.active_sets.active_set_chain import ActiveSetChain
from bayeskernels.samplers.active_sets.columns import ActiveColumns, prepare, rebuild
from bayeskernels.samplers.active_sets.links.identity import GaussianTargets
from bayeskernels.samplers.active_sets.links.logistic import LogisticLabels
from bayeskernels.samplers.active_sets.links.probit import probit_labels
from bayeskernels.samplers.active_sets.links.row_weights import reweigh
from bayeskernels.samplers.active_sets.moves import move_points, move_window
from bayeskernels.samplers.active_sets.updates import (
    activate_points,
    finish_sweep,
    log_likelihood,
    renew,
)

__all__ = ["ActiveSetSampler"]


class ActiveSetSampler(ActiveSetChain):
    """Chain of a sparse generalized kernel model.

    Parameters
    ----------
    columns : callable
        ``columns(points)`` gives the kernel columns of points as rows, shape (len(points), n);
        ``columns(points, theta)`` where the kernel has hyperparameters.
    diagonal : array of shape (n,), or callable
        Kernel values of the points with themselves, or a function of theta.
    response : array of bool of shape (n,), LogisticLabels or GaussianTargets
        What was observed; an array holds the labels of a probit model.
    max_active : int
    theta : array of shape (q,), optional
        Hyperparameters of the kernel to begin with, where it has any.
    kernel_move : KernelMove, optional
        How to move them; without it they stay.
    **options
        Priors and moves:
        see :class:`~bayeskernels.samplers.active_sets.active_set_chain.ActiveSetChain`.

    Attributes
    ----------
    active : ActiveColumns
    s : array of shape (n,)
        Working response, times the row weights.
    f : array of shape (n,)
        Predictor.
    weights : array of shape (n,) or None
        Row weights; None in a probit model, where they are one.
    u, g, eta : float
    z : array of shape (k,)
        Whitened coefficients.
    theta : array of shape (q,) or None
    """

    rebuild_every = 25
    births_ahead = 64
    move_points = staticmethod(move_points)
    move_window = staticmethod(move_window)

    def __init__(
        self, columns, diagonal, response, max_active, *, theta=None, kernel_move=None, **options
    ):
        self.theta = None if theta is None else np.array(theta, dtype=np.float64)
        self.kernel_move = kernel_move
        self._columns, self._diagonal = columns, diagonal
        self.carried = (*self.carried, "theta")
        if isinstance(response, LogisticLabels):
            self._weights = response.weights
        elif isinstance(response, GaussianTargets):
            self._weights = np.full(len(response.values), 1.0 / response.noise[0])
            self.carried = (*self.carried, "noise")
        else:
            response = probit_labels(response)
            self._weights = None
        self.response = response
        if self.weights is not None:
            self.carried = (*self.carried, "weights")
        n = len(response) if self.weights is None else len(self.weights)
        super().__init__((n,), max_active, **options)

    @property
    def weights(self):
        """Row weights; the data of a link may share them, so they are written in place."""
        return self._weights

    @weights.setter
    def weights(self, values):
        self._weights[:] = values

    def columns(self, points, theta=None):
        """Kernel columns as the algebra needs them: times the row weights of both points."""
        if self.theta is None:
            rows = self._columns(points)
        else:
            rows = self._columns(points, self.theta if theta is None else theta)
        if self.weights is not None:
            rows = rows * self.weights * self.weights[points][:, None]
        return np.ascontiguousarray(rows)

    def diagonal(self, theta=None):
        """Kernel values of all points with themselves, times the squared row weights."""
        values = self._diagonal
        if callable(values):
            values = values(self.theta if theta is None else theta)
        values = np.ascontiguousarray(values, dtype=np.float64)
        return values if self.weights is None else values * self.weights**2

    def place(self, points, u, beta, g, eta, rng):
        """Set the chain down at given active points.

        Parameters
        ----------
        points : array of int, shape (k,)
        u : float
        beta : array of shape (k,) or None
            Coefficients of the points; None stands for zeros.
        g, eta : float
        rng : numpy.random.Generator
            For the working response.
        """
        n, points = self.n, self._begin(points)
        self.active = ActiveColumns.empty(n, self.max_active)
        self.g, self.eta, self.u = float(g), float(eta), float(u)
        beta = np.zeros(len(points)) if beta is None else np.asarray(beta)
        self.f = np.full(n, self.u)
        if len(points):
            # With weights of one these are the kernel columns themselves.
            if self.weights is not None:
                self.weights = 1.0
            self.f += beta @ self.columns(points)
        self.s = np.empty(n)
        self.renew(rng)
        prepare(self.active, self.s, self.g, self.eta)
        activate_points(self.active, points, self._columns_of(points), self.diagonal(), self.s)
        k = len(points)
        scaled = beta if self.weights is None else beta / self.weights[points]
        self.z = np.sqrt(self.g) * np.linalg.solve(self.active.T[:k, :k].T, scaled)

    @property
    def is_lasting(self):
        """Not where columns have the weights, or the kernel, of one sweep."""
        return self.weights is None and self.theta is None

    @property
    def is_stale(self):
        """Whether the response has to be drawn anew after g, or with the row weights."""
        return self.hyper[0] > 0.0 or self.weights is not None

    @property
    def link(self):
        """Precision of the coefficients, and the observations."""
        return self.g, self.response

    def _rebuild(self):
        rebuild(self.active, self.diagonal())

    def _prepare(self):
        prepare(self.active, self.s, self.g, self.eta)

    def _move_kernels(self, rng):
        if self.kernel_move is not None:
            self.kernel_move(self, rng)

    def _draw_coefficients(self, rng):
        scales = np.array([self.g, self.eta])
        self.u, self.z = finish_sweep(
            self.active, self.s, self.response, scales, self.hyper, self.f, rng
        )
        self.g, self.eta = scales.tolist()

    def renew(self, rng):
        """Draw working response, row weights and the parameters of the link given f."""
        if self.weights is None:
            renew(self.f, self.response, self.s, self.f, rng)
            return
        renew(self.f, self.response, self.s, self.weights, rng)
        reweigh(self.active, self.weights)

    def _open_window(self):
        z = np.zeros(self.max_active)
        z[: len(self.z)] = self.z
        return self.f if self.weights is None else self.f * self.weights, z

    def _close_window(self, f, z):
        self.z = z[: len(self.points)].copy()
        if self.weights is not None:
            self.f = f / self.weights

    @property
    def beta(self):
        """Coefficients of :attr:`points`."""
        k = int(self.active.size[0])
        if k == 0:
            return np.zeros(0)
        beta = self.active.T[:k, :k].T @ self.z / np.sqrt(self.g)
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
        """Log-probability of the observations at the present predictor."""
        return log_likelihood(self.f, self.response)
