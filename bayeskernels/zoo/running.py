"""Build, sample, diagnose and test the entries of the zoo."""

import logging
import math
import time
import warnings
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field

import pymc as pm
import xarray as xr
from threadpoolctl import threadpool_limits

from bayeskernels.evidence import Evidence
from bayeskernels.prediction.predict import predict
from bayeskernels.zoo.monitoring import measure_convergence
from bayeskernels.zoo.problem import Problem
from bayeskernels.zoo.registry import ZooEntry, all_entries

__all__ = ["ZooResult", "run_entry", "run_zoo"]

CHAINS = 4


@dataclass(frozen=True, eq=False)
class ZooResult:
    """One entry after its run.

    Attributes
    ----------
    entry : ZooEntry
    problem : Problem
    model : pm.Model
    idata : DataTree
    watched : xarray.Dataset
        Quantities whose convergence counts.
    prediction : xarray.Dataset
        At the test points.
    chains, draws : int
    sampling_seconds : float
        Wall time from the first draw to the last, tuning included. The first draw is left out
        because numba compiles, or loads, what it needs there.
    total_seconds : float
        Wall time of everything.
    r_hat, ess, ess_errors : float or None
    test_error : float
    evidence : Evidence or None
    """

    entry: ZooEntry
    problem: Problem
    model: pm.Model = field(repr=False)
    idata: xr.DataTree = field(repr=False)
    watched: xr.Dataset = field(repr=False)
    prediction: xr.Dataset = field(repr=False)
    chains: int
    draws: int
    sampling_seconds: float
    total_seconds: float
    r_hat: float | None
    ess: float | None
    ess_errors: float | None
    test_error: float
    evidence: Evidence | None = None

    @property
    def ess_per_second(self):
        """Effective draws of the median output per second of sampling."""
        return None if self.ess is None else self.ess / self.sampling_seconds

    @property
    def log_evidence(self):
        """Number of the evidence, None where there is none."""
        return None if self.evidence is None else float(self.evidence.log_evidence)

    @property
    def log_evidence_mcse(self):
        """Its standard error."""
        return None if self.evidence is None else float(self.evidence.mcse)

    def as_dict(self):
        """Numbers and names of the run, ready for JSON; what is not a number is None."""
        record = {
            "name": self.entry.name,
            "model": self.entry.title,
            "source": self.entry.source.key,
            "data": self.problem.name,
            "n_train": len(self.problem.y),
            "n_test": len(self.problem.y_test),
            "n_features": self.problem.n_features,
            "steps": list(self.entry.steps),
            "notebook": self.entry.notebook,
            "chains": self.chains,
            "draws": self.draws,
            "r_hat": self.r_hat,
            "ess": self.ess,
            "ess_errors": self.ess_errors,
            "ess_per_second": self.ess_per_second,
            "test_error": self.test_error,
            "log_evidence": self.log_evidence,
            "log_evidence_mcse": self.log_evidence_mcse,
            "evidence_method": None if self.evidence is None else self.evidence.method,
            "evidence_warning": None if self.evidence is None else self.evidence.warning,
            "sampling_seconds": self.sampling_seconds,
            "total_seconds": self.total_seconds,
        }
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in record.items()
        }


def run_entry(
    entry, *, draws=None, chains=CHAINS, cores=1, random_seed=1, callback=None
) -> ZooResult:
    """Run one entry of the zoo.

    Parameters
    ----------
    entry : ZooEntry
    draws : int, optional
        Per chain; the entry's own number by default.
    chains, cores : int
    random_seed : int
        The same seed gives the same draws, whichever other entries are run.
    callback : callable, optional
        Called without arguments after every draw, tuning included.

    Examples
    --------
    >>> result = run_entry(bk.zoo.find_entry("version-space"), draws=50, chains=2)
    >>> result.test_error < 0.1
    True
    """
    start = time.perf_counter()
    draws = entry.draws if draws is None else draws
    seed = zlib.crc32(f"{random_seed} {entry.name}".encode())
    problem = entry.load()
    ticks = []

    def tick(trace, draw):
        ticks[1:] = [time.perf_counter()]  # the first stays
        if callback is not None:
            callback()

    # On matrices this small BLAS threads only wait for each other: up to 20 times slower with two.
    with _quiet(), threadpool_limits(limits=1):
        model = entry.build(problem)
        with model:
            idata = pm.sample(
                draws,
                tune=entry.tune,
                chains=chains,
                cores=cores,
                random_seed=seed,
                step=None if entry.step is None else entry.step(),
                callback=tick,
                quiet=True,
                compute_convergence_checks=False,
                **entry.sample_options,
            )
        prediction = predict(model, idata, problem.X_test, progressbar=False)
        watched = entry.monitor(model, idata, problem)
        evidence = None if entry.evidence is None else entry.evidence(model, idata, seed)
    return ZooResult(
        entry=entry,
        problem=problem,
        model=model,
        idata=idata,
        watched=watched,
        prediction=prediction,
        chains=chains,
        draws=draws,
        sampling_seconds=_elapsed(ticks, idata),
        total_seconds=time.perf_counter() - start,
        **measure_convergence(watched),
        test_error=entry.test_error(prediction, problem),
        evidence=evidence,
    )


def _elapsed(ticks, idata):
    """Seconds from the first tick to the last; PyMC's own figure where nobody has ticked."""
    if len(ticks) < 2:
        return float(idata["posterior"].attrs["sampling_time"])
    return ticks[-1] - ticks[0]


def run_zoo(entries=None, *, draws=None, chains=CHAINS, cores=1, random_seed=1, progress=None):
    """Run entries of the zoo one after the other.

    Parameters
    ----------
    entries : sequence of ZooEntry, optional
        All by default.
    draws, chains, cores, random_seed
        As for :func:`run_entry`.
    progress : rich.progress.Progress, optional
        Where to show how far the run is.

    Yields
    ------
    ZooResult
    """
    entries = all_entries() if entries is None else list(entries)
    for number, entry in enumerate(entries, start=1):
        callback = None
        if progress is not None:
            total = chains * (entry.tune + (entry.draws if draws is None else draws))
            label = f"[{number}/{len(entries)}] {entry.name}"
            task = progress.add_task(f"{label} (compiling)", total=total)

            def callback(task=task, label=label):
                progress.update(task, advance=1, description=label)

        yield run_entry(
            entry,
            draws=draws,
            chains=chains,
            cores=cores,
            random_seed=random_seed,
            callback=callback,
        )


@contextmanager
def _quiet():
    """Keep remarks out of the table; what speaks against an evidence is marked there."""
    names = ("pymc", "pytensor", "bayeskernels.evidence")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # Few draws on purpose: the table shows R-hat and ESS, which say it better.
            warnings.filterwarnings("ignore", message=".*draws.*", category=UserWarning)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
