"""What is found out about a move of active points before it is accepted, so that it is kept."""

from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT

__all__ = ["Proposal", "eliminate", "factorise", "new_proposal"]


class Proposal(NamedTuple):
    """What is known of the point that may be born, and of one that may die in its place.

    ``n_rows`` and ``width`` are those of the state.

    Attributes
    ----------
    is_swap : array of bool, shape (1,)
        Whether a point dies at the same time as one is born.
    t : array of shape (q, n_rows)
        Unit vectors, in V's coordinates, that only this point needs.
    x : array of shape (q, width)
        The inverse of M times t, each kernel's made independent of those before it.
    shares : array of shape (q,)
        Schur complements that belong to x.
    v : array of shape (q, n)
        Whitened columns of the point that may be born.
    is_whitened : array of bool, shape (1,)
        Whether v has been computed.
    c : array of shape (q, n_rows)
        Its coordinates in V.
    pivots : array of shape (q,)
        Lengths of its columns outside of the span of V.
    m : array of shape (q, width)
        Inner products of v with (1, V).
    own : array of shape (q, q)
        Inner products of v with itself.
    with_s : array of shape (q, r)
        Inner products of v with the responses.
    new : array of shape (q, width)
        New columns of M.
    row : array of shape (q, width)
        The inverse of M times these, each kernel's made independent of those before it.
    unit : array of shape (q, q)
        What made them independent.
    schurs : array of shape (q,)
        Schur complements that belong to them.
    """

    is_swap: np.ndarray
    t: np.ndarray
    x: np.ndarray
    shares: np.ndarray
    v: np.ndarray
    is_whitened: np.ndarray
    c: np.ndarray
    pivots: np.ndarray
    m: np.ndarray
    own: np.ndarray
    with_s: np.ndarray
    new: np.ndarray
    row: np.ndarray
    unit: np.ndarray
    schurs: np.ndarray


@numba.njit(**JIT)
def new_proposal(state):
    """Room for what is known of a proposal."""
    q, n_rows, n = state.V.shape
    r, width = state.response.shape
    return Proposal(
        np.zeros(1, dtype=np.bool_),
        np.empty((q, n_rows)),
        np.empty((q, width)),
        np.empty(q),
        np.empty((q, n)),
        np.zeros(1, dtype=np.bool_),
        np.empty((q, n_rows)),
        np.empty(q),
        np.empty((q, width)),
        np.empty((q, q)),
        np.empty((q, r)),
        np.empty((q, width)),
        np.empty((q, width)),
        np.empty((q, q)),
        np.empty(q),
    )


@numba.njit(**JIT)
def factorise(A, pivots, unit):
    """Write a symmetric matrix as L D L' with ones along the diagonal of L.

    ``pivots`` becomes D and ``unit`` the inverse of L; A is used up.
    """
    for j in range(len(A)):
        pivots[j] = A[j, j]
        unit[j] = 0.0
        unit[j, j] = 1.0
        for h in range(j + 1, len(A)):
            A[h, j] /= pivots[j]
        for h in range(j + 1, len(A)):
            for i in range(j + 1, h + 1):
                A[h, i] -= A[h, j] * A[i, j] * pivots[j]
    for h in range(1, len(A)):
        for i in range(h):
            for j in range(i, h):
                unit[h, i] -= A[h, j] * unit[j, i]


@numba.njit(**JIT)
def eliminate(rows, unit):
    """Multiply rows by a triangular matrix with ones along its diagonal, in place."""
    for h in range(len(rows) - 1, 0, -1):
        for j in range(h):
            for e in range(rows.shape[1]):
                rows[h, e] += unit[h, j] * rows[j, e]
