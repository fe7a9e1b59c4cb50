"""GKM Tables 2 and 13: sparse Bayesian kernel classifiers on benchmark data sets."""

from functools import partial

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

from bayeskernels.reproduction.gkm_methods import METHODS, fit_methods
from bayeskernels.reproduction.gkm_partitions import SETS, draw_partition, read_rows
from bayeskernels.reproduction.registry import register
from bayeskernels.reproduction.repetitions import run_repetitions

__all__ = [
    "PAPER",
    "compare_partition",
    "reproduce_table_2",
    "reproduce_table_13",
    "summarise",
]

#: The paper's test errors in percent and their standard deviations over 20 partitions, by set and
#: method. Table 13 has SVM and IVM from Zhu and Hastie (2005).
PAPER = {
    "gkm-table-2": {
        name: dict(zip(("bsvm", "csvm", "bgkm", "sgpc", "fbgkm"), cells, strict=True))
        for name, cells in {
            "bci": [(28.15, 2.15), (29.40, 2.58), (29.35, 2.82), (27.10, 1.85), (29.83, 2.36)],
            "g241d": [(17.15, 1.68), (17.63, 1.15), (16.37, 1.11), (16.55, 1.22), (16.30, 0.89)],
            "digit1": [(4.86, 0.74), (4.88, 0.75), (4.87, 0.65), (5.51, 0.66), (4.85, 0.67)],
            "coil2": [(9.71, 0.81), (9.86, 0.71), (9.16, 0.99), (9.83, 0.97), (9.797, 0.32)],
            "usps_0_1": [(0.40, 0.30), (0.35, 0.11), (0.28, 0.05), (0.31, 0.14), (0.28, 0.06)],
            "usps_0_9": [(1.36, 0.36), (1.40, 0.29), (1.36, 0.28), (1.21, 0.19), (1.37, 0.24)],
            "letter_a_b": [(0.92, 0.59), (0.95, 0.45), (0.75, 0.24), (0.53, 0.19), (0.77, 0.24)],
            "letter_a_c": [(0.83, 0.15), (0.93, 0.27), (0.87, 0.15), (0.65, 0.20), (0.84, 0.15)],
            "newsgroups": [(5.62, 0.80), (5.08, 0.33), (4.92, 0.28), (4.66, 0.38), (4.83, 0.25)],
        }.items()
    },
    "gkm-table-13": {
        name: dict(zip(("svm", "ivm", "fbgkm", "sgpc"), cells, strict=True))
        for name, cells in {
            "ringnorm": [(2.03, 0.19), (1.97, 0.29), (1.51, 0.10), (1.56, 0.12)],
            "thyroid": [(4.80, 2.98), (5.00, 3.02), (4.60, 2.65), (4.51, 2.32)],
            "twonorm": [(2.90, 0.25), (2.45, 0.15), (2.86, 0.21), (2.79, 0.23)],
            "waveform": [(9.98, 0.43), (10.13, 0.47), (9.80, 0.31), (9.73, 0.30)],
        }.items()
    },
}

#: Methods of each table that are run unless others are named.
DEFAULT_METHODS = {
    "gkm-table-2": ["bgkm", "sgpc", "fbgkm", "svm"],
    "gkm-table-13": ["fbgkm", "sgpc", "svm"],
}

#: The paper's partitions.
PAPER_PARTITIONS = 20

#: Cells further from the paper than so many standard errors, the paper's and ours taken together,
#: are marked.
FAR = 3.0

#: Chains with a larger R-hat are counted as not converged.
MAX_RHAT = 1.05


def compare_partition(name, *, seed, methods, draws, tune, data_dir=None):
    """Test errors on one random partition of one data set.

    Parameters
    ----------
    name : str
        Name of the set and number of the partition, for example ``"thyroid/17"``.
    seed : int
    methods : list of str
    draws, tune : int
        Draws behind a prediction, and sweeps thrown away before them.
    data_dir : path, optional
        See :func:`bayeskernels.data.load`.

    Returns
    -------
    dict
        What :func:`bayeskernels.reproduction.gkm_methods.fit_methods` returns by method, besides
        ``n_train``, ``n_test`` and ``max_active``.
    """
    set_name, number = name.split("/")
    # Neither the partition nor a method's seed depends on what else is run.
    entropy = [seed, list(SETS).index(set_name), int(number)]
    first, *others = np.random.SeedSequence(entropy).spawn(1 + len(METHODS))
    partition = draw_partition(set_name, np.random.default_rng(first), data_dir)
    max_active = SETS[set_name].max_active
    with threadpool_limits(limits=1):
        records = fit_methods(
            partition,
            methods,
            max_active=max_active,
            draws=draws,
            tune=tune,
            seeds=dict(zip(METHODS, others, strict=True)),
        )
    sizes = {"n_train": len(partition.y), "n_test": len(partition.y_test)}
    return {"methods": records, **sizes, "max_active": max_active}


def summarise(table, records):
    """Means over partitions beside the paper's.

    Parameters
    ----------
    table : str
        Key of :data:`PAPER`.
    records : dict of list of dict
        What :func:`compare_partition` returned, by set.

    Returns
    -------
    dict
        ``table`` and ``sets``: for each set the number of ``partitions``, sizes, the ``paper``'s
        mean and standard deviation by method, and ``methods``. Of a method: ``mean`` and
        ``standard_deviation`` of the test error in percent (None for one partition),
        ``standard_error``; ``z``, the distance from the paper in standard errors of both;
        ``against_svm``, mean and standard error of the paired difference to the tuned SVM (None
        where that is not run); mean ``seconds`` and ``size``; the largest R-hat, ``max_rhat``, the
        least ``ess``, and how many partitions are ``unconverged``.
    """
    sets = {name: _summarise_set(PAPER[table][name], rows) for name, rows in records.items()}
    return {"table": table, "sets": sets}


def _summarise_set(paper, rows):
    methods = list(rows[0]["methods"])
    errors = {m: 100 * np.array([row["methods"][m]["error"] for row in rows]) for m in methods}
    return {
        "partitions": len(rows),
        **{key: rows[0][key] for key in ("n_train", "n_test", "max_active")},
        "paper": {m: {"mean": mean, "standard_deviation": sd} for m, (mean, sd) in paper.items()},
        "methods": {
            method: _summarise_method(
                errors[method],
                [row["methods"][method] for row in rows],
                paper.get(method),
                errors.get("svm") if method != "svm" else None,
            )
            for method in methods
        },
    }


def _summarise_method(errors, rows, paper, svm):
    n = len(errors)
    mean, spread = _mean_and_spread(errors)
    z = against = None
    if paper is not None:
        # Few partitions say little of their spread: it is not taken to be below the paper's.
        variance = max(spread or 0.0, paper[1]) ** 2 / n + paper[1] ** 2 / PAPER_PARTITIONS
        z = (mean - paper[0]) / np.sqrt(variance)
    if svm is not None:
        difference, sd = _mean_and_spread(errors - svm)
        against = {
            "mean": difference,
            "standard_error": None if sd is None else sd / np.sqrt(n),
        }
    found = {"rhat": [row.get("rhat") for row in rows], "ess": [row.get("ess") for row in rows]}
    known = {key: [v for v in values if v is not None] for key, values in found.items()}
    return {
        "mean": mean,
        "standard_deviation": spread,
        "standard_error": None if spread is None else spread / np.sqrt(n),
        "z": None if z is None else float(z),
        "against_svm": against,
        "seconds": float(np.mean([row["seconds"] for row in rows])),
        "size": float(np.mean([row["size"] for row in rows])) if "size" in rows[0] else None,
        "max_rhat": max(known["rhat"], default=None),
        "ess": min(known["ess"], default=None),
        "unconverged": sum(rhat > MAX_RHAT for rhat in known["rhat"]),
    }


def _mean_and_spread(values):
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None


def _add_arguments(table, parser):
    names, methods = list(PAPER[table]), DEFAULT_METHODS[table]
    parser.add_argument(
        "--partitions",
        type=int,
        default=10,
        metavar="N",
        help="random partitions of a set (default: 10; the paper has 20)",
    )
    parser.add_argument(
        "--sets",
        nargs="+",
        default=names,
        metavar="NAME",
        help=f"data sets (default: all of {', '.join(names)})",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        default=methods,
        metavar="NAME",
        help=f"some of {', '.join(METHODS)} (default: {', '.join(methods)}; bsvm and csvm are "
        "sampled by NUTS and take long)",
    )
    parser.add_argument(
        "--draws",
        type=int,
        default=1500,
        metavar="N",
        help="draws behind a prediction, those of FBGKM and SGPC together (default: 1500)",
    )
    parser.add_argument(
        "--tune",
        type=int,
        default=1000,
        metavar="N",
        help="sweeps thrown away at the start of each chain (default: 1000)",
    )
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder of NAME.npz files (default: the one that BAYESKERNELS_DATA names)",
    )


@register(
    name="gkm-table-2",
    title="Sparse Bayesian kernel classifiers against dense ones on nine data sets",
    source="GKM",
    add_arguments=partial(_add_arguments, "gkm-table-2"),
)
def reproduce_table_2(options, console):
    """Test error of Bayesian kernel classifiers (GKM, section 5.2, Table 2).

    FBGKM and SGPC are one model and have the same posterior: their columns are two chains with
    different seeds and starts, which share the draws, so that a difference between them is Monte
    Carlo error. A tuned SVM, which the paper does not show here, stands beside them.
    """
    return _reproduce("gkm-table-2", options, console)


@register(
    name="gkm-table-13",
    title="Sparse Bayesian kernel classifiers against tuned SVM and IVM on four data sets",
    source="GKM",
    add_arguments=partial(_add_arguments, "gkm-table-13"),
)
def reproduce_table_13(options, console):
    """Test error of sparse Bayesian kernel classifiers and SVMs (GKM, section 5.4, Table 13).

    FBGKM and SGPC are one model and have the same posterior: their columns are two chains with
    different seeds and starts, which share the draws, so that a difference between them is Monte
    Carlo error. The SVM is tuned on each training part; the paper cites its SVM and IVM from Zhu
    and Hastie (2005).
    """
    return _reproduce("gkm-table-13", options, console)


def _reproduce(table, options, console):
    names = _some_of(options.sets, PAPER[table], "data set")
    methods = _some_of(options.methods, METHODS, "method")
    if options.partitions < 1 or options.draws < 1 or options.tune < 0:
        raise ValueError("--partitions and --draws must be at least 1, --tune at least 0.")
    for name in names:
        read_rows(name, options.data_dir)  # What is missing is missed at once.
    # All sets grow together, so that a stopped run makes a table of fewer partitions.
    units = [f"{name}/{number}" for number in range(options.partitions) for name in names]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task("partitions", total=len(units))
        records = run_repetitions(
            partial(compare_partition, data_dir=options.data_dir),
            units,
            settings={
                "seed": options.seed,
                "methods": methods,
                "draws": options.draws,
                "tune": options.tune,
            },
            out=options.out,
            jobs=options.jobs,
            on_done=lambda: progress.advance(task),
        )
    summary = summarise(table, {name: records[k :: len(names)] for k, name in enumerate(names)})
    console.print(_errors_table(summary, methods))
    console.print(_checks_table(summary))
    return summary


def _some_of(wanted, known, what):
    """Those that are wanted, in the order of the table."""
    for name in wanted:
        if name not in known:
            raise ValueError(
                f"The table has no {what} {name!r}: expected some of {', '.join(known)}."
            )
    return [name for name in known if name in wanted]


def _errors_table(summary, methods):
    n = max(row["partitions"] for row in summary["sets"].values())
    table = Table(
        title=f"{summary['table']}: test error in percent, mean ± standard deviation of {n} "
        f"partitions; in brackets the paper ({PAPER_PARTITIONS} partitions)",
        show_lines=True,
    )
    table.add_column("data set")
    papers_own = {m for row in summary["sets"].values() for m in row["paper"] if m not in methods}
    for method in methods:
        table.add_column(METHODS[method], justify="right")
    for method in sorted(papers_own):
        table.add_column(f"{method.upper()}, paper", justify="right")
    for name, row in summary["sets"].items():
        table.add_row(
            f"{name}\n{row['n_train']} + {row['n_test']}",
            *(_cell(row, method) for method in methods),
            *(_paper_cell(row["paper"].get(method)) for method in sorted(papers_own)),
        )
    return table


def _cell(row, method):
    found = row["methods"][method]
    spread = found["standard_deviation"]
    ours = f"{found['mean']:.2f}" + ("" if spread is None else f" ± {spread:.2f}")
    far = " far" if found["z"] is not None and abs(found["z"]) > FAR else ""
    return f"{ours}\n{_paper_cell(row['paper'].get(method))}{far}"


def _paper_cell(cell):
    return "" if cell is None else f"({cell['mean']:.2f} ± {cell['standard_deviation']:.2f})"


def _checks_table(summary):
    table = Table(
        title="Whether the chains can be trusted: number of active points (BGKM, BSVM, CSVM: log "
        "g), worst partition; difference to the tuned SVM ± its standard error",
        show_lines=True,
    )
    headers = ("data set", "method", "active", "R-hat", "ESS", "not converged")
    for title in (*headers, "error less SVM's", "seconds"):
        table.add_column(title, justify="left" if title in headers[:2] else "right")
    for name, row in summary["sets"].items():
        for method, found in row["methods"].items():
            sampled = method != "svm"
            table.add_row(
                name,
                METHODS[method],
                _number(found["size"], ".0f"),
                _number(found["max_rhat"], ".2f"),
                _number(found["ess"], ".0f"),
                f"{found['unconverged']} of {row['partitions']}" if sampled else "",
                _difference(found["against_svm"]),
                f"{found['seconds']:.1f}",
            )
    return table


def _number(value, form):
    return "" if value is None else format(value, form)


def _difference(against):
    if against is None:
        return ""
    spread = against["standard_error"]
    return f"{against['mean']:+.2f}" + ("" if spread is None else f" ± {spread:.2f}")
