r"""Factors of Gram matrices: finite coordinates for a classifier in a kernel's feature space.

With a Gram matrix :math:`G = A A^T` (A is m x r) a weight vector in the span of the data has r
coordinates w, the outputs at the data are :math:`f = A w`, and :math:`\|w\|` is the norm in the
feature space. Singular matrices are normal: r is then the numerical rank.

The factor is a Cholesky factor with pivoting: it reveals the rank, costs a third of an eigenvalue
decomposition at most, and its expansion needs only the r pivot points, so a low rank is as cheap to
predict with as it is to sample. Eigenvectors are the alternative: the best approximation of a given
rank, at the price of an expansion in all m points.

A factor of the numerical rank keeps the direction of every row, however short the row is beside the
others: a classifier sees nothing else of a point. Where a factor of the matrix itself leaves more
of a row than rounding errors, that of its correlations is taken. Rows with k(x, x) = 0 are exactly
zero.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from bayeskernels.inputs import as_count

__all__ = ["GramFactor", "factor_gram", "pivoted_cholesky"]


@dataclass(frozen=True)
class GramFactor:
    """Coordinates of a feature space at given points.

    Attributes
    ----------
    features : array of shape (m, r)
        The factor A; row i holds the coordinates of point i.
    support : array of int, shape (s,)
        The points in which weight vectors are expanded.
    whitening : array of shape (s, r) or (r, r)
        What turns kernel values at the support into coordinates, see :meth:`map`.
    method : {"cholesky", "eigen"}
    discarded : float
        Share of the trace of the Gram matrix that the factor leaves out.
    """

    features: np.ndarray
    support: np.ndarray
    whitening: np.ndarray
    method: str
    discarded: float

    @property
    def rank(self):
        """Number r of coordinates."""
        return self.features.shape[1]

    def map(self, kernel_values):
        """Coordinates (n, r) of points from their kernel values (n, s) with the support points."""
        if self.method == "eigen":
            return kernel_values @ self.whitening
        return linalg.solve_triangular(
            self.whitening, np.asarray(kernel_values).T, lower=True, check_finite=False
        ).T

    def expansion(self, w):
        r"""Coefficients alpha, (..., s), of weight vectors w, (..., r).

        They are such that f(x) = sum_j alpha_j k(x, x_support[j]).
        """
        w = np.asarray(w, dtype=float)
        if self.method == "eigen":
            return w @ self.whitening.T
        flat = w.reshape(-1, self.rank).T
        return linalg.solve_triangular(self.whitening, flat, lower=True, trans="T").T.reshape(
            w.shape
        )


def factor_gram(gram, *, rank=None, method="cholesky") -> GramFactor:
    """Factor a Gram matrix.

    Parameters
    ----------
    gram : array of shape (m, m)
        Symmetric and positive semidefinite.
    rank : int, optional
        Keep this many coordinates at most; the numerical rank by default.
    method : {"cholesky", "eigen"}
        How the coordinates are chosen: pivots one after the other, or leading eigenvectors.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> factor = factor_gram(X @ X.T)
    >>> factor.rank, bool(np.allclose(factor.features @ factor.features.T, X @ X.T))
    (2, True)
    """
    gram = np.asarray(gram, dtype=np.float64)
    m = len(gram)
    check_gram(gram)
    if rank is not None:
        check_rank(rank)
    if method not in ("cholesky", "eigen"):
        raise ValueError(f"The factorization must be 'cholesky' or 'eigen', got {method!r}.")
    if rank is None or rank >= m:
        return _whole_factor(gram, _lapack_factor if method == "cholesky" else _eigen_factor)
    if method == "eigen":
        return _without_rows(_eigen_factor(gram, rank), np.diag(gram) <= 0.0)
    return pivoted_cholesky(np.diag(gram), lambda j: gram[:, j], rank=rank)


def check_gram(gram):
    """Refuse what cannot be a Gram matrix at first sight."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(f"A Gram matrix is square; got the shape {gram.shape}.")
    if not np.isfinite(gram).all():
        raise ValueError("The kernel gave values that are not finite.")
    scale = np.abs(gram).max(initial=0.0)
    asymmetry = np.abs(gram - gram.T).max(initial=0.0)
    if asymmetry > 1e-8 * scale:
        raise ValueError(f"The kernel is not symmetric: k(x, z) and k(z, x) differ by {asymmetry}.")
    # |k(x, z)| is at most the larger of k(x, x) and k(z, z), so the diagonal may stand for it all.
    if scale > (1 + 1e-7) * np.diag(gram).max(initial=0.0):
        raise _not_psd(1.0 - np.diag(gram).max() / scale)
    check_diagonal(np.diag(gram))


def check_rank(rank):
    """Refuse what cannot be a number of coordinates."""
    as_count(rank, "rank")


def check_diagonal(diagonal):
    """Refuse what cannot be the diagonal of a Gram matrix."""
    if not np.isfinite(diagonal).all():
        raise ValueError("The kernel gave values that are not finite.")
    scale = diagonal.max(initial=0.0)
    if diagonal.min(initial=0.0) < -1e-7 * scale or (scale <= 0.0 and (diagonal < 0.0).any()):
        raise _not_psd(-diagonal.min() / max(scale, -diagonal.min()))
    if scale == 0.0:
        raise ValueError("The kernel is zero at every point: there is nothing to learn from.")


def _not_psd(excess):
    return ValueError(
        "The kernel is not positive semidefinite on these points (its Gram matrix has a negative "
        f"part of about {excess:.2g} relative to its largest entry). Check it with "
        "bayeskernels.testing.check_kernel."
    )


def _rounding(m):
    """Share of its squared length by which rounding errors may shorten a row of a factor."""
    return 10 * m * np.finfo(float).eps


def _whole_factor(gram, factor_of):
    """Factor of the numerical rank that does justice to short rows too."""
    diagonal = np.diag(gram)
    factor = factor_of(gram)
    left = diagonal - np.einsum("ij,ij->i", factor.features, factor.features)
    if (left > _rounding(len(gram)) * diagonal)[diagonal > 0.0].any():
        try:
            return _factor_of_correlations(gram, factor_of)
        except ValueError:
            # Only as correlations are they indefinite: values of the shortest rows, which can
            # hardly be seen beside the others, contradict their lengths. They are rounding errors.
            is_noise = diagonal <= len(gram) * np.finfo(float).eps * diagonal.max()
            return _without_rows(factor, is_noise)
    return _without_rows(factor, diagonal <= 0.0)


def _factor_of_correlations(gram, factor_of):
    """Factor of the matrix scaled to a diagonal of ones, with its rows scaled back."""
    is_zero = np.diag(gram) <= 0.0
    lengths = np.sqrt(np.where(is_zero, 1.0, np.diag(gram)))
    correlations = gram / lengths[:, None] / lengths
    correlations[is_zero] = correlations[:, is_zero] = 0.0
    factor = factor_of(correlations)
    features = factor.features * lengths[:, None]
    if factor.method == "cholesky":
        whitening = np.asfortranarray(features[factor.support])
    else:
        whitening = factor.whitening / lengths[:, None]
    left = np.diag(gram) - np.einsum("ij,ij->i", features, features)
    return _without_rows(
        replace(
            factor,
            features=features,
            whitening=whitening,
            discarded=float(max(left.sum(), 0.0) / np.trace(gram)),
        ),
        is_zero,
    )


def _without_rows(factor, is_zero):
    """The factor with exact zeros in some rows; no pivot is among them."""
    factor.features[is_zero] = 0.0
    return factor


def _lapack_factor(gram):
    """Cholesky with complete pivoting (LAPACK's pstrf), to the numerical rank."""
    m = len(gram)
    scale = np.diag(gram).max()
    lower, pivots, rank, _ = linalg.lapack.dpstrf(gram, lower=1)
    pivots = pivots - 1
    features = np.zeros((m, rank))
    features[pivots] = np.tril(lower[:, :rank])
    residual = np.diag(gram) - np.einsum("ij,ij->i", features, features)
    if rank < m:
        # A matrix with a negative part also stops early; only the residual tells it apart.
        worst = np.abs(gram - features @ features.T).max()
        if worst > 1e-7 * scale:
            raise _not_psd(worst / scale)
    whitening = np.asfortranarray(features[pivots[:rank]])
    discarded = float(max(residual.sum(), 0.0) / np.trace(gram))
    return GramFactor(features, pivots[:rank], whitening, "cholesky", discarded)


def _eigen_factor(gram, rank=None):
    """Leading eigenvectors, scaled by the square roots of their eigenvalues."""
    m = len(gram)
    keep = None if rank is None else (m - rank, m - 1)
    values, vectors = linalg.eigh(gram, subset_by_index=keep)
    scale = np.diag(gram).max()
    if values[0] < -1e-7 * scale:
        raise _not_psd(-values[0] / scale)
    values, vectors = values[::-1], vectors[:, ::-1]
    significant = values > m * np.finfo(float).eps * values[0]
    values, vectors = values[significant], vectors[:, significant]
    # Eigenvectors come with arbitrary signs: fix them, so that draws fit a model built anew.
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(len(values))])
    roots = np.sqrt(values)
    discarded = max(1.0 - values.sum() / np.trace(gram), 0.0)
    return GramFactor(vectors * roots, np.arange(m), vectors / roots, "eigen", float(discarded))


def pivoted_cholesky(diagonal, column, *, rank) -> GramFactor:
    """Cholesky factor of low rank from single columns: O(m rank) memory, never the whole matrix.

    Parameters
    ----------
    diagonal : array of shape (m,)
        Diagonal of the Gram matrix.
    column : callable
        ``column(j)`` gives column j.
    rank : int
        Number of pivots; fewer are taken when nothing is left.
    """
    diagonal = np.asarray(diagonal, dtype=np.float64)
    check_diagonal(diagonal)
    check_rank(rank)
    m = len(diagonal)
    rank = min(rank, m)
    left = np.maximum(diagonal, 0.0)
    squares = np.where(left > 0.0, left, np.inf)
    features = np.zeros((m, rank))
    is_zero = left == 0.0
    pivots = []
    scale, trace = left.max(), left.sum()
    while (k := len(pivots)) < rank:
        pivot = int(np.argmax(left))
        is_short = left[pivot] <= m * np.finfo(float).eps * scale
        if is_short:
            # Nothing is left beside the longest rows, but a short one may still have a direction.
            pivot = int(np.argmax(left / squares))
            if left[pivot] <= _rounding(m) * squares[pivot]:
                break
        new = column(pivot) - features[:, :k] @ features[pivot, :k]
        if not np.isfinite(new).all():
            raise ValueError("The kernel gave values that are not finite.")
        new = new / np.sqrt(left[pivot])
        new[pivots] = 0.0
        new[is_zero] = 0.0
        if is_short and (new**2 > np.maximum(left, 0.0) + _rounding(m) * squares).any():
            # Its values contradict its length: both are rounding errors.
            is_zero[pivot] = True
            left[pivot] = 0.0
            continue
        features[:, k] = new
        pivots.append(pivot)
        left -= new**2
        left[pivots] = 0.0
        if left.min() < -1e-7 * scale:
            raise _not_psd(-left.min() / scale)
    features = np.ascontiguousarray(features[:, : len(pivots)])
    features[is_zero] = 0.0
    pivots = np.array(pivots)
    whitening = np.asfortranarray(np.tril(features[pivots]))
    discarded = float(np.clip(left, 0.0, None).sum() / trace)
    return GramFactor(features, pivots, whitening, "cholesky", discarded)
