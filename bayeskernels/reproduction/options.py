"""Options that several reproductions have, and what they say about wrong ones."""

from bayeskernels.data import load

__all__ = ["add_options", "load_set", "refuse_below", "some_of"]


def add_options(parser, *, counts, names=None, data_dir=True):
    """Give a parser options of a reproduction.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    counts : dict
        Options that are whole numbers: by name their default and what they count.
    names : dict, optional
        Options that are lists of names: by name their default and a help.
    data_dir : bool
        Whether data are read from a folder.
    """
    for name, (default, meaning) in counts.items():
        shown = "" if default is None else f" (default: {default})"
        parser.add_argument(
            _flag(name), type=int, default=default, metavar="N", help=f"{meaning}{shown}"
        )
    for name, (default, text) in (names or {}).items():
        parser.add_argument(
            _flag(name), nargs="+", default=list(default), metavar="NAME", help=text
        )
    if data_dir:
        parser.add_argument(
            "--data-dir",
            metavar="DIR",
            help="folder of NAME.npz files (default: the one that BAYESKERNELS_DATA names)",
        )


def refuse_below(least, options, *names):
    """Refuse numbers that are too small; an option that was not given is none."""
    if any(getattr(options, name) is not None and getattr(options, name) < least for name in names):
        *first, last = map(_flag, names)
        flags = f"{', '.join(first)} and {last}" if first else last
        raise ValueError(f"{flags} must be at least {least}.")


def some_of(wanted, known, what):
    """Those that are wanted, in the order in which they are known."""
    for name in wanted:
        if name not in known:
            raise ValueError(f"There is no {what} {name!r}: expected some of {', '.join(known)}.")
    return [name for name in known if name in wanted]


def load_set(name, table, data_dir, **options):
    """A data set by :func:`bayeskernels.data.load`, or an error that names the options."""
    try:
        return load(name, data_dir=data_dir, **options)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error} {table} needs a folder with {name}.npz: give it as --data-dir, or leave the "
            "set out by --sets."
        ) from error


def _flag(name):
    return f"--{name.replace('_', '-')}"
