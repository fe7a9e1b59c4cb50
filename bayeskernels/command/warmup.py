"""Compile ahead of time what the first run of every builder needs."""

import time

import numpy as np
import pymc as pm
import pytensor
from numba.core.event import install_recorder
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bayeskernels import models
from bayeskernels.command.terminal import make_console
from bayeskernels.compiled_cache import cache_folder

__all__ = ["FIRST_MODELS", "add_warmup_arguments", "first_draws", "run_warmup_command"]


def _data(n=100):
    """Inputs, and observations by their kind."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    output = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, {
        "labels": (output > 0).astype(int),
        "classes": np.digitize(X[:, 0], np.quantile(X[:, 0], [0.33, 0.67])),
        "targets": output + 0.1 * rng.normal(size=n),
    }


def _first(builder, kind="labels", **options):
    """Function that makes a model of 100 points."""

    def make():
        X, observed = _data()
        return builder(X, observed[kind], **options)

    return make


def _first_mean():
    return models.gaussian_mean(_data()[1]["targets"], sd=pm.HalfNormal.dist(1.0))


_generalized = models.generalized_kernel_model

#: Functions that make the default form of each builder, and other forms that are compiled anew.
FIRST_MODELS = {
    "label_noise_classifier": _first(models.label_noise_classifier),
    "bayes_point_machine": _first(models.bayes_point_machine),
    "generalized_kernel_model": _first(_generalized),
    "generalized, three classes": _first(_generalized, "classes"),
    "generalized, regression": _first(_generalized, "targets", link="identity"),
    "generalized, logistic link": _first(_generalized, link="logistic"),
    "generalized, learned width": _first(_generalized, theta="learn"),
    "sparse_gp_classifier": _first(models.sparse_gp_classifier),
    "bayesian_svm": _first(models.bayesian_svm),
    "gp_probit": _first(models.gp_probit),
    "gp_regression": _first(models.gp_regression, "targets"),
    "bayesian_linear_regression": _first(models.bayesian_linear_regression, "targets"),
    "logistic_regression": _first(models.logistic_regression),
    "rbf_network": _first(models.rbf_network, "targets", centers=5),
    "gaussian_mean": _first_mean,
}


def first_draws(model):
    """Sample as few draws as need everything that is compiled for a model."""
    with model:
        return pm.sample(10, tune=10, chains=1, cores=1, random_seed=1, quiet=True)


def add_warmup_arguments(parser):
    """Options of the command."""
    parser.add_argument(
        "--only",
        action="append",
        choices=FIRST_MODELS,
        metavar="MODEL",
        help=f"a model; may be repeated. One of: {'; '.join(FIRST_MODELS)}",
    )


def run_warmup_command(options):
    """Draw from every model once; say how long it took, and where the compiled functions are."""
    console = make_console()
    names = options.only or list(FIRST_MODELS)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    began = time.perf_counter()
    with (
        install_recorder("numba:compile") as recorder,
        Progress(*columns, TextColumn("{task.description}"), console=console) as progress,
    ):
        task = progress.add_task("", total=len(names))
        for name in names:
            progress.update(task, description=name)
            first_draws(FIRST_MODELS[name]())
            progress.advance(task)
        progress.update(task, description="")
    n_compiled = sum(event.is_start for _, event in recorder.buffer)
    console.print(
        f"{n_compiled} functions compiled in {time.perf_counter() - began:.0f} s, and kept in\n"
        f"{cache_folder()}\n{pytensor.config.base_compiledir} (those of PyTensor)",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
