"""A run as the paper's tables show it: errors, times, sizes of active sets, lengths of burn-in."""

from rich.table import Table

from bayeskernels.reproduction.gkm.methods import METHODS, PAPER_ONLY
from bayeskernels.reproduction.gkm.paper import PAPER_PARTITIONS
from bayeskernels.reproduction.gkm.summary import MAX_RHAT
from bayeskernels.reproduction.spread import plus_minus

__all__ = ["show_burn_in", "show_checks", "show_errors", "show_sizes", "show_times"]

#: Cells further from the paper than so many standard errors, the paper's and ours taken together,
#: are marked.
FAR = 3.0

MARKS = (
    f"far: more than {FAR:.0f} standard errors from the paper; ?: chains disagree (R-hat above "
    f"{MAX_RHAT}) in so many partitions"
)


def show_errors(summary, methods):
    """Test errors in percent."""
    title = (
        "test error in percent, mean ± standard deviation (number of partitions); below in "
        f"brackets the paper ({PAPER_PARTITIONS} partitions)"
    )
    return _grid(summary, methods, title, _error_cell, _paper_error, caption=MARKS)


def show_times(summary, methods):
    """Seconds of the processor, and how often they go into the paper's."""
    settings = summary["settings"]
    title = (
        f"CPU seconds for {settings['tune']} + {settings['draws']} sweeps ({settings['nuts_tune']} "
        f"+ {settings['nuts_draws']} of NUTS); below in brackets the paper's for 10,000, and how "
        "many times ours they are"
    )
    return _grid(summary, methods, title, _time_cell, _paper_time)


def show_sizes(summary, methods):
    """How many points are active after the burn-in: Table 7."""
    title = (
        "active points after the burn-in: smallest to largest number, most frequent one and its "
        "share of the sweeps (medians over partitions); below in brackets the paper"
    )
    return _grid(summary, methods, title, _size_cell, _paper_size, caption=MARKS)


def show_burn_in(summary, methods):
    """Length of the burn-in by Brooks' cusum of the number of active points: Table 12."""
    title = (
        "burn-in by Brooks' cusum of the number of active points: sweeps and CPU seconds (median "
        "of the partitions that pass, and how many do); below in brackets the paper"
    )
    return _grid(summary, methods, title, _burn_in_cell, _paper_burn_in)


def show_checks(summary, methods):
    """Whether the chains can be trusted, and whether a tuned SVM is better."""
    table = Table(
        title="Whether the chains can be trusted: number of active points (BGKM and what NUTS "
        "samples: log g), worst partition; difference to the tuned SVM ± its standard error",
        show_lines=True,
    )
    headers = ("data set", "method", "active", "R-hat", "ESS", "not converged")
    for header in (*headers, "error less SVM's", "CPU seconds"):
        table.add_column(header, justify="left" if header in headers[:2] else "right")
    for name, row in summary["sets"].items():
        for method, found in row["methods"].items():
            table.add_row(
                name,
                METHODS[method],
                _number(found["size"], ".0f"),
                _number(found["max_rhat"], ".2f"),
                _number(found["ess"], ".0f"),
                f"{found['unconverged']} of {found['partitions']}" if method != "svm" else "",
                _difference(found["against_svm"]),
                f"{found['seconds']:.1f}",
            )
    return table


def _grid(summary, methods, title, cell, paper_cell, caption=None):
    """Cases by methods: our cell, and below it the paper's."""
    table = Table(title=f"{summary['table']}: {title}", caption=caption, show_lines=True)
    table.add_column("data set")
    rows = summary["sets"].values()
    papers = {method for row in rows for method in row["paper"]}
    methods = [
        method
        for method in methods
        if method in papers or any(method in row["methods"] for row in rows)
    ]
    others = sorted(papers - set(methods))
    for method in methods:
        table.add_column(METHODS[method], justify="right")
    for method in others:
        name = METHODS.get(method) or PAPER_ONLY[method]
        table.add_column(f"{name}, paper", justify="right")
    for name, row in summary["sets"].items():
        cells = []
        for method in methods:
            found, paper = row["methods"].get(method), row["paper"].get(method)
            ours = "" if found is None else cell(found)
            theirs = "" if paper is None else paper_cell(paper, found)
            cells.append(f"{ours}\n{theirs}".strip("\n"))
        cells += [paper_cell(row["paper"][m], None) if m in row["paper"] else "" for m in others]
        table.add_row(f"{name}\n{row['n_train']} + {row['n_test']}", *cells)
    return table


def _error_cell(found):
    text = plus_minus(found["mean"], found["standard_deviation"])
    marks = [f"({found['partitions']})"]
    if found["z"] is not None and abs(found["z"]) > FAR:
        marks.append("far")
    return " ".join([text, *marks, *_disagreement(found)])


def _disagreement(found):
    return [f"?{found['unconverged']}"] if found["unconverged"] else []


def _paper_error(paper, found):
    time = f", {paper['seconds']:,.0f} s" if "seconds" in paper else ""
    return f"({paper['mean']:.2f} ± {paper['standard_deviation']:.2f}{time})"


def _time_cell(found):
    return f"{found['seconds']:.1f}"


def _paper_time(paper, found):
    ratio = (
        "" if found is None else f", {paper['seconds'] / max(found['seconds'], 1e-9):,.0f} times"
    )
    return f"({paper['seconds']:,.0f}{ratio})"


def _size_cell(found):
    sizes = found.get("distribution")
    if sizes is None:
        return ""
    text = f"{sizes['min']:.0f} to {sizes['max']:.0f}, {sizes['most']:.0f} ({sizes['share']:.0%})"
    return " ".join([text, *_disagreement(found)])


def _paper_size(paper, found):
    return f"({paper['min']} to {paper['max']}, {paper['most']} ({paper['share']:.0%}))"


def _burn_in_cell(found):
    length = found.get("burn_in")
    if length is None:
        return ""
    passed = f"({length['passed']} of {found['partitions']})"
    if length["sweeps"] is None:
        return f"none {passed}"
    return f"{length['sweeps']:.0f}, {length['seconds']:.1f} s {passed}"


def _paper_burn_in(paper, found):
    return f"({paper['burn_in']}, {paper['seconds']:,.0f} s)"


def _number(value, form):
    return "" if value is None else format(value, form)


def _difference(against):
    return "" if against is None else plus_minus(against["mean"], against["standard_error"], "+.2f")
