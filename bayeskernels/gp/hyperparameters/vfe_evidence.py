"""The VFE bound of the evidence with its gradient, in blocks of points."""

import numpy as np

from bayeskernels.gp.hyperparameters.kernel_functions import KernelFunctions, add_gradients
from bayeskernels.linear.low_rank_process import VfeSums
from bayeskernels.specification.posterior_process import row_blocks

__all__ = ["VfeFunction"]


class VfeFunction:
    """From the parts of an unconstrained point to the bound and its gradients by each part.

    Points are visited twice, once for the sums on which the bound depends and once for the
    gradient, each time in blocks.

    It takes the parameters of the exact process's ``ExactFunction``.
    """

    def __init__(self, model, specification, values):
        self.specification = specification
        self._functions = KernelFunctions(model, specification, values)

    def __call__(self, *parts):
        """Value, and gradients by each part."""
        U, X, y = self.specification.inducing, self.specification.X, self.specification.y
        functions = self._functions
        sums, value, by_variance, mean = self._solve(parts)
        gradients = functions.pull_gram(U, *parts, sums.gram_cotangent())
        by_mean = 0.0
        for block in row_blocks(len(X), len(U)):
            rows, targets = X[block], y[block] - mean
            cross = functions.cross(U, rows, *parts)
            by_cross, by_own, by_targets = sums.cross_cotangent(cross, targets)
            by_mean -= by_targets.sum()
            for found in (
                functions.pull_cross(U, rows, *parts, by_cross),
                functions.pull_diagonal(rows, *parts, by_own),
            ):
                gradients = add_gradients(gradients, found)
        found = functions.pull_scalars(*parts, by_variance, by_mean)
        return [value, *add_gradients(gradients, found)]

    def value(self, *parts):
        """The value alone, for which points are visited once."""
        return self._solve(parts)[1]

    def _solve(self, parts):
        """Sums over all points, the bound, its derivative by the noise variance; and the mean."""
        U, X, y = self.specification.inducing, self.specification.X, self.specification.y
        functions = self._functions
        variance, mean = functions.scalars(*parts)
        sums = VfeSums(functions.gram(U, *parts) + self.specification.jitter * np.eye(len(U)))
        for block in row_blocks(len(X), len(U)):
            rows = X[block]
            cross, own = functions.cross(U, rows, *parts), functions.diagonal(rows, *parts)
            sums.add(cross, own, y[block] - mean)
        return sums, *sums.solve(float(variance)), mean
