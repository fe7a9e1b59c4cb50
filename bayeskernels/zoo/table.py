"""The summary of a run as cells of text, for the terminal and for the report alike."""

__all__ = ["COLUMNS", "DASH", "cells"]

#: Titles of the columns, and whether they hold numbers.
COLUMNS = (
    ("model", False),
    ("data", False),
    ("step method", False),
    ("chains × draws", True),
    ("R-hat", True),
    ("ESS/s", True),
    ("test error", True),
    ("log evidence", True),
)

#: Stands for what there is not.
DASH = "–"


def cells(result):
    """One row of the table.

    Parameters
    ----------
    result : ZooResult

    Returns
    -------
    list of str
        In the order of :data:`COLUMNS`.
    """
    return [
        result.entry.title,
        result.problem.name,
        ", ".join(result.entry.steps),
        f"{result.chains} × {result.draws}",
        _number(result.r_hat, ".3f"),
        _number(result.ess_per_second, ",.0f"),
        _number(result.test_error, ".1%"),
        _evidence(result),
    ]


def _number(value, form):
    return DASH if value is None else format(value, form)


def _evidence(result):
    if result.log_evidence is None:
        return DASH
    return f"{result.log_evidence:.2f} ± {result.log_evidence_mcse:.2f}"
