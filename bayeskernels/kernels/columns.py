"""Kernel values with a few points, inside a PyTensor graph, computed when they are needed.

A sparse model uses only the kernel columns of its active points, and which these are changes from
draw to draw: the whole matrix would be n times n for the sake of k columns.
"""

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_funcify

__all__ = ["MAX_GRAM_BYTES", "ActiveGram", "KernelColumns"]

#: Up to this size samplers store the kernel matrix; beyond, they compute columns when needed.
MAX_GRAM_BYTES = 2**28


class KernelColumns(Op):
    """Values of a fixed kernel at given inputs with some of the training points.

    Parameters
    ----------
    kernel : Kernel
        With fixed hyperparameters.
    X : array of shape (n, p)
        Training inputs.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> columns = KernelColumns(bk.kernels.argument.as_kernel(lambda X, Z: X @ Z.T, X), X)
    >>> columns(X[:1], np.array([0, 2])).eval().tolist()
    [[1.0, 3.0]]
    """

    def __init__(self, kernel, X):
        self.kernel = kernel
        self.X = X

    def make_node(self, inputs, points):
        """Inputs of shape (m, p) and numbers of training points, shape (k,): gives (m, k)."""
        inputs = pt.as_tensor(inputs).astype("float64")
        points = pt.as_tensor(points).astype("int64")
        return Apply(self, [inputs, points], [pt.matrix(dtype="float64")])

    def evaluate(self, inputs, points):
        """Kernel values as an array."""
        if len(points) == 0:
            return np.zeros((len(inputs), 0))
        support = points if self.kernel.is_precomputed else self.X[points]
        return np.ascontiguousarray(self.kernel(inputs, support))

    def perform(self, node, inputs, outputs):
        """Evaluate."""
        outputs[0][0] = self.evaluate(*inputs)

    def infer_shape(self, node, shapes):
        """Shape (m, k)."""
        return [(shapes[0][0], shapes[1][0])]


class ActiveGram(Op):
    """Kernel matrix of some of the training points, from a :class:`KernelColumns`.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> gram = ActiveGram(KernelColumns(bk.kernels.argument.as_kernel(lambda X, Z: X @ Z.T, X), X))
    >>> gram(np.array([0, 2])).eval().tolist()
    [[1.0, 3.0], [3.0, 9.0]]
    """

    def __init__(self, columns):
        self.columns = columns

    def make_node(self, points):
        """Take the numbers of k training points; gives (k, k)."""
        return Apply(self, [pt.as_tensor(points).astype("int64")], [pt.matrix(dtype="float64")])

    def evaluate(self, points):
        """Kernel matrix as an array."""
        return self.columns.evaluate(self.columns.X[points], points)

    def perform(self, node, inputs, outputs):
        """Evaluate."""
        outputs[0][0] = self.evaluate(*inputs)

    def infer_shape(self, node, shapes):
        """Shape (k, k)."""
        return [(shapes[0][0], shapes[0][0])]


@numba_funcify.register(ActiveGram)
def _active_gram_in_numba(op, **kwargs):
    @numba.njit
    def active_gram(points):
        with numba.objmode(values="float64[:,::1]"):
            values = op.evaluate(points)
        return values

    return active_gram


@numba_funcify.register(KernelColumns)
def _kernel_columns_in_numba(op, **kwargs):
    """Call Python from compiled code: the work is one matrix product, not the call."""

    @numba.njit
    def kernel_columns(inputs, points):
        with numba.objmode(values="float64[:,::1]"):
            values = op.evaluate(inputs, points)
        return values

    return kernel_columns
