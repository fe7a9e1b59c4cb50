"""Repetitions of a reproduction, with a bar on the console."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bayeskernels.command.repetitions import run_repetitions

__all__ = ["run_with_progress"]


def run_with_progress(run, units, *, what, settings, options, console, jobs=None):
    """Records of all units, see :func:`~bayeskernels.command.repetitions.run_repetitions`.

    The bar counts how many of ``what`` are done. ``options`` has ``out`` and ``jobs``, in whose
    place other ``jobs`` may be given.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(what, total=units if isinstance(units, int) else len(units))
        return run_repetitions(
            run,
            units,
            settings=settings,
            out=options.out,
            jobs=options.jobs if jobs is None else jobs,
            on_done=lambda: progress.advance(task),
        )
