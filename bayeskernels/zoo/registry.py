"""Entries of the zoo, and how models add themselves."""

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bayeskernels.data.sources import Source, source_of
from bayeskernels.zoo.evidence import estimate_evidence
from bayeskernels.zoo.monitoring import monitor_model, prediction_error

__all__ = ["ZooEntry", "all_entries", "find_entry", "register", "unregister"]

_entries: dict[str, "ZooEntry"] = {}


@dataclass(frozen=True, kw_only=True)
class ZooEntry:
    """A model of the zoo, a data set for it, and how to sample it.

    Attributes
    ----------
    name : str
        How the command line calls it: lower-case words joined by hyphens.
    title : str
        The model in a few words.
    summary : str
        What the model is; the docstring of the builder, unless given.
    build : callable
        ``build(problem)`` returns the ``pm.Model``.
    source : Source
        Paper that the model comes from.
    steps : tuple of str
        Step methods that sample it.
    load : callable
        ``load()`` returns the :class:`~bayeskernels.zoo.problem.Problem`. Nothing may be
        downloaded: data are generated, or those that scikit-learn contains.
    notebook : str or None
        File name of the notebook that explains the model.
    draws, tune : int
        Per chain.
    step : callable or None
        Called inside the model, makes what ``pm.sample`` takes as ``step``; the choice is PyMC's
        by default.
    sample_options : mapping
        Further keywords of ``pm.sample``.
    monitor : callable
        ``monitor(model, idata, problem)`` returns an ``xarray.Dataset`` with the dims ``chain`` and
        ``draw``: the quantities whose convergence counts, outputs at test points as ``output``.
    test_error : callable
        ``test_error(prediction, problem)`` returns a number.
    evidence : callable or None
        ``evidence(model, idata, random_seed)`` returns an object with ``log_evidence``, ``mcse``,
        ``method`` and ``warning``; the method that fits the model best by default, None where
        there is none.
    figures : tuple of FigureOf, or None
        What the report shows, see :mod:`bayeskernels.zoo.figures`; None stands for the figures of a
        classifier.
    """

    name: str
    title: str
    summary: str
    build: Callable
    source: Source
    steps: tuple[str, ...]
    load: Callable
    notebook: str | None = None
    draws: int = 500
    tune: int = 200
    step: Callable | None = None
    sample_options: Mapping = field(default_factory=dict)
    monitor: Callable = monitor_model
    test_error: Callable = prediction_error
    evidence: Callable | None = estimate_evidence
    figures: tuple | None = None


def register(*, name, title, source, steps, load, **options):
    """Decorate a builder so that its model joins the zoo, with its docstring as a summary.

    Keywords are attributes of :class:`ZooEntry`; the source is the short name of a paper, see
    :mod:`bayeskernels.data.sources`. A name that is taken is refused.

    Examples
    --------
    ::

        @register(
            name="my-model",
            title="My model",
            source="BPM",
            steps=["Billiard"],
            load=two_moons,
            notebook="02_bayes_point_machines.ipynb",
        )
        def my_model(problem):
            "The centre of the version space."
            return bk.models.bayes_point_machine(problem.X, problem.y)
    """

    def add(build):
        if name in _entries:
            raise ValueError(
                f"The zoo already has an entry {name!r} ({_entries[name].title}). "
                "Choose another name."
            )
        summary = options.pop("summary", None) or inspect.getdoc(build)
        if not summary:
            raise ValueError(f"Entry {name!r} needs a summary: give its builder a docstring.")
        _entries[name] = ZooEntry(
            name=name,
            title=title,
            summary=" ".join(summary.split()),
            build=build,
            source=source_of(source),
            steps=tuple(steps),
            load=load,
            **options,
        )
        return build

    return add


def unregister(name):
    """Take an entry out again."""
    del _entries[name]


def all_entries():
    """All entries, in the order in which they joined."""
    return list(_entries.values())


def find_entry(name):
    """Entry of this name; a ValueError names the nearest ones."""
    if name in _entries:
        return _entries[name]
    near = difflib.get_close_matches(name, _entries, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(_entries)}."
    raise ValueError(f"The zoo has no model {name!r}: {hint}")
