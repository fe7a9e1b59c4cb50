"""Functions and replicated targets of a Gaussian process, drawn jointly given the data.

``pm.sample_posterior_predictive`` cannot draw them: the process has been integrated out of the
model, so that it would draw targets of the prior, however well the hyperparameters are known.
"""

import numpy as np
import xarray as xr

from bayeskernels.inputs import as_count, as_new_inputs
from bayeskernels.specification.draws import read_draws
from bayeskernels.specification.posterior_process import each_posterior
from bayeskernels.specification.process import process_of

__all__ = ["posterior_predictive"]

#: Number of functions where no hyperparameter is random.
DRAWS = 1000

#: Most points of which a joint covariance matrix is factored.
MAX_POINTS = 10_000


def posterior_predictive(
    model, idata=None, X_new=None, *, draws=None, random_seed=None, progressbar=True
):
    """Draw functions from the posterior process, and targets with new noise.

    Values of a function at different points are drawn together, with their covariances. Targets at
    the training points are replicates for posterior predictive checks.

    Parameters
    ----------
    model : pm.Model
        Made by :func:`bayeskernels.models.gp_regression`, exact or sparse.
    idata : DataTree, EvidenceMaximum or None
        Where the hyperparameters have their values from; None where nothing is random.
    X_new : array_like of shape (n_new, p), optional
        New inputs; by default the training points.
    draws : int, optional
        How many functions, as one chain; of draws of the hyperparameters those are taken that are
        evenly spaced. By default one function for each of them, in their chains, and 1000 where the
        hyperparameters are fixed.
    random_seed : int or numpy.random.Generator, optional
    progressbar : bool

    Returns
    -------
    DataTree
        With the groups ``posterior`` (the function ``f``, and the hyperparameters of each draw) and
        ``posterior_predictive`` and ``observed_data`` (targets ``y``), all with the dim ``obs``: as
        ``az.plot_ppc_dist`` and its like take it. At new inputs, with the dim ``obs_new``, targets
        are in the group ``predictions`` instead.

    Notes
    -----
    Each draw of the hyperparameters takes O(N^3) operations, N the number of training points and
    new points together (inducing points in the place of training points, where the process is
    sparse): take fewer by ``draws`` where that is too long. Functions of sparse processes have the
    distribution that :func:`bayeskernels.predict` has, at the training points as well.

    Examples
    --------
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> kernel = pm.gp.cov.ExpQuad(1, ls=0.2)
    >>> model = bk.models.gp_regression(X, np.sin(6 * X[:, 0]), kernel=kernel, noise=0.1)
    >>> drawn = bk.gp.posterior_predictive(model, draws=500, random_seed=1)
    >>> dict(drawn.posterior_predictive.sizes)
    {'chain': 1, 'draw': 500, 'obs': 20}
    >>> replicates = drawn.posterior_predictive.y.mean(["chain", "draw"])
    >>> bool(np.corrcoef(replicates, drawn.observed_data.y)[0, 1] > 0.99)
    True
    """
    specification = process_of(model)
    points = None if X_new is None else as_new_inputs(X_new, specification.X.shape[1])
    if points is not None and specification.kernel.is_precomputed:
        raise ValueError(
            "A Gram matrix as kernel knows nothing of the covariances of new points, so that no "
            "functions can be drawn there. Give gp_regression a covariance function or k(X, Z)."
        )
    _refuse_large(specification, points)
    posterior, used = _hyperparameters(model, idata, draws)
    rng = np.random.default_rng(random_seed)
    counts = np.bincount(used)
    which = np.flatnonzero(counts)
    processes = each_posterior(specification, idata, which=which, progressbar=progressbar)
    functions, noises = [], []
    for process, count in zip(processes, counts[counts > 0], strict=True):
        functions.append(process.draw(points, count, rng))
        noises.append(np.full(count, process.noise))
    f = np.concatenate(functions)
    y = f + np.concatenate(noises)[:, None] * rng.standard_normal(f.shape)
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    dim = "obs" if points is None else "obs_new"
    coords = {"chain": posterior["chain"], "draw": posterior["draw"], dim: np.arange(f.shape[1])}

    def by_draw(name, values):
        dims = ("chain", "draw", dim)
        variables = {f"{specification.prefix}{name}": (dims, values.reshape(*shape, -1))}
        return xr.Dataset(variables, coords=coords)

    groups = {"posterior": posterior.merge(by_draw("f", f))}
    if points is None:
        groups["posterior_predictive"] = by_draw("y", y)
        observed = {f"{specification.prefix}y": (dim, specification.y)}
        groups["observed_data"] = xr.Dataset(observed, coords={dim: coords[dim]})
    else:
        groups["predictions"] = by_draw("y", y)
    return xr.DataTree.from_dict(groups)


def _hyperparameters(model, idata, draws):
    """Posterior of hyperparameters with as many draws as functions, and the numbers of these."""
    if draws is not None:
        as_count(draws, "draws")
    tree = read_draws(model, idata)
    is_fixed = tree is None or not model.free_RVs
    found = xr.Dataset() if is_fixed else tree["posterior"].to_dataset()
    n_found = 1 if is_fixed else found.sizes["chain"] * found.sizes["draw"]
    if draws is None and n_found > 1:
        return found, np.arange(n_found)
    used = np.linspace(0, n_found - 1, draws or DRAWS).round().astype(int)
    coords = {"chain": [0], "draw": np.arange(len(used))}
    if is_fixed:
        return xr.Dataset(coords=coords), used
    flat = found.stack(sample=("chain", "draw")).isel(sample=used)
    flat = flat.drop_vars(["sample", "chain", "draw"]).rename(sample="draw").expand_dims("chain")
    return flat.transpose("chain", "draw", ...).assign_coords(coords), used


def _refuse_large(specification, points):
    """Refuse more points than a matrix of all their covariances may have."""
    n = len(specification.X) if points is None else len(points)
    if specification.approximation is not None:
        n += len(specification.inducing)
    elif points is not None:
        n += len(specification.X)
    if n > MAX_POINTS:
        raise ValueError(
            f"Functions are drawn with all their covariances, here a matrix of {n} x {n} numbers "
            f"and more than {MAX_POINTS} points. Give some of the points as X_new."
        )
