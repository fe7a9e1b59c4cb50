"""Classifiers of the generalized kernel model's tables: each fits one partition (GKM, section 5).

All have the paper's kernel, as wide as the mean distance of the training points, but for the
support vector machine, whose cost and width are tuned.
"""

from time import perf_counter

import arviz as az
import numpy as np
import pymc as pm
from scipy.spatial.distance import cdist
from scipy.special import ndtr
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from bayeskernels.kernels import as_kernel
from bayeskernels.models import bayesian_svm
from bayeskernels.models.generalized_kernel_model import mean_distance_kernel
from bayeskernels.models.precisions import ETA_PRIOR, G_PRIOR
from bayeskernels.prediction import predict
from bayeskernels.samplers.active_set_sampler import ActiveSetSampler
from bayeskernels.samplers.dense_probit import DenseProbitSampler

__all__ = ["METHODS", "SPARSE", "fit_methods"]

#: Titles of the columns, by name.
METHODS = {
    "bsvm": "BSVM",
    "csvm": "CSVM",
    "bgkm": "BGKM",
    "sgpc": "SGPC",
    "fbgkm": "FBGKM",
    "svm": "SVM, tuned",
}

#: One model under two names.
SPARSE = ("fbgkm", "sgpc")

#: Active points at the start of FBGKM's chain; that of SGPC starts with as many as may be.
FEW = 5

#: Sweeps of BGKM for each one that is asked for: they are cheap, and g moves slowly.
DENSE_SWEEPS = 10

#: Draws whose test outputs are computed at once.
BLOCK = 256

#: What the SVM is tuned over: cost, and squared width as a share of the mean squared distance.
COSTS = 2.0 ** np.arange(-3, 13, 2)
WIDTHS = 2.0 ** np.arange(-4, 5)
FOLDS = 5


def fit_methods(partition, methods, *, max_active, draws, tune, seeds):
    """Test errors of some methods on one partition.

    Parameters
    ----------
    partition : Partition
    methods : list of str
        Keys of :data:`METHODS`.
    max_active : int
    draws, tune : int
        Where FBGKM and SGPC are both wanted, each chain has half of the draws. BGKM makes ten
        sweeps for each one.
    seeds : dict
        A ``numpy.random.SeedSequence`` by method.

    Returns
    -------
    dict
        By method: ``error``, ``seconds``; for those that sample, ``rhat`` and ``ess`` (None where
        they are not defined) of the number of active points, or of log g where there is no active
        set to sample; and ``size``, the mean number of active points. R-hat is rank-normalised and
        split; where both sparse chains were run, one from few and one from as many active points
        as may be, it is that of both together, otherwise that of the halves of the chain.
    """
    rngs = {method: np.random.default_rng(seeds[method]) for method in methods}
    sparse = [method for method in SPARSE if method in methods]
    records, traces = {}, {}
    gram = cross = None
    if sparse or "bgkm" in methods:
        kernel = as_kernel(mean_distance_kernel(partition.X), partition.X)
        gram = np.ascontiguousarray(kernel.gram(partition.X))
        cross = kernel(partition.X_test, partition.X)
    positive = partition.y > 0
    for method in methods:
        start = perf_counter()
        record = {}
        if method in sparse:
            sampler = ActiveSetSampler(
                gram.__getitem__,
                np.diag(gram).copy(),
                positive,
                max_active,
                g_prior=G_PRIOR,
                eta_prior=ETA_PRIOR,
            )
            n_start = min(FEW, max_active) if method == "fbgkm" else max_active
            points = rngs[method].choice(len(positive), n_start, replace=False)
            n_draws = -(-draws // len(sparse))
            p, sizes, _ = _run(sampler, points, cross, n_draws, tune, rngs[method])
            traces[method], record["size"] = sizes, float(sizes.mean())
        elif method == "bgkm":
            sampler = DenseProbitSampler(gram, positive, g_prior=G_PRIOR, eta_prior=ETA_PRIOR)
            points = np.arange(len(positive))
            p, _, log_g = _run(
                sampler, points, cross, draws, tune, rngs[method], sweeps=DENSE_SWEEPS
            )
            record |= _convergence([log_g]) | {"size": float(len(positive))}
        elif method == "svm":
            p = _tuned_svm(partition, rngs[method])
        else:
            p, log_g = _hinge(partition, method == "csvm", draws, tune, rngs[method])
            record |= _convergence([log_g])
        record["error"] = float(np.mean((p > 0.5) != (partition.y_test > 0)))
        record["seconds"] = perf_counter() - start
        records[method] = record
    if sparse:
        both = _convergence(list(traces.values()))
        for method in sparse:
            records[method] |= both
    return records


def _run(sampler, points, cross, draws, tune, rng, sweeps=1):
    """Sample; probabilities of the test points, sizes of the active set and log g by draw."""
    sampler.place(points, 0.0, None, G_PRIOR[0] / G_PRIOR[1], ETA_PRIOR[0] / ETA_PRIOR[1], rng)
    for _ in range(tune * sweeps):
        sampler.sweep(rng)
    sizes, log_g, total = np.empty(draws), np.empty(draws), np.zeros(len(cross))
    for begin in range(0, draws, BLOCK):
        block = min(BLOCK, draws - begin)
        beta, u = np.zeros((cross.shape[1], block)), np.empty(block)
        for t in range(block):
            for _ in range(sweeps):
                sampler.sweep(rng)
            beta[sampler.points, t] = sampler.beta
            u[t] = sampler.u
            sizes[begin + t], log_g[begin + t] = len(sampler.points), np.log(sampler.g)
        total += ndtr(cross @ beta + u).sum(axis=1)
    return total / draws, sizes, log_g


def _convergence(chains):
    """R-hat and effective draws of a quantity, the chains taken together."""
    values = np.array(chains)
    if values.shape[1] < 8 or np.ptp(values) == 0.0:
        return {"rhat": None, "ess": None}
    # ArviZ has no R-hat of one chain: its halves stand for two.
    half = values.shape[1] // 2
    several = values if len(values) > 1 else np.stack([values[0, :half], values[0, -half:]])
    with np.errstate(all="ignore"):
        found = {"rhat": float(az.rhat(several)), "ess": float(az.ess(values))}
    return {key: value if np.isfinite(value) else None for key, value in found.items()}


def _hinge(partition, is_complete, draws, tune, rng):
    """Probabilities of the test points by a Bayesian SVM, and log g by draw."""
    with bayesian_svm(partition.X, partition.y, complete=is_complete) as model:
        idata = pm.sample(
            draws, tune=tune, chains=1, quiet=True, random_seed=rng, nuts_sampler="pymc"
        )
    p = predict(model, idata, partition.X_test, progressbar=False).probability
    return p.values[:, 1], np.log(idata.posterior["g"].values[0])


def _tuned_svm(partition, rng):
    """Labels of the test points, 0 and 1, by an SVM tuned by cross-validation.

    The Gram matrix of every width is computed once for all costs and folds.
    """
    distances = cdist(partition.X, partition.X, "sqeuclidean")
    unit = distances.mean()
    smallest = np.bincount(partition.y > 0).min()
    folds = StratifiedKFold(
        int(np.clip(smallest, 2, FOLDS)), shuffle=True, random_state=int(rng.integers(2**32))
    )
    searches = {}
    for width in WIDTHS:
        search = GridSearchCV(SVC(kernel="precomputed"), {"C": COSTS}, cv=folds)
        searches[width] = search.fit(np.exp(-distances / (width * unit)), partition.y)
    best = max(searches, key=lambda width: searches[width].best_score_)
    cross = np.exp(-cdist(partition.X_test, partition.X, "sqeuclidean") / (best * unit))
    return (searches[best].predict(cross) > 0).astype(float)
