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

from copy import deepcopy

import numpy as np

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_sets.columns import ActiveColumns, prepare, rebuild
from bayeskernels.samplers.active_sets.links.identity import GaussianTargets
from bayeskernels.samplers.active_sets.links.logistic import LogisticLabels
from bayeskernels.samplers.active_sets.links.probit import probit_labels
from bayeskernels.samplers.active_sets.links.row_weights import reweigh
from bayeskernels.samplers.active_sets.moves import WINDOW, move_points, move_window
from bayeskernels.samplers.active_sets.updates import (
    activate_points,
    finish_sweep,
    log_likelihood,
    renew,
)

__all__ = ["ActiveSetSampler", "move_probabilities", "share"]

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


def share(counts):
    """Accepted of the proposed moves; NaN where none was proposed."""
    proposed, accepted = counts.tolist()
    return accepted / proposed if proposed else np.nan


class ActiveSetSampler:
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
    is_sparse : bool
        False keeps the active points as they are.
    theta : array of shape (q,), optional
        Hyperparameters of the kernel to begin with, where it has any.
    kernel_move : KernelMove, optional
        How to move them; without it they stay.

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
    counts : array of int, shape (5, 2)
        Proposed and accepted moves since they were last set to zero; in the last row evaluations of
        the density of the kernel's hyperparameters, and their moves.
    """

    def __init__(
        self,
        columns,
        diagonal,
        response,
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
        theta=None,
        kernel_move=None,
    ):
        self.theta = None if theta is None else np.array(theta, dtype=np.float64)
        self.kernel_move = kernel_move
        self._columns, self._diagonal = columns, diagonal
        if isinstance(response, LogisticLabels):
            self.weights = response.weights
        elif isinstance(response, GaussianTargets):
            self.weights = np.full(len(response.values), 1.0 / response.noise[0])
        else:
            response = probit_labels(response)
            self.weights = None
        self.response = response
        self.n = n = len(response) if self.weights is None else len(self.weights)
        self.max_active = max_active
        self.hyper = tuple(
            value for prior in (g_prior, eta_prior) for value in (prior or (-1.0, -1.0))
        )
        self.log_prior = log_size_weights(n, max_active, *set_prior)
        self.moves = move_probabilities(n, max_active) if moves is None else moves
        self.proposals, self.windows, self.width = proposals, windows, min(width, n)
        self.is_sparse = is_sparse
        self.counts = np.zeros((5, 2), dtype=np.int64)

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
        n = self.n
        if len(points) > self.max_active:
            raise ValueError(
                f"{len(points)} points are active at the start, at most {self.max_active} may be: "
                "the chain could never come back. Start with fewer, or raise max_active."
            )
        self.active = ActiveColumns.empty(n, self.max_active)
        self.g, self.eta, self.u = float(g), float(eta), float(u)
        points = np.asarray(points, dtype=np.int64)
        beta = np.zeros(len(points)) if beta is None else np.asarray(beta)
        self.f = np.full(n, self.u)
        if len(points):
            # With weights of one these are the kernel columns themselves.
            if self.weights is not None:
                self.weights[:] = 1.0
            self.f += beta @ self.columns(points)
        self.s = np.empty(n)
        self._renew(rng)
        rows = self.columns(points) if len(points) else np.empty((0, n))
        prepare(self.active, self.s, self.g, self.eta)
        activate_points(self.active, points, rows, self.diagonal(), self.s)
        k = len(points)
        scaled = beta if self.weights is None else beta / self.weights[points]
        self.z = np.sqrt(self.g) * np.linalg.solve(self.active.T[:k, :k].T, scaled)
        self._empty_pool()
        self.since_rebuild = 0

    def _empty_pool(self):
        self.pool = np.empty(0, dtype=np.int64)
        self.pool_columns = np.empty((0, self.n))
        self.used = 0

    def sweep(self, rng):
        """Make one sweep."""
        if self.since_rebuild >= REBUILD_EVERY:
            rebuild(self.active, self.diagonal())
            self.since_rebuild = 0
        self.since_rebuild += 1
        prepare(self.active, self.s, self.g, self.eta)
        if self.is_sparse:
            self._move(rng)
        if self.kernel_move is not None:
            self.kernel_move(self, rng)
        scales = np.array([self.g, self.eta])
        self.u, self.z = finish_sweep(
            self.active, self.s, self.response, scales, self.hyper, self.f, rng
        )
        self.g, self.eta = scales.tolist()
        has_windows = self.is_sparse and self.windows > 0
        if has_windows:
            self._move_windows(rng)
        if has_windows or self.hyper[0] > 0.0 or self.weights is not None:
            self._renew(rng)

    def refresh(self, rng):
        """Take note of a parameter of the link that was set from outside."""
        self._renew(rng)

    def _renew(self, rng):
        """Draw working response, row weights and the parameters of the link given f."""
        if self.weights is None:
            renew(self.f, self.response, self.s, self.f, rng)
            return
        renew(self.f, self.response, self.s, self.weights, rng)
        reweigh(self.active, self.weights)

    def _move_windows(self, rng):
        z = np.zeros(self.max_active)
        z[: len(self.z)] = self.z
        diagonal = self.diagonal()
        f = self.f if self.weights is None else self.f * self.weights
        for _ in range(self.windows):
            k = int(self.active.size[0])
            width = int(self.width ** rng.random())
            n_deaths = int(rng.random() * (width + 1))
            n_births = min(width - n_deaths, self.max_active - k)
            born = rng.choice(np.flatnonzero(~self.active.is_active), n_births, replace=False)
            columns = self.columns(born) if n_births else np.empty((0, self.n))
            has_changed = move_window(
                self.active,
                self.s,
                f,
                z,
                self.g,
                self.response,
                born,
                columns,
                diagonal,
                min(n_deaths, k),
                self.log_prior,
                rng,
            )
            self.counts[WINDOW] += 1, has_changed
        self.z = z[: self.active.size[0]].copy()
        if self.weights is not None:
            self.f = f / self.weights

    def _move(self, rng):
        birth, death = self.moves
        diagonal = self.diagonal()
        if self.weights is not None or self.theta is not None:
            # Columns with the weights, or the kernel, of another sweep.
            self._empty_pool()
        left = self.proposals
        while left:
            self.used, left = move_points(
                self.active,
                self.s,
                self.pool,
                self.pool_columns,
                diagonal,
                self.used,
                birth,
                death,
                self.log_prior,
                left,
                rng,
                self.counts,
            )
            if left:
                self._new_pool(rng, left)

    def _new_pool(self, rng, left):
        """Draw points to be born, with their kernel columns; in a hurry where most are active.

        Where the pool lasts for this sweep only, no more than the moves that are left may need.
        """
        n = self.n
        inactive = max(n - int(self.active.size[0]), 1)
        is_lasting = self.weights is None and self.theta is None
        size = int(min(np.ceil((64 if is_lasting else left) * n / inactive), 20 * n + 64))
        self.pool = rng.integers(n, size=size)
        self.pool_columns = self.columns(self.pool)
        self.used = 0

    @property
    def points(self):
        """Active points, in the order in which they came."""
        return self.active.points[: self.active.size[0]]

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

    _carried = (
        "s",
        "f",
        "u",
        "z",
        "g",
        "eta",
        "theta",
        "pool",
        "pool_columns",
        "used",
        "since_rebuild",
    )

    @property
    def state(self):
        """All that changes from sweep to sweep."""
        values = {name: getattr(self, name) for name in self._carried}
        if self.weights is not None:
            values["weights"] = self.weights
        if isinstance(self.response, GaussianTargets):
            values["noise"] = self.noise
        return deepcopy(values | {"active": tuple(self.active)})

    @state.setter
    def state(self, values):
        values = deepcopy(values)
        self.active = ActiveColumns(*values.pop("active"))
        if "weights" in values:
            # In place: the data of a link may share them.
            self.weights[:] = values.pop("weights")
        for name, value in values.items():
            setattr(self, name, value)
