"""Options that several reproductions have, and what they say about wrong ones."""

from bayeskernels.data import load

__all__ = ["add_counts", "add_data_dir", "add_names", "load_set", "refuse_below", "some_of"]


def add_counts(parser, **counts):
    """Give a parser options that are whole numbers: by name their default and what they count."""
    for name, (default, meaning) in counts.items():
        shown = "" if default is None else f" (default: {default})"
        parser.add_argument(
            _flag(name), type=int, default=default, metavar="N", help=f"{meaning}{shown}"
        )


def add_names(parser, **choices):
    """Give a parser options that are lists of names: by name their default and a help."""
    for name, (default, text) in choices.items():
        parser.add_argument(
            _flag(name), nargs="+", default=list(default), metavar="NAME", help=text
        )


def add_data_dir(parser):
    """Give a parser the option in which folder the data are."""
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
