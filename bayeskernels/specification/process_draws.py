"""Kernel values, noise and mean of a Gaussian process at the values that its draws give them.

Kernels with random hyperparameters are graphs of the model's variables. They are compiled into
functions of plain arrays here, and called with the draws of a posterior, with the result of an
evidence maximisation, or with nothing where nothing is random.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors

from bayeskernels.kernels.argument import numpy_function
from bayeskernels.specification.draws import posterior_draws, read_draws

__all__ = ["ProcessDraws", "kernel_graph"]


class ProcessDraws:
    """A Gaussian process with the hyperparameters of each draw.

    Parameters
    ----------
    specification : GaussianProcessSpecification
    idata : DataTree, object with ``to_datatree``, or None
        Posterior draws, or the result of :func:`bayeskernels.gp.maximise_evidence`.

    Attributes
    ----------
    n_draws : int
        One where nothing is random.
    """

    def __init__(self, specification, idata):
        self.specification = specification
        model, kernel = specification.model, specification.kernel
        self._scalars = _ModelFunction(model, [], [specification.noise, specification.mean])
        names = list(self._scalars.names)
        if kernel.is_random:
            X, Z = pt.matrix("X"), pt.matrix("Z")
            self._gram = _ModelFunction(model, [X], kernel_graph(kernel, X))
            self._cross = _ModelFunction(model, [X, Z], kernel_graph(kernel, X, Z))
            self._diagonal = _ModelFunction(model, [X], kernel_graph(kernel, X, diag=True))
            names += [name for name in self._gram.names if name not in names]
        self._values = _draws(read_draws(model, idata), names)
        self.n_draws = len(next(iter(self._values.values()))) if names else 1

    def scalars(self, draw):
        """Standard deviation of the noise, and prior mean."""
        noise, mean = self._scalars(self._at(draw))
        return float(noise), float(mean)

    def gram(self, X, draw):
        """Kernel matrix of the rows of X."""
        kernel = self.specification.kernel
        return self._gram(self._at(draw), X) if kernel.is_random else kernel.gram(X)

    def cross(self, X, Z, draw):
        """Kernel values of the rows of X with those of Z, shape (len(X), len(Z)).

        Of a Gram matrix X are numbers of points, Z rows of kernel values.
        """
        kernel = self.specification.kernel
        if kernel.is_precomputed:
            return kernel(Z, np.arange(len(X))).T
        return self._cross(self._at(draw), X, Z) if kernel.is_random else kernel(X, Z)

    def variances(self, X, draw):
        """Kernel values of each row of X with itself; NaN where only a Gram matrix is known."""
        kernel = self.specification.kernel
        if kernel.is_precomputed:
            return np.full(len(X), np.nan)
        return self._diagonal(self._at(draw), X) if kernel.is_random else kernel.diagonal(X)

    def _at(self, draw):
        return {name: values[draw] for name, values in self._values.items()}


def kernel_graph(kernel, X, Z=None, *, diag=False):
    """Kernel values as a graph of full shape and precision.

    A constant covariance does not look at its inputs, and the diagonal of a stationary one, all
    ones, may come in single precision.
    """
    if diag:
        values, full = kernel.covariance(X, diag=True), (X.shape[0],)
    else:
        values, full = kernel.graph(X, Z), (X.shape[0], (X if Z is None else Z).shape[0])
    # Only where it is needed: a matrix of zeros costs as much as one of exponentials.
    values = values + pt.zeros(full) if any(values.type.broadcastable) else values
    return pt.cast(values, "float64")


class _ModelFunction:
    """A graph as a function of arrays and of values of the model's random variables."""

    def __init__(self, model, inputs, outputs):
        known = {v: v.type(name=v.name) for v in model.basic_RVs}
        several = isinstance(outputs, list)
        replaced = clone_replace(outputs if several else [outputs], known)
        used = set(ancestors(replaced))
        arguments = [v for v in known.values() if v in used]
        self.names = [v.name for v in arguments]
        self._function = numpy_function([*inputs, *arguments], replaced if several else replaced[0])

    def __call__(self, values, *inputs):
        return self._function(*inputs, *(values[name] for name in self.names))


def _draws(idata, names):
    """Values of the named variables by name, each of shape (n_draws, ...)."""
    if not names:
        return {}
    if idata is None:
        raise ValueError(
            f"This model has random hyperparameters ({', '.join(names)}): give the result of "
            "pm.sample, or of bk.gp.maximise_evidence, as idata."
        )
    found = {name: posterior_draws(idata, name) for name in names}
    return {name: values.reshape(-1, *values.shape[2:]) for name, values in found.items()}
