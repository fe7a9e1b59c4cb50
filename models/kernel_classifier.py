r"""What the builders of kernel classifiers share: data, features and directions as a PyMC model.

A classifier is a direction w in the feature space of a kernel; its prior is uniform. It labels a
point x by the sign of :math:`f(x) = \langle w, \phi(x) \rangle`. It suffices to learn w within the
span of the training points (Herbrich, Graepel and Campbell 2001, Theorem 12), where it has finitely
many coordinates. At new points the part of w outside the span adds a variance, which prediction
takes into account (:mod:`bayeskernels.beyond_span`). Several classes have a direction each, which
tells the class from the others.
"""

import logging

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import ancestors

from bayeskernels.distributions import LabelNoise, UniformSphere
from bayeskernels.features import FeatureMap, KernelInputs
from bayeskernels.kernel_check import refuse_indefinite_kernel
from bayeskernels.kernels import GramKernel
from bayeskernels.samplers import WallGeometry
from bayeskernels.specification import (
    ClassifierSpecification,
    attach_specification,
    refuse_second_specification,
)
from bayeskernels.version_space import find_consistent_direction

__all__ = ["build_kernel_classifier", "random_features", "random_rest", "register_inputs"]

_log = logging.getLogger(__name__)

#: What is added to the diagonal of a Gram matrix with random hyperparameters, relative to it.
JITTER = 1e-8


def build_kernel_classifier(
    kind, X, columns, classes, kernel, *, add_rates, rank, factorization, softness=0.0, remedy
):
    """Put a kernel classifier into the model in context, or into a new one.

    Parameters
    ----------
    kind : str
        Name of the builder.
    X : array of shape (m, p)
    columns : list of str
        Names of its columns.
    classes : Classes
    kernel : Kernel
    add_rates : callable
        Called within the model; returns the flip rates of the two classes as tensors or numbers,
        the same as a pair of floats where both are fixed (else None), and the data that hold them.
    rank : int or None
    factorization : {"cholesky", "eigen"}
    softness : float or callable
        A function is called within the model and returns a random variable.
    remedy : str
        What to do where no classifier makes no error, for the message.

    Returns
    -------
    pm.Model
    """
    model = pm.Model.get_context(error_if_none=False) or pm.Model()
    # All that can be refused is refused before the model is touched.
    refuse_second_specification(model)
    is_random = kernel.is_random or callable(softness)
    if is_random and rank is not None:
        raise ValueError("rank needs a kernel with fixed hyperparameters.")
    feature_map = None
    if kernel.is_random:
        refuse_indefinite_kernel(kernel, X)
    if not is_random:
        feature_map = FeatureMap(kernel, X, rank=rank, method=factorization, softness=softness)
    with model:
        model.add_coord("class", classes.names)
        rates, fixed, noise_data = add_rates()
        if is_random:
            if callable(softness):
                softness = softness()
            inputs = pm.Data("X", X, dims=("obs", "feature"), coords={"feature": columns})
            features = random_features(kernel, inputs, X, softness)
            rest = random_rest(kernel, inputs, features)
        else:
            inputs = register_inputs(model, X, columns, feature_map)
            features, rest = inputs.features, None
            if rank is not None:
                _log_discarded(feature_map)
        # Lengths and labels are symbolic: what PyTensor compiles is then cached for all data sets.
        # Not features.shape[1]: PyMC would warn that w depends on X whenever X is set anew.
        n_coordinates = len(X) if feature_map is None else feature_map.rank
        model.add_coord("basis", length=pytensor.shared(n_coordinates, name="n_coordinates"))
        is_positive = classes.is_positive
        start = None  # a draw from the prior
        is_zero = [isinstance(q, float) and q == 0.0 for q in fixed or rates]
        if any(is_zero):
            now = _present_value(model, features)
            start = _start_without_errors(now, is_positive, is_zero, remedy, classes.names)
        several = is_positive.ndim == 2
        w = UniformSphere("w", dims=("class", "basis") if several else "basis", initval=start)
        f = pt.dot(features, w.T if several else w)
        observed = pm.Data("y_data", is_positive.astype(np.int64))
        LabelNoise("y", f, *rates, observed=observed, dims=("obs", "class") if several else "obs")
        attach_specification(
            model,
            ClassifierSpecification(
                kind=kind,
                class_names=classes.names,
                codes=classes.codes,
                X=X,
                kernel=kernel,
                feature_map=feature_map,
                outputs=f,
                rest=rest,
                noise_data=noise_data,
                softness=softness if isinstance(softness, float) else None,
                prefix=model.name_for("w")[:-1],
            ),
        )
    return model


def register_inputs(model, X, columns, feature_map):
    """Add the inputs to a model, with the dims of data; their features are an attribute of them."""
    inputs = KernelInputs.create(model.name_for("X"), X, feature_map)
    second = "support" if isinstance(feature_map.kernel, GramKernel) else "feature"
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


def random_rest(kernel, inputs, features):
    """Variances that the coordinates of inputs leave under random hyperparameters, as a graph."""
    diagonal = kernel.covariance(inputs, diag=True)
    return pt.maximum(diagonal - pt.sum(pt.sqr(features), axis=1), 0.0)


def _log_discarded(feature_map):
    discarded = feature_map.factor.discarded
    _log.log(
        logging.WARNING if discarded > 0.01 else logging.INFO,
        "Rank %d leaves out %.2g of the trace of the Gram matrix.",
        feature_map.rank,
        discarded,
    )


def _present_value(model, features):
    """Features at the start of the chains."""
    if isinstance(features, SharedVariable):
        return features.get_value(borrow=True)
    [graph] = model.replace_rvs_by_values([features])
    point = model.initial_point()
    return graph.eval({v: point[v.name] for v in model.value_vars if v in ancestors([graph])})


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
