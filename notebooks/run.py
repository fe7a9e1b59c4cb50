"""Execute every notebook of this folder from top to bottom.

The executed copies, with their figures, go to ``build/notebooks``; ``--inplace`` writes them back
into this folder instead. Unless ``--full`` is given, ``BAYESKERNELS_FAST=1`` is set for the
notebooks, which then take fewer draws.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

FOLDER = Path(__file__).resolve().parent
OUTPUT = FOLDER.parent / "build" / "notebooks"


def execute(path, output, *, label, cell_timeout):
    """Execute one notebook, save it with its outputs, and return the error text or None."""
    notebook = nbformat.read(path, as_version=4)
    number_of_cells = len(notebook.cells)
    live = sys.stdout.isatty()

    def show_progress(cell, cell_index, **_):
        if live:
            print(f"\r{label} cell {cell_index + 1}/{number_of_cells} ", end="", flush=True)

    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=cell_timeout,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_start=show_progress,
    )
    if not live:
        print(label, end=" ", flush=True)
    start = time.perf_counter()
    error = None
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, RuntimeError) as failure:
        # RuntimeError: the kernel did not start, or died.
        error = str(failure)
    # A failed notebook is saved too: its outputs show how far it came.
    if error is None or output.parent != path.parent:
        output.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, output)
    outcome = "ok" if error is None else "FAILED"
    beginning = f"\r\033[K{label} " if live else ""
    print(f"{beginning}{outcome} in {time.perf_counter() - start:.1f} s", flush=True)
    return error


def main():
    """Run the notebooks that the command line names and exit with 1 if any of them fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of this folder")
    parser.add_argument("--full", action="store_true", help="all draws, as a reader would run it")
    parser.add_argument("--inplace", action="store_true", help="store the outputs in the notebooks")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the executed copies")
    parser.add_argument("--cell-timeout", type=int, default=600, help="seconds, default 600")
    options = parser.parse_args()

    if options.full:
        os.environ.pop("BAYESKERNELS_FAST", None)
    else:
        os.environ["BAYESKERNELS_FAST"] = "1"
    # Figures must land in the notebook, whatever the surrounding shell prefers.
    os.environ.pop("MPLBACKEND", None)

    paths = [path.resolve() for path in options.notebooks] or sorted(FOLDER.glob("*.ipynb"))
    errors = {}
    for number, path in enumerate(paths, start=1):
        error = execute(
            path,
            path if options.inplace else options.output.resolve() / path.name,
            label=f"[{number}/{len(paths)}] {path.name}",
            cell_timeout=options.cell_timeout,
        )
        if error is not None:
            errors[path.name] = error

    for name, error in errors.items():
        print(f"\n== {name}\n{error}", file=sys.stderr)
    print(f"{len(paths) - len(errors)} of {len(paths)} notebooks ran to the end.")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
