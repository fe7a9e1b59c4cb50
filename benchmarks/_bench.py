"""What all benchmarks share: parts that run one after the other, progress, figures."""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytensor
from _contest import Contender, Stretch, clock, contest
from _problems import MissingData, make_problem
from _report import Figure, figures_table, write_json
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

from bayeskernels.samplers import simulate_refractive_billiard

__all__ = ["Bench", "bare_billiard", "parts_of", "run_parts"]


@dataclass
class Bench:
    """What all parts share: how long to run, randomness, progress, results."""

    quick: bool
    progress: Progress
    task: object
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    figures: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    @property
    def rounds(self):
        """Turns of every contender."""
        return 3 if self.quick else 6

    def scaled(self, seconds):
        """Length of a turn."""
        return seconds / 8 if self.quick else seconds

    def say(self, text):
        """Show what is going on beside the progress bar."""
        self.progress.update(self.task, description=text)

    def problems(self, sizes, rates):
        """Problems one after the other; missing data sets are noted and left out."""
        for name, m in sizes:
            for noise in rates:
                try:
                    problem = make_problem(name, m, noise)
                except MissingData as error:
                    if str(error) not in self.notes:
                        self.notes.append(str(error))
                    continue
                yield problem

    def contest(self, part, problem, contenders):
        """Let contenders take turns on a problem."""
        starts = problem.equilibrium_draws(self.rounds, self.rng)
        return contest(
            contenders,
            starts,
            self.rounds,
            rng=self.rng,
            advance=lambda name: self.say(f"{part}: {problem}: {name}"),
        )

    def own_process(self, problem, *command):
        """What a program prints as JSON, in a process of its own; None and a note if it fails."""
        command = [sys.executable, *map(str, command)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            self.notes.append(f"{problem} failed: {done.stderr.strip()[-500:]}")
            return None
        return json.loads(done.stdout.strip().splitlines()[-1])

    def add(self, part, problem, quantity, value, target=None, **kwargs):
        """Record a figure and show it at once."""
        figure = Figure(part, str(problem), quantity, float(value), target, **kwargs)
        self.figures.append(figure)
        mark = {None: "", True: " (met)", False: " (not met)"}[figure.is_met]
        self.progress.console.print(
            f"{part}: {problem}: {quantity} {'> ' if figure.is_bound else ''}{value:,.4g}{mark}",
            highlight=False,
        )


def bare_billiard(problem, *, seconds, sweeps=1, name="RefractiveBilliard", gram=None):
    """RefractiveBilliard without PyMC, and without the trial that decides about a ladder.

    A chain makes that trial once; a turn of a contest is too short to pay for it.
    """

    def run(start, n_draws, rng):
        began = clock()
        path = simulate_refractive_billiard(
            problem.walls, start, n_draws, rng=rng, sweeps=sweeps, gram=gram, tempering=False
        )
        took = clock() - began
        outputs = problem.outputs(path.draws)
        return Stretch(outputs, path.errors, took, n_draws * sweeps, int(path.events.sum()))

    return Contender(name, run, seconds)


def parts_of(*functions):
    """Parts of a benchmark by name: ``measure_label_noise`` is called "label-noise"."""
    return {f.__name__.removeprefix("measure_").replace("_", "-"): f for f in functions}


def run_parts(title, description, parts_by_name):
    """Command line of a benchmark.

    Parameters
    ----------
    title : str
        Over the table.
    description : str
    parts_by_name : dict
        Functions of a :class:`Bench`.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a rough look in a few minutes")
    parser.add_argument(
        "--only", choices=parts_by_name, action="append", help="a part; may be repeated"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    arguments = parser.parse_args()
    parts = arguments.only or list(parts_by_name)
    # Written to a file or a pipe, the table would be squeezed into 80 columns.
    console = Console() if sys.stdout.isatty() else Console(width=180)
    columns = [
        TextColumn("{task.completed}/{task.total}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    ]
    # As PyTensor compiles by default: the flag that the package sets must not slow peers down.
    peers_as_usual = pytensor.config.change_flags(numba__fastmath=True)
    with Progress(*columns, console=console) as progress, threadpool_limits(1), peers_as_usual:
        task = progress.add_task("", total=len(parts))
        bench = Bench(arguments.quick, progress, task)
        for part in parts:
            parts_by_name[part](bench)
            progress.advance(task)
    console.print(figures_table(title, bench.figures))
    for note in bench.notes:
        console.print(f"Note: {note}")
    if arguments.json:
        write_json(arguments.json, bench.figures)
