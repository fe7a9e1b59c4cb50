r"""A chain of a sparse probit model under a power of its likelihood, without PyMC.

The target at power b is :math:`p_0(\theta) \exp(b E(\theta))`. As a rule :math:`p_0` is the prior
and E the log-likelihood. With *reference* distributions of g and eta, Gamma distributions too,
:math:`p_0` has those in place of their priors and E includes the log-ratio of the two: the priors
then move geometrically from the reference to the truth while b goes from 0 to 1, and nothing
changes at b = 1. The integral of :math:`p_0 e^E` is the evidence whatever the reference.
"""

from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from bayeskernels.compiled import JIT
from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_sets.columns.births import activate_without_response
from bayeskernels.samplers.active_sets.columns.proposal import new_proposal
from bayeskernels.samplers.active_sets.columns.state import ActiveColumns, clear
from bayeskernels.samplers.active_sets.forked_windows import (
    Fork,
    PoweredLabels,
    draw_inactive,
    draw_window,
    move_fork,
)
from bayeskernels.samplers.tempering.powered_coefficients import (
    ETA,
    OFFSET,
    G,
    log_likelihood,
    move_coefficients,
    move_precisions,
)

__all__ = ["PoweredChain", "PoweredState", "PoweredTarget"]

#: Whitened columns are computed from scratch after this many sweeps.
REBUILD_EVERY = 100


@dataclass(frozen=True)
class PoweredState:
    """Where a chain is, without what can be computed from it.

    Attributes
    ----------
    points : array of int, shape (k,)
        Active points.
    beta : array of shape (k,)
        Their coefficients.
    u, g, eta : float
    log_likelihood : float
    energy : float
        E, by which the power tilts.
    """

    points: np.ndarray
    beta: np.ndarray
    u: float
    g: float
    eta: float
    log_likelihood: float
    energy: float


class PoweredTarget:
    """Labels, kernel and priors; what all chains share, kernel columns included.

    Parameters
    ----------
    positive : array of bool, shape (n,)
        Labels.
    max_active : int
    gram : array of shape (n, n), optional
        Kernel matrix.
    columns : callable, optional
        In its place: ``columns(points)`` gives kernel columns as rows.
    diagonal : array of shape (n,), optional
        Kernel values of the points with themselves; needed with ``columns``.
    g_prior, eta_prior : tuple of float or float
        Shape and rate of the Gamma priors, or the fixed value.
    set_prior : tuple of float
        Parameters of the Beta prior of the share of active points.

    Attributes
    ----------
    references : tuple
        Shapes and rates of the references of g and eta: the priors, unless
        :meth:`with_references` says otherwise.
    """

    def __init__(
        self,
        positive,
        max_active,
        *,
        gram=None,
        columns=None,
        diagonal=None,
        g_prior=(2.0, 0.05),
        eta_prior=(0.5, 0.05),
        set_prior=(1.0, 1.0),
    ):
        self.positive = np.ascontiguousarray(positive, dtype=np.bool_)
        self.max_active = int(max_active)
        self.gram = None if gram is None else np.ascontiguousarray(gram, dtype=np.float64)
        self.columns = self.gram.__getitem__ if columns is None else columns
        diagonal = np.diag(self.gram) if diagonal is None else diagonal
        self.diagonal = np.ascontiguousarray(diagonal, dtype=np.float64)
        self.log_prior = log_size_weights(self.n, self.max_active, *set_prior)
        self.priors = self.references = (g_prior, eta_prior)

    @property
    def n(self):
        """Number of points."""
        return len(self.positive)

    def with_references(self, *references):
        """The same with other references of g and eta; a fixed value has none."""
        other = copy(self)
        other.references = tuple(
            reference if isinstance(prior, tuple) else prior
            for prior, reference in zip(self.priors, references, strict=True)
        )
        return other

    def hyper(self, power):
        """Shapes and rates at a power; -1 where the precision is fixed."""
        values = []
        for prior, reference in zip(self.priors, self.references, strict=True):
            if isinstance(prior, tuple):
                values += [r + power * (p - r) for p, r in zip(prior, reference, strict=True)]
            else:
                values += [-1.0, -1.0]
        return tuple(map(float, values))

    def energy(self, log_likelihood_value, g, eta):
        """Log-likelihood, with the log-ratio of priors to references."""
        total = log_likelihood_value
        for prior, reference, value in zip(self.priors, self.references, (g, eta), strict=True):
            if isinstance(prior, tuple) and prior != reference:
                total += _log_gamma_density(value, prior) - _log_gamma_density(value, reference)
        return float(total)


def _log_gamma_density(value, parameters):
    shape, rate = parameters
    return shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(value) - rate * value


class _Place(NamedTuple):
    """Where a chain is, changed in place: see the attributes of :class:`PoweredChain`."""

    active: ActiveColumns
    f: np.ndarray
    z: np.ndarray
    scalars: np.ndarray


class _Points(NamedTuple):
    """What all moves of the active set need of the target; the diagonal has the shape (1, n)."""

    positive: np.ndarray
    diagonal: np.ndarray
    log_prior: np.ndarray


@numba.njit(**JIT)
def _draw_change(active, width, rng):
    """A window of sizes, and the points that a move of the active set may bring in."""
    k = active.size[0]
    low, high, is_forked = draw_window(k, len(active.points), len(active.is_active), width, rng)
    wanted = high - k + (high - low if is_forked else 0)
    return (low, high, is_forked), draw_inactive(active.is_active, wanted, rng)


@numba.njit(**JIT)
def _change_set(place, points, power, window, born, columns, rows, rng, window_counts):
    """Move the active set; ``columns[rows[a], 0]`` is the kernel column of ``born[a]``."""
    active, f, z, scalars = place
    low, high, is_forked = window
    labels = PoweredLabels(points.positive, power, points.log_prior)
    fork = Fork(low, high, is_forked, born, columns, rows, points.diagonal)
    kind = move_fork(active, f, z.reshape(1, 1, len(z)), scalars[G], labels, fork, rng)
    window_counts[kind] += 1


@numba.njit(**JIT)
def _sweep(place, points, power, hyper, options, gram, rng, window_counts, counts):
    """Move the active set, where the kernel matrix is stored; then precisions and coefficients."""
    windows, width, steps, transports = options
    active, f, z, scalars = place
    positive = points.positive
    for _ in range(windows):
        window, born = _draw_change(active, width, rng)
        _change_set(place, points, power, window, born, gram, born, rng, window_counts)
    move_precisions(active, f, z, scalars, positive, power, hyper, rng)
    move_coefficients(active, f, z, scalars, positive, power, hyper, steps, transports, rng, counts)


@numba.njit(**JIT)
def _activate_all(state, points, columns, diagonal):
    proposal = new_proposal(state)
    for a in range(len(points)):
        activate_without_response(state, points[a], columns[a], diagonal, proposal)


class PoweredChain:
    """A chain whose power may change from sweep to sweep.

    Parameters
    ----------
    target : PoweredTarget
    windows, width, steps, transports : int
        As for :class:`bayeskernels.samplers.PowerTempering`.

    Attributes
    ----------
    active : ActiveColumns
    f : array of shape (n,)
        Predictor.
    z : array of shape (max_active,)
        Whitened coefficients; the first k are in use.
    scalars : array of shape (3,)
        g, eta and u.
    window_counts : array of int, shape (3,)
        Moves of the set that left it, changed its size, went across.
    counts : array of int, shape (2, 2)
        Proposed and accepted Crank-Nicolson steps, and transports.
    """

    def __init__(self, target, *, windows=3, width=48, steps=2, transports=1):
        self.target = target
        self.windows, self.width = windows, min(width, target.max_active)
        self.steps, self.transports = steps, transports
        self.window_counts = np.zeros(3, dtype=np.int64)
        self.counts = np.zeros((2, 2), dtype=np.int64)
        self.active = ActiveColumns.empty(target.n, target.max_active)
        self.z = np.zeros(target.max_active)
        self.f = np.zeros(target.n)
        self.scalars = np.ones(3)
        self.since_rebuild = 0

    def _clear(self, points):
        """Make exactly these points active."""
        clear(self.active)
        points = np.asarray(points, dtype=np.int64)
        if len(points):
            columns = self.target.columns(points)[:, None]
            _activate_all(self.active, points, columns, self.target.diagonal[None])
        self.since_rebuild = 0

    def _set_predictor(self):
        k = int(self.active.size[0])
        g, _, u = self.scalars
        self.f[:] = u + self.z[:k] @ self.active.V[0, :k] / np.sqrt(g)

    def draw_prior(self, rng):
        """Redraw everything from the target at power zero."""
        target = self.target
        for number, reference in enumerate(target.references):
            is_free = isinstance(reference, tuple)
            self.scalars[number] = (
                rng.gamma(reference[0], 1.0 / reference[1]) if is_free else reference
            )
        self.scalars[:2] = np.maximum(self.scalars[:2], np.finfo(float).tiny)
        self.scalars[OFFSET] = rng.standard_normal() / np.sqrt(self.scalars[ETA])
        n = target.n
        sizes = np.arange(target.max_active + 1)
        log_shares = target.log_prior + gammaln(n + 1) - gammaln(sizes + 1) - gammaln(n - sizes + 1)
        shares = np.exp(log_shares)
        k = int(rng.choice(len(sizes), p=shares / shares.sum()))
        self._clear(rng.choice(n, k, replace=False))
        self.z[:k] = rng.standard_normal(k)
        self._set_predictor()

    def sweep(self, power, rng):
        """Make one sweep at a power."""
        target = self.target
        if self.since_rebuild >= REBUILD_EVERY:
            self.place(self.state)
        self.since_rebuild += 1
        place = _Place(self.active, self.f, self.z, self.scalars)
        points = _Points(target.positive, target.diagonal[None], target.log_prior)
        gram, windows = target.gram, self.windows
        if gram is None:
            for _ in range(windows):
                window, born = _draw_change(self.active, self.width, rng)
                columns = target.columns(born) if len(born) else np.empty((0, target.n))
                given = power, window, born, columns[:, None], np.arange(len(born))
                _change_set(place, points, *given, rng, self.window_counts)
            gram, windows = np.empty((0, target.n)), 0
        options = windows, self.width, self.steps, self.transports
        given = power, target.hyper(power), options, gram[:, None]
        _sweep(place, points, *given, rng, self.window_counts, self.counts)

    @property
    def points(self):
        """Active points."""
        return self.active.points[: self.active.size[0]]

    @property
    def beta(self):
        """Their coefficients."""
        k = int(self.active.size[0])
        return self.active.T[0, :k, :k].T @ self.z[:k] / np.sqrt(self.scalars[G])

    @property
    def log_likelihood(self):
        """Log-probability of the labels."""
        return log_likelihood(self.f, self.f, 0.0, self.target.positive)

    @property
    def energy(self):
        """E at the present place."""
        return self.target.energy(self.log_likelihood, *self.scalars[:2])

    @property
    def state(self):
        """Where the chain is; :meth:`place` takes it there again."""
        g, eta, u = self.scalars.tolist()
        likelihood = self.log_likelihood
        energy = self.target.energy(likelihood, g, eta)
        return PoweredState(self.points.copy(), self.beta, u, g, eta, likelihood, energy)

    def place(self, where):
        """Set the chain down somewhere."""
        self._clear(where.points)
        self.scalars[:] = where.g, where.eta, where.u
        k = len(where.points)
        if k:
            # T is triangular after births only.
            factor = np.ascontiguousarray(self.active.T[0, :k, :k])
            self.z[:k] = np.sqrt(where.g) * solve_triangular(
                factor, where.beta, trans=1, lower=True
            )
        self._set_predictor()
