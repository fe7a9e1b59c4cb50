"""Evidence over a grid of kernels and hyperparameters, in parallel, resumable."""

import itertools
import json
import math
import operator
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import xarray as xr
from rich.progress import Progress

from bayeskernels.command.repetitions import run_repetitions
from bayeskernels.evidence.data_digest import data_digest, digest_of_observations
from bayeskernels.evidence.estimate import estimate

__all__ = ["EvidenceScan", "scan"]


@dataclass(frozen=True, eq=False)
class EvidenceScan:
    """Log evidences over a grid.

    Attributes
    ----------
    dataset : xr.Dataset
        ``log_evidence``, ``mcse`` and ``warning`` (why a number should not be trusted, or why there
        is none), with a dim for each parameter.
    """

    dataset: xr.Dataset = field(repr=False)

    #: By this plots know a scan.
    is_scan: ClassVar[bool] = True

    @property
    def table(self):
        """One row for each combination, the best first: parameters, evidence, probability."""
        table = self.dataset.assign(probability=self.probability).to_dataframe().reset_index()
        columns = [*self.dataset.dims, "log_evidence", "mcse", "probability", "warning"]
        return table.sort_values("log_evidence", ascending=False, ignore_index=True)[columns]

    @property
    def best(self):
        """Parameters with the largest evidence, as a dict."""
        best = self.table.iloc[0]
        return {str(name): _plain(best[name]) for name in self.dataset.dims}

    @property
    def probability(self):
        """Posterior probabilities if all combinations were equally likely before.

        At the estimates: :func:`bayeskernels.evidence.compare` carries their errors through.
        """
        logs = self.dataset["log_evidence"].fillna(-np.inf)
        weights = np.exp(logs - logs.max())
        return weights / weights.sum()

    def along(self, *names) -> "EvidenceScan":
        """Scan over some of the parameters, at the best values of the others."""
        unknown = set(names) - set(self.dataset.dims)
        if unknown:
            raise ValueError(
                f"There is no parameter {', '.join(sorted(unknown))}; the grid has "
                f"{', '.join(map(str, self.dataset.dims))}."
            )
        others = [name for name in self.dataset.dims if name not in names]
        if not others:
            return EvidenceScan(self.dataset.transpose(*names))
        logs = self.dataset["log_evidence"].fillna(-np.inf)
        data = self.dataset.isel(logs.argmax(others)).drop_vars(others)
        return EvidenceScan(data.transpose(*names))

    def __str__(self):
        values = ", ".join(f"{name} = {value}" for name, value in self.best.items())
        top = self.table.iloc[0]
        return (
            f"{self.dataset['log_evidence'].size} models; best {values} with log evidence "
            f"{top.log_evidence:.2f} ± {top.mcse:.2f}"
        )


def scan(
    build,
    grid,
    *,
    method="auto",
    repetitions=1,
    random_seed=None,
    out=None,
    jobs=1,
    skip_errors=False,
    progressbar=True,
    **options,
) -> EvidenceScan:
    """Estimate the evidence of the models on a grid.

    Parameters
    ----------
    build : callable
        ``build(**parameters)`` returns a model. All must explain the same observations.
    grid : dict
        From each parameter to its values: a list of numbers or texts, or a dict from names to
        whatever ``build`` takes, kernels say.
    method, repetitions, **options
        Of :func:`bayeskernels.evidence.estimate`.
    random_seed : int, optional
        Every combination has a seed made of this and of its parameters, so results do not depend
        on ``jobs`` or on what else is in the grid.
    out : path, optional
        File with a line for each finished model. Those that it holds are not done again, and new
        ones are added as they are finished. It belongs to one ``build``: that function itself is
        not checked, the data and the settings are.
    jobs : int
        Processes, as for joblib: -1 is one for each core; ``joblib.parallel_config`` around the
        call chooses another back end, a Dask cluster say.
    skip_errors : bool
        Whether a model that cannot be built or estimated leaves a gap (an empty version space,
        say) rather than ending the scan.
    progressbar : bool

    Examples
    --------
    >>> x = [0.9, 1.3, 0.7]
    >>> scan = bk.evidence.scan(
    ...     lambda prior_sd: bk.models.gaussian_mean(x, prior_sd=prior_sd),
    ...     {"prior_sd": [0.1, 1.0, 10.0]},
    ...     progressbar=False,
    ... )
    >>> scan.best
    {'prior_sd': 1.0}
    """
    axes = {name: _as_axis(name, values) for name, values in grid.items()}
    if not axes:
        raise ValueError("grid is empty: give at least one parameter with its values.")
    combinations = list(itertools.product(*(axis for axis in axes.values())))
    names = [json.dumps(dict(zip(axes, labels, strict=True))) for labels in combinations]
    job = _Job(build, axes)
    settings = {
        "method": method,
        "repetitions": operator.index(repetitions),
        "random_seed": None if random_seed is None else operator.index(random_seed),
        "skip_errors": skip_errors,
        "options": json.loads(json.dumps(options)),
        # Part of the settings, so that a file never gets lines about other data.
        "data": job.first_digest(names, skip_errors),
    }
    with Progress(disable=not progressbar) as progress:
        task = progress.add_task("Evidence", total=len(names))
        records = run_repetitions(
            job,
            names,
            settings=settings,
            out=out,
            jobs=jobs,
            on_done=lambda: progress.advance(task),
        )
    shape = [len(axis) for axis in axes.values()]

    def gathered(key, missing):
        values = [missing if record[key] is None else record[key] for record in records]
        return tuple(axes), np.array(values).reshape(shape)

    logs, errors = gathered("log_evidence", math.nan), gathered("mcse", math.nan)
    if np.isnan(logs[1]).all():
        raise ValueError(f"No model could be estimated. The first: {records[0]['warning']}")
    return EvidenceScan(
        xr.Dataset(
            {"log_evidence": logs, "mcse": errors, "warning": gathered("warning", "")},
            coords={name: list(axis) for name, axis in axes.items()},
        )
    )


def _as_axis(name, values):
    """Values by label. Labels are numbers or texts, which files and plots can hold."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"Values of {name} must be a list or a dict of them, got {values!r}.")
    if name in ("log_evidence", "mcse", "warning", "probability"):
        raise ValueError(f"A parameter cannot be called {name}: the result has a column of it.")
    if isinstance(values, Mapping):
        axis = dict(values)
    else:
        axis = {}
        for value in np.asarray(values).tolist() if isinstance(values, np.ndarray) else values:
            value = _plain(value)
            if not isinstance(value, int | float | str):
                raise TypeError(
                    f"Values of {name} must be numbers or texts, got {type(value).__name__}. Give "
                    "other things names: {'rbf': kernel, ...}."
                )
            axis[value] = value
        if len(axis) < len(values):
            raise ValueError(f"Values of {name} occur twice.")
    if not axis:
        raise ValueError(f"{name} has no values.")
    return axis


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value


class _Job:
    """Builds and estimates the model of one combination, which its name describes."""

    def __init__(self, build, axes):
        self.build, self.axes = build, axes

    def model(self, name):
        labels = json.loads(name)
        return self.build(**{key: self.axes[key][label] for key, label in labels.items()})

    def first_digest(self, names, skip_errors):
        """Fingerprint of observations and inputs of the first model that can be built."""
        for name in names:
            try:
                return data_digest(self.model(name))
            except Exception:
                if not skip_errors:
                    raise
        return ""

    def __call__(self, name, *, method, repetitions, random_seed, skip_errors, options, data):
        seed = random_seed
        if seed is not None:
            # The name, not a position on the grid: a larger grid leaves the old results valid.
            seed = np.random.default_rng([zlib.crc32(name.encode()), seed])
        try:
            model = self.model(name)
            result = estimate(
                model,
                method=method,
                repetitions=repetitions,
                random_seed=seed,
                progressbar=False,
                **options,
            )
        except Exception as error:
            if not skip_errors:
                raise
            return {"log_evidence": None, "mcse": None, "warning": str(error), "digest": ""}
        if digest_of_observations(result.data_digest) != digest_of_observations(data):
            raise ValueError(
                "The models of the grid have different observations: their evidences cannot be "
                "compared."
            )
        return {
            "log_evidence": result.log_evidence,
            "mcse": result.mcse,
            "warning": result.warning,
            "digest": result.data_digest,
        }
