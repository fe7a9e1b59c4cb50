"""Chains of generalized kernel models for the paper's tables: sparse ones, and the dense one.

FBGKM and SGPC are one model and have the same posterior. Their columns are two chains, one from few
and one from as many active points as may be: their difference is Monte Carlo error, and whether
they agree says whether both have converged.
"""

from time import process_time

import arviz as az
import numpy as np
from scipy.special import ndtr

from bayeskernels.kernels.argument import as_kernel
from bayeskernels.kernels.columns import KernelColumns
from bayeskernels.models.generalized_kernel_model import mean_distance_kernel
from bayeskernels.models.parts.hyperparameter import ETA_PRIOR, G_PRIOR
from bayeskernels.samplers.active_sets.chain import ActiveSetSampler
from bayeskernels.samplers.active_sets.dense_probit import DenseProbitSampler

__all__ = ["KernelValues", "convergence", "error_rate", "run_dense", "run_sparse"]

#: Active points at the start of FBGKM's chain; that of SGPC starts with as many as may be.
FEW = 5

#: Sweeps of BGKM for each one that is asked for: they are cheap, and g moves slowly.
DENSE_SWEEPS = 10

#: Draws whose test outputs are computed at once.
BLOCK = 256

#: Training points up to which the Gram matrix is stored; with more, columns are computed on demand.
STORED = 8000


class KernelValues:
    """Kernel columns of a partition, stored or computed on demand.

    Parameters
    ----------
    partition : Partition
    kernel : Kernel, optional
        By default the paper's, as wide as the mean distance of the training points.

    Attributes
    ----------
    diagonal : array of shape (n,)
    """

    def __init__(self, partition, kernel=None):
        X = partition.X
        if kernel is None:
            kernel = as_kernel(mean_distance_kernel(X), X)
        self.on_demand = KernelColumns(kernel, X)
        self.X, self.X_test = X, partition.X_test
        self.gram = self._cross = None
        if len(X) <= STORED:
            self.gram = np.ascontiguousarray(kernel.gram(X))
            self._cross = kernel(self.X_test, X)
            self.diagonal = np.diag(self.gram).copy()
        else:
            self.diagonal = np.asarray(kernel.diagonal(X), dtype=float)

    def columns(self, points):
        """Kernel columns of training points, as rows: shape (len(points), n)."""
        if self.gram is not None:
            return self.gram[points]
        return np.ascontiguousarray(self.on_demand.evaluate(self.X, points).T)

    def cross(self, points):
        """Kernel values of the test points with training points, shape (m, len(points))."""
        if self._cross is not None:
            return self._cross[:, points]
        return self.on_demand.evaluate(self.X_test, points)


def run_sparse(partition, max_active, *, draws, tune, seeds):
    """Chains of FBGKM and SGPC.

    Parameters
    ----------
    partition : Partition
    max_active : int
    draws, tune : int
        Of each chain; a draw is a sweep.
    seeds : dict
        ``numpy.random.SeedSequence`` of ``sgpc`` and ``fbgkm``.

    Returns
    -------
    dict
        By method: ``error``, ``seconds`` of the processor, ``size``, the mean number of active
        points, ``sizes``, that number after every sweep from the first on; and of both chains
        together ``rhat`` and ``ess`` of the number of active points, see :func:`convergence`.
    """
    begin = process_time()
    kernel = KernelValues(partition)
    positive = partition.y > 0
    shared = process_time() - begin
    records = {}
    for method in ("sgpc", "fbgkm"):
        begin = process_time()
        rng = np.random.default_rng(seeds[method])
        sampler = ActiveSetSampler(
            kernel.columns,
            kernel.diagonal,
            positive,
            max_active,
            g_prior=G_PRIOR,
            eta_prior=ETA_PRIOR,
        )
        n_start = min(FEW, max_active) if method == "fbgkm" else max_active
        points = rng.choice(len(positive), n_start, replace=False)
        p, sizes, _ = _run(sampler, len(positive), points, kernel.cross, draws, tune, rng)
        records[method] = {
            "error": error_rate(p, partition),
            "seconds": shared + process_time() - begin,
            "size": float(sizes[tune:].mean()),
            "sizes": sizes.tolist(),
        }
    both = convergence([record["sizes"][tune:] for record in records.values()])
    return {method: record | both for method, record in records.items()}


def run_dense(partition, *, draws, tune, seeds):
    """Chain of BGKM: all points are active. Ten sweeps stand for one.

    Returns
    -------
    dict
        For ``bgkm``: ``error``, ``seconds``, ``size``, ``rhat`` and ``ess`` of log g.
    """
    begin = process_time()
    rng = np.random.default_rng(seeds["bgkm"])
    kernel = KernelValues(partition)
    positive = partition.y > 0
    sampler = DenseProbitSampler(kernel.gram, positive, g_prior=G_PRIOR, eta_prior=ETA_PRIOR)
    points = np.arange(len(positive))
    p, _, log_g = _run(
        sampler, len(positive), points, kernel.cross, draws, tune, rng, sweeps=DENSE_SWEEPS
    )
    record = {
        "error": error_rate(p, partition),
        "seconds": process_time() - begin,
        "size": float(len(positive)),
    }
    return {"bgkm": record | convergence([log_g])}


def _run(sampler, n, points, cross, draws, tune, rng, sweeps=1):
    """Sample; probabilities of the test points, sizes of all sweeps, log g by draw."""
    sampler.place(points, 0.0, None, G_PRIOR[0] / G_PRIOR[1], ETA_PRIOR[0] / ETA_PRIOR[1], rng)
    sizes = np.empty(tune + draws, dtype=int)
    for t in range(tune):
        for _ in range(sweeps):
            sampler.sweep(rng)
        sizes[t] = len(sampler.points)
    log_g, total = np.empty(draws), 0.0
    for begin in range(0, draws, BLOCK):
        block = min(BLOCK, draws - begin)
        beta, u = np.zeros((n, block)), np.empty(block)
        for t in range(block):
            for _ in range(sweeps):
                sampler.sweep(rng)
            beta[sampler.points, t] = sampler.beta[0, 0]
            u[t] = sampler.u[0]
            sizes[tune + begin + t], log_g[begin + t] = len(sampler.points), np.log(sampler.g[0])
        used = np.flatnonzero(beta.any(axis=1))
        total = total + ndtr(cross(used) @ beta[used] + u).sum(axis=1)
    return total / draws, sizes, log_g


def error_rate(p, partition):
    """Share of the test points on the wrong side, from probabilities of the positive class."""
    return float(np.mean((p > 0.5) != (partition.y_test > 0)))


def convergence(chains):
    """R-hat and effective draws of a quantity, all chains (n_draws,) taken together.

    A dict with ``rhat``, rank-normalised and split, and ``ess``; None where they are not defined.
    Of one chain R-hat is that of its halves.
    """
    values = np.array(chains, dtype=float)
    if values.shape[1] < 8 or np.ptp(values) == 0.0:
        return {"rhat": None, "ess": None}
    # ArviZ has no R-hat of one chain: its halves stand for two.
    half = values.shape[1] // 2
    several = values if len(values) > 1 else np.stack([values[0, :half], values[0, -half:]])
    with np.errstate(all="ignore"):
        found = {"rhat": float(az.rhat(several)), "ess": float(az.ess(values))}
    return {key: value if np.isfinite(value) else None for key, value in found.items()}
