"""Hyperparameters and columns of a covariance function, looked at before anything is computed.

PyMC takes a length scale of zero, three of them for two columns, or a column that the inputs do not
have; the kernel is then NaN, of other columns than meant, or fails while PyTensor compiles it.
"""

from numbers import Integral

import numpy as np
from pymc.gp.cov import BaseCovariance, Covariance, Kron, ScaledCov, Stationary, WarpedInput

from bayeskernels.graphs.numpy_graphs import fixed_value, numpy_function

__all__ = ["check_covariance"]

#: Attributes of PyMC's covariances that must be positive, by what to call them.
POSITIVE = {"ls": "length scale (ls)", "period": "period", "alpha": "alpha"}

#: Attributes that must be finite.
FINITE = ("c", "sigma", "d", "offset", "tau", "power", "W", "kappa", "B")


def check_covariance(covariance, n_features):
    """Refuse a covariance function that cannot be right for inputs of so many columns.

    Random hyperparameters are taken at their word; of these only the number is checked.

    Parameters
    ----------
    covariance : pm.gp.cov.BaseCovariance
    n_features : int
        Number of columns of the inputs.

    Raises
    ------
    ValueError, TypeError

    Examples
    --------
    >>> check_covariance(2.0 * pm.gp.cov.ExpQuad(2, ls=[1.0, 0.0]), 2)
    Traceback (most recent call last):
    ValueError: The length scale (ls) of the kernel ExpQuad must be positive and finite, ...
    """
    # A constant has no number of columns.
    n_columns = getattr(covariance, "input_dim", n_features)
    if n_columns != n_features:
        raise ValueError(f"The kernel was made for {n_columns} input columns, X has {n_features}.")
    for part, n_columns in _parts(covariance, n_features):
        if not isinstance(part, BaseCovariance):
            _check_values("factor or term", "kernel", part, np.isfinite, "finite")
            continue
        if isinstance(part, Covariance):
            _check_columns(part, n_columns)
        if isinstance(part, Stationary):
            _check_number_of_scales(part)
        name = f"kernel {type(part).__name__}"
        for attribute, what in POSITIVE.items():
            _check_values(
                what, name, getattr(part, attribute, None), _is_positive, "positive and finite"
            )
        for attribute in FINITE:
            _check_values(attribute, name, getattr(part, attribute, None), np.isfinite, "finite")


def _parts(covariance, n_columns):
    """The covariance and all that it is made of, each with the number of columns that it sees."""
    yield covariance, n_columns
    for factor in getattr(covariance, "_factor_list", ()):
        if not isinstance(factor, BaseCovariance):
            yield factor, n_columns
        else:
            seen = getattr(factor, "input_dim", None) if isinstance(covariance, Kron) else n_columns
            yield from _parts(factor, seen)
    for inner in (getattr(covariance, "kernel", None), getattr(covariance, "cov_func", None)):
        if isinstance(inner, BaseCovariance):
            seen = n_columns
            if isinstance(covariance, ScaledCov):
                seen = covariance.n_dims
            elif isinstance(covariance, WarpedInput):
                seen = None  # as many as the warped inputs have
            yield from _parts(inner, seen)


def _is_positive(values):
    return (values > 0) & np.isfinite(values)


def _check_values(what, name, value, is_good, demand):
    values = fixed_value(value)
    if values is None:
        return
    if values.dtype.kind not in "biuf":
        raise TypeError(f"The {what} of the {name} must be numeric, got {value!r}.")
    if not np.all(is_good(values)):
        raise ValueError(f"The {what} of the {name} must be {demand}, got {values.tolist()}.")


def _check_columns(part, n_columns):
    name = type(part).__name__
    if isinstance(part.input_dim, bool) or not isinstance(part.input_dim, Integral):
        raise TypeError(
            f"input_dim of the kernel {name} must be a whole number, got {part.input_dim!r}."
        )
    dims = np.asarray(part.active_dims)
    if n_columns is not None and not ((dims >= -n_columns) & (dims < n_columns)).all():
        raise ValueError(
            f"The kernel {name} has the active_dims {dims.tolist()}; columns of the inputs are "
            f"numbered from 0 to {n_columns - 1}."
        )


def _check_number_of_scales(part):
    n_dims, scales = part.n_dims, part.ls
    if scales.ndim == 0:
        return
    length = scales.type.shape[0]
    if length is None:
        length = int(numpy_function([], scales.shape[0])())
    if scales.ndim > 1 or length not in (1, n_dims):
        found = (
            f"{length} length scales" if scales.ndim == 1 else f"{scales.ndim} dimensions of them"
        )
        raise ValueError(
            f"The kernel {type(part).__name__} has {found} (ls) for {n_dims} columns: give one "
            "number, or one for each column."
        )
