"""What the chains of active sets share: sweeps, points drawn ahead, windows, their state."""

from copy import deepcopy

import numpy as np

from bayeskernels.distributions.active_set import log_size_weights
from bayeskernels.samplers.active_sets.moves import WINDOW

__all__ = ["ActiveSetChain", "Resumable", "move_probabilities", "share"]


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


class Resumable:
    """A chain that can be saved, and go on from there."""

    #: Names of everything that changes from sweep to sweep.
    carried: tuple[str, ...]

    @property
    def state(self):
        """All that changes from sweep to sweep."""
        return deepcopy({name: getattr(self, name) for name in self.carried})

    @state.setter
    def state(self, state):
        for name, value in deepcopy(state).items():
            setattr(self, name, value)


class ActiveSetChain(Resumable):
    """Sweeps over an active set, whatever columns a point brings with it.

    Columns and their algebra are the business of an *engine*: the compiled functions of a module
    ``columns`` and its neighbours ``moves`` and ``updates``. A subclass puts one engine behind this
    interface. It has to answer:

    - ``columns(points)`` and ``diagonal()``: kernel values as the engine needs them, of the shape
      ``column_shape`` for each point;
    - ``move_points`` and ``move_window``: the compiled moves of single points and of the size of
      the set, the latter with ``link``, two arguments that tell it of the observations;
    - ``_prepare()`` and ``_rebuild()``: bring inner products with the response up to date, and
      compute the columns from scratch, after ``rebuild_every`` sweeps;
    - ``_move_kernels(rng)``: move what is unknown of the kernels, given the response;
    - ``_draw_coefficients(rng)``: draw response, offset, coefficients and their precisions;
    - ``_open_window()`` and ``_close_window(f, z)``: predictor and coefficients as windows change
      them, and back;
    - ``renew(rng)``: draw the response given the predictor, and ``is_stale``, whether that is due
      after every sweep, not only after windows;
    - ``is_lasting``, whether columns of points that were drawn ahead are good for later sweeps, and
      ``births_ahead``, how many of these points to draw.

    Parameters
    ----------
    column_shape : tuple of int
        Shape of what one point brings; its last entry is n.
    max_active : int
    g_prior, eta_prior : tuple of float or None
        Shape and rate of the Gamma priors; None where the value is fixed. All kernels' precisions
        have the same prior.
    set_prior : tuple of float
        Parameters of the Beta prior of the share of active points.
    moves : array of shape (2, max_active + 1), optional
        From :func:`move_probabilities`.
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
    active : ActiveColumns or GroupedColumns
        The engine's columns.
    s, f : arrays of shape (n,) or (n, r)
        Working response and predictor.
    u, g, eta, z
        Offset, precisions and whitened coefficients.
    counts : array of int, shape (5, 2)
        Proposed and accepted moves since they were last set to zero: births, deaths, swaps,
        windows, and moves of kernels.
    """

    rebuild_every: int
    births_ahead: int
    is_lasting = True
    is_stale = False
    carried = (
        *("active", "s", "f", "u", "z", "g", "eta"),
        *("pool", "pool_columns", "used", "since_rebuild"),
    )

    def __init__(
        self,
        column_shape,
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
        self.column_shape, self.n = column_shape, column_shape[-1]
        self.max_active = max_active
        self.hyper = tuple(
            float(value) for prior in (g_prior, eta_prior) for value in (prior or (-1.0, -1.0))
        )
        self.log_prior = log_size_weights(self.n, max_active, *set_prior)
        self.moves = move_probabilities(self.n, max_active) if moves is None else moves
        self.proposals, self.windows, self.width = proposals, windows, min(width, self.n)
        self.is_sparse = is_sparse
        self.counts = np.zeros((5, 2), dtype=np.int64)

    def _begin(self, points):
        """Start at given active points, with no points drawn ahead."""
        if len(points) > self.max_active:
            raise ValueError(
                f"{len(points)} points are active at the start, at most {self.max_active} may be: "
                "the chain could never come back. Start with fewer, or raise max_active."
            )
        self._empty_pool()
        self.since_rebuild = 0
        return np.asarray(points, dtype=np.int64)

    def sweep(self, rng):
        """Make one sweep."""
        if self.since_rebuild >= self.rebuild_every:
            self._rebuild()
            self.since_rebuild = 0
        self.since_rebuild += 1
        self._prepare()
        if self.is_sparse:
            self._move(rng)
        self._move_kernels(rng)
        self._draw_coefficients(rng)
        has_windows = self.is_sparse and self.windows > 0
        if has_windows:
            self._move_windows(rng)
        if has_windows or self.is_stale:
            self.renew(rng)

    def _move(self, rng):
        """Births, deaths and swaps given the response."""
        birth, death = self.moves
        diagonal = self.diagonal()
        if not self.is_lasting:
            self._empty_pool()
        left = self.proposals
        while left:
            self.used, left = self.move_points(
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

    def _empty_pool(self):
        self.pool = np.empty(0, dtype=np.int64)
        self.pool_columns = self._columns_of(self.pool)
        self.used = 0

    def _new_pool(self, rng, left):
        """Draw points to be born, with their kernel columns; in a hurry where most are active.

        Where the pool lasts for this sweep only, no more than the moves that are left may need.
        """
        n = self.n
        inactive = max(n - len(self.points), 1)
        births = self.births_ahead if self.is_lasting else left
        size = int(min(np.ceil(births * n / inactive), 20 * n + 64))
        self.pool = rng.integers(n, size=size)
        self.pool_columns = self.columns(self.pool)
        self.used = 0

    def _columns_of(self, points):
        """Columns of points, of which there may be none."""
        return self.columns(points) if len(points) else np.empty((0, *self.column_shape))

    def _move_windows(self, rng):
        """Draw the size of the set afresh from windows, with the response integrated out."""
        f, z = self._open_window()
        diagonal = self.diagonal()
        for _ in range(self.windows):
            k = len(self.points)
            width = int(self.width ** rng.random())
            n_deaths = int(rng.random() * (width + 1))
            n_births = min(width - n_deaths, self.max_active - k)
            born = rng.choice(np.flatnonzero(~self.active.is_active), n_births, replace=False)
            has_changed = self.move_window(
                self.active,
                self.s,
                f,
                z,
                *self.link,
                born,
                self._columns_of(born),
                diagonal,
                min(n_deaths, k),
                self.log_prior,
                rng,
            )
            self.counts[WINDOW] += 1, has_changed
        self._close_window(f, z)

    @property
    def points(self):
        """Active points, in the order in which they came."""
        return self.active.points[: self.active.size[0]]
