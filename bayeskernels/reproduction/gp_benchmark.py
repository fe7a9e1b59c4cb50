"""Gaussian-process regression on benchmark sets: by evidence, by NUTS, and scikit-learn's."""

import time
from functools import partial

import numpy as np
from rich.table import Table
from scipy.optimize import minimize
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from bayeskernels.data import random_splits
from bayeskernels.gp import (
    EvidenceFunction,
    log_predictive_density,
    maximise_evidence,
    sample_hyperparameters,
)
from bayeskernels.gp.hyperparameters.maximisation import starting_points
from bayeskernels.models import gp_regression
from bayeskernels.prediction.predict import predict
from bayeskernels.reproduction.options import add_options, load_set, refuse_below, some_of
from bayeskernels.reproduction.progress import run_with_progress
from bayeskernels.reproduction.registry import register
from bayeskernels.reproduction.spread import plus_minus, standard_error

__all__ = ["METHODS", "SETS", "run_split", "summarise"]

#: The sets; mcycle comes without published splits and is split 90:10 at random.
SETS = ("mcycle", "yacht", "boston", "energy", "concrete")

METHODS = {
    "evidence": "evidence, ARD",
    "scikit-learn": "scikit-learn, ARD",
    "bayes": "full Bayes, ARD",
}

#: Splits of each set.
N_SPLITS = 20

#: How what NUTS tells of each split is summed up.
NUTS_SUMMARIES = {"max_rhat": max, "min_ess": min, "divergences": sum, "modes": max}


def run_split(name, *, seed, starts, tune, draws, data_dir=None):
    """Error of one method on one split of one set.

    Inputs and targets are standardised on the training part.

    Parameters
    ----------
    name : str
        Set, number of the split and key of :data:`METHODS`, for example ``"yacht/3/evidence"``.
    seed : int
    starts : int
        Starts of all maximisations, the same ones: all scales 1 and noise variance 0.1, then
        points around it, see :func:`bayeskernels.gp.maximise_evidence`. From where they end NUTS
        looks for modes.
    tune, draws : int
        Steps of tuning and draws of each of two NUTS chains.
    data_dir : path, optional

    Returns
    -------
    dict
        ``rmse`` and ``log_density`` (mean over test points), both in the units of the set; CPU
        ``seconds``; sizes; ``log_evidence`` of maximisations, ``max_rhat``, ``min_ess`` (bulk),
        ``divergences`` and number of ``modes`` of NUTS.
    """
    set_name, number, method = name.split("/")
    X, y, X_test, y_test = _split(set_name, int(number), data_dir)
    sizes = {"n_train": len(y), "n_test": len(y_test), "p": X.shape[1]}
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    X, X_test = (X - centre) / scale, (X_test - centre) / scale
    shift, unit = y.mean(), y.std()
    y, y_test = (y - shift) / unit, (y_test - shift) / unit
    fit = {"evidence": _by_evidence, "scikit-learn": _by_peer, "bayes": _by_nuts}[method]
    options = {"starts": starts, "tune": tune, "draws": draws, "seed": seed + int(number)}
    began = time.process_time()
    with threadpool_limits(limits=1):
        mean, density, more = fit(X, y, X_test, y_test, options)
    return {
        "rmse": float(unit * np.sqrt(np.mean((mean - y_test) ** 2))),
        "log_density": float(np.mean(density) - np.log(unit)),
        "seconds": time.process_time() - began,
        **sizes,
        **more,
    }


def _split(name, number, data_dir):
    data = load_set(name, "gp-benchmark", data_dir)
    if "train_idx" in data.extras:
        return data.split(number)
    train, test = random_splits(len(data.y), 0.9, N_SPLITS, random_seed=1)[number]
    return data.X[train], data.y[train], data.X[test], data.y[test]


def _model(X, y):
    """The default model, started where scikit-learn starts."""
    model = gp_regression(X, y, ard=True)
    model.set_initval(model["amplitude"], 1.0)
    model.set_initval(model["ls"], np.ones(X.shape[1]))
    model.set_initval(model["noise"], np.sqrt(0.1))
    return model


def _maximum(model, options):
    return maximise_evidence(
        model, starts=options["starts"], random_seed=options["seed"], progressbar=False
    )


def _by_evidence(X, y, X_test, y_test, options):
    model = _model(X, y)
    best = _maximum(model, options)
    prediction = predict(model, best, X_test)
    density = norm.logpdf(y_test, prediction["mean"], prediction["sd"])
    more = {
        "log_evidence": best.log_evidence,
        "evaluations": int(best.starts["evaluations"].sum()),
        "converged": best.converged,
    }
    return prediction["mean"].values, density, more


def _by_peer(X, y, X_test, y_test, options):
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    evidence = EvidenceFunction(_model(X, y))
    scales = [
        evidence.constrained(point)
        for point in starting_points(evidence, options["starts"], options["seed"])
    ]
    starts = [np.log([s["amplitude"] ** 2, *s["ls"], s["noise"] ** 2]) for s in scales]

    def climb(objective, start, bounds):
        # What scikit-learn does by default, from our starts instead of its own.
        found = [minimize(objective, x, jac=True, method="L-BFGS-B", bounds=bounds) for x in starts]
        best = min(found, key=lambda result: result.fun)
        return best.x, best.fun

    kernel = ConstantKernel(1.0) * RBF(np.ones(X.shape[1])) + WhiteKernel(0.1)
    peer = GaussianProcessRegressor(kernel, optimizer=climb)
    with warnings.catch_warnings():
        # Length scales of columns that do not matter go to their bounds.
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X, y)
    mean, sd = peer.predict(X_test, return_std=True)
    more = {"log_evidence": float(peer.log_marginal_likelihood_value_)}
    return mean, norm.logpdf(y_test, mean, sd), more


def _by_nuts(X, y, X_test, y_test, options):
    import arviz as az

    model = _model(X, y)
    idata = sample_hyperparameters(
        model,
        _maximum(model, options),
        draws=options["draws"],
        tune=options["tune"],
        chains=2,
        cores=1,
        random_seed=options["seed"],
        quiet=True,
        compute_convergence_checks=False,
    )
    mean = predict(model, idata, X_test, progressbar=False)["mean"].values
    density = log_predictive_density(model, idata, X_test, y_test, progressbar=False)
    posterior = idata["posterior"].to_dataset()
    rhat, ess = az.rhat(posterior), az.ess(posterior)
    more = {
        "max_rhat": float(max(rhat[v].max() for v in rhat.data_vars)),
        "min_ess": float(min(ess[v].min() for v in ess.data_vars)),
        "divergences": int(idata["sample_stats"]["diverging"].sum()),
        "modes": len(idata["posterior"].attrs["mode_masses"]),
    }
    return mean, density, more


def summarise(records):
    """Means over splits, with paired differences from scikit-learn.

    Parameters
    ----------
    records : dict
        What :func:`run_split` returned, by set, then method, then number of the split.

    Returns
    -------
    dict
        By set ``n_train``, ``n_test``, ``p`` and ``methods``. Of a method the number of ``splits``;
        ``rmse`` and ``log_density``, each with ``mean``, ``standard_error`` and, where
        scikit-learn was run on the same splits, ``difference`` and ``difference_error`` (ours less
        theirs, its standard error) and ``no_worse``, whether ours is at most one standard error
        worse; mean CPU ``seconds``; of NUTS the largest ``max_rhat``, smallest ``min_ess``, all
        ``divergences`` and the largest number of ``modes``.
    """
    return {name: _summarise_set(methods) for name, methods in records.items()}


def _summarise_set(methods):
    found = {}
    peers = methods.get("scikit-learn", {})
    for method, rows in methods.items():
        summary = {"splits": len(rows)}
        summary["seconds"] = float(np.mean([row["seconds"] for row in rows.values()]))
        for key, combine in NUTS_SUMMARIES.items():
            if all(key in row for row in rows.values()):
                summary[key] = combine(row[key] for row in rows.values())
        for key, sign in (("rmse", 1.0), ("log_density", -1.0)):
            values = np.array([row[key] for row in rows.values()])
            summary[key] = {"mean": float(values.mean()), "standard_error": standard_error(values)}
            if method != "scikit-learn" and set(rows) <= set(peers):
                less = values - [peers[number][key] for number in rows]
                error = standard_error(less)
                summary[key] |= {
                    "difference": float(less.mean()),
                    "difference_error": error,
                    "no_worse": error is None or bool(sign * less.mean() <= max(error, 1e-9)),
                }
        found[method] = summary
    first = next(iter(next(iter(methods.values())).values()))
    return {key: first[key] for key in ("n_train", "n_test", "p")} | {"methods": found}


def _add_arguments(parser):
    add_options(
        parser,
        counts={
            "splits": (N_SPLITS, "of each set"),
            "bayes_splits": (N_SPLITS, "splits on which NUTS is run, up to five minutes each"),
            "starts": (10, "the same for ours and theirs"),
            "tune": (100, "NUTS steps of tuning"),
            "draws": (200, "NUTS draws per chain"),
        },
        names={"sets": (SETS, "default: all"), "methods": (METHODS, "default: all")},
    )


@register(
    name="gp-benchmark",
    title="Gaussian-process regression on five data sets, beside scikit-learn",
    source="LEC",
    add_arguments=_add_arguments,
)
def reproduce_gp_benchmark(options, console):
    """RMSE and log predictive density of Gaussian processes with a length scale for each column.

    Hyperparameters by maximal evidence and by NUTS, beside scikit-learn's GaussianProcessRegressor
    with the same kernel and the same starts, on mcycle, yacht, boston, energy and concrete.
    """
    names = some_of(options.sets, SETS, "data set")
    chosen = some_of(options.methods, METHODS, "method")
    if not 1 <= options.splits <= N_SPLITS:
        raise ValueError(f"--splits must be between 1 and {N_SPLITS}, got {options.splits}.")
    refuse_below(1, options, "starts", "tune", "draws")
    refuse_below(0, options, "bayes_splits")
    for name in names:
        load_set(name, "gp-benchmark", options.data_dir)  # What is missing is missed at once.
    # NUTS, which takes longest, comes last: a run that is stopped has something to show.
    units = [
        f"{name}/{number}/{method}"
        for group in (("evidence", "scikit-learn"), ("bayes",))
        for number in range(options.splits)
        for name in names
        for method in group
        if method in chosen and (method != "bayes" or number < options.bayes_splits)
    ]
    records = run_with_progress(
        partial(run_split, data_dir=options.data_dir),
        units,
        what="fits",
        settings={key: getattr(options, key) for key in ("seed", "starts", "tune", "draws")},
        options=options,
        console=console,
    )
    tree = {}
    for unit, record in zip(units, records, strict=True):
        name, number, method = unit.split("/")
        tree.setdefault(name, {}).setdefault(method, {})[number] = record
    summary = summarise(tree)
    console.print(_table(summary))
    return summary


def _table(summary):
    table = Table(
        title="Test error and log predictive density, mean ± standard error; in brackets ours less "
        "scikit-learn's on the same splits",
        show_lines=True,
    )
    numbers = ("splits", "RMSE", "log density", "no worse", "CPU s", "R-hat, ESS")
    for title in ("data set", "method", *numbers):
        table.add_column(title, justify="right" if title in numbers else "left")
    for name, row in summary.items():
        for method, found in row["methods"].items():
            compared = "no_worse" in found["rmse"]
            verdicts = [found[key].get("no_worse") for key in ("rmse", "log_density")]
            table.add_row(
                f"{name}, {row['n_train']} + {row['n_test']}",
                METHODS[method],
                str(found["splits"]),
                _cell(found["rmse"]),
                _cell(found["log_density"]),
                " / ".join("yes" if v else "NO" for v in verdicts) if compared else "",
                f"{found['seconds']:.1f}",
                f"{found['max_rhat']:.3f}, {found['min_ess']:.0f}" if "max_rhat" in found else "",
            )
    return table


def _cell(found):
    text = plus_minus(found["mean"], found["standard_error"], ".4g", ".2g")
    if "difference" in found:
        less = plus_minus(found["difference"], found["difference_error"], ".4g", ".2g")
        text += f"\n({less})"
    return text
