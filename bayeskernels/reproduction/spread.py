"""Means with their standard errors, as numbers and in cells of tables."""

import numpy as np

__all__ = ["plus_minus", "standard_error"]


def standard_error(values):
    """Standard error of the mean of some values; None for a single one.

    Examples
    --------
    >>> standard_error([1.0, 3.0]), standard_error([1.0])
    (1.0, None)
    """
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def plus_minus(value, error, form=".2f", error_form=".2f"):
    """Text of a number and its error, where it has one.

    Examples
    --------
    >>> plus_minus(12.3456, 0.5), plus_minus(12.3456, None, ".1f")
    ('12.35 ± 0.50', '12.3')
    """
    return f"{value:{form}}" + ("" if error is None else f" ± {error:{error_form}}")
