"""A kernel that is not positive semidefinite is refused before anything is built on it."""

import warnings

import numpy as np
import pymc as pm
from pymc.initial_point import make_initial_point_expression
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors
from scipy import linalg

from bayeskernels.graphs.numpy_graphs import is_random, numpy_function
from bayeskernels.kernels.argument import CovarianceKernel
from bayeskernels.kernels.gram import factor_gram

__all__ = ["refuse_indefinite_kernel"]

#: So many points are enough to find most kernels that are not positive semidefinite.
CHECKED_POINTS = 500

#: By how much of the trace a covariance of PyMC may fail. Its squared distances are differences of
#: large numbers, so that good kernels of inputs far from zero do, a little.
TOLERANCE = 1e-6


def refuse_indefinite_kernel(kernel, X):
    """Refuse a kernel that is not symmetric and positive semidefinite on some of the points.

    A sample of points has to do, as the whole matrix is never formed where there are many. Random
    hyperparameters are where the chains start: the model has to be in context.
    """
    rng = np.random.default_rng(0)
    points = np.sort(rng.choice(len(X), min(len(X), CHECKED_POINTS), replace=False))
    if isinstance(kernel, CovarianceKernel):
        _check_covariance(kernel, X[points])
        return
    support = points if kernel.is_precomputed else X[points]
    # Only a positive semidefinite matrix has a factor.
    factor_gram(kernel(X[points], support))


def _check_covariance(kernel, X):
    gram = _starting_gram(kernel, X) if kernel.is_random else kernel.gram(X)
    if gram is None:
        return
    where = "where the chains start" if kernel.is_random else "on the training points"
    if not np.isfinite(gram).all():
        raise ValueError(
            f"The kernel has NaN or infinite values {where}. Check its hyperparameters, and scale "
            "the inputs."
        )
    lowest = linalg.eigvalsh((gram + gram.T) / 2, subset_by_index=[0, 0])[0]
    trace = np.abs(np.diag(gram)).sum()
    if lowest < -TOLERANCE * trace or (trace == 0.0 and gram.any()):
        raise ValueError(
            f"The kernel is not positive semidefinite {where}: its matrix has the eigenvalue "
            f"{lowest:.3g} and the trace {np.trace(gram):.3g}. A difference of kernels seldom is a "
            "kernel, and neither is a negative multiple."
        )


def _starting_gram(kernel, X):
    """Kernel matrix at the initial values of random hyperparameters; None if there are none."""
    model = pm.Model.get_context(error_if_none=False)
    values = kernel.graph(X)
    used = set(ancestors([values]))
    variables = [rv for rv in (model.root.free_RVs if model else ()) if rv in used]
    with warnings.catch_warnings():
        # Where PyMC knows no typical value it draws one, and says so when sampling too.
        warnings.simplefilter("ignore", UserWarning)
        start = make_initial_point_expression(
            free_rvs=variables,
            rvs_to_transforms=model.root.rvs_to_transforms if model else {},
            initval_strategies=model.root.rvs_to_initial_values if model else {},
        )
    replacements = dict(zip(variables, start, strict=True))
    values = graph_replace(values, replacements, strict=False)
    if is_random(values):
        return None
    return np.broadcast_to(numpy_function([], values)(), (len(X), len(X)))
