"""What ``bayeskernels reproduce`` offers."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from bayeskernels.data.sources import Source, source_of

__all__ = ["Reproduction", "all_reproductions", "find_reproduction", "register"]

_reproductions: dict[str, "Reproduction"] = {}


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A table or figure of a paper that can be computed again.

    Attributes
    ----------
    name : str
        How the command line calls it.
    title : str
    description : str
        What is computed; the docstring of ``run``.
    source : Source
    run : callable
        ``run(options, console)`` does the work, prints its table on a ``rich.console.Console`` and
        returns a record that JSON can hold. ``options`` has the parsed arguments.
    add_arguments : callable or None
        ``add_arguments(parser)`` adds the arguments that only this reproduction has. All have
        ``--jobs``, ``--out`` and ``--seed``.
    """

    name: str
    title: str
    description: str
    source: Source
    run: Callable
    add_arguments: Callable | None = None


def register(*, name, title, source, add_arguments=None):
    """Decorate the ``run`` function of a reproduction so that the command line offers it.

    Keywords are attributes of :class:`Reproduction`; the source is the short name of a paper, see
    :mod:`bayeskernels.data.sources`.
    """

    def add(run):
        if name in _reproductions:
            raise ValueError(f"There already is a reproduction {name!r}. Choose another name.")
        _reproductions[name] = Reproduction(
            name=name,
            title=title,
            description=inspect.getdoc(run) or title,
            source=source_of(source),
            run=run,
            add_arguments=add_arguments,
        )
        return run

    return add


def all_reproductions():
    """All reproductions, in the order in which they joined."""
    return list(_reproductions.values())


def find_reproduction(name):
    """Reproduction of this name, or a ValueError."""
    try:
        return _reproductions[name]
    except KeyError:
        raise ValueError(
            f"There is no reproduction {name!r}: expected one of {', '.join(_reproductions)}."
        ) from None
