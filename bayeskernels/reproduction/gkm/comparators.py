"""What the paper compares generalized kernel models with: each fits one partition.

The Bayesian ones have the same kernel, as wide as the mean distance of the training points; the
support vector machine's cost and width are tuned.
"""

from time import process_time

import numpy as np
import pymc as pm
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from bayeskernels.models import bayesian_svm, gp_probit
from bayeskernels.prediction.predict import predict
from bayeskernels.reproduction.gkm.chains import convergence, error_rate

__all__ = ["run_bayesian_svm", "run_fic", "run_svm"]

#: What the SVM is tuned over: cost, and squared width as a share of the mean squared distance.
COSTS = 2.0 ** np.arange(-3, 13, 2)
WIDTHS = 2.0 ** np.arange(-4, 5)
FOLDS = 5

#: Larger training parts are tuned on so many of their points, drawn at random.
TUNING_POINTS = 1000

#: Megabytes of kernel values that the SVM keeps.
CACHE = 1000


def run_bayesian_svm(method, partition, *, draws, tune, seeds):
    """Bayesian SVM by NUTS: ``method`` is "bsvm" or "csvm".

    Returns
    -------
    dict
        For the method: ``error``, ``seconds``, ``rhat`` and ``ess`` of log g.
    """
    begin = process_time()
    model = bayesian_svm(partition.X, partition.y, complete=method == "csvm")
    return {method: _sampled(model, partition, draws, tune, seeds[method], begin)}


def run_fic(partition, max_active, *, draws, tune, seeds):
    """Sparse Gaussian process (FIC, there called SGP+FIC+MCMC) with a probit link, by NUTS.

    As many inducing points as others have active ones at most, chosen as pivots of the Cholesky
    factor.

    Returns
    -------
    dict
        For ``fic``: ``error``, ``seconds``, ``size``, ``rhat`` and ``ess`` of log g.
    """
    begin = process_time()
    model = gp_probit(partition.X, partition.y, inducing=max_active)
    record = _sampled(model, partition, draws, tune, seeds["fic"], begin)
    return {"fic": record | {"size": float(max_active)}}


def _sampled(model, partition, draws, tune, seed, begin):
    with model:
        idata = pm.sample(
            draws,
            tune=tune,
            chains=1,
            quiet=True,
            random_seed=np.random.default_rng(seed),
            nuts_sampler="pymc",
        )
    p = predict(model, idata, partition.X_test, progressbar=False).probability.values[:, 1]
    record = {"error": error_rate(p, partition), "seconds": process_time() - begin}
    return record | convergence([np.log(idata.posterior["g"].values[0])])


def run_svm(partition, *, seeds):
    """Support vector machine, cost and width chosen by cross-validation.

    The Gram matrix of every width is computed once for all costs and folds.

    Returns
    -------
    dict
        For ``svm``: ``error``, ``seconds``, and what was chosen: ``cost`` and ``width``, the
        latter squared, as a share of the mean squared distance.
    """
    begin = process_time()
    rng = np.random.default_rng(seeds["svm"])
    folds_seed = int(rng.integers(2**32))
    X, y = partition.X, partition.y
    if len(y) > TUNING_POINTS:
        rows = rng.choice(len(y), TUNING_POINTS, replace=False)
        X, y = X[rows], y[rows]
    distances = cdist(X, X, "sqeuclidean")
    unit = distances.mean()
    folds = StratifiedKFold(
        int(np.clip(np.bincount(y > 0).min(), 2, FOLDS)), shuffle=True, random_state=folds_seed
    )
    scores, costs = {}, {}
    for width in WIDTHS:
        search = GridSearchCV(SVC(kernel="precomputed"), {"C": COSTS}, cv=folds, refit=False)
        search.fit(np.exp(-distances / (width * unit)), y)
        best = search.cv_results_["mean_test_score"].argmax()
        scores[width], costs[width] = search.cv_results_["mean_test_score"][best], COSTS[best]
    width = max(scores, key=scores.get)
    svm = SVC(C=costs[width], gamma=1.0 / (width * unit), cache_size=CACHE)
    svm.fit(partition.X, partition.y)
    p = (svm.predict(partition.X_test) > 0).astype(float)
    chosen = {"cost": float(costs[width]), "width": float(width)}
    record = {"error": error_rate(p, partition), "seconds": process_time() - begin}
    return {"svm": record | chosen}
