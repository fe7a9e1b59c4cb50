"""Run what a table needs, and keep it for the other tables that need the same.

Several tables are views of one run: errors in one, times in the next. What is stored is one line
for each job on each partition, so that a table finds in the file what another has left there, and
columns that take long can have fewer partitions.
"""

from dataclasses import dataclass, field
from functools import partial

from bayeskernels.command.repetitions import read_repetitions
from bayeskernels.reproduction.gkm.methods import JOB_OF, run_unit
from bayeskernels.reproduction.gkm.paper import PAPER, PAPER_PARTITIONS
from bayeskernels.reproduction.gkm.partitions import read_rows
from bayeskernels.reproduction.gkm.summary import summarise
from bayeskernels.reproduction.options import add_options, refuse_below, some_of
from bayeskernels.reproduction.progress import run_with_progress
from bayeskernels.reproduction.registry import register

__all__ = ["TableRun", "add_arguments", "register_table", "reproduce", "views_of_one_run"]

#: Options that decide what a chain is, and what they count; stored with every repetition.
CHAIN_OPTIONS = {
    "draws": "sweeps of each chain behind a prediction",
    "tune": "sweeps thrown away at the start of each chain",
    "nuts_draws": "draws of the methods that NUTS samples",
    "nuts_tune": "steps that NUTS adapts itself in",
}


@dataclass(frozen=True, kw_only=True)
class TableRun:
    """What is run for a table.

    Attributes
    ----------
    name : str
        Key of :data:`bayeskernels.reproduction.gkm.paper.PAPER`; its rows are the cases.
    methods : tuple of str
        Columns that can be run.
    left_out : tuple of str
        Those of them that are not run unless they are named, as they take long.
    shares_with : tuple of str
        Tables that are other views of the same run.
    views : tuple of callable
        ``view(summary, methods)`` makes a ``rich.table.Table``.
    draws, tune, nuts_draws, nuts_tune : int
        Defaults.
    """

    name: str
    methods: tuple[str, ...]
    views: tuple
    left_out: tuple[str, ...] = ()
    shares_with: tuple[str, ...] = ()
    draws: int = 1500
    tune: int = 500
    nuts_draws: int = 300
    nuts_tune: int = 300
    cases: tuple[str, ...] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "cases", tuple(PAPER[self.name]))


def views_of_one_run(tables, **options):
    """What is run for tables that show one run: by number their columns and views."""
    names = {number: f"gkm-table-{number}" for number in tables}
    return {
        number: TableRun(
            name=names[number],
            methods=methods,
            views=views,
            shares_with=tuple(name for other, name in names.items() if other != number),
            **options,
        )
        for number, (methods, views) in tables.items()
    }


def register_table(table, title, description):
    """Let the command line offer a table (a TableRun)."""

    def run(options, console):
        return reproduce(table, options, console)

    run.__doc__ = description
    arguments = partial(add_arguments, table)
    register(name=table.name, title=title, source="GKM", add_arguments=arguments)(run)


def add_arguments(table, parser):
    """Give a command the options of a table."""
    default = [method for method in table.methods if method not in table.left_out]
    left_out = f"; {' and '.join(table.left_out)} take long" if table.left_out else ""
    counts = {"partitions": (10, f"random partitions of a set; the paper has {PAPER_PARTITIONS}")}
    counts |= {name: (getattr(table, name), text) for name, text in CHAIN_OPTIONS.items()}
    methods = f"some of {', '.join(table.methods)} (default: {', '.join(default)}{left_out})"
    sets = f"rows of the table (default: all of {', '.join(table.cases)})"
    names = {"sets": (table.cases, sets), "methods": (default, methods)}
    add_options(parser, counts=counts, names=names)
    shared = ", ".join(table.shares_with)
    parser.add_argument(
        "--stored",
        action="store_true",
        help="run nothing: show what the file of --out holds"
        + (f" (one file serves {table.name}, {shared})" if shared else ""),
    )


def reproduce(table, options, console):
    """Run a table's repetitions, as far as they are not stored, and print its views.

    ``options`` has the options of :func:`add_arguments` and those that all reproductions have. The
    result is that of :func:`bayeskernels.reproduction.gkm.summary.summarise`.
    """
    cases = some_of(options.sets, table.cases, "data set")
    methods = some_of(options.methods, table.methods, "method")
    refuse_below(1, options, "partitions", "draws", "nuts_draws")
    refuse_below(0, options, "tune", "nuts_tune")
    settings = {"seed": options.seed} | {name: getattr(options, name) for name in CHAIN_OPTIONS}
    # All sets grow together, so that a stopped run makes a table of fewer partitions.
    jobs = list(dict.fromkeys(JOB_OF[method] for method in methods))
    units = [
        f"{case}/{number}/{job}"
        for number in range(options.partitions)
        for case in cases
        for job in jobs
    ]
    if options.stored:
        found = _stored(units, settings, options.out)
    else:
        found = _run(units, cases, settings, options, console)
    records = {case: {method: {} for method in methods} for case in cases}
    for unit, record in found.items():
        case, number, _ = unit.split("/")
        for method, cell in record["methods"].items():
            if method in methods:
                sizes = {key: value for key, value in record.items() if key != "methods"}
                records[case][method][int(number)] = cell | sizes
    summary = summarise(table.name, records, settings)
    for view in table.views:
        console.print(view(summary, methods))
    return summary


def _stored(units, settings, out):
    if out is None:
        raise ValueError("--stored shows what a file holds: give it as --out.")
    held = read_repetitions(out, settings)
    found = {unit: held[unit] for unit in units if unit in held}
    if not found:
        raise ValueError(f"{out} holds nothing of this table. Run it without --stored.")
    return found


def _run(units, cases, settings, options, console):
    for case in cases:
        read_rows(case, options.data_dir)  # What is missing is missed at once.
    records = run_with_progress(
        partial(run_unit, data_dir=options.data_dir),
        units,
        what="partitions and methods",
        settings=settings,
        options=options,
        console=console,
    )
    return dict(zip(units, records, strict=True))
