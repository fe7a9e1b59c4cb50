r"""Generalized kernel models of several classes (GKM, section 6.2) or several kernels (6.1).

*Several classes.* Class j has the predictor :math:`f_j(x) = u_j + \sum_i \beta_{ij} k(x, x_i)`; all
classes share one active set, and offsets and coefficients sum to zero over the classes. The label
is the class with the largest predictor after independent standard normal noise. With two classes
this is the model of two classes, whose predictor is :math:`(f_2 - f_1) / \sqrt 2`.

*Several kernels.* :math:`f(x) = u + \sum_l \sum_i \beta_{li} k_l(x, x_i)` with one active set and a
precision :math:`g_l` for each kernel; a kernel is off, with coefficients of zero, with a prior
probability ``kernel_off``. The paper has :math:`g_l` as a scale instead, to which its Gamma prior
is not conjugate; as a precision it is what g is in the model of one kernel.
"""

from collections.abc import Mapping

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayeskernels.distributions import (
    ClassOffsets,
    GroupedActiveSet,
    GroupedOffset,
    GroupedPrecision,
    GroupedSilvermanG,
    KernelOn,
    ProbitClass,
    ProbitLabel,
)
from bayeskernels.inputs import as_classes, as_inputs
from bayeskernels.kernels.argument import KernelSum, as_kernel, read_inputs
from bayeskernels.kernels.check import refuse_indefinite_kernel
from bayeskernels.kernels.columns import ActiveGram, KernelColumns
from bayeskernels.models.parts.active_set_options import active_limit, inclusion_parameters
from bayeskernels.models.parts.hyperparameter import (
    ETA_PRIOR,
    G_PRIOR,
    PROBABILITY,
    Hyperparameter,
    as_number,
)
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.expansions import GroupedKernelSpecification

__all__ = ["build_grouped_kernel_model", "is_grouped"]


def is_grouped(kernel, y):
    """Whether a model of the given kernel and labels has several kernels or classes."""
    if isinstance(kernel, list | tuple | Mapping):
        return True
    try:
        return len(as_classes(y, np.size(y)).names) > 2
    except (TypeError, ValueError):
        return False  # labels that are none are refused elsewhere, where X is known


def build_grouped_kernel_model(
    kind,
    X,
    y,
    *,
    kernel,
    default,
    max_active,
    sparse,
    bias,
    g,
    eta,
    inclusion,
    kernel_off,
    by_class=None,
):
    """Put the model into the one in context, or into a new one.

    Parameters
    ----------
    kind : str
        Name of the public builder.
    default : callable
        ``default(X)`` makes the kernel where there is none.
    by_class : bool, optional
        Whether there are predictors for each class; by default where there are more than two. With
        two classes both forms describe the same model.
    **options
        As for :func:`bayeskernels.models.generalized_kernel_model`.
    """
    by_kernel = isinstance(kernel, list | tuple | Mapping)
    X, columns, kernels, names = _read_kernels(X, kernel, bias, default)
    classes = as_classes(y, len(X))
    n, n_classes = len(X), len(classes.names)
    if any(kernel.is_random for kernel in kernels):
        raise TypeError("A kernel with random hyperparameters is not supported here.")
    kernel_off = as_number("kernel_off", kernel_off, PROBABILITY) if by_kernel else 0.0
    max_active, inclusion = active_limit(max_active, n, sparse), inclusion_parameters(inclusion)
    q = len(kernels)
    g = Hyperparameter("g", g, words=(None,), shape=(q,) if by_kernel else ())
    eta = Hyperparameter("eta", eta, words=(None,))
    by_class = n_classes > 2 if by_class is None else by_class
    model = open_model()
    for one in kernels:
        refuse_indefinite_kernel(one, X)
    evaluators = [KernelColumns(k, X) for k in kernels]
    with model:
        model.add_coord("class", classes.names)
        if by_kernel:
            model.add_coord("kernel", names)
        second = "support" if kernels[0].is_precomputed else "feature"
        inputs = pm.Data("X", X, dims=("obs", second), coords={second: columns})
        eta = eta.add(GroupedPrecision, *ETA_PRIOR)
        if by_class:
            # The step sets all c values; a transform to fewer would only be in its way.
            u = ClassOffsets("u", 1.0 / pt.sqrt(eta), dims="class", default_transform=None)
        else:
            u = GroupedOffset("u", 0.0, tau=eta)
        g = g.add(GroupedPrecision, *G_PRIOR, dims="kernel" if by_kernel else None)
        precisions = g if by_kernel else g[None]
        on = pt.ones(q, dtype="int64")
        if kernel_off > 0.0:
            on = KernelOn("kernel_on", 1.0 - kernel_off, dims="kernel")
        if by_kernel:
            pm.Deterministic("kernel_weight", on / pt.sqrt(precisions), dims="kernel")
        if sparse:
            gamma = GroupedActiveSet("gamma", max_active, *inclusion, shape=(n,), dims="obs")
        else:
            gamma = pm.Data("gamma", np.ones(n, dtype=np.int64), dims="obs")
        active = pt.nonzero(gamma)[0]
        beta = GroupedSilvermanG(
            "beta",
            gamma,
            precisions,
            on,
            [ActiveGram(evaluate)(active) for evaluate in evaluators],
            n_classes=n_classes if by_class else 1,
            by_kernel=by_kernel,
            shape=((q,) if by_kernel else ()) + (n,) + ((n_classes,) if by_class else ()),
            dims=(("kernel",) if by_kernel else ()) + ("obs",) + (("class",) if by_class else ()),
        )
        f = u
        for j, evaluate in enumerate(evaluators):
            coefficients = beta[j] if by_kernel else beta
            f = f + pt.dot(evaluate(inputs, active), coefficients[active])
        labels = pm.Data("y_data", classes.codes)
        label = ProbitClass if by_class else ProbitLabel
        label("y", f, observed=labels, dims="obs")
        specify(
            GroupedKernelSpecification,
            kind=kind,
            class_names=classes.names,
            training=X,
            kernel=KernelSum(kernels) if q > 1 else kernels[0],
            kernels=tuple(kernels),
            by_kernel=by_kernel,
            by_class=by_class,
            kernel_off=kernel_off,
            max_active=max_active,
            is_sparse=sparse,
            inclusion=tuple(map(float, inclusion)),
        )
    return model


def _read_kernels(X, kernel, bias, default):
    """Inputs, their column names, the kernels, and the names of these."""
    if not isinstance(kernel, list | tuple | Mapping):
        X, columns, kernel = read_inputs(X, kernel, bias, default=default)
        return X, columns, [kernel], [0]
    if len(kernel) == 0:
        raise ValueError("kernel is an empty collection: give at least one kernel.")
    names = list(kernel) if isinstance(kernel, Mapping) else list(range(len(kernel)))
    given = list(kernel.values()) if isinstance(kernel, Mapping) else list(kernel)
    for name, one in zip(names, given, strict=True):
        if hasattr(one, "__array__") or one is None:
            raise TypeError(
                f"Kernel {name!r} of several is {type(one).__name__}: give covariances of "
                "pm.gp.cov or functions k(X, Z). Where Gram matrices are all there is, put their "
                "rows side by side as X and let each function use its own columns."
            )
    X, columns = as_inputs(X)
    return X, columns, [as_kernel(one, X, bias=bias) for one in given], names
