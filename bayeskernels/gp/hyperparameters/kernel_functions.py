"""Kernel values, noise and mean as functions of hyperparameters, and the way back of derivatives.

The evidence of a process depends on its hyperparameters through kernel values, noise variance and
mean. The exact and the sparse evidence know their derivatives by these; from there PyTensor's
reverse mode goes on to all hyperparameters at once, without a matrix for each of them: so a length
scale for every column costs no more than one.
"""

from functools import cached_property

import pytensor
import pytensor.tensor as pt

from bayeskernels.kernels.argument import numpy_function
from bayeskernels.specification.process_draws import kernel_graph

__all__ = ["KernelFunctions", "add_gradients"]


class KernelFunctions:
    """Functions of the parts of an unconstrained point, which come last among their arguments.

    Those called ``pull_...`` take derivatives by the values of the function of that name, after the
    parts, to a list of derivatives by each part. Each is compiled when it is first used.

    Parameters
    ----------
    model : pm.Model
    specification : GaussianProcessSpecification
    values : list of TensorVariable
        Value variables of the hyperparameters, in the order of the parts.
    """

    def __init__(self, model, specification, values):
        self._model, self._specification, self._values = model, specification, values
        self._A, self._B = pt.matrix("A"), pt.matrix("B")

    def graphs(self, X):
        """Kernel matrix of the rows of an array, variance and mean, and the values they depend on.

        All are graphs, for a function that needs more of them.
        """
        return (
            self._kernel_graph(pytensor.shared(X, shape=(None, None))),
            self._scalars,
            self._values,
        )

    @cached_property
    def scalars(self):
        """Variance of the noise, and mean."""
        return numpy_function(self._values, self._scalars)

    @cached_property
    def gram(self):
        """Of rows A their kernel matrix, white noise included."""
        return numpy_function([self._A, *self._values], self._gram)

    @cached_property
    def cross(self):
        """Of rows A and B their kernel values."""
        return numpy_function([self._A, self._B, *self._values], self._cross)

    @cached_property
    def diagonal(self):
        """Of rows A their kernel values with themselves."""
        return numpy_function([self._A, *self._values], self._diagonal)

    @cached_property
    def pull_scalars(self):
        """Back from :attr:`scalars`."""
        return self._pull_back([], self._scalars)

    @cached_property
    def pull_gram(self):
        """Back from :attr:`gram`."""
        return self._pull_back([self._A], [self._gram])

    @cached_property
    def pull_cross(self):
        """Back from :attr:`cross`."""
        return self._pull_back([self._A, self._B], [self._cross])

    @cached_property
    def pull_diagonal(self):
        """Back from :attr:`diagonal`."""
        return self._pull_back([self._A], [self._diagonal])

    @cached_property
    def _scalars(self):
        noise, mean = (
            pt.as_tensor(v) for v in (self._specification.noise, self._specification.mean)
        )
        return self._model.replace_rvs_by_values([pt.sqr(noise), mean])

    @cached_property
    def _gram(self):
        return self._kernel_graph(self._A)

    @cached_property
    def _cross(self):
        return self._kernel_graph(self._A, self._B)

    @cached_property
    def _diagonal(self):
        return self._kernel_graph(self._A, diag=True)

    def _kernel_graph(self, *inputs, **options):
        graph = kernel_graph(self._specification.kernel, *inputs, **options)
        return self._model.replace_rvs_by_values([graph])[0]

    def _pull_back(self, inputs, outputs):
        cotangents = [v.type() for v in outputs]
        known = dict(zip(outputs, cotangents, strict=True))
        gradients = pt.grad(None, self._values, known_grads=known, disconnected_inputs="ignore")
        return numpy_function([*inputs, *self._values, *cotangents], gradients)


def add_gradients(first, second):
    """Sum of two lists of derivatives, part by part."""
    return [a + b for a, b in zip(first, second, strict=True)]
