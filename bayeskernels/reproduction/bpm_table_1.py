"""BPM Table 1: Bayes point machine against hard-margin SVM on seven benchmark data sets."""

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from rich.table import Table
from scipy.spatial.distance import cdist
from scipy.stats import ttest_rel
from threadpoolctl import threadpool_limits

from bayeskernels.data import random_splits
from bayeskernels.geometry.hard_margin import FREE_OFFSET, hard_margin
from bayeskernels.models import bayes_point_machine
from bayeskernels.reproduction.options import add_options, load_set, refuse_below, some_of
from bayeskernels.reproduction.progress import run_with_progress
from bayeskernels.reproduction.registry import register
from bayeskernels.reproduction.spread import plus_minus, standard_error
from bayeskernels.samplers import sample_directions, simulate_billiard
from bayeskernels.samplers.approximations.moment_matching import propagate_expectations
from bayeskernels.samplers.directions.label_noise_target import LabelNoiseTarget
from bayeskernels.specification.base import specification_of

__all__ = ["SETS", "BenchmarkSet", "compare_split", "reproduce_table", "summarise"]


@dataclass(frozen=True)
class BenchmarkSet:
    """A row of the paper's table, and what the paper does not say about the data.

    Attributes
    ----------
    width : float
        The sigma of the kernel exp(-|x - x'|^2 / (2 sigma^2)).
    svm, bpm, p_value : float
        The paper's test errors in percent, and its p-value.
    standardise : bool
        Bring the columns to mean 0 and standard deviation 1 over all rows, as the IDA files are.
    n_train : int or None
        Training points where they are not 60% of the rows.
    draws : int
        Draws behind a Bayes point. Twice as many changed no mean error by more than 0.2 points (6
        to 100 splits of each set).
    """

    width: float
    svm: float
    bpm: float
    p_value: float
    standardise: bool = False
    n_train: int | None = None
    draws: int = 400


#: Whether inputs were standardised is not in the paper. The five sets of the IDA collection are
#: standardised there, and fit the paper's numbers so; the two others are as UCI has them.
SETS = {
    "heart": BenchmarkSet(10.0, 25.4, 22.8, 1.00, standardise=True),
    "thyroid": BenchmarkSet(3.0, 5.3, 4.4, 1.00, standardise=True),
    "diabetes": BenchmarkSet(5.0, 33.1, 32.0, 1.00, standardise=True, draws=100),
    "waveform": BenchmarkSet(20.0, 13.0, 12.1, 1.00, standardise=True, n_train=400, draws=200),
    "banana": BenchmarkSet(0.5, 16.2, 15.1, 1.00, standardise=True, n_train=400, draws=40),
    "sonar": BenchmarkSet(1.0, 15.4, 15.9, 0.01),
    "ionosphere": BenchmarkSet(1.5, 11.9, 11.5, 0.99),
}

#: Sets on which the Bayes point machine is expected to have the lower error, as in the paper.
BPM_WINS = ("heart", "thyroid", "waveform", "ionosphere")

COLUMNS = {
    "svm": "SVM",
    "svm_bias": "SVM, bias",
    "billiard": "BPM, billiard",
    "refractive": "BPM, refractive",
    "ep": "BPM, EP",
    "bpm_bias": "BPM, bias 1",
}

#: The column of the paper that a column of ours is compared with; those with a bias are ours alone.
PAPER_COLUMN = {"svm": "svm", "billiard": "bpm", "refractive": "bpm", "ep": "bpm"}

#: A cell further from the paper than this, in points of percent, needs an explanation.
TOLERANCE = 1.0

#: What was measured about such cells, by set.
NOTES = {
    "heart": "chance of the splits has a part: 500 others have 25.2 (SVM) and 21.9 (BPM by EP), "
    "and means of 100 vary by 0.3 (one standard deviation). A billiard stopped after 1,000 bounces "
    "has 23.0, after 10,000 21.9, in the long run 21.1 (40 splits)",
    "diabetes": "perhaps the paper's billiard stopped early: ours has 32.2 after 1,000 bounces, "
    "31.5 after 10,000 and 30.7 in the long run (40 splits), as the other methods. Against it: on "
    "waveform 1,000 bounces give 13.1 (15 splits), where the paper has 12.1. The paper's own chord "
    "billiard, run until TOL = 1e-4, needs 750,000 bounces and has what ours has (8 splits)",
    "banana": "perhaps the paper's billiard stopped early (it names about 1,000 bounces): ours has "
    "15.7 after 1,000, 14.6 after 10,000 and 13.6 in the long run (15 splits), as the other "
    "methods. Against it: on waveform 1,000 bounces give 13.1 (15 splits), where the paper has "
    "12.1. The paper's own chord billiard, run until TOL = 1e-4, needs 500,000 bounces and has "
    "13.7 (12 splits)",
    "sonar": "chance of the splits: means of 60 splits vary by half a point (one standard error); "
    "100 splits have 14.6 (SVM) and 15.4 (BPM), 500 others 14.8 and 15.3",
    "ionosphere": "no cause was found: 500 other splits have 11.7 (SVM) and 10.4 (BPM by EP), each "
    "with a standard error of 0.1",
}

#: Draws that are thrown away.
TUNE = 10

#: How an error says that no classifier is right on all training points.
EMPTY = "version space is empty"


@lru_cache(maxsize=len(SETS))
def _inputs_and_labels(name, data_dir):
    """Whole data set, in the form that the table wants."""
    data = load_set(name, "bpm-table-1", data_dir)
    benchmark = SETS[name]
    X = data.X
    if set(np.unique(data.y)) != {-1, 1}:
        raise ValueError(f"{name} ({data.source}) must have the labels -1 and +1.")
    if benchmark.standardise:
        X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return X, data.y


def compare_split(name, *, seed, draws=None, data_dir=None):
    """Test errors on one random split of one data set.

    Parameters
    ----------
    name : str
        Name of the set and number of the split, for example ``"heart/17"``.
    seed : int
    draws : int, optional
        Draws behind a Bayes point; by default those of the set.
    data_dir : path, optional
        See :func:`bayeskernels.data.load`.

    Returns
    -------
    dict
        Test errors by column; ``n_train`` and ``n_test``; ``margin``, the sine of the angle between
        the SVM without bias and the nearest wall of version space; ``given_up``, how many
        trajectories had too many bounces; ``ep_settled``. Where the version space is empty, only
        ``empty``, which says why.
    """
    set_name, number = name.split("/")
    benchmark = SETS[set_name]
    draws = draws or benchmark.draws
    X, y = _inputs_and_labels(set_name, data_dir)
    seeds = np.random.SeedSequence([seed, list(SETS).index(set_name), int(number)]).spawn(4)
    fraction = 0.6 if benchmark.n_train is None else benchmark.n_train / len(X)
    [(train, test)] = random_splits(len(X), fraction, 1, seeds[0])
    with threadpool_limits(limits=1):
        gram, cross = (_gaussian(X[rows], X[train], benchmark.width) for rows in (train, test))
        try:
            plain = _SplitMachine(gram, cross, y[train])
            biased = _SplitMachine(gram, cross, y[train], bias=1.0)
            w, _ = hard_margin(plain.features, y[train])
            free = hard_margin(plain.features, y[train], constant=FREE_OFFSET)
        except ValueError as error:
            if EMPTY not in str(error):
                raise
            return {"empty": str(error)}
        path = plain.roll(draws, seeds[1])
        drawn = [plain.sample(draws, seeds[2]), biased.sample(draws, seeds[3])]
        gaussian = propagate_expectations(plain.walls, tolerance=1e-4)
        outputs = {
            "svm": plain.test_features @ w,
            "svm_bias": plain.test_features @ free[0] + free[1],
            "billiard": plain.test_features @ path.centres[TUNE:].mean(axis=0),
            "refractive": plain.test_features @ drawn[0][0].mean(axis=0),
            "ep": plain.test_features @ gaussian.mean,
            "bpm_bias": biased.test_features @ drawn[1][0].mean(axis=0),
        }
    errors = {column: float(np.mean((f > 0) != (y[test] > 0))) for column, f in outputs.items()}
    return {
        **errors,
        "n_train": len(train),
        "n_test": len(test),
        "margin": float((y[train] * (plain.features @ w)).min() / np.linalg.norm(w)),
        "given_up": int(path.capped.sum()) + sum(capped for _, capped in drawn),
        "ep_settled": gaussian.converged,
    }


def _gaussian(X, Z, width):
    return np.exp(-cdist(X, Z, "sqeuclidean") / (2 * width**2))


class _SplitMachine:
    """Bayes point machine on a training part, with the coordinates of the test part."""

    def __init__(self, gram, cross, y, bias=0.0):
        # A Gram matrix, since every kernel value is needed by several machines.
        self.model = bayes_point_machine(None, y, kernel=gram, bias=bias)
        feature_map = specification_of(self.model).feature_map
        self.features = feature_map.at_training
        self.test_features = feature_map(cross)
        [self.value] = self.model.value_vars
        [self.walls] = LabelNoiseTarget(self.value, self.model).walls({})

    def roll(self, draws, seed):
        """Path of the geodesic billiard."""
        start = self.model.initial_point()[self.value.name]
        return simulate_billiard(self.walls, start, TUNE + draws, rng=np.random.default_rng(seed))

    def sample(self, draws, seed):
        """Draws by the refractive billiard, shape (draws, r), and trajectories given up."""
        idata = sample_directions(
            self.model, draws=draws, tune=TUNE, chains=1, random_seed=np.random.default_rng(seed)
        )
        return idata.posterior["w"].values[0], int(idata.sample_stats["refractive_capped"].sum())


def summarise(records):
    """Means, standard errors and the verdict.

    Parameters
    ----------
    records : dict of list of dict
        What :func:`compare_split` returned, by set.

    Returns
    -------
    dict
        ``sets``: for each set its ``splits``, ``mean`` and ``standard_error`` of the test error by
        column, splits left out because their version space is ``empty``, the ``p_value`` of a
        paired t-test as the paper prints it (near 1 where the billiard's BPM is better than the
        SVM), the ``paper``'s numbers, ``far`` (columns further than 1 point from the paper), a
        ``note`` on them, and how far sampling can be trusted.
        ``bpm_below_svm``: by set. ``wins_reproduced``: whether it is below on those of heart,
        thyroid, waveform and ionosphere; None unless all four were run. ``all_near``: whether no
        column is far from the paper.
    """
    sets = {name: _summarise_set(name, rows) for name, rows in records.items()}
    below = {name: row["mean"]["billiard"] < row["mean"]["svm"] for name, row in sets.items()}
    wins = [below.get(name) for name in BPM_WINS]
    return {
        "sets": sets,
        "bpm_below_svm": below,
        "wins_reproduced": None if None in wins else all(wins),
        "all_near": not any(row["far"] for row in sets.values()),
    }


def _summarise_set(name, rows):
    benchmark = SETS[name]
    n_all, rows = len(rows), [row for row in rows if "empty" not in row]
    if not rows:
        raise ValueError(f"No split of {name} has a classifier without training errors.")
    errors = {column: np.array([row[column] for row in rows]) for column in COLUMNS}
    n = len(rows)
    mean = {column: float(values.mean()) for column, values in errors.items()}
    far = [
        column
        for column, theirs in PAPER_COLUMN.items()
        if abs(100 * mean[column] - getattr(benchmark, theirs)) > TOLERANCE
    ]
    return {
        "splits": n,
        "empty": n_all - n,
        "n_train": rows[0]["n_train"],
        "n_test": rows[0]["n_test"],
        "width": benchmark.width,
        "mean": mean,
        "standard_error": {column: standard_error(values) for column, values in errors.items()},
        "p_value": _p_value(errors["svm"], errors["billiard"]),
        "paper": {"svm": benchmark.svm, "bpm": benchmark.bpm, "p_value": benchmark.p_value},
        "far": far,
        "note": NOTES.get(name) if far else None,
        "smallest_margin": min(row["margin"] for row in rows),
        "given_up": sum(row["given_up"] for row in rows),
        "ep_unsettled": sum(not row["ep_settled"] for row in rows),
    }


def _p_value(svm, bpm):
    """One less the probability of so large a gain of the BPM by chance, as the paper prints it."""
    if len(svm) < 2 or np.ptp(svm - bpm) == 0.0:
        return None
    return float(ttest_rel(svm, bpm, alternative="less").pvalue)


def _add_arguments(parser):
    add_options(
        parser,
        counts={
            "splits": (100, "random splits of a set"),
            "draws": (None, "draws behind a Bayes point (default: 40 to 400 by set)"),
        },
        names={"sets": (SETS, "data sets (default: all 7)")},
    )


@register(
    name="bpm-table-1",
    title="Bayes point machine against hard-margin SVM on seven data sets",
    source="BPM",
    add_arguments=_add_arguments,
)
def reproduce_table(options, console):
    """Test error of Bayes point machines and hard-margin SVMs (BPM, section 4.2, Table 1).

    Random splits of seven data sets, 60% for training (waveform and banana: 400 points). The Bayes
    point is found by three methods; columns with a bias show what the paper's machines lack.
    """
    names = some_of(options.sets, SETS, "data set")
    refuse_below(1, options, "splits", "draws")
    for name in names:
        _inputs_and_labels(name, options.data_dir)  # What is missing is missed at once.
    # All sets grow together, so that what a stopped run has done makes a table of fewer splits.
    units = [f"{name}/{number}" for number in range(options.splits) for name in names]
    records = run_with_progress(
        partial(compare_split, data_dir=options.data_dir),
        units,
        what="splits",
        settings={"seed": options.seed, "draws": options.draws},
        options=options,
        console=console,
    )
    summary = summarise({name: records[k :: len(names)] for k, name in enumerate(names)})
    console.print(_errors_table(summary))
    console.print(_claims_table(summary))
    return summary


def _errors_table(summary):
    n = max(row["splits"] + row["empty"] for row in summary["sets"].values())
    table = Table(
        title=f"Test error in percent, mean ± standard error of {n} splits; in brackets the paper",
        show_lines=True,
    )
    table.add_column("data set")
    table.add_column("σ", justify="right")
    for title in (*COLUMNS.values(), "p-value"):
        table.add_column(title, justify="right")
    for name, row in summary["sets"].items():
        p_value = "" if row["p_value"] is None else f"{row['p_value']:.2f}"
        table.add_row(
            _set_cell(name, row),
            f"{row['width']:g}",
            *(_cell(row, column) for column in COLUMNS),
            f"{p_value}\n({row['paper']['p_value']:.2f})",
        )
    return table


def _set_cell(name, row):
    left_out = f"\n{row['empty']} left out" if row["empty"] else ""
    return f"{name}\n{row['n_train']} + {row['n_test']}{left_out}"


def _cell(row, column):
    mean, error = row["mean"][column], row["standard_error"][column]
    ours = plus_minus(100 * mean, None if error is None else 100 * error, ".1f")
    if column not in PAPER_COLUMN:
        return ours
    far = " far" if column in row["far"] else ""
    return f"{ours}\n({row['paper'][PAPER_COLUMN[column]]:.1f}){far}"


def _claims_table(summary):
    headers = ("the paper (section 4.2)", "here", "holds")
    table = Table(*headers, title="The paper's claims and ours", show_lines=True)
    sets = summary["sets"]
    below = [name for name, is_below in summary["bpm_below_svm"].items() if is_below]
    against_bias = [
        name for name, row in sets.items() if row["mean"]["billiard"] < row["mean"]["svm_bias"]
    ]
    holds = {True: "yes", False: "no", None: "not run"}
    table.add_row(
        f"the BPM outperforms the SVM on almost all data sets, {', '.join(BPM_WINS)} among them",
        f"BPM below the SVM without bias on {', '.join(below) or 'none'}; below the one with bias, "
        f"which the paper does not show, on {', '.join(against_bias) or 'none'}",
        holds[summary["wins_reproduced"]],
    )
    far = [
        f"{name} ({'; '.join(COLUMNS[c] for c in row['far'])}): {row['note'] or 'not explained'}"
        for name, row in sets.items()
        if row["far"]
    ]
    table.add_row(
        f"the test errors of Table 1, to {TOLERANCE:g} point",
        "\n".join(far) or "all are as near as this",
        holds[summary["all_near"]],
    )
    return table
