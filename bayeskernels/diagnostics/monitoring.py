"""Quantities of a model that are worth watching."""

import numpy as np
import xarray as xr

from bayeskernels.inputs import as_new_inputs
from bayeskernels.specification.base import specification_of
from bayeskernels.specification.draws import read_draws

__all__ = ["monitor"]


def monitor(model, idata, X=None, *, max_points=20, progressbar=True):
    """Quantities that tell whether chains have converged, in the form that ArviZ takes.

    The coordinates of a direction depend on the order of the training points and mean nothing to
    anybody, and units of a network may trade places. What counts are the outputs at some points,
    hyperparameters, and the number of training errors, which is the slowest of all.

    Parameters
    ----------
    model : pm.Model
        Made by a builder of :mod:`bayeskernels.models`.
    idata : DataTree
        Its posterior draws.
    X : array_like of shape (n, p), optional
        Points at which to watch the outputs, e.g. test points; those that the model has as data by
        default.
    max_points : int, default 20
        Watch at most so many points, evenly spaced.
    progressbar : bool
        Whether to show progress; only kernels with random hyperparameters take long.

    Returns
    -------
    DataTree
        With the group ``posterior``: ``output`` (dim ``point``, the rows of X, and ``class`` where
        there are more than two; in a regression the function of each draw, or its conditional mean
        where it is integrated out of the model), ``errors`` (number of labels that the draw
        contradicts; not in a version space, where it is zero), ``active`` (number of active points,
        where a model has them), and all unknowns but directions, coefficients, and centres and
        metrics of units.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.1)
    >>> idata = bk.samplers.sample_directions(model, draws=500, random_seed=1)
    >>> watched = bk.diagnostics.monitor(model, idata, max_points=3)
    >>> az.summary(watched, kind="diagnostics").index.tolist()
    ['output[0]', 'output[30]', 'output[59]', 'errors']
    """
    if max_points < 1:
        raise ValueError(f"max_points must be at least 1, got {max_points}.")
    specification = specification_of(model)
    if idata is None:
        raise ValueError("There are no draws to watch: idata, the result of pm.sample, is needed.")
    idata = read_draws(model, idata)
    posterior = idata["posterior"].to_dataset()
    watched = xr.Dataset(coords={name: posterior[name] for name in ("chain", "draw")})
    if specification.training is not None:
        n_columns = specification.training.shape[1]
        X = specification.X if X is None else as_new_inputs(X, n_columns)
        rows = np.unique(np.linspace(0, len(X) - 1, min(max_points, len(X))).round().astype(int))
        watched["output"] = _watched_outputs(specification, idata, X[rows], progressbar)
        watched = watched.assign_coords(point=rows)
    elif X is not None:
        raise ValueError(f"A {specification.kind} has no inputs: leave X out.")
    for name, values in specification.watched(idata, progressbar=progressbar).items():
        watched[name] = values
    for name, values in posterior.data_vars.items():
        if not specification.unwatched_dims & set(values.dims):
            watched[name] = values
    return xr.DataTree.from_dict({"posterior": watched})


def _watched_outputs(specification, idata, X, progressbar):
    """What each draw says of the function at points, with the dims of draws and ``point``."""
    blocks = specification.output_blocks(idata, X, progressbar=progressbar)
    outputs = np.moveaxis(np.concatenate([values for _, values, _ in blocks]), 0, 1)
    dims, coords = ("chain", "draw", "point"), {}
    if outputs.ndim > 2:
        dims, coords["class"] = (*dims, "class"), specification.class_names
    sizes = idata["posterior"].sizes
    shape = (sizes["chain"], sizes["draw"], *outputs.shape[1:])
    return xr.DataArray(outputs.reshape(shape), dims=dims, coords=coords)
