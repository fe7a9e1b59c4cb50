r"""Radial basis functions with centres and metrics of their own, and their derivatives.

A unit is :math:`\phi(x) = \exp(-\tfrac12 (x - c)^T D (x - c))` with a positive definite metric D.
As the lecture says (LEC, part 1), gradient steps on D can make it indefinite; on its Cholesky
factor L, with :math:`D = L L^T` and the logarithms of L's diagonal as parameters, they cannot.
"""

from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
import scipy

__all__ = ["ADAPTATIONS", "RBFUnits", "UnitParameters", "as_units", "box_of", "lower_factor"]

#: What may be adapted: the steps of the lecture's ladder.
ADAPTATIONS = ("none", "centers", "metric", "all")

#: An optimiser may not move the logarithm of a scale further from its start, so that nothing
#: overflows.
LOG_BOUND = 15.0

#: Largest size of all metrics together: those of ten units of 1,800 columns.
MAX_METRIC_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class RBFUnits:
    """Gaussian units.

    Attributes
    ----------
    centers : array of shape (M, p)
    factors : array of shape (M, p, p)
        Lower triangular Cholesky factors of the metrics.
    """

    centers: np.ndarray = field(repr=False)
    factors: np.ndarray = field(repr=False)

    @property
    def metrics(self):
        """The metrics D = L L', shape (M, p, p)."""
        return self.factors @ np.swapaxes(self.factors, 1, 2)

    def __len__(self):
        return len(self.centers)

    def __call__(self, X):
        """Outputs of the units at inputs (n, p): shape (n, M)."""
        return self.parts(X)[2]

    def moved(self, shift, scale):
        """The units for inputs (x - shift) / scale, with the same outputs."""
        return RBFUnits((self.centers - shift) / scale, self.factors * scale)

    def parts(self, X):
        """Differences x - c, the same in the coordinates L'(x - c), and the outputs."""
        differences = X[:, None, :] - self.centers
        scaled = np.einsum("nmi,mij->nmj", differences, self.factors)
        return differences, scaled, np.exp(-0.5 * np.sum(scaled**2, axis=2))


def lower_factor(log_scale, shear):
    """Cholesky factors (..., p, p) from logarithms of their diagonals and from what lies below.

    The first have the shape (..., p), the second (..., p (p - 1) / 2).
    """
    p = log_scale.shape[-1]
    factors = np.zeros((*log_scale.shape, p))
    rows, columns = np.tril_indices(p, -1)
    factors[..., rows, columns] = shear
    factors[..., np.arange(p), np.arange(p)] = np.exp(log_scale)
    return factors


class UnitParameters:
    """Units as a function of one vector theta, with the derivatives of their outputs.

    The scales of a metric stay within a factor of e^15 of those at the start: beyond, outputs do
    not change, and their derivatives are zero.

    Parameters
    ----------
    start : RBFUnits
        What is not adapted stays as it is there.
    adapt : {"none", "centers", "metric", "all"}
    shared : bool
        Whether all units have the same metric.
    """

    def __init__(self, start, adapt, *, shared=False):
        self.start = start
        self.moves_centers = adapt in ("centers", "all")
        self.moves_metric = adapt in ("metric", "all")
        self.shared = shared
        self.m, self.p = start.centers.shape
        self._below = np.tril_indices(self.p, -1)
        logs = np.log(_diagonals(start.factors[:1] if shared else start.factors))
        self._lowest, self._highest = logs - LOG_BOUND, logs + LOG_BOUND

    @property
    def initial(self):
        """The vector theta of the start."""
        return self.at(self.start)

    def at(self, units):
        """The vector theta of given units, as far as they are adapted."""
        parts = []
        if self.moves_centers:
            parts.append(units.centers.ravel())
        if self.moves_metric:
            factors = units.factors[:1] if self.shared else units.factors
            diagonal = np.log(_diagonals(factors))
            below = factors[:, self._below[0], self._below[1]]
            parts.append(np.hstack([diagonal, below]).ravel())
        return np.concatenate(parts) if parts else np.empty(0)

    def units(self, theta):
        """Units at a vector theta."""
        centers, factors = self.start.centers, self.start.factors
        used = 0
        if self.moves_centers:
            used = self.m * self.p
            centers = theta[:used].reshape(self.m, self.p)
        if self.moves_metric:
            rest = theta[used:].reshape(1 if self.shared else self.m, -1)
            log_scale = np.clip(rest[:, : self.p], self._lowest, self._highest)
            factors = lower_factor(log_scale, rest[:, self.p :])
            factors = np.broadcast_to(factors, (self.m, self.p, self.p))
        return RBFUnits(centers, factors)

    def derivatives(self, units, X):
        """Derivatives of the outputs at X (n, p), as if every unit had parameters of its own.

        Two arrays: derivatives (n, k), of the output of one unit each, and which unit, shape (k,).
        """
        differences, scaled, outputs = units.parts(X)
        parts = []
        if self.moves_centers:
            parts.append(outputs[..., None] * np.einsum("mij,nmj->nmi", units.factors, scaled))
        if self.moves_metric:
            rows = np.concatenate([np.arange(self.p), self._below[0]])
            columns = np.concatenate([np.arange(self.p), self._below[1]])
            by_entry = -outputs[..., None] * differences[..., rows] * scaled[..., columns]
            # By the logarithm of a diagonal entry, where it is free to move.
            diagonals = _diagonals(units.factors)
            logs = np.log(diagonals)
            is_free = (logs > self._lowest + 1e-9) & (logs < self._highest - 1e-9)
            by_entry[..., : self.p] *= diagonals * is_free
            parts.append(by_entry)
        which = [np.repeat(np.arange(self.m), part.shape[2]) for part in parts]
        return np.hstack([part.reshape(len(X), -1) for part in parts]), np.concatenate(which)

    def gather(self, by_unit):
        """Add up the columns of what belongs to a metric that all units share."""
        if not (self.shared and self.moves_metric):
            return by_unit
        used = self.m * self.p if self.moves_centers else 0
        metric = by_unit[..., used:].reshape(*by_unit.shape[:-1], self.m, -1).sum(axis=-2)
        return np.concatenate([by_unit[..., :used], metric], axis=-1)


def _diagonals(factors):
    return np.diagonal(factors, axis1=1, axis2=2)


def box_of(X):
    """Shift (p,) and scale with which (X - shift) / scale lies in [-2, 2], and touches its ends."""
    low, high = X.min(axis=0), X.max(axis=0)
    # Inputs that are all the same have no scale.
    return low + (high - low) / 2.0, float((high - low).max()) / 4.0 or 1.0


def as_units(X, centers, width) -> RBFUnits:
    """Interpret the arguments ``centers`` and ``width``.

    Parameters
    ----------
    X : array of shape (n, p)
    centers : int, array of shape (M, p), or RBFUnits
        A number stands for so many centres by k-means; units are taken as they are.
    width : float or None
        Standard deviation of a unit; by default the mean distance of a centre to its nearest
        neighbour.
    """
    if isinstance(centers, RBFUnits):
        if width is not None:
            raise ValueError("Units have metrics already: leave width out.")
        if centers.centers.shape[1] != X.shape[1]:
            raise ValueError(
                f"The units have {centers.centers.shape[1]} columns, X has {X.shape[1]}."
            )
        return centers
    if isinstance(centers, Integral) and not isinstance(centers, bool):
        n_distinct = len(np.unique(X, axis=0))
        if not 1 <= centers <= n_distinct:
            raise ValueError(
                f"centers must be between 1 and the number of different inputs, {n_distinct}; got "
                f"{centers}."
            )
        _refuse_many_columns(int(centers), X.shape[1])
        means = _cluster_means(X, int(centers))
        centers = means[np.lexsort(means.T[::-1])]
    else:
        try:
            centers = np.asarray(centers, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"centers must be a number, an array of the shape (M, {X.shape[1]}) or RBFUnits, "
                f"got {centers!r}."
            ) from error
        if centers.ndim != 2 or centers.shape[1] != X.shape[1] or len(centers) == 0:
            raise ValueError(
                f"centers must be a number or an array of the shape (M, {X.shape[1]}), got the "
                f"shape {centers.shape}."
            )
        if not np.isfinite(centers).all():
            raise ValueError("centers must be finite.")
        _refuse_many_columns(*centers.shape)
    if width is None:
        width = _neighbour_distance(centers, X)
    elif isinstance(width, bool) or not isinstance(width, Real) or not 0 < width < np.inf:
        raise ValueError(f"width must be a positive number, got {width!r}.")
    p = X.shape[1]
    factors = np.broadcast_to(np.eye(p) / width, (len(centers), p, p)).copy()
    return RBFUnits(centers, factors)


def _refuse_many_columns(m, p):
    """Refuse what would fill the memory with metrics, and never return."""
    if 8 * m * p**2 > MAX_METRIC_BYTES:
        raise ValueError(
            f"X has {p} columns: the metric of a unit has a number for each pair of them, and "
            f"those of {m} units take {8 * m * p**2 / 2**30:.2g} GiB. Use fewer columns (principal "
            "components, say), fewer units, or bk.models.gp_regression, whose kernel needs none."
        )


def _cluster_means(X, k):
    from sklearn.cluster import KMeans

    shift, scale = box_of(X)
    # Points of a regular grid lie halfway between two means: without the last bits, which depend on
    # the units of measurement, they always fall to the same one.
    rounded = np.round((X - shift) / scale, 12)
    labels = KMeans(k, n_init=4, random_state=0).fit(rounded).labels_
    return np.array([X[labels == j].mean(axis=0) for j in range(k)])


def _neighbour_distance(centers, X):
    distances = scipy.spatial.distance.cdist(centers, centers)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(axis=1)
    usable = nearest[np.isfinite(nearest) & (nearest > 0)]
    return float(usable.mean()) if len(usable) else float(X.std()) or 1.0
