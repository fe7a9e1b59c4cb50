"""Checks of the data that people hand to a model builder, before anything is sampled."""

from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Integral, Real

import numpy as np
import pandas as pd

__all__ = [
    "Classes",
    "as_classes",
    "as_count",
    "as_floats",
    "as_inputs",
    "as_known_labels",
    "as_labels",
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
        Real numbers; whole numbers and booleans will do, also those of pandas that may be missing.
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
    values = _from_frame(X, name) if isinstance(X, pd.DataFrame) else as_floats(X, name)
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


def as_new_inputs(X_new, n_columns, *, name="X_new"):
    """New inputs, checked against the number of columns that the model was trained with."""
    values, _ = as_inputs(X_new, name=name)
    if values.shape[1] != n_columns:
        raise ValueError(
            f"{name} has {values.shape[1]} columns, the model was trained with {n_columns}."
        )
    return values


def as_targets(y, n_points, *, name="y", inputs="X"):
    """Targets of a regression as a float array of shape (m,), one for each of the points.

    ``name`` and ``inputs`` are what an error calls the argument and X.
    """
    if y is None:
        raise ValueError(f"{name} is needed, an array of {n_points} numbers; got None.")
    values = _one_per_row(as_floats(y, name), n_points, name, "number", inputs)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(
            f"{name} has NaN or infinite values at {len(bad)} points (the first is {bad[0]}). "
            "Drop the points without a target."
        )
    return values


def _one_per_row(values, n_points, name, what, inputs):
    """An array of shape (n_points,); a single row or column will do."""
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.shape != (n_points,):
        raise ValueError(
            f"{name} must have one {what} per row of {inputs}: expected the shape ({n_points},), "
            f"got {values.shape}."
        )
    return values


def as_floats(values, name):
    """Real numbers as a float array; what would only be turned into numbers is refused.

    Whole numbers and booleans are real numbers; text, dates and complex numbers are not. ``name``
    is what an error calls the argument.

    Examples
    --------
    >>> as_floats([True, 2], "y").tolist()
    [1.0, 2.0]
    """
    array = _as_array(values, name)
    if array.dtype.kind == "O":
        _refuse_missing(array, name, "value", "Impute or drop them first.")
        kinds = {type(value): k for k, value in reversed(list(enumerate(array.flat)))}
        for kind, k in kinds.items():
            if not issubclass(kind, Real | Decimal | np.bool_):
                raise _not_numeric(name, f"{kind.__name__} at {_place(array, k)}")
    elif array.dtype.kind not in "biuf":
        raise _not_numeric(name, _KINDS.get(array.dtype.kind, str(array.dtype)))
    return np.asarray(array, dtype=np.float64, order="C")


#: What people call the kinds of arrays that hold no real numbers, with what to do about them.
_KINDS = {
    "c": "complex numbers. Take real and imaginary parts as columns of their own",
    "M": "dates. Take the time since a date: (t - t.min()) / np.timedelta64(1, 'D')",
    "m": "time differences. Divide by a unit: t / np.timedelta64(1, 'D')",
    "U": "text. Where it holds numbers use astype(float), else encode the categories",
    "S": "text. Where it holds numbers use astype(float), else encode the categories",
    "T": "text. Where it holds numbers use astype(float), else encode the categories",
    "V": "records. Take the fields as columns of one array",
}


def _not_numeric(name, found):
    return TypeError(f"{name} must be numeric: real numbers are needed, got {found}.")


def _as_array(values, name):
    """An array without a mask; what is no array at all is refused."""
    if hasattr(values, "toarray"):
        raise TypeError(f"{name} is sparse; a plain array is needed, as from {name}.toarray().")
    if np.ma.isMaskedArray(values):
        masked = np.flatnonzero(np.ma.getmaskarray(values))
        if len(masked):
            raise ValueError(
                f"{name} is a masked array, and {len(masked)} of its values are masked (the first "
                f"at {_place(values, masked[0])}; pm.set_data masks NaN). Impute or drop them."
            )
        values = values.data
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array: {error}") from error


def _place(array, k):
    """Where the k-th value of an array is, in words."""
    if array.ndim == 2 and array.shape[1] > 1:
        row, column = np.unravel_index(k, array.shape)
        return f"row {row}, column {column}"
    return f"position {k}"


def _refuse_missing(array, name, what, remedy):
    """Refuse None, NaN, NaT and pandas' NA in an array of objects, dates or numbers."""
    missing = np.flatnonzero(pd.isna(array))
    if len(missing):
        found = array.flat[missing[0]]
        found = "NaN" if isinstance(found, float) else found
        raise ValueError(
            f"{name} has {found}: no {what} at {_place(array, missing[0])} ({len(missing)} missing "
            f"in all). {remedy}"
        )


def _from_frame(frame, name):
    """Numbers of a DataFrame of pandas; bad columns are refused by their names."""
    bad = [
        f"{str(column)!r} ({found})"
        for column, values in frame.items()
        if getattr(values.dtype, "kind", "O") not in "biuf"
        and (found := pd.api.types.infer_dtype(values)) not in _NUMBERS
    ]
    if bad:
        raise TypeError(
            f"{name} must be numeric; {len(bad)} of its columns are not: {_shown(bad)}. Encode "
            "categories as numbers (pandas.get_dummies), take the time since a date, or leave such "
            "columns out."
        )
    missing = frame.isna().to_numpy()
    if missing.any():
        rows = np.flatnonzero(missing.any(axis=1))
        columns = [repr(str(column)) for column in frame.columns[missing.any(axis=0)]]
        raise ValueError(
            f"{name} has NaN or missing values in {len(rows)} of its rows (the first is row "
            f"{rows[0]}), in the columns {_shown(columns)}. Impute or drop them first."
        )
    return frame.to_numpy(dtype=np.float64)


#: What pandas calls objects that are real numbers.
_NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty")


def _shown(words):
    """The first few of some words."""
    return ", ".join(words[:5]) + (", ..." if len(words) > 5 else "")


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


def as_labels(y, n_points, *, name="y", inputs="X"):
    """Labels as an array of shape (m,) without missing ones, of what :func:`as_targets` takes."""
    if y is None:
        raise ValueError(f"{name} is needed, an array of {n_points} labels; got None.")
    if isinstance(y, list | tuple):
        # Before NumPy makes one type of them all: text of numbers, and of what is missing.
        objects = _as_objects(y)
        _refuse_missing(objects, name, "label", _DROP)
        texts = [isinstance(label, str | bytes) for label in objects.flat]
        if any(texts) and not all(texts):
            first, other = objects.flat[0], objects.flat[texts.index(not texts[0])]
            raise TypeError(
                f"The labels in {name} must be of one type; among them are {first!r} and {other!r}."
            )
    labels = _one_per_row(_as_array(y, name), n_points, name, "label", inputs)
    if labels.dtype.kind == "c":
        raise TypeError(f"The labels in {name} must not be complex numbers.")
    _refuse_missing(labels, name, "label", _DROP)
    kind = labels.dtype.kind
    if kind in "mM" or (kind == "O" and any(isinstance(label, _TIMES) for label in labels)):
        # Files and coords change their units and types, so they would not be known again.
        raise TypeError(
            f"The labels in {name} are dates or time differences: numbers, text or booleans are "
            "needed. Where a date names a class give its text: pandas.Series(y).astype(str)."
        )
    if kind == "f" and np.isinf(labels).any():
        position = int(np.flatnonzero(np.isinf(labels))[0])
        raise ValueError(f"{name} has an infinite label at position {position}. {_DROP}")
    lost = np.flatnonzero(np.isin(labels, _LOST)) if kind in "UO" else ()
    if len(lost):
        raise ValueError(
            f"{name} has the label {str(labels[lost[0]])!r} at position {lost[0]}: a missing value "
            f"that was turned into text. {_DROP}"
        )
    return labels


_DROP = "Drop the points without a label."

#: Objects that are points or stretches of time; those of pandas are among them.
_TIMES = (date, time, timedelta, np.datetime64, np.timedelta64, pd.Period)

#: What missing values become as text.
_LOST = ("nan", "NaN", "NaT", "<NA>")


def _as_objects(y):
    """Labels as they are, those of a column too."""
    objects = np.empty(len(y), dtype=object)
    objects[:] = [
        label[0] if isinstance(label, list | tuple) and len(label) == 1 else label for label in y
    ]
    return objects


def as_known_labels(y, class_names, n_points, *, name, inputs):
    """Labels of new points, in the coding of the classes with which a model was trained.

    It takes what :func:`as_targets` takes, and the names of the classes, shape (n_classes,).

    Examples
    --------
    >>> as_known_labels([0, 1], np.array([-1, 1]), 2, name="y_true", inputs="X_new")
    Traceback (most recent call last):
    ValueError: y_true has the label 0 at position 0, the classes of the model are -1, 1. ...
    """
    labels = as_labels(y, n_points, name=name, inputs=inputs)
    known = class_names.tolist()
    unknown = [k for k, label in enumerate(labels.tolist()) if label not in known]
    if unknown:
        raise ValueError(
            f"{name} has the label {labels.tolist()[unknown[0]]!r} at position {unknown[0]}, the "
            f"classes of the model are {', '.join(map(repr, known))}. Give labels in the same "
            "coding; drop points of other classes."
        )
    return labels


def as_classes(y, n_points) -> Classes:
    """Labels of any type as numbers from 0.

    Parameters
    ----------
    y : array_like of shape (m,)
        Two or more different labels: numbers, strings, booleans. Dates are refused.
    n_points : int
        Number of rows of X.
    """
    labels = as_labels(y, n_points)
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


def as_two_classes(y, n_points) -> Classes:
    """Like :func:`as_classes`, for models that tell two classes apart."""
    classes = as_classes(y, n_points)
    names = classes.names
    if len(names) > 2:
        shown = _shown([repr(name) for name in names.tolist()])
        raise ValueError(f"This model tells two classes apart; y has {len(names)} ({shown}).")
    return classes
