"""What commands write: tables on a console, and records as JSON."""

import json
import os
import sys
from pathlib import Path

from rich.console import Console

__all__ = ["WIDE", "add_json", "make_console", "refuse_unwritable", "write_json"]

#: Characters that a table wants; where there is no terminal (a log, a pipe) it gets them.
WIDE = 120


def make_console(*, stderr=False):
    """Console that is wide enough for tables where nobody has set a width."""
    console = Console(stderr=stderr)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(stderr=stderr, width=WIDE)
    return console


def refuse_unwritable(target):
    """Refuse a file that cannot be written: better before a long run than after it.

    Parameters
    ----------
    target : path or None
        "-" stands for the standard output.
    """
    if target is None or str(target) == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected the name of a file.")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"There is no folder {path.parent} to write {path.name} into.")


def add_json(parser):
    """Give a parser the option to write numbers as JSON."""
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="write the numbers as JSON, to FILE or to the standard output (tables then go to the "
        "standard error stream)",
    )


def write_json(target, record):
    """Write a record as JSON.

    Parameters
    ----------
    target : path or None
        A file, "-" for the standard output, None for nowhere.
    record : dict
    """
    if target is None:
        return
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if str(target) == "-":
        sys.stdout.write(text)
    else:
        Path(target).write_text(text, encoding="utf-8")
