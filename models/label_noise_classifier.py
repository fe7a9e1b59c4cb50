r"""The label-noise classifier of the Kernel Gibbs Sampler paper (KGS, section 2).

A classifier is a direction w in the feature space of a kernel; its prior is uniform. It labels a
point x by the sign of :math:`f(x) = \langle w, \phi(x) \rangle`, and every label is flipped with
probability q. It suffices to learn w within the span of the training points (Herbrich, Graepel and
Campbell 2001, Theorem 12), where it has finitely many coordinates.
"""

import logging

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.graph.utils import MissingInputError
from pytensor.tensor.random.op import RandomVariable

from bayeskernels.distributions import FlipRate, LabelNoise, UniformSphere
from bayeskernels.features import FeatureMap, KernelInputs
from bayeskernels.inputs import as_inputs, as_two_classes
from bayeskernels.kernels import GramKernel, as_kernel
from bayeskernels.samplers import WallGeometry
from bayeskernels.specification import (
    ClassifierSpecification,
    attach_specification,
    refuse_second_specification,
)
from bayeskernels.version_space import find_consistent_direction

__all__ = ["label_noise_classifier"]

_log = logging.getLogger(__name__)

#: Relative size of what is added to the diagonal of a Gram matrix with random hyperparameters.
JITTER = 1e-8


def label_noise_classifier(
    X, y, *, kernel=None, noise="infer", bias=0.0, rank=None, factorization="cholesky"
):
    r"""Bayesian kernel classifier under label noise.

    Parameters
    ----------
    X : array_like or DataFrame of shape (m, p)
        Training inputs; None where ``kernel`` is a Gram matrix.
    y : array_like of shape (m,)
        Labels of two classes, of any type. In sorted order the second is the positive class.
    kernel : pm.gp.cov.Covariance, callable or array of shape (m, m), optional
        A covariance function, a function ``k(X, Z)`` of two arrays, or a precomputed Gram matrix.
        Hyperparameters of a covariance function may be random variables of the model in context;
        they are then sampled too. By default a Gaussian kernel whose width is the median distance
        between the inputs.
    noise : float, pair, "infer" or prior, default "infer"
        Probability q that a label is flipped, in [0, 1/2). Zero allows no error: the version space.
        "infer" gives it a uniform prior on (0, 1/2); any PyMC prior on that interval may be given,
        as ``FlipRate.dist(1, 9)`` or as a variable of the model in context. A pair holds the rates
        of the negative and the positive class, each in one of these forms.
    bias : float, default 0
        Constant added to the kernel, which gives the classifier an offset. The papers have none.
    rank : int, optional
        Use this many coordinates instead of the numerical rank of the Gram matrix: a draw costs
        O(m rank) then. The share of the trace that is left out is logged, and is the
        ``discarded_trace`` of :func:`bayeskernels.specification_of`.
    factorization : {"cholesky", "eigen"}
        How the coordinates are chosen: pivot points, or leading eigenvectors.

    Returns
    -------
    pm.Model
        With the direction ``w`` (dim ``basis``), ``noise`` where it is not fixed, the observed
        labels ``y`` (dim ``obs``; 0 and 1 stand for the two entries of the coordinate ``class``),
        and the inputs ``X`` as data, so that ``pm.set_data`` works.

    References
    ----------
    .. [1] T. Graepel and R. Herbrich, "The Kernel Gibbs Sampler", NIPS 13, 2001.

    Examples
    --------
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(40, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.5))
    >>> with model:
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['noise', 'w']
    """
    X, columns, kernel = _read_inputs(X, kernel, bias)
    classes = as_two_classes(y, len(X))
    model = pm.Model.get_context(error_if_none=False) or pm.Model()
    # All that can be refused is refused before the model is touched.
    refuse_second_specification(model)
    if kernel.is_random and rank is not None:
        raise ValueError("rank needs a kernel with fixed hyperparameters.")
    feature_map = None
    if not kernel.is_random:
        feature_map = FeatureMap(kernel, X, rank=rank, method=factorization)
    with model:
        model.add_coord("class", classes.names)
        rates, fixed = _flip_rates(noise)
        if kernel.is_random:
            inputs = pm.Data("X", X, dims=("obs", "feature"), coords={"feature": columns})
            features = _random_features(kernel, inputs, X)
        else:
            inputs = _register_inputs(model, X, columns, feature_map)
            features = inputs.features
            if rank is not None:
                discarded = feature_map.factor.discarded
                _log.log(
                    logging.WARNING if discarded > 0.01 else logging.INFO,
                    "Rank %d leaves out %.2g of the trace of the Gram matrix.",
                    feature_map.rank,
                    discarded,
                )
        # Lengths and labels are symbolic: what PyTensor compiles is then cached for all data sets.
        # Not features.shape[1]: PyMC would warn that w depends on X whenever X is set anew.
        n_coordinates = len(X) if feature_map is None else feature_map.rank
        model.add_coord("basis", length=pytensor.shared(n_coordinates, name="n_coordinates"))
        start = None  # a draw from the prior
        is_zero = [isinstance(q, float) and q == 0.0 for q in fixed or rates]
        if any(is_zero):
            now = _present_value(model, features)
            start = _start_without_errors(now, classes.codes == 1, is_zero)
        w = UniformSphere("w", dims="basis", initval=start)
        f = pt.dot(features, w)
        labels = pm.Data("y_data", classes.codes)
        LabelNoise("y", f, *rates, observed=labels, dims="obs")
        attach_specification(
            model,
            ClassifierSpecification(
                kind="label_noise_classifier",
                class_names=classes.names,
                codes=classes.codes,
                X=X,
                kernel=kernel,
                feature_map=feature_map,
                outputs=f,
                noise_data=None if fixed is None else model[model.name_for("noise")],
                prefix=model.name_for("w")[:-1],
            ),
        )
    return model


def _read_inputs(X, kernel, bias):
    """Inputs, names of their columns and the kernel; a Gram matrix stands for its inputs."""
    if hasattr(kernel, "to_numpy"):
        kernel = kernel.to_numpy()
    if isinstance(kernel, np.ndarray):
        kernel = as_kernel(kernel, None, bias=bias)
        gram, columns = as_inputs(kernel.values, name="kernel")
        if X is not None and len(X) != len(gram):
            raise ValueError(
                f"X has {len(X)} rows but the Gram matrix given as kernel is one of {len(gram)} "
                "points. With a Gram matrix X may be None."
            )
        return gram, columns, kernel
    X, columns = as_inputs(X)
    return X, columns, as_kernel(kernel, X, bias=bias)


def _register_inputs(model, X, columns, feature_map):
    inputs = KernelInputs.create(model.name_for("X"), X, feature_map)
    second = "support" if isinstance(feature_map.kernel, GramKernel) else "feature"
    model.add_coord("obs", length=inputs.shape[0])
    model.add_coord(second, columns)
    model.register_data_var(inputs, dims=("obs", second))
    return inputs


def _random_features(kernel, inputs, X):
    """Coordinates under random hyperparameters: the Cholesky factor as part of the graph.

    The coordinates w stay where they are when a hyperparameter moves (the non-centred form), so the
    classifier changes as little as the kernel does.
    """
    X = pytensor.shared(X, name="X_train")
    gram = kernel.graph(X)
    jitter = JITTER * pt.mean(pt.diagonal(gram))
    factor = pt.linalg.cholesky(gram + jitter * pt.eye(X.shape[0]))
    cross = kernel.graph(inputs, X)
    return pt.linalg.solve_triangular(factor, cross.T, lower=True).T


def _flip_rates(noise):
    """Flip rates of the two classes as tensors, and as numbers where both are fixed."""
    if isinstance(noise, tuple | list) or (isinstance(noise, np.ndarray) and noise.ndim == 1):
        if len(noise) != 2:
            raise ValueError(
                f"A noise pair holds the rates of the two classes, got {len(noise)} entries."
            )
        if all(isinstance(q, str) and q == "infer" for q in noise):
            pair = FlipRate("noise", dims="class")
            return (pair[0], pair[1]), None
        rates = [_flip_rate(q, f"noise_{k}") for k, q in enumerate(noise)]
        if all(isinstance(q, float) for q in rates):
            pair = pm.Data("noise", rates, dims="class")
            return (pair[0], pair[1]), tuple(rates)
        pm.Deterministic("noise", pt.stack([pt.as_tensor(q) for q in rates]), dims="class")
        return tuple(rates), None
    rate = _flip_rate(noise, "noise")
    if isinstance(rate, float):
        q = pm.Data("noise", rate)
        return (q, q), (rate, rate)
    if rate.name != pm.modelcontext(None).name_for("noise"):
        pm.Deterministic("noise", rate)
    return (rate, rate), None


def _flip_rate(noise, name):
    """One flip rate: a float, or a random variable of the model in context."""
    if isinstance(noise, str):
        if noise != "infer":
            raise ValueError(f'noise must be a number, "infer" or a prior, got {noise!r}.')
        return FlipRate(name)
    if isinstance(noise, Variable):
        if noise.ndim != 0:
            raise ValueError(
                f"A prior of the flip rate must be a scalar, this one has {noise.ndim} dimensions. "
                "For rates by class give a pair of priors."
            )
        model = pm.modelcontext(None)
        is_prior = noise.owner is not None and isinstance(
            noise.owner.op, RandomVariable | SymbolicRandomVariable
        )
        if is_prior:
            _check_support(noise)
        if noise in model.named_vars.values() or not is_prior:
            return noise
        if noise.name is not None:
            raise ValueError(
                f"The prior {noise.name!r} belongs to another model. Build the classifier inside "
                "`with model:`, or give an unnamed prior such as FlipRate.dist(1, 9)."
            )
        return model.register_rv(noise, name)
    try:
        rate = float(noise)
    except (TypeError, ValueError):
        raise TypeError(
            f'noise must be a number, a pair, "infer" or a prior, got {type(noise).__name__}.'
        ) from None
    if not 0 <= rate < 0.5:
        raise ValueError(
            f"noise must be in [0, 1/2), got {rate}: at one half labels say nothing, and beyond "
            "it they say the opposite."
        )
    return rate


def _check_support(prior):
    """Refuse priors with mass outside of (0, 1/2), where PyMC can tell."""
    try:
        below_zero, below_half = np.exp(pm.logcdf(prior, [0.0, 0.5]).eval())
    except (NotImplementedError, ValueError, MissingInputError):
        return
    outside = 1 - below_half + below_zero
    if outside > 1e-9:
        raise ValueError(
            f"A prior of the flip rate must lie within (0, 1/2), this one has {outside:.2g} of its "
            "mass outside. Use bayeskernels.distributions.FlipRate.dist(alpha, beta), a Beta "
            "distribution cut off at 1/2, or pm.Truncated.dist(prior, lower=0, upper=0.5)."
        )


def _present_value(model, features):
    """Features at the start of the chains."""
    if isinstance(features, SharedVariable):
        return features.get_value(borrow=True)
    [graph] = model.replace_rvs_by_values([features])
    point = model.initial_point()
    return graph.eval({v: point[v.name] for v in model.value_vars if v in ancestors([graph])})


def _start_without_errors(features, is_positive, is_zero):
    """Direction that makes no error where none is allowed.

    A point labelled positive must be right if the negative class is never flipped, and vice versa.
    """
    must_be_right = np.where(is_positive, is_zero[0], is_zero[1])
    geometry = WallGeometry.from_features(features[must_be_right], is_positive[must_be_right])
    _refuse_conflicts(geometry, np.flatnonzero(must_be_right))
    return find_consistent_direction(features[must_be_right], is_positive[must_be_right])


def _refuse_conflicts(geometry, points):
    """Points in one place with opposite labels leave no classifier without errors."""
    first = {}
    for k, (wall, side) in enumerate(zip(geometry.wall_of_point, geometry.right_side, strict=True)):
        other, other_side = first.setdefault(wall, (k, side))
        if wall >= 0 and side != other_side:
            raise ValueError(
                f"Points {points[other]} and {points[k]} are equal up to scale in feature space "
                "but their labels conflict, and noise = 0 allows no error. Use noise > 0."
            )
