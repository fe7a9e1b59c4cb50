"""The summary of a run as cells of text, for the terminal and for the report alike."""

__all__ = ["COLUMNS", "DASH", "DOUBT", "cells", "evidence_cell"]

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

#: Stands after an evidence whose method warns of it.
DOUBT = " ?"


def cells(result):
    """One row of the table: texts in the order of :data:`COLUMNS`."""
    return [
        result.entry.title,
        result.problem.name,
        ", ".join(result.entry.steps),
        f"{result.chains} × {result.draws}",
        _number(result.r_hat, ".3f"),
        _number(result.ess_per_second, ",.0f"),
        _number(result.test_error, ".1%"),
        evidence_cell(result),
    ]


def _number(value, form):
    return DASH if value is None else format(value, form)


def evidence_cell(result):
    """The evidence with its error, and a mark where it is in doubt."""
    if result.log_evidence is None:
        return DASH
    mark = DOUBT if result.evidence.warning else ""
    return f"{result.log_evidence:.2f} ± {result.log_evidence_mcse:.2f}{mark}"
