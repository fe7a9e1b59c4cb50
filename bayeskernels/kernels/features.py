"""Coordinates of inputs in a kernel's feature space, inside a PyMC model and outside of it.

A classifier of the zoo is linear in its coordinates: f(X) = features(X) w. Inside a model the
features of the present data are a shared array, so that the graph that PyMC compiles is one
matrix-vector product whatever the kernel: it is quick to compile, cached on disk for all kernels,
and quick to evaluate. The price is a link outside of the graph: :class:`KernelInputs`.
"""

from copy import deepcopy

import numpy as np
import pytensor
from pytensor.link.basic import Container
from pytensor.tensor.sharedvar import TensorSharedVariable

from bayeskernels.inputs import as_new_inputs
from bayeskernels.kernels.beyond_span import rest_variances
from bayeskernels.kernels.gram import factor_gram, pivoted_cholesky

__all__ = [
    "FeatureMap",
    "FixedInputs",
    "KernelExpansion",
    "KernelInputs",
    "SideBySide",
    "WithOffset",
]


class FeatureMap:
    """From inputs to coordinates in the span of the training points.

    Parameters
    ----------
    kernel : Kernel
        With fixed hyperparameters.
    X : array of shape (m, p)
        Training inputs (for a precomputed kernel: its Gram matrix).
    rank : int, optional
        Number of coordinates; the numerical rank of the Gram matrix by default.
    method : {"cholesky", "eigen"}
        See :func:`bayeskernels.kernels.gram.factor_gram`.
    softness : float
        The lambda of soft boundaries (BPM, equation (27)): every training point's kernel value with
        itself is taken 1 + lambda times. New points know nothing of it.

    Attributes
    ----------
    factor : GramFactor
    """

    def __init__(self, kernel, X, *, rank=None, method="cholesky", softness=0.0):
        self.kernel = kernel
        is_whole = isinstance(rank, int | np.integer) and not isinstance(rank, bool)
        if rank is not None and not is_whole:
            raise TypeError(f"rank must be a whole number or None, got {rank!r}.")
        if (
            rank is not None
            and rank < len(X)
            and method == "cholesky"
            and not kernel.is_precomputed
        ):
            self.factor = _low_rank_factor(kernel, X, rank, softness)
        else:
            gram = kernel.gram(X)
            if softness:
                gram = gram + np.diag(softness * np.diag(gram))
            self.factor = factor_gram(gram, rank=rank, method=method)
        support = self.factor.support
        self.support_inputs = support if kernel.is_precomputed else X[support]

    @property
    def rank(self):
        """Number of coordinates."""
        return self.factor.rank

    @property
    def at_training(self):
        """Coordinates of the training inputs, shape (m, rank)."""
        return self.factor.features

    def __call__(self, X):
        """Coordinates of the rows of X, shape (len(X), rank)."""
        return self.factor.map(self.kernel(X, self.support_inputs))

    def rest(self, features, diagonal):
        """Variances that coordinates leave of k(x, x) (:mod:`bayeskernels.kernels.beyond_span`)."""
        return rest_variances(diagonal, features)


class KernelExpansion:
    """Kernel values with given points as coordinates: classifiers in dual form, one alpha a point.

    Parameters
    ----------
    kernel : Kernel
    support : array of shape (s, p)
        The points; for a precomputed kernel their numbers.
    """

    def __init__(self, kernel, support):
        self.kernel = kernel
        self.support = support

    def __call__(self, X):
        """Coordinates of the rows of X, (len(X), s), as precise as the support."""
        if len(self.support) == 0:
            return np.empty((len(X), 0))
        return self.kernel(np.asarray(X, dtype=self._dtype), self.support)

    @property
    def _dtype(self):
        return np.float32 if self.support.dtype == np.float32 else np.float64


class SideBySide:
    """Coordinates of several kernel expansions, and a constant as the last one."""

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, X):
        """Coordinates of the rows of X."""
        return _append_ones(np.column_stack([part(X) for part in self.parts]))


class WithOffset:
    """Coordinates of a feature map, and a constant as the last one."""

    def __init__(self, feature_map):
        self.feature_map = feature_map

    def __call__(self, X):
        """Coordinates of the rows of X."""
        return _append_ones(self.feature_map(X))

    @property
    def at_training(self):
        """Coordinates of the training inputs."""
        return _append_ones(self.feature_map.at_training)

    def rest(self, features, diagonal):
        """Variances that coordinates leave of k(x, x)."""
        return self.feature_map.rest(features[:, :-1], diagonal)


def _append_ones(features):
    return np.column_stack([features, np.ones(len(features))])


def _low_rank_factor(kernel, X, rank, softness):
    """Factor from single columns; a point's value with itself may differ, as white noise does."""
    diagonal = (1.0 + softness) * kernel.diagonal(X)

    def column(j):
        values = kernel(X, X[j : j + 1])[:, 0]
        values[j] = diagonal[j]
        return values

    return pivoted_cholesky(diagonal, column, rank=rank)


class KernelInputs(TensorSharedVariable):
    """The ``X`` of a model: setting it also sets the features that the model's outputs use.

    PyTensor sees no connection between the two, so ``pm.set_data`` works but a gradient with
    respect to X does not exist.
    """

    @classmethod
    def create(cls, name, X, feature_map):
        """Make the shared inputs and their shared features."""
        like = pytensor.shared(X, name=name, shape=(None, None))
        container = _LinkedContainer(like.type, [X], name=name)
        container.feature_map, container.training = feature_map, X
        values = feature_map.at_training
        container.features = _Features(
            type=like.type, value=values, strict=False, name=f"{name}_features"
        )
        return cls(type=like.type, value=None, strict=None, container=container, name=name)

    @property
    def features(self):
        """Features of the present inputs, as a shared variable."""
        return self.container.features

    def set_value(self, new_value, borrow=False):
        """Set inputs and features together."""
        new_value = as_new_inputs(new_value, self.get_value(borrow=True).shape[1])
        super().set_value(new_value, borrow=borrow)
        feature_map = self.container.feature_map
        if np.array_equal(new_value, self.container.training):
            # Soft boundaries and white noise tell training points from new ones in the same place.
            features = feature_map.at_training
        else:
            features = np.ascontiguousarray(feature_map(new_value))
        self.features.set_value(features, borrow=True)


class FixedInputs(TensorSharedVariable):
    """The ``X`` of a model whose graph has kernel values as constants: it cannot be set anew."""

    @classmethod
    def create(cls, name, X):
        """Make the shared inputs."""
        like = pytensor.shared(X, shape=(None, None))
        return cls(type=like.type, value=X, strict=False, name=name)

    def set_value(self, new_value, borrow=False):
        """Refuse other inputs."""
        if not np.array_equal(new_value, self.get_value(borrow=True)):
            raise ValueError(
                "The kernel is a function of arrays or a Gram matrix, whose values at the training "
                "points are part of the model: X cannot be set anew. Predict with bk.predict, and "
                "build a new model for other training points."
            )


class _LinkedContainer(Container):
    """Where inputs are kept, with what belongs to them.

    PyMC copies a model by deep copies of the containers of its data, and then clones its graph.
    Features are no data of the model, so the copy of the inputs brings features of its own, which
    wait as the heir of the old ones until the graph is cloned.
    """

    def __deepcopy__(self, memo):
        # PyMC copies the container alone; else the features are copied along by themselves.
        is_alone = not memo
        new = super().__deepcopy__(memo)
        new.feature_map, new.training = self.feature_map, self.training
        if not is_alone:
            new.features = deepcopy(self.features, memo)
            return new
        old = self.features
        new.features = old.heir = _Features(
            type=old.type, value=old.get_value(borrow=True), strict=False, name=old.name
        )
        return new


class _Features(TensorSharedVariable):
    """Features of inputs that are shared; see :class:`_LinkedContainer`."""

    heir = None

    def clone(self, **kwargs):
        """A variable of the same container, or of that of inputs that were just copied."""
        heir, self.heir = self.heir, None
        return super().clone(**kwargs) if heir is None else heir
