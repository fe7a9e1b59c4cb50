"""Checks of the data that people hand to a model builder, before anything is sampled."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

__all__ = [
    "Classes",
    "as_classes",
    "as_count",
    "as_inputs",
    "as_new_inputs",
    "as_targets",
    "as_two_classes",
]


def as_count(value, name):
    """A number of draws, starts or repetitions: whole, and at least one.

    Examples
    --------
    >>> as_count(3, "draws")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def as_inputs(X, *, name="X"):
    """Training inputs as a float array of shape (m, p), with the names of the columns.

    Parameters
    ----------
    X : array_like or DataFrame of shape (m, p)
    name : str
        What to call the argument in an error.

    Returns
    -------
    array of shape (m, p)
    list of str
        Column names; numbers as strings where there are none.
    """
    if X is None:
        raise ValueError(f"{name} is needed, an array of shape (points, features); got None.")
    columns = [str(c) for c in X.columns] if hasattr(X, "columns") else None
    values = _as_floats(X, name)
    if values.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions (points, features), got the shape {values.shape}. "
            "A single feature is a column: use X[:, None]."
        )
    if values.size == 0:
        raise ValueError(f"{name} is empty: its shape is {values.shape}.")
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{name} has NaN or infinite values in {len(bad)} of its rows (the first is row "
            f"{bad[0]}). Impute or drop them first."
        )
    return values, columns or [str(j) for j in range(values.shape[1])]


def as_new_inputs(X_new, n_columns):
    """New inputs, checked against the number of columns that the model was trained with."""
    values, _ = as_inputs(X_new, name="X_new")
    if values.shape[1] != n_columns:
        raise ValueError(
            f"X_new has {values.shape[1]} columns, the model was trained with {n_columns}."
        )
    return values


def as_targets(y, n_points, *, name="y", inputs="X"):
    """Targets of a regression as a float array of shape (m,).

    Parameters
    ----------
    y : array_like of shape (m,)
    n_points : int
        Number of rows of X.
    name, inputs : str
        What to call the argument and X in an error.
    """
    if y is None:
        raise ValueError(f"{name} is needed, an array of {n_points} numbers; got None.")
    values = _as_floats(y, name)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.shape != (n_points,):
        raise ValueError(
            f"{name} must have one number per row of {inputs}: expected the shape "
            f"({n_points},), got {values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(
            f"{name} has NaN or infinite values at {len(bad)} points (the first is {bad[0]}). "
            "Drop the points without a target."
        )
    return values


def _as_floats(values, name):
    try:
        if np.iscomplexobj(values):
            raise TypeError("real numbers are needed, got complex ones")
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numeric: {error}") from error


@dataclass(frozen=True)
class Classes:
    """Labels of a classification problem.

    Attributes
    ----------
    codes : array of int, shape (m,)
        Number of each point's class, from 0.
    names : array of shape (n_classes,)
        The labels in sorted order; of two, the second is the positive class.
    """

    codes: np.ndarray
    names: np.ndarray

    @property
    def is_positive(self):
        """What each direction has to tell: bool of shape (m,), or (m, n_classes) for more than two.

        Two classes need one direction, which is positive for the second; of more, each has a
        direction that is positive for it and negative for the rest.
        """
        if len(self.names) == 2:
            return self.codes == 1
        return self.codes[:, None] == np.arange(len(self.names))


def as_classes(y, n_points):
    """Labels of any type as numbers from 0.

    Parameters
    ----------
    y : array_like of shape (m,)
        Two or more different labels: numbers, strings, booleans.
    n_points : int
        Number of rows of X.

    Returns
    -------
    Classes
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels.shape != (n_points,):
        raise ValueError(
            f"y must have one label per row of X: expected the shape ({n_points},), "
            f"got {labels.shape}."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y has NaN or infinite values. Drop the points without a label.")
    if labels.dtype == object:
        missing = [k for k, label in enumerate(labels) if label is None or label != label]
        if missing:
            raise ValueError(f"y has no label at position {missing[0]}. Drop such points.")
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"The labels in y must be of one type: {error}.") from error
    if len(names) == 1:
        raise ValueError(
            f"y has only one class ({names.tolist()[0]!r}): there is nothing to tell apart. "
            "Give labels of two classes."
        )
    if len(names) == n_points > 20 and labels.dtype.kind == "f":
        raise ValueError(
            f"y has {n_points} different numbers, one for each point: these look like targets of "
            "a regression, not like classes."
        )
    return Classes(codes.astype(np.int64).reshape(-1), names)


def as_two_classes(y, n_points):
    """Like :func:`as_classes`, for models that tell two classes apart.

    Parameters
    ----------
    y : array_like of shape (m,)
    n_points : int

    Returns
    -------
    Classes
    """
    classes = as_classes(y, n_points)
    names = classes.names
    if len(names) > 2:
        shown = ", ".join(repr(name) for name in names[:5].tolist())
        raise ValueError(
            f"This model tells two classes apart; y has {len(names)} ({shown}"
            f"{', ...' if len(names) > 5 else ''})."
        )
    return classes
