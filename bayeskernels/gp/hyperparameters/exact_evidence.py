"""Log evidence of the exact process with its gradient by hyperparameters.

Kernel values and their derivatives are computed in square tiles of the lower triangle. A tile stays
in the cache of a core through all the operations of a covariance function, and half of the
exponentials are never computed; the only matrix of full size is the one that LAPACK works in. Small
matrices are a tile of their own, and value and gradient come from one graph, which evaluates the
kernel once.
"""

from functools import cached_property
from itertools import pairwise

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

from bayeskernels.gp.hyperparameters.kernel_functions import KernelFunctions, add_gradients
from bayeskernels.kernels.argument import numpy_function
from bayeskernels.linear.exact_process import GaussianEvidence

__all__ = ["ExactFunction"]

#: Rows of a tile, at most.
TILE = 320

#: Up to so many points one graph for everything is faster than tiles.
SMALL = 512


class ExactFunction:
    """From the parts of an unconstrained point to log evidence and its gradients by each part.

    Parameters
    ----------
    model : pm.Model
    specification : GaussianProcessSpecification
    values : list of TensorVariable
        Value variables of the hyperparameters.
    """

    def __init__(self, model, specification, values):
        self._functions = KernelFunctions(model, specification, values)
        self._X, self._y = specification.X, specification.y
        kernel = specification.kernel
        self._fixed_gram = None if kernel.is_random else kernel.gram(self._X)

    def __call__(self, *parts):
        """Value, and gradients by each part."""
        is_one_graph = self._fixed_gram is None and len(self._X) <= SMALL
        return self._one_graph(*parts) if is_one_graph else self._in_tiles(parts)

    def value(self, *parts):
        """The value alone: one factorisation and no inverse, a third of the work."""
        return self._evidence(parts).value

    def _evidence(self, parts):
        variance, mean = self._functions.scalars(*parts)
        if self._fixed_gram is None:
            covariance = self._kernel_matrix(parts)
        else:
            covariance = np.array(self._fixed_gram, order="F")
        return GaussianEvidence(covariance, float(variance), self._y - mean)

    def _kernel_matrix(self, parts):
        """Lower triangle of the kernel matrix, in the order of LAPACK."""
        X = self._X
        matrix = np.empty((len(X), len(X)), order="F")
        for rows, columns in lower_tiles(len(X)):
            if rows == columns:
                matrix[rows, rows] = self._functions.gram(X[rows], *parts)
            else:
                # The transpose has the memory layout of the matrix.
                matrix[rows, columns] = self._functions.cross(X[columns], X[rows], *parts).T
        return matrix

    def _in_tiles(self, parts):
        evidence = self._evidence(parts)
        if evidence.value == -np.inf:
            return [-np.inf, *(np.zeros(np.shape(part)) for part in parts)]
        evidence.invert()
        scalars = evidence.by_noise_variance(), evidence.dual.sum()
        gradients = self._functions.pull_scalars(*parts, *scalars)
        if self._fixed_gram is None:
            for rows, columns in lower_tiles(len(self._X)):
                found = self._pull_tile(rows, columns, parts, evidence.cotangent(rows, columns))
                gradients = add_gradients(gradients, found)
        return [evidence.value, *gradients]

    def _pull_tile(self, rows, columns, parts, cotangent):
        X = self._X
        if rows == columns:
            return self._functions.pull_gram(X[rows], *parts, cotangent)
        # The tile stands for its mirror image too.
        return self._functions.pull_cross(X[columns], X[rows], *parts, 2.0 * cotangent.T)

    @cached_property
    def _one_graph(self):
        gram, scalars, values = self._functions.graphs(self._X)
        value, *cotangents = _GaussianEvidenceOp()(gram, *scalars, pytensor.shared(self._y))
        known = dict(zip((gram, *scalars), cotangents, strict=True))
        return numpy_function(values, [value, *pt.grad(None, values, known_grads=known)])


class _GaussianEvidenceOp(Op):
    """Log density of targets, and its derivatives by Gram matrix, noise variance and mean."""

    __props__ = ()

    def make_node(self, gram, variance, mean, targets):
        inputs = [pt.as_tensor(v) for v in (gram, variance, mean, targets)]
        return Apply(self, inputs, [pt.dscalar(), pt.dmatrix(), pt.dscalar(), pt.dscalar()])

    def perform(self, node, inputs, outputs):
        gram, variance, mean, targets = inputs
        evidence = GaussianEvidence(np.array(gram, order="F"), float(variance), targets - mean)
        results = [evidence.value, np.zeros(gram.shape), 0.0, 0.0]
        if evidence.value > -np.inf:
            evidence.invert()
            everything = slice(0, len(targets))
            by_gram = evidence.cotangent(everything, everything)
            results[1:] = by_gram, evidence.by_noise_variance(), evidence.dual.sum()
        for storage, result in zip(outputs, results, strict=True):
            storage[0] = np.asarray(result, dtype=float)


def lower_tiles(n):
    """Pairs of slices that cover the lower triangle of an n x n matrix, in tiles of like size."""
    edges = np.linspace(0, n, -(-n // TILE) + 1).astype(int)
    slices = [slice(a, b) for a, b in pairwise(edges)]
    return [(rows, columns) for k, rows in enumerate(slices) for columns in slices[: k + 1]]
