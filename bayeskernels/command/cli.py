"""The command line: ``bayeskernels zoo | reproduce | warmup | bench``."""

import argparse
from pathlib import Path

from rich.console import Console

from bayeskernels.command import benchmarking
from bayeskernels.command.terminal import add_json, make_console, refuse_unwritable, write_json
from bayeskernels.command.warmup import add_warmup_arguments, run_warmup_command
from bayeskernels.reproduction import all_reproductions, find_reproduction
from bayeskernels.zoo.command import add_zoo_arguments, run_zoo_command

__all__ = ["main"]


class _Parser(argparse.ArgumentParser):
    """Errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def main(argv=None):
    """Run the command line.

    Parameters
    ----------
    argv : list of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        Exit code: 0, or 2 after an error that a line on the standard error stream explains.
    """
    parser = _make_parser()
    options = parser.parse_args(argv)
    try:
        return options.run(options) or 0
    except (ValueError, OSError) as error:
        line = " ".join(str(error).split())
        Console(stderr=True).print(
            f"{parser.prog} {options.command}: error: {line}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        return 2
    except KeyboardInterrupt:
        return 130


def _make_parser():
    parser = _Parser(
        prog="bayeskernels",
        description="Bayesian kernel machines as PyMC models: run the zoo, reproduce the papers, "
        "compile ahead of time, measure the samplers.",
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    zoo = commands.add_parser(
        "zoo",
        help="sample every model of the zoo and compare them",
        description="Sample every model of the zoo on a small data set, diagnose, test and compare "
        "them. Nothing is downloaded.",
    )
    add_zoo_arguments(zoo)
    zoo.set_defaults(run=run_zoo_command)
    _add_reproduce(commands)
    warmup = commands.add_parser(
        "warmup",
        help="compile ahead of time what the first run of each model needs",
        description="Sample each model for a few draws, so that all it needs is compiled and kept. "
        "The first run of a notebook then starts at once.",
    )
    add_warmup_arguments(warmup)
    warmup.set_defaults(run=run_warmup_command)
    _add_bench(commands)
    return parser


def _version():
    from bayeskernels import __version__

    return f"bayeskernels {__version__}"


def _add_reproduce(commands):
    reproduce = commands.add_parser(
        "reproduce",
        help="compute a table or figure of a paper again",
        description="Compute a table or figure of a paper again and show the paper's claim beside "
        "ours. Without a name: list what there is.",
    )
    reproduce.set_defaults(run=_list_reproductions)
    names = reproduce.add_subparsers(dest="table", metavar="TABLE")
    for entry in all_reproductions():
        parser = names.add_parser(
            entry.name, help=entry.title, description=f"{entry.description} {entry.source.citation}"
        )
        if entry.add_arguments is not None:
            entry.add_arguments(parser)
        parser.add_argument(
            "--jobs", type=int, default=1, metavar="N", help="processes; -1: all cores (default: 1)"
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE",
            help="keep finished parts in this file, and do not run again those it holds",
        )
        parser.add_argument("--seed", type=int, default=1, help="default: 1")
        add_json(parser)
        parser.set_defaults(run=_reproduce)


def _list_reproductions(options):
    console = make_console()
    for entry in all_reproductions():
        console.print(f"[bold]{entry.name}[/]  {entry.title} ({entry.source.key})")
    console.print("\nRun one with: bayeskernels reproduce NAME (options: NAME --help)")


def _reproduce(options):
    if options.jobs == 0:
        raise ValueError("--jobs must be at least 1, or -1 for all cores.")
    refuse_unwritable(options.json)
    refuse_unwritable(options.out)
    record = find_reproduction(options.table).run(options, make_console(stderr=options.json == "-"))
    write_json(options.json, record)


def _add_bench(commands):
    bench = commands.add_parser(
        "bench",
        help="run a benchmark of a checkout",
        description="Run a benchmark of the repository. Without a name: list what there is.",
    )
    bench.add_argument("name", nargs="?", metavar="NAME", help="a file of benchmarks/, without .py")
    bench.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="what follows goes to the benchmark itself"
    )
    bench.set_defaults(run=_bench)


def _bench(options):
    scripts = benchmarking.find_benchmarks()
    if options.name is not None:
        return benchmarking.run_benchmark(scripts, options.name, options.arguments)
    console = make_console()
    for name, script in scripts.items():
        console.print(f"[bold]{name}[/]  {benchmarking.describe(script)}")
    console.print("\nRun one with: bayeskernels bench NAME")
    return 0
