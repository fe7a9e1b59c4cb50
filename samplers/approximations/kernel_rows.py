"""Rows of a Gram matrix too large to be stored: computed in batches, kept while they fit."""

from dataclasses import dataclass

import numpy as np

from bayeskernels.kernels.argument import CallableKernel, GramKernel
from bayeskernels.kernels.gram import check_diagonal, check_gram

__all__ = ["KernelRows", "MemoryPlan", "RowCache", "plan_memory"]

#: Rows that are computed together: past this the matrix product gets no faster by row.
BATCH_ROWS = 128

#: Arrays of the size of a batch that exist at once while a kernel is evaluated.
COPIES_OF_BATCH = 4

#: Bytes per point of a perceptron at work: outputs in double precision and counts alpha.
BYTES_BY_POINT = 12

#: Share of the cache that is emptied when it is full; choosing what to drop costs a pass over it.
DROPPED_SHARE = 1 / 32


class KernelRows:
    r"""Rows of a Gram matrix, computed when they are asked for.

    Parameters
    ----------
    kernel : Kernel
        With fixed hyperparameters.
    X : array of shape (m, p)
        Training inputs; not used with a precomputed kernel.
    softness : float
        The lambda of the paper's equation (27): the diagonal is multiplied by 1 + softness.
    dtype : {"float64", "float32"}
        Precision of the rows. A function k(X, Z) is called with arrays of this precision; a
        covariance function of PyMC computes in double precision, and is rounded afterwards.

    Attributes
    ----------
    X : array of shape (m, p)
        Inputs in the precision in which the kernel is called.
    diagonal : array of shape (m,)
        Kernel values of the points with themselves, softness included.

    Examples
    --------
    >>> from bayeskernels.kernels.argument import as_kernel
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> rows = KernelRows(as_kernel(lambda X, Z: X @ Z.T, X), X, softness=0.5)
    >>> rows.compute([2, 1]).tolist()
    [[1.0, 2.0, 3.0], [0.0, 6.0, 2.0]]
    """

    def __init__(self, kernel, X, *, softness=0.0, dtype="float64"):
        self.kernel = kernel
        self.dtype = np.dtype(dtype)
        if kernel.is_random:
            raise TypeError(
                "The kernel has random hyperparameters: perceptrons need one with fixed values."
            )
        if isinstance(kernel, GramKernel):
            check_gram(kernel.values)
            X = kernel.values
        elif isinstance(kernel, CallableKernel):
            X = np.ascontiguousarray(X, dtype=self.dtype)
        self.X = X
        diagonal = self._plain_diagonal()
        check_diagonal(diagonal)
        if (diagonal <= 0).any():
            point = int(np.argmin(diagonal))
            raise ValueError(
                f"Point {point} has a zero feature vector (k(x, x) = 0), so every classifier errs "
                "on it. Drop it or use bias > 0."
            )
        self.diagonal = diagonal * (1.0 + softness)

    def __len__(self):
        return len(self.X)

    @property
    def nbytes(self):
        """Size of the inputs."""
        return self.X.nbytes

    @property
    def in_threads(self):
        """Whether several threads may compute rows at once; PyTensor's functions may not."""
        return isinstance(self.kernel, CallableKernel)

    def _plain_diagonal(self):
        if isinstance(self.kernel, GramKernel):
            return np.diag(self.kernel.values) + self.kernel.bias
        if not isinstance(self.kernel, CallableKernel):
            return np.asarray(self.kernel.diagonal(self.X), dtype=np.float64)
        # Small square blocks: one call per point would take seconds, one for all points the memory.
        blocks = np.array_split(self.X, -(-len(self.X) // 64))
        parts = [np.diag(self._values(block, block)) for block in blocks]
        return np.concatenate(parts).astype(np.float64)

    def _values(self, X, Z):
        """Values of a function given by the user, in its own precision."""
        values = np.asarray(self.kernel.function(X, Z))
        if values.shape != (len(X), len(Z)):
            raise ValueError(
                f"kernel(X, Z) must have the shape {(len(X), len(Z))}, got {values.shape}."
            )
        return values + values.dtype.type(self.kernel.bias) if self.kernel.bias else values

    def compute(self, points):
        """Rows of the given points, shape (len(points), m)."""
        points = np.asarray(points)
        # One row alone would be a matrix-vector product, which BLAS rounds otherwise than the same
        # row within a product: what is learnt would depend on the size of the cache.
        asked = points if len(points) > 1 else np.repeat(points, 2)
        if isinstance(self.kernel, GramKernel):
            values = self.kernel.values[asked] + self.kernel.bias
        elif isinstance(self.kernel, CallableKernel):
            values = self._values(self.X[asked], self.X)
        else:
            values = self.kernel(self.X[asked], self.X)
        values = values[: len(points)].astype(self.dtype, copy=False)
        if not np.isfinite(values).all():
            raise ValueError(
                "The kernel gave values that are not finite"
                f"{' in single precision' if self.dtype == np.float32 else ''}. "
                'Scale the inputs, or use dtype="float64".'
            )
        # A point's value with itself may differ from that with an equal point, as white noise does.
        values[np.arange(len(points)), points] = self.diagonal[points]
        return values


@dataclass(frozen=True)
class MemoryPlan:
    """How a memory limit is shared out.

    Attributes
    ----------
    n_active : int
        Perceptrons that learn at the same time; the others follow as these finish.
    n_slots : int
        Rows that the cache holds.
    batch_rows : int
        Rows that are computed together.
    nbytes : int
        All of it, with the inputs and the permutations.
    """

    n_active: int
    n_slots: int
    batch_rows: int
    nbytes: int


def plan_memory(memory_limit, *, n_points, n_perceptrons, held, itemsize) -> MemoryPlan:
    """Share a memory limit out to perceptrons at work, a batch of rows and the cache.

    All in bytes: ``held`` is needed in any case, for inputs and permutations, and ``itemsize`` for
    a kernel value in the cache.

    Examples
    --------
    >>> plan = plan_memory(2**30, n_points=10_000, n_perceptrons=100, held=2**26, itemsize=4)
    >>> plan.n_active, plan.n_slots, plan.batch_rows
    (100, 10000, 128)
    """
    by_perceptron = BYTES_BY_POINT * n_points
    by_row = itemsize * n_points
    by_batch_row = COPIES_OF_BATCH * 8 * n_points
    smallest = held + by_perceptron + 2 * (by_row + by_batch_row)
    if memory_limit < smallest:
        raise ValueError(
            f"A memory limit of {memory_limit} bytes is too small for {n_points} points: inputs, "
            f"permutations, one perceptron and two rows take {smallest}."
        )
    free = memory_limit - held
    n_active = int(np.clip(free // 4 // by_perceptron, 1, n_perceptrons))
    batch_rows = int(np.clip(free // 8 // by_batch_row, 2, min(BATCH_ROWS, max(2, n_points))))
    left = free - n_active * by_perceptron - batch_rows * by_batch_row
    n_slots = int(min(left // by_row, n_points))
    if n_slots < 1:
        # So little that shares do not come out even: one perceptron after the other, row by row.
        n_active, batch_rows = 1, 2
        n_slots = int(min((memory_limit - smallest) // by_row + 2, n_points))
    nbytes = held + n_active * by_perceptron + batch_rows * by_batch_row + n_slots * by_row
    return MemoryPlan(n_active, n_slots, batch_rows, nbytes)


class RowCache:
    """Rows of the Gram matrix that are kept, as many as there are slots.

    When it is full it drops the rows of the points on which the fewest perceptrons err at present,
    since those that err will ask for the row when they come by; among equals it drops those that
    were used least often.

    Attributes
    ----------
    rows : array of shape (n_slots, m)
    slot_of : array of int, shape (m,)
        Where the row of each point is; -1 where it is not here.

    Examples
    --------
    >>> cache = RowCache(2, 3, np.float64)
    >>> wanted, uses = np.array([5, 0, 0]), np.zeros(3)
    >>> cache.insert([0, 1], np.eye(3)[:2], lambda: (wanted, uses))
    >>> cache.insert([2], np.eye(3)[2:], lambda: (wanted, uses))
    >>> (cache.slot_of >= 0).tolist()
    [True, False, True]
    """

    def __init__(self, n_slots, n_points, dtype):
        self.rows = np.empty((n_slots, n_points), dtype=dtype)
        self.slot_of = np.full(n_points, -1, dtype=np.int32)
        self._point_in = np.full(n_slots, -1, dtype=np.int64)
        self._free = list(range(n_slots))[::-1]

    def insert(self, points, rows, demand):
        """Keep rows of points that have none here, at most as many as there are slots.

        ``demand`` is called only where rows must be dropped. It returns by point how many
        perceptrons err on it now and how often its row was used.
        """
        if len(points) > len(self._free):
            self._drop(len(points) - len(self._free), *demand())
        slots = np.array([self._free.pop() for _ in points], dtype=np.int64)
        self.rows[slots] = rows
        self.slot_of[points] = slots
        self._point_in[slots] = points

    def _drop(self, n_needed, wanted, uses):
        held = np.flatnonzero(self._point_in >= 0)
        points = self._point_in[held]
        n_dropped = min(max(n_needed, int(len(self.rows) * DROPPED_SHARE)), len(held))
        slots = held[np.lexsort((uses[points], wanted[points]))[:n_dropped]]
        self.slot_of[self._point_in[slots]] = -1
        self._point_in[slots] = -1
        self._free.extend(slots.tolist())
