"""The VFE bound of the evidence with its gradient, in blocks of points."""

import numpy as np
import pytensor.tensor as pt

from bayeskernels.gp.hyperparameters import kernel_graph
from bayeskernels.gp.low_rank import VfeSums
from bayeskernels.gp.posteriors import row_blocks
from bayeskernels.kernels import numpy_function

__all__ = ["VfeFunction"]


class VfeFunction:
    """From the parts of an unconstrained point to the bound and its gradients by each part.

    Points are visited twice, once for the sums on which the bound depends and once for the
    gradient, each time in blocks.

    Parameters
    ----------
    model : pm.Model
    specification : GaussianProcessSpecification
    values : list of TensorVariable
        Value variables of the hyperparameters.
    """

    def __init__(self, model, specification, values):
        self.specification = specification
        kernel = specification.kernel
        U, X = pt.matrix("U"), pt.matrix("X")
        graphs = [
            kernel_graph(kernel, U),
            kernel_graph(kernel, U, X),
            kernel_graph(kernel, X, diag=True),
            pt.as_tensor(specification.noise),
            pt.as_tensor(specification.mean),
        ]
        gram, cross, own, noise, mean = model.replace_rvs_by_values(graphs)
        variance = pt.sqr(noise)
        self._scalars = numpy_function(values, [variance, mean])
        self._gram = numpy_function([U, *values], gram)
        self._block = numpy_function([U, X, *values], [cross, own])

        def pull_back(inputs, outputs):
            cotangents = [v.type() for v in outputs]
            known = dict(zip(outputs, cotangents, strict=True))
            gradients = pt.grad(None, values, known_grads=known, disconnected_inputs="ignore")
            return numpy_function([*inputs, *values, *cotangents], gradients)

        self._pull_gram = pull_back([U], [gram])
        self._pull_block = pull_back([U, X], [cross, own])
        self._pull_scalars = pull_back([], [variance, mean])

    def __call__(self, *parts):
        """Value, and gradients by each part."""
        U, X, y = self.specification.inducing, self.specification.X, self.specification.y
        variance, mean = self._scalars(*parts)
        gram = self._gram(U, *parts)
        gram = gram + self.specification.jitter * np.eye(len(U))
        sums = VfeSums(gram)
        blocks = row_blocks(len(X), len(U))
        for part in blocks:
            sums.add(*self._block(U, X[part], *parts), y[part] - mean)
        value, by_variance = sums.solve(float(variance))
        total = self._pull_gram(U, *parts, sums.gram_cotangent())
        by_mean = 0.0
        for part in blocks:
            cross, _ = self._block(U, X[part], *parts)
            by_cross, by_own, by_targets = sums.cross_cotangent(cross, y[part] - mean)
            by_mean -= by_targets.sum()
            found = self._pull_block(U, X[part], *parts, by_cross, by_own)
            total = [a + b for a, b in zip(total, found, strict=True)]
        found = self._pull_scalars(*parts, by_variance, by_mean)
        return [value, *(a + b for a, b in zip(total, found, strict=True))]
