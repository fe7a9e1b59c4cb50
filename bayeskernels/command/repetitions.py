"""Repetitions of an experiment: in parallel, and not done again when a run is taken up later."""

import json
from pathlib import Path

from joblib import Parallel, delayed

__all__ = ["read_repetitions", "run_repetitions"]


def run_repetitions(function, repetitions, *, settings, out=None, jobs=1, on_done=None):
    """Call ``function(repetition, **settings)`` for every repetition.

    Parameters
    ----------
    function : callable
        Returns a record that JSON can hold. It must depend on its arguments only.
    repetitions : int or list of str
        How many, called 0, 1, ..., or what they are called.
    settings : dict
        Keywords of ``function``, ready for JSON.
    out : path, optional
        File with one line for each finished repetition. Those that it holds are not done again, and
        every new one is added as soon as it is finished.
    jobs : int
        Processes, as for joblib: -1 is one for each core. Another joblib back end, a Dask cluster
        say, can be chosen around the call by ``joblib.parallel_config``.
    on_done : callable, optional
        Called without arguments for each repetition, found or computed.

    Returns
    -------
    list of dict
        In the order of the repetitions, whatever the order of computation.

    Raises
    ------
    ValueError
        If the file holds repetitions with other settings.

    Examples
    --------
    >>> def square(number, power):
    ...     return {"value": number**power}
    >>> run_repetitions(square, 3, settings={"power": 2})
    [{'value': 0}, {'value': 1}, {'value': 4}]
    """
    wanted = list(range(repetitions)) if isinstance(repetitions, int) else list(repetitions)
    settings = json.loads(json.dumps(settings))
    done = {} if out is None else read_repetitions(out, settings)
    done = {name: done[name] for name in wanted if name in done}
    for _ in done:
        if on_done is not None:
            on_done()
    missing = [name for name in wanted if name not in done]
    # No batches: a finished repetition would wait for the others of its batch to be written.
    pool = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
    for name, record in pool(delayed(_call)(function, name, settings) for name in missing):
        done[name] = record
        if out is not None:
            _append(Path(out), settings, name, record)
        if on_done is not None:
            on_done()
    return [done[name] for name in wanted]


def _call(function, name, settings):
    return name, function(name, **settings)


def read_repetitions(out, settings):
    """Finished repetitions that a file holds.

    Parameters
    ----------
    out : path
        File that :func:`run_repetitions` wrote; there need not be one yet.
    settings : dict
        Those with which they must have been run, ready for JSON.

    Returns
    -------
    dict
        Records by number or name of the repetition.

    Raises
    ------
    ValueError
        If the file holds repetitions with other settings, or lines that are none.
    """
    path = Path(out)
    if not path.exists():
        return {}
    done = {}
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for row, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            name, record, theirs = entry["repetition"], entry["result"], entry["settings"]
        except (ValueError, KeyError, TypeError):
            if row == len(lines) and not line.endswith("\n"):
                break  # The run before was stopped while it wrote this line.
            raise ValueError(
                f"Line {row} of {path} is no finished repetition. Give another --out."
            ) from None
        if theirs != settings:
            changed = [k for k in sorted(settings | theirs) if theirs.get(k) != settings.get(k)]
            raise ValueError(
                f"{path} holds repetitions with other settings ({', '.join(changed)}). "
                "Give another --out."
            )
        done[name] = record
    return done


def _append(path, settings, name, record):
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {"repetition": name, "settings": settings, "result": record}
    with path.open("a+b") as file:
        # Cut off what a stopped run may have left behind its last whole line.
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(json.dumps(entry).encode() + b"\n")
