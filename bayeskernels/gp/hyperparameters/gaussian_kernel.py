r"""Log evidence of the exact process with a Gaussian kernel, which is the default one.

:class:`bayeskernels.gp.hyperparameters.exact_evidence.ExactFunction` takes every covariance
function as a chain of NumPy operations, each a pass over a matrix. For :math:`k(x, x') = v
\exp(-\tfrac12 \sum_k (x_k - x'_k)^2 / l_k^2)` two passes are enough. The first makes kernel values
of inner products; the second multiplies them, without v, by the derivative :math:`\tfrac12 (a a^T -
C^{-1})` of the evidence by the covariance matrix, which gives a symmetric matrix W. With rows
:math:`z = x / l`, all derivatives follow from products with it:

.. math::

    \frac{\partial}{\partial v} = 1^T W 1, \qquad
    \frac{\partial}{\partial l_k} = \frac{2 v}{l_k} \bigl(\textstyle\sum_i z_{ik}^2 (W 1)_i
    - z_k^T W z_k\bigr).

Only half of each matrix is computed. LAPACK works in the lower triangle of one square array, the
kernel values wait in its upper one.
"""

import numba
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.linalg import blas

from bayeskernels.compiled import JIT
from bayeskernels.kernels.argument import numpy_function
from bayeskernels.linear.exact_process import GaussianEvidence

__all__ = ["GaussianKernelFunction", "parameters_of"]

#: Rows of the tiles in which triangles are visited, so that both stay in cache.
WIDTH = 64


def parameters_of(kernel):
    """Graphs of variance and length scales of a Gaussian kernel, and its columns.

    None for all kernels but ``ExpQuad``, alone or times numbers and scalar variables.
    """
    covariance = getattr(kernel, "covariance", None)
    factors = covariance._factor_list if type(covariance) is pm.gp.cov.Prod else [covariance]
    gaussians = [factor for factor in factors if type(factor) is pm.gp.cov.ExpQuad]
    others = [factor for factor in factors if type(factor) is not pm.gp.cov.ExpQuad]
    if len(gaussians) != 1 or any(isinstance(f, pm.gp.cov.BaseCovariance) for f in others):
        return None
    [gaussian] = gaussians
    scalars = [pt.as_tensor(factor) for factor in others]
    if any(scalar.ndim > 0 for scalar in scalars) or gaussian.ls.ndim > 1:
        return None
    variance = pt.as_tensor(np.float64(1.0))
    for scalar in scalars:
        variance = variance * scalar
    columns = gaussian.active_dims
    return variance, pt.zeros(len(columns)) + gaussian.ls, columns


class GaussianKernelFunction:
    """From the parts of an unconstrained point to log evidence and its gradients by each part.

    It takes what ``ExactFunction`` takes, for a kernel whose parameters :func:`parameters_of`
    knows.
    """

    def __init__(self, model, specification, values):
        variance, scales, columns = parameters_of(specification.kernel)
        X = specification.X[:, columns]
        # Distances stay the same, and inner products lose fewer digits.
        self._X, self._y = X - X.mean(axis=0), specification.y
        noise, mean = (pt.as_tensor(v) for v in (specification.noise, specification.mean))
        graphs = model.replace_rvs_by_values([variance, scales, pt.sqr(noise), mean])
        cotangents = [v.type() for v in graphs]
        known = dict(zip(graphs, cotangents, strict=True))
        gradients = pt.grad(None, values, known_grads=known, disconnected_inputs="ignore")
        self._forward = numpy_function(values, graphs)
        self._back = numpy_function([*values, *cotangents], gradients)

    def __call__(self, *parts):
        """Value, and gradients by each part."""
        variance, scales, evidence, Z = self._evidence(parts)
        if evidence.value == -np.inf:
            return [-np.inf, *(np.zeros(np.shape(part)) for part in parts)]
        evidence.invert()
        by_noise, by_mean = evidence.by_noise_variance(), evidence.dual.sum()
        _weigh(evidence.matrix, evidence.dual)
        with_ones = np.asfortranarray(np.column_stack([Z, np.ones(len(Z))]))
        products = blas.dsymm(1.0, evidence.matrix, with_ones, lower=1)
        sums = products[:, -1]
        by_squares = sums @ Z**2 - np.einsum("ik,ik->k", Z, products[:, :-1])
        by_scales = 2.0 * variance * by_squares / scales
        gradients = self._back(*parts, sums.sum(), by_scales, by_noise, by_mean)
        return [evidence.value, *gradients]

    def value(self, *parts):
        """The value alone: one factorisation and no inverse, a third of the work."""
        return self._evidence(parts)[2].value

    def _evidence(self, parts):
        variance, scales, noise_variance, mean = self._forward(*parts)
        Z = self._X / scales
        # In C order the transpose is what BLAS reads; only the lower triangle is computed.
        matrix = blas.dsyrk(1.0, Z.T, trans=1, lower=1)
        _fill(matrix, float(variance))
        evidence = GaussianEvidence(matrix, float(noise_variance), self._y - mean)
        return float(variance), scales, evidence, Z


@numba.njit(**JIT)
def _fill(matrix, variance):
    """From inner products in the lower triangle to kernel values; the upper has them unscaled."""
    n = len(matrix)
    squares = np.diag(matrix).copy()
    for first, second in _tiles(n):
        for j in range(second, min(second + WIDTH, n)):
            for i in range(max(first, j + 1), min(first + WIDTH, n)):
                distance = max(squares[i] + squares[j] - 2.0 * matrix[i, j], 0.0)
                value = np.exp(-0.5 * distance)
                matrix[i, j] = variance * value
                matrix[j, i] = value
    for i in range(n):
        matrix[i, i] = variance


@numba.njit(**JIT)
def _weigh(matrix, dual):
    """Replace the inverse, in the lower triangle, by W, with what the upper one has."""
    n = len(matrix)
    for i in range(n):
        matrix[i, i] = 0.5 * (dual[i] * dual[i] - matrix[i, i])
    for first, second in _tiles(n):
        for j in range(second, min(second + WIDTH, n)):
            for i in range(max(first, j + 1), min(first + WIDTH, n)):
                by_covariance = 0.5 * (dual[i] * dual[j] - matrix[i, j])
                matrix[i, j] = by_covariance * matrix[j, i]


@numba.njit(**JIT)
def _tiles(n):
    """First row and first column of the tiles of the lower triangle."""
    return [
        (first, second) for first in range(0, n, WIDTH) for second in range(0, first + 1, WIDTH)
    ]
