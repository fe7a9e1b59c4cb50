"""``bayeskernels zoo``: arguments, progress, table, JSON and report."""

import datetime
import time
from pathlib import Path

from rich import box
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bayeskernels.command.terminal import (
    WIDE,
    add_json,
    make_console,
    refuse_unwritable,
    write_json,
)
from bayeskernels.zoo.registry import all_entries, find_entry
from bayeskernels.zoo.running import CHAINS, run_zoo
from bayeskernels.zoo.table import COLUMNS, cells

__all__ = ["add_zoo_arguments", "run_zoo_command"]

#: Above this R-hat a run is not to be trusted.
POOR_R_HAT = 1.05


def add_zoo_arguments(parser):
    """Add the arguments of the command to a parser."""
    parser.add_argument("--list", action="store_true", help="list the models and stop")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="run this model only; may be given several times",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE.html", help="write a self-contained report with plots"
    )
    add_json(parser)
    parser.add_argument(
        "--draws", type=int, metavar="N", help="draws per chain (default: each model's own)"
    )
    parser.add_argument(
        "--chains", type=int, default=CHAINS, metavar="N", help=f"default: {CHAINS}"
    )
    parser.add_argument(
        "--cores",
        type=int,
        default=1,
        metavar="N",
        help="processes that share the chains (default: 1; the small models gain nothing)",
    )
    parser.add_argument("--seed", type=int, default=1, help="default: 1")


def run_zoo_command(options):
    """Run the command with parsed options."""
    console = make_console(stderr=options.json == "-")
    names = dict.fromkeys(options.only or ())
    entries = [find_entry(name) for name in names] or all_entries()
    if options.list:
        console.print(_list(entries))
        return
    for name, least in (("draws", 4), ("chains", 1), ("cores", 1), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise ValueError(f"--{name} must be at least {least}, got {value}.")
    refuse_unwritable(options.report)
    refuse_unwritable(options.json)
    start = time.perf_counter()
    log = make_console(stderr=True)
    with _progress(console) as progress:
        results = []
        for result in run_zoo(
            entries,
            draws=options.draws,
            chains=options.chains,
            cores=options.cores,
            random_seed=options.seed,
            progress=progress,
        ):
            results.append(result)
            if not console.is_terminal:
                # A log shows no bars; a line for each model tells that the run is alive.
                log.print(
                    f"{len(results)}/{len(entries)} {result.entry.name}: "
                    f"{result.total_seconds:.0f} s",
                    highlight=False,
                )
        if options.report is not None:
            html = _render(results, options.seed, progress)
            options.report.write_text(html, encoding="utf-8")
    console.print(_table(results, console.width))
    _remark(console, results, time.perf_counter() - start)
    if options.report is not None:
        console.print(f"Report: {options.report}", soft_wrap=True)
    _write_json(options, results)


def _render(results, seed, progress):
    # Matplotlib is wanted for reports only, and takes its time to load.
    import matplotlib

    matplotlib.use("agg")
    from bayeskernels.zoo.report import render_report

    return render_report(results, random_seed=seed, progress=progress)


def _progress(console):
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


def _list(entries):
    table = Table(title="The zoo", box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("name", "model", "paper", "step method", "notebook"):
        table.add_column(title, overflow="fold", no_wrap=title in ("name", "notebook"))
    for entry in entries:
        table.add_row(
            entry.name, entry.title, entry.source.key, ", ".join(entry.steps), entry.notebook or "–"
        )
    return table


def _table(results, width):
    """Table for the terminal; where that is narrow, model and data share a column."""
    narrow = width < WIDE
    table = Table(title="The zoo of Bayesian kernel machines", box=box.SIMPLE_HEAD, pad_edge=False)
    for title, is_number in COLUMNS:
        if narrow and title == "data":
            continue
        # Two words of a heading stand one above the other: the numbers below them are short.
        heading = title.replace(" ", "\n", 1) if is_number and "×" not in title else title
        heading = "chains\n× draws" if "×" in title else heading
        table.add_column(
            heading,
            justify="right" if is_number else "left",
            no_wrap=is_number,
            min_width=18 if title == "step method" else None,
            overflow="fold",
        )
    for result in results:
        row = cells(result)
        if result.r_hat is not None and result.r_hat > POOR_R_HAT:
            row[4] = f"[red]{row[4]}[/]"
        row[2] = row[2].replace(", ", "\n")
        if narrow:
            row[:2] = [f"{row[0]}\n[dim]{row[1]}[/]"]
        table.add_row(*row)
    return table


def _remark(console, results, seconds):
    n = len(results)
    console.print(f"{n} {'model' if n == 1 else 'models'} in {seconds:.0f} s.", highlight=False)
    poor = [result.entry.name for result in results if result.r_hat and result.r_hat > POOR_R_HAT]
    for result in results:
        if result.evidence is not None and result.evidence.warning:
            console.print(
                f"[red]Evidence of {result.entry.name}:[/] {result.evidence.warning}",
                highlight=False,
            )
    if poor:
        console.print(
            f"[red]Not converged (R-hat > {POOR_R_HAT}):[/] {', '.join(poor)}. Raise --draws."
        )


def _write_json(options, results):
    if options.json is None:
        return
    from bayeskernels.zoo.report import installed_versions

    record = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "seed": options.seed,
        "versions": installed_versions(),
        "models": [result.as_dict() for result in results],
    }
    write_json(options.json, record)
