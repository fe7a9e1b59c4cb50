"""What a ``basis=`` argument of a linear model may be, brought to one form.

A linear model is linear in its weights; of its inputs it may use any functions. None stands for the
inputs themselves, a number for powers of them, and any function of an array will do.
"""

from numbers import Integral

import numpy as np

from bayeskernels.kernels.argument import CallableKernel

__all__ = ["Basis", "as_basis"]


class Basis:
    """Basis functions phi: from inputs of shape (n, p) to features of shape (n, M).

    Parameters
    ----------
    function : callable
    names : list of str
        Names of the M features.
    X : array of shape (n, p)
        Training inputs.

    Attributes
    ----------
    kernel : Kernel
        The kernel k(x, x') = phi(x)' phi(x').
    at_training : array of shape (n, M)
        Features of the training inputs, as a feature map has them.
    """

    def __init__(self, function, names, X):
        self.function = function
        self.names = names
        self.kernel = CallableKernel(lambda X, Z: self(X) @ self(Z).T)
        self.at_training = np.ascontiguousarray(self(X))

    @property
    def rank(self):
        """Number M of features."""
        return len(self.names)

    def __call__(self, X):
        """Features of the rows of X."""
        features = np.asarray(self.function(X), dtype=np.float64)
        if features.shape != (len(X), len(self.names)):
            raise ValueError(
                f"basis(X) must have the shape {(len(X), len(self.names))} here, got "
                f"{features.shape}."
            )
        if not np.isfinite(features).all():
            raise ValueError("basis(X) has NaN or infinite values.")
        return features


def as_basis(basis, X, columns) -> Basis:
    """Interpret a ``basis=`` argument.

    Parameters
    ----------
    basis : callable, int or None
        None: the columns of X. A whole number d: a constant and the powers 1 to d of each column.
        A function: from an array (n, p) to an array (n, M).
    X : array of shape (n, p)
    columns : list of str
        Names of its columns.

    Examples
    --------
    >>> powers = as_basis(2, np.array([[3.0]]), ["x"])
    >>> powers.names, powers(np.array([[3.0]])).tolist()
    (['1', 'x', 'x^2'], [[1.0, 3.0, 9.0]])
    """
    if basis is None:
        return Basis(lambda X: X, list(columns), X)
    if isinstance(basis, Integral) and not isinstance(basis, bool):
        if basis < 0:
            raise ValueError(f"basis as a degree must be at least 0, got {basis}.")
        names = ["1"] + [c if d == 1 else f"{c}^{d}" for d in range(1, basis + 1) for c in columns]
        degrees = range(1, int(basis) + 1)

        def powers(X):
            return np.hstack([np.ones((len(X), 1)), *(X**d for d in degrees)])

        return Basis(powers, names, X)
    if not callable(basis):
        raise TypeError(
            "basis must be None (the inputs), a degree (powers of them) or a function of an array, "
            f"got {type(basis).__name__}."
        )
    features = np.asarray(basis(X), dtype=np.float64)
    if features.ndim != 2 or len(features) != len(X) or features.shape[1] == 0:
        raise ValueError(
            f"basis(X) must have two dimensions and {len(X)} rows, got the shape {features.shape}."
        )
    return Basis(basis, [str(j) for j in range(features.shape[1])], X)
