r"""What the builders of kernel classifiers share: data, features and directions as a PyMC model.

A classifier is a direction w in the feature space of a kernel; its prior is uniform. It labels a
point x by the sign of :math:`f(x) = \langle w, \phi(x) \rangle`. It suffices to learn w within the
span of the training points (Herbrich, Graepel and Campbell 2001, Theorem 12), where it has finitely
many coordinates. At new points the part of w outside the span adds a variance, which prediction
takes into account (:mod:`bayeskernels.kernels.beyond_span`). Several classes have a direction each,
which tells the class from the others.
"""

import logging

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.initial_point import make_initial_point_fn
from pytensor.graph.traversal import ancestors

from bayeskernels.distributions import LabelNoise, UniformSphere
from bayeskernels.geometry.version_space import find_consistent_direction
from bayeskernels.geometry.walls import WallGeometry
from bayeskernels.kernels.argument import GramKernel
from bayeskernels.kernels.check import refuse_indefinite_kernel
from bayeskernels.kernels.features import FeatureMap, KernelInputs
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.base import specification_of
from bayeskernels.specification.bound import present_value
from bayeskernels.specification.directions import DirectionSpecification

__all__ = ["add_inputs", "build_kernel_classifier", "random_features", "register_inputs"]

_log = logging.getLogger(__name__)

#: What is added to the diagonal of a Gram matrix with random hyperparameters, relative to it.
JITTER = 1e-8


def build_kernel_classifier(
    kind, X, columns, classes, kernel, *, add_rates, rank, factorization, softness=0.0, remedy
) -> pm.Model:
    """Put a kernel classifier into the model in context, or into a new one.

    Parameters
    ----------
    kind : str
        Name of the builder.
    X, columns, classes, kernel, rank, factorization
        Inputs and their names, labels, kernel, and how coordinates are chosen, as they were read.
    add_rates : callable
        Called within the model; returns the flip rates of the two classes as tensors or numbers,
        the same as a pair of floats where both are fixed (else None), and the number that both are
        where the model has no variable ``noise`` (else None).
    softness : float or Hyperparameter
        The latter where it is random.
    remedy : str
        What to do where no classifier makes no error, for the message.
    """
    # All that can be refused is refused before the model is touched.
    model = open_model()
    is_random = kernel.is_random or not isinstance(softness, float)
    if is_random and rank is not None:
        raise ValueError("rank needs a kernel with fixed hyperparameters.")
    feature_map = None
    if kernel.is_random:
        refuse_indefinite_kernel(kernel, X)
    if not is_random:
        feature_map = FeatureMap(kernel, X, rank=rank, method=factorization, softness=softness)
    with model:
        model.add_coord("class", classes.names)
        rates, fixed, flip_rate = add_rates()
        if is_random:
            if not isinstance(softness, float):
                softness = softness.variable("softness")
            inputs = pm.Data("X", X, dims=("obs", "feature"), coords={"feature": columns})
            features = random_features(kernel, inputs, X, softness)
        else:
            inputs = register_inputs(model, X, columns, feature_map)
            features = inputs.features
            if rank is not None:
                _log_discarded(feature_map)
        # Lengths and labels are symbolic: what PyTensor compiles is then cached for all data sets.
        # Not features.shape[1]: PyMC would warn that w depends on X whenever X is set anew.
        n_coordinates = len(X) if feature_map is None else feature_map.rank
        model.add_coord("basis", length=pytensor.shared(n_coordinates, name="n_coordinates"))
        is_positive = classes.is_positive
        is_zero = [isinstance(q, float) and q == 0.0 for q in fixed or rates]
        start = _Start(is_zero, remedy)
        if any(is_zero):
            now = _present_value(model, features)
            start.find(now, is_positive, is_zero, classes.names)
        several = is_positive.ndim == 2
        w = UniformSphere("w", dims=("class", "basis") if several else "basis")
        w.tag.start = start
        f = pt.dot(features, w.T if several else w)
        observed = pm.Data("y_data", is_positive.astype(np.int64))
        LabelNoise("y", f, *rates, observed=observed, dims=("obs", "class") if several else "obs")
        start.specification = specify(
            DirectionSpecification,
            kind=kind,
            class_names=classes.names,
            training=X,
            kernel=kernel,
            feature_map=feature_map,
            flip_rate=flip_rate,
            softness=softness if isinstance(softness, float) else None,
        )
    return model


def register_inputs(model, X, columns, feature_map):
    """Add the inputs to a model, with the dims of data; their features are an attribute of them."""
    inputs = KernelInputs.create(model.name_for("X"), X, feature_map)
    second = "support" if isinstance(feature_map.kernel, GramKernel) else "feature"
    return add_inputs(model, inputs, second, columns)


def add_inputs(model, inputs, second, columns):
    """Add a shared variable of inputs to a model, as ``pm.Data`` does with an array."""
    model.add_coord("obs", length=inputs.shape[0])
    model.add_coord(second, columns)
    model.register_data_var(inputs, dims=("obs", second))
    return inputs


def random_features(kernel, inputs, X, softness):
    """Coordinates under random hyperparameters: the Cholesky factor as part of the graph.

    The coordinates w stay where they are when a hyperparameter moves (the non-centred form), so the
    classifier changes as little as the kernel does.
    """
    X = pytensor.shared(X, name="X_train")
    gram = kernel.graph(X)
    diagonal = pt.diagonal(gram)
    # Relative to each point, so that a short feature vector keeps its direction beside long ones.
    jitter = JITTER * pt.switch(diagonal > 0.0, diagonal, pt.mean(diagonal))
    cross = kernel.graph(inputs, X)
    if not isinstance(softness, float) or softness > 0.0:
        # Only the training points themselves have a soft boundary, not new ones in their place.
        n = pt.minimum(inputs.shape[0], X.shape[0])
        is_training = pt.eq(inputs.shape[0], X.shape[0]) & pt.all(pt.eq(inputs[:n], X[:n]))
        gram = gram + pt.diag(softness * diagonal)
        cross = cross + is_training * pt.eye(inputs.shape[0], X.shape[0]) * softness * diagonal
    factor = pt.linalg.cholesky(gram + pt.diag(jitter))
    return pt.linalg.solve_triangular(factor, cross.T, lower=True).T


def _log_discarded(feature_map):
    discarded = feature_map.factor.discarded
    _log.log(
        logging.WARNING if discarded > 0.01 else logging.INFO,
        "Rank %d leaves out %.2g of the trace of the Gram matrix.",
        feature_map.rank,
        discarded,
    )


def _present_value(model, features, overrides=None):
    """Features at the start of the chains."""
    [graph] = model.replace_rvs_by_values([features])
    if not set(model.value_vars) & set(ancestors([graph])):
        return present_value(graph)
    point = make_initial_point_fn(model=model, overrides=overrides)(None)
    return graph.eval({v: point[v.name] for v in model.value_vars if v in ancestors([graph])})


class _Start:
    """Where chains start: anywhere, or where no error is made if none is allowed.

    It is found for the labels and inputs that a model has when it is asked for its initial point.

    Parameters
    ----------
    is_zero : list of bool
        Whether the flip rates of the two classes are zero, where they are not both fixed.
    remedy : str
        What to do where no classifier makes no error, for the message.

    Attributes
    ----------
    specification : DirectionSpecification
        Of the model that was built; of a copy, the one in context counts.
    """

    def __init__(self, is_zero, remedy):
        self.is_zero, self.remedy = is_zero, remedy
        self.specification = None
        self._last = None

    def __call__(self, name):
        """Direction, or one for each class; None for a draw from the prior."""
        specification = self._specification_now(name)
        noise = specification.noise
        is_zero = self.is_zero if noise is None else [q == 0.0 for q in noise]
        if not any(is_zero):
            return None
        specification.require_paired_data()
        model = specification.model
        # Features do not depend on w: any value saves PyMC from asking here again.
        anywhere = {model[name]: np.ones(model[name].shape.eval())}
        features = _present_value(model, specification.features, anywhere)
        is_positive, names = specification.is_positive, specification.class_names
        return self.find(features, is_positive, is_zero, names)

    def find(self, features, is_positive, is_zero, class_names):
        """The same for given features and labels."""
        key = features, is_positive, is_zero
        if self._last is None or not all(map(np.array_equal, key, self._last[0])):
            found = _start_without_errors(features, is_positive, is_zero, self.remedy, class_names)
            self._last = key, found
        return self._last[1]

    def _specification_now(self, name):
        model = pm.Model.get_context(error_if_none=False)
        variable = None if model is None else model.named_vars.get(name)
        is_copy = variable is not None and getattr(variable.tag, "start", None) is self
        return specification_of(model) if is_copy else self.specification


def _start_without_errors(features, is_positive, is_zero, remedy, class_names=None):
    """Direction, or one for each column of labels, that makes no error where none is allowed.

    A point labelled positive must be right if the negative class is never flipped, and vice versa.
    """
    if is_positive.ndim == 2:
        return np.stack(
            [
                _start_without_errors(
                    features, column, is_zero, f"(Class {name!r} against the rest.) {remedy}"
                )
                for column, name in zip(is_positive.T, class_names.tolist(), strict=True)
            ]
        )
    must_be_right = np.where(is_positive, is_zero[0], is_zero[1])
    points = np.flatnonzero(must_be_right)
    geometry = WallGeometry.from_features(features[points], is_positive[points])
    _refuse_conflicts(geometry, points, remedy)
    return find_consistent_direction(
        features[points], is_positive[points], points=points, remedy=remedy
    )


def _refuse_conflicts(geometry, points, remedy):
    """Points in one place with opposite labels leave no classifier without errors."""
    first = {}
    for k, (wall, side) in enumerate(zip(geometry.wall_of_point, geometry.right_side, strict=True)):
        other, other_side = first.setdefault(wall, (k, side))
        if wall >= 0 and side != other_side:
            raise ValueError(
                f"Points {points[other]} and {points[k]} are equal up to scale in feature space "
                f"but their labels conflict: no classifier is right on both. {remedy}"
            )
