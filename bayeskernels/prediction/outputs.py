"""Outputs of drawn classifiers at given points: what prediction and diagnostics are made of.

For a kernel with fixed hyperparameters the outputs of all draws at all points are one matrix
product; it is done in blocks of points, so that the result of each block is still in cache when it
is used. With random hyperparameters every draw has a kernel of its own, and is evaluated by itself.
"""

import numpy as np
import pytensor
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable
from rich.progress import Progress
from threadpoolctl import threadpool_limits

from bayeskernels.kernels.features import KernelExpansion
from bayeskernels.specification.base import (
    GeneralizedKernelSpecification,
    GroupedKernelSpecification,
    LatentClassifierSpecification,
    LogisticSpecification,
)
from bayeskernels.specification.draws import posterior_draws, read_posterior

__all__ = [
    "directions",
    "directions_by_chain",
    "drawn_classifiers",
    "flip_rates",
    "noise_deviations",
    "output_blocks",
    "outputs_with_rest",
    "process_precisions",
]

#: Size of a block of outputs: large enough for BLAS to run at full speed, small enough for caches.
BLOCK_BYTES = 2**25


def directions_by_chain(specification, idata):
    """Drawn directions, shape (n_chains, n_draws, r), checked against the model's coordinates.

    For more than two classes the shape is (n_chains, n_draws, n_classes, r).
    """
    return drawn_classifiers(specification, idata)[0]


def directions(specification, idata):
    """Drawn directions, shape (n_draws, r), all chains one after the other."""
    w = directions_by_chain(specification, idata)
    return w.reshape(-1, *w.shape[2:])


def drawn_classifiers(specification, idata):
    """Drawn classifiers and the coordinates in which they are linear.

    Parameters
    ----------
    specification : ClassifierSpecification
    idata : DataTree
        With directions ``w`` in the model's own coordinates, or with the coefficients ``alpha`` of
        training points (dim ``support``), as ensembles for large data have them.

    Returns
    -------
    array of shape (n_chains, n_draws, r) or (n_chains, n_draws, n_classes, r)
    callable or None
        From inputs to their r coordinates; None where every draw has a kernel of its own.
    """
    if isinstance(specification, GeneralizedKernelSpecification):
        return _drawn_expansions(specification, idata)
    if isinstance(specification, GroupedKernelSpecification):
        return _drawn_groups(specification, idata)
    if isinstance(specification, LatentClassifierSpecification):
        return _drawn_latents(specification, idata)
    if isinstance(specification, LogisticSpecification):
        w = posterior_draws(idata, f"{specification.prefix}w")
        _check_draws(w, (specification.rank,), specification)
        return w, specification.feature_map
    posterior = {} if idata is None else read_posterior(idata)["posterior"]
    if "alpha" in posterior and "support" in posterior["alpha"].dims:
        alpha = posterior_draws(idata, "alpha")
        support = posterior["support"].values
        _check_draws(alpha, (*alpha.shape[2:-1], len(support)), specification)
        kernel = specification.kernel
        points = support if kernel.is_precomputed else specification.training[support]
        return alpha, KernelExpansion(kernel, points)
    w = posterior_draws(idata, f"{specification.prefix}w")
    _check_draws(w, (*w.shape[2:-1], specification.rank), specification)
    return w, specification.feature_map


def _drawn_expansions(specification, idata):
    """Coefficients of all points that any draw uses, and the offset as the last one."""
    beta = posterior_draws(idata, f"{specification.prefix}beta")
    u = posterior_draws(idata, f"{specification.prefix}u")
    if beta.shape[-1] != len(specification.training):
        raise ValueError(
            f"idata holds coefficients of {beta.shape[-1]} points, the model has "
            f"{len(specification.training)}: they do not belong together."
        )
    support = np.flatnonzero((beta != 0.0).any(axis=(0, 1)))
    kernel = specification.kernel
    if specification.family is not None:
        return np.concatenate([beta, u[..., None]], axis=-1), None
    points = support if kernel.is_precomputed else specification.training[support]
    w = np.concatenate([beta[..., support], u[..., None]], axis=-1)
    return w, KernelExpansion(kernel, points, offset=True)


def _drawn_groups(specification, idata):
    """Coefficients by class of all points that any draw uses with a kernel, and the offsets."""
    beta = posterior_draws(idata, f"{specification.prefix}beta")
    u = posterior_draws(idata, f"{specification.prefix}u")
    expected = (
        *((len(specification.kernels),) if specification.by_kernel else ()),
        len(specification.training),
        *((specification.n_classes,) if specification.by_class else ()),
    )
    if beta.shape[2:] != expected:
        raise ValueError(
            f"idata holds coefficients of the shape {beta.shape[2:]}, those of the model have "
            f"{expected}: they do not belong together."
        )
    if not specification.by_class:
        beta = beta[..., None]
    if not specification.by_kernel:
        beta = beta[:, :, None]
    coordinates, parts = [], []
    for j, kernel in enumerate(specification.kernels):
        support = np.flatnonzero((beta[:, :, j] != 0.0).any(axis=(0, 1, 3)))
        points = support if kernel.is_precomputed else specification.training[support]
        coordinates.append(KernelExpansion(kernel, points))
        parts.append(np.moveaxis(beta[:, :, j, support], 3, 2))
    w = np.concatenate(parts, axis=-1)
    w = w if specification.by_class else w[:, :, 0]
    return np.concatenate([w, u[..., None]], axis=-1), _SideBySide(coordinates)


class _SideBySide:
    """Coordinates of several kernel expansions, and a constant as the last one."""

    def __init__(self, parts):
        self.parts = parts

    def __call__(self, X):
        return _append_ones(np.column_stack([part(X) for part in self.parts]))


def _drawn_latents(specification, idata):
    """Coordinates of the drawn functions, and the offset as the last one."""
    w = posterior_draws(idata, f"{specification.prefix}w")
    _check_draws(w, (specification.rank,), specification)
    if specification.feature_map is None:
        return w, None
    u = posterior_draws(idata, f"{specification.prefix}u")
    return np.concatenate([w, u[..., None]], axis=-1), _WithOffset(specification.feature_map)


class _WithOffset:
    """Coordinates of a feature map, and a constant as the last one."""

    def __init__(self, feature_map):
        self.feature_map = feature_map

    def __call__(self, X):
        return _append_ones(self.feature_map(X))

    def rest(self, features, diagonal):
        return self.feature_map.rest(features[:, :-1], diagonal)

    def at_training(self):
        return _append_ones(self.feature_map.factor.features)


def _append_ones(features):
    return np.column_stack([features, np.ones(len(features))])


def _check_draws(w, shape, specification):
    several = specification.n_classes > 2
    expected = (specification.n_classes, shape[-1]) if several else (shape[-1],)
    if w.shape[2:] != expected:
        raise ValueError(
            f"idata holds directions of {w.shape[-1]} coordinates"
            f"{f' for {w.shape[2]} classes' if w.ndim == 4 else ''}, the model has {expected[-1]}"
            f"{f' for {expected[0]} classes' if several else ''}: they do not belong together."
        )


def flip_rates(specification, idata):
    """Flip rates of the negative and the positive class, each a number or an array by draw."""
    if specification.noise is not None:
        return specification.noise
    noise = posterior_draws(idata, f"{specification.prefix}noise")
    if noise.ndim == 2:
        return noise.ravel(), noise.ravel()
    return noise[..., 0].ravel(), noise[..., 1].ravel()


def process_precisions(specification, idata):
    """Precision g of a latent process for each draw, or the one number at which it is fixed."""
    g = specification.by_draw("g")
    return posterior_draws(idata, g).ravel() if isinstance(g, str) else g


def output_blocks(specification, idata, X=None, *, progressbar=True):
    """Go through points in blocks, with the outputs of all draws.

    Parameters
    ----------
    specification : ClassifierSpecification
    idata : DataTree
    X : array of shape (n, p), optional
        Points; those that the model has as data by default.
    progressbar : bool
        Whether to show progress where every draw has to be evaluated by itself.

    Yields
    ------
    slice
        Which points.
    array of shape (n_points, n_draws) or (n_points, n_draws, n_classes)
        Their outputs; by class where there are more than two.
    """
    for part, outputs, _ in outputs_with_rest(specification, idata, X, progressbar=progressbar):
        yield part, outputs


def outputs_with_rest(specification, idata, X=None, *, diagonal=None, progressbar=True):
    """Go through points in blocks, with what the draws say of them and what they leave open.

    Parameters
    ----------
    specification, idata, X, progressbar
        See :func:`output_blocks`.
    diagonal : array of shape (n,), optional
        Kernel values of the points with themselves, where the kernel is fixed.

    Yields
    ------
    slice, array
        See :func:`output_blocks`.
    array of shape (n_points, 1) or (n_points, n_draws), or None
        Variance of the function besides, before it is divided by a precision. None where it is not
        known, or the model has none: kernel expansions in active points are all there is to them.
    """
    w, feature_map = drawn_classifiers(specification, idata)
    if feature_map is None:
        if isinstance(specification, GeneralizedKernelSpecification):
            outputs = _expansions_draw_by_draw(specification, idata, w, X, progressbar)
            rest = None
        else:
            outputs, rest = _outputs_draw_by_draw(specification, idata, X, progressbar)
        yield slice(0, len(outputs)), outputs, rest
        return
    w = w.reshape(-1, *w.shape[2:])
    columns = w.reshape(-1, w.shape[-1]).T
    features = None
    is_training = X is None and specification.is_at_training
    if is_training and feature_map is specification.feature_map:
        features = feature_map.factor.features
    elif is_training and isinstance(feature_map, _WithOffset):
        features = feature_map.at_training()
    points = specification.X if X is None else X
    n_rows = max(1, BLOCK_BYTES // (8 * max(columns.shape)))
    for start in range(0, len(points), n_rows):
        part = slice(start, min(start + n_rows, len(points)))
        rows = feature_map(points[part]) if features is None else features[part]
        rest = None
        if diagonal is not None and hasattr(feature_map, "rest"):
            rest = feature_map.rest(rows, diagonal[part])[:, None]
        yield part, (rows @ columns).reshape(len(rows), *w.shape[:-1]), rest


def _outputs_draw_by_draw(specification, idata, X, progressbar):
    """Outputs and rests under each draw's own kernel, (n, n_draws, ...) and (n, n_draws)."""
    X = specification.X if X is None else X
    evaluate, names = _compile_outputs(specification)
    draws = [posterior_draws(idata, name) for name in names]
    draws = [values.reshape(-1, *values.shape[2:]) for values in draws]
    by_class = () if specification.n_classes == 2 else (specification.n_classes,)
    outputs = np.empty((len(X), len(draws[0]), *by_class))
    rest = np.empty(outputs.shape[:2])
    # Each draw is a small problem, on which several BLAS threads only wait for each other.
    with (
        threadpool_limits(1, user_api="blas"),
        Progress(disable=not progressbar, transient=True) as progress,
    ):
        steps = progress.track(range(outputs.shape[1]), description="Outputs by draw")
        for s in steps:
            outputs[:, s], rest[:, s] = evaluate(X, *(values[s] for values in draws))
    return outputs, rest


def _expansions_draw_by_draw(specification, idata, w, X, progressbar):
    """Outputs of kernel expansions in active points, each with its own kernel: (n, n_draws)."""
    X = specification.X if X is None else X
    family = specification.family
    w = w.reshape(-1, w.shape[-1])
    theta = [posterior_draws(idata, name).reshape(len(w), -1) for name in family.names]
    theta = np.concatenate(theta, axis=1)
    outputs = np.empty((len(X), len(w)))
    with (
        threadpool_limits(1, user_api="blas"),
        Progress(disable=not progressbar, transient=True) as progress,
    ):
        for s in progress.track(range(len(w)), description="Outputs by draw"):
            active = np.flatnonzero(w[s, :-1])
            outputs[:, s] = w[s, -1]
            if len(active):
                values = family.at(theta[s])(X, specification.training[active])
                outputs[:, s] += values @ w[s, active]
    return outputs


def noise_deviations(specification, idata):
    """Standard deviation of a regression's noise: of each draw, or the number it is fixed at."""
    noise = specification.by_draw("noise")
    return posterior_draws(idata, noise).ravel() if isinstance(noise, str) else float(noise)


def _compile_outputs(specification):
    """Function of inputs and the variables on which the outputs depend, with their names."""
    graphs = [specification.outputs, specification.rest]
    inputs = next(v for v in ancestors(graphs) if v.name is not None and _is_inputs(v))
    random = [v for v in ancestors(graphs) if v.name is not None and _is_random(v)]
    arguments = [v.type(name=v.name) for v in [inputs, *random]]
    replaced = clone_replace(graphs, dict(zip([inputs, *random], arguments, strict=True)))
    function = pytensor.function(arguments, replaced, on_unused_input="ignore")
    return function, [v.name for v in random]


def _is_inputs(variable):
    return hasattr(variable, "get_value") and variable.name.split("::")[-1] == "X"


def _is_random(variable):
    return variable.owner is not None and isinstance(
        variable.owner.op, RandomVariable | SymbolicRandomVariable
    )
