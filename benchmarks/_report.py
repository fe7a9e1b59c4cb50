"""Measured figures beside their targets: a table for people, JSON for programs."""

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from llvmlite.binding import get_host_cpu_name
from rich.table import Table

__all__ = ["Figure", "figures_table", "write_json"]


@dataclass
class Figure:
    """One measured number.

    Attributes
    ----------
    part : str
        Part of the benchmark.
    problem : str
    quantity : str
    value : float
    target : float, optional
        None where the number is only information.
    at_most : bool
        Whether the target is an upper limit rather than a lower one.
    is_bound : bool
        The true value is at least this: the slower contender hardly mixed.
    note : str
    details : dict
        Further numbers for JSON.
    """

    part: str
    problem: str
    quantity: str
    value: float
    target: float | None = None
    at_most: bool = False
    is_bound: bool = False
    note: str = ""
    details: dict = field(default_factory=dict, repr=False)

    @property
    def is_met(self):
        """Whether the target is reached; None where there is none."""
        if self.target is None:
            return None
        return self.value <= self.target if self.at_most else self.value >= self.target


def figures_table(title, figures):
    """Table of figures for the terminal."""
    table = Table(title=title, title_justify="left")
    table.add_column("part")
    table.add_column("problem", no_wrap=True)
    table.add_column("quantity")
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("met")
    table.add_column("note")
    previous = None
    for figure in figures:
        if previous is not None and figure.part != previous:
            table.add_section()
        previous = figure.part
        target = ""
        if figure.target is not None:
            target = f"{'<=' if figure.at_most else '>='} {_short(figure.target)}"
        met = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}[figure.is_met]
        measured = f"{'> ' if figure.is_bound else ''}{_short(figure.value)}"
        table.add_row(
            figure.part, figure.problem, figure.quantity, measured, target, met, figure.note
        )
    return table


def _short(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def write_json(path, figures):
    """Write figures, with the machine and the versions they were measured with."""
    packages = ["bayeskernels", "pymc", "numba", "numpy", "arviz", "hopsy"]
    content = {
        "machine": {
            "platform": platform.platform(),
            "processor": get_host_cpu_name(),
            "cores": os.cpu_count(),
            "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        },
        "versions": {"python": platform.python_version()}
        | {package: found for package in packages if (found := _version(package))},
        "figures": [asdict(figure) | {"is_met": figure.is_met} for figure in figures],
    }
    Path(path).write_text(json.dumps(content, indent=1) + "\n")


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None
