"""The report of a zoo run: one HTML file that needs nothing else."""

import datetime
import platform
import re
from importlib.metadata import version

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bayeskernels.zoo.figures import CLASSIFIER_FIGURES, flip_auc, headline_quantities
from bayeskernels.zoo.svg import figure_style, inline_svg
from bayeskernels.zoo.table import COLUMNS, cells, evidence_cell

__all__ = ["installed_versions", "render_report"]

PACKAGES = ("bayeskernels", "pymc", "pytensor", "arviz", "numba", "numpy", "scikit-learn")


def installed_versions():
    """Versions of Python and of the packages that matter, by name."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def render_report(results, *, random_seed, progress=None):
    """Render the results of a run.

    Parameters
    ----------
    results : sequence of ZooResult
    random_seed : int
        Seed of the run, for the header.
    progress : rich.progress.Progress, optional
        Where to show how far the drawing is.

    Returns
    -------
    str
        HTML with style and figures inside.
    """
    task = progress and progress.add_task("report", total=len(results))
    sections = []
    for result in results:
        sections.append(_section(result))
        if progress is not None:
            progress.advance(task)
    environment = Environment(
        loader=PackageLoader("bayeskernels"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("zoo_report.html.j2").render(
        date=datetime.datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z"),
        versions=installed_versions(),
        seed=random_seed,
        seconds=sum(result.total_seconds for result in results),
        columns=COLUMNS,
        rows=[(result.entry.name, cells(result)) for result in results],
        sections=sections,
    )


def _section(result):
    """What the template needs about one entry."""
    figures = []
    with figure_style():
        for number, kind in enumerate(result.entry.figures or CLASSIFIER_FIGURES):
            figure = kind.draw(result)
            if figure is None:
                continue
            svg = inline_svg(figure, follow_ink=not kind.coloured_ground)
            svg = _own_ids(svg, f"{result.entry.name}-{number}-")
            figures.append({"kind": kind, "svg": Markup(svg)})
    return {
        "entry": result.entry,
        "problem": result.problem,
        "facts": _facts(result),
        "figures": figures,
    }


def _own_ids(svg, prefix):
    """Make ids, and references to them, unique on the page."""
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    return re.sub(r"(url\(#|href=\"#)", rf"\g<1>{prefix}", svg)


def _facts(result):
    """Names and values of the numbers on top of a section."""
    facts = [
        ("test error", f"{100 * result.test_error:.1f}%"),
        ("R-hat", "–" if result.r_hat is None else f"{result.r_hat:.3f}"),
        ("effective draws / s", "–" if result.ess is None else f"{result.ess_per_second:,.0f}"),
    ]
    auc = flip_auc(result)
    if auc is not None:
        facts.append(("ROC AUC of flips", f"{auc:.3f}"))
    shown = headline_quantities(result)
    if "errors" in result.watched:
        facts.append(("training errors", f"{float(result.watched['errors'].mean()):.1f}"))
    for name in shown:
        if name in ("output", "errors"):
            continue
        for values in _scalars(shown[name]):
            label = " ".join(
                [name, *(str(values[c].item()) for c in values.coords if c == "class")]
            )
            facts.append((label, f"{float(values.mean()):.3g} ± {float(values.std()):.2g}"))
    if result.log_evidence is not None:
        facts.append((f"log evidence, {result.evidence.method}", evidence_cell(result)))
    return facts


def _scalars(values):
    """Each component of a variable, as an array over chains and draws."""
    rest = [dim for dim in values.dims if dim not in ("chain", "draw")]
    if not rest:
        return [values]
    return [
        part for k in range(values.sizes[rest[0]]) for part in _scalars(values.isel({rest[0]: k}))
    ]
