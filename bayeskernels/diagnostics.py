r"""Diagnostics that the two-valued likelihood of label noise needs.

``az.loo`` smooths the tail of importance weights, which a likelihood with two values does not have.
Here plain importance sampling is sound: the weights :math:`1 / p(y_i \mid w, q)` lie between
:math:`1/(1-q)` and :math:`1/q`, so their variance is bounded.
"""

import numpy as np
import xarray as xr
from arviz_stats.utils import ELPDDataLOO

from bayeskernels.draws import read_draws
from bayeskernels.gp.leave_one_out import loo as loo_of_process
from bayeskernels.gp.posteriors import each_posterior
from bayeskernels.gp_specification import GaussianProcessSpecification
from bayeskernels.inputs import as_new_inputs
from bayeskernels.outputs import flip_rates, output_blocks
from bayeskernels.regression_prediction import outputs_by_draw
from bayeskernels.regression_specification import RegressionSpecification
from bayeskernels.specification import specification_of

__all__ = ["loo", "monitor"]

#: Dims of variables of which single entries mean nothing.
_MEANINGLESS = {"basis", "support", "obs", "unit"}


def monitor(model, idata, X=None, *, max_points=20, progressbar=True):
    """Quantities that tell whether chains have converged, in the form that ArviZ takes.

    The coordinates of a direction depend on the order of the training points and mean nothing to
    anybody, and units of a network may trade places. What counts are the outputs at some points,
    hyperparameters, and the number of training errors, which is the slowest of all.

    Parameters
    ----------
    model : pm.Model
        Made by a builder of :mod:`bayeskernels.models`.
    idata : DataTree
        Its posterior draws.
    X : array_like of shape (n, p), optional
        Points at which to watch the outputs, e.g. test points; those that the model has as data by
        default.
    max_points : int, default 20
        Watch at most so many points, evenly spaced.
    progressbar : bool
        Whether to show progress; only kernels with random hyperparameters take long.

    Returns
    -------
    DataTree
        With the group ``posterior``: ``output`` (dim ``point``, the rows of X, and ``class`` where
        there are more than two; in a regression the function of each draw, or its conditional mean
        where it is integrated out of the model), ``errors`` (number of labels that the draw
        contradicts; not in a version space, where it is zero), ``active`` (number of active points,
        where a model has them), and all unknowns but directions, coefficients, and centres and
        metrics of units.

    Examples
    --------
    >>> import arviz as az
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.1)
    >>> idata = bk.samplers.sample_directions(model, draws=500, random_seed=1)
    >>> watched = bk.diagnostics.monitor(model, idata, max_points=3)
    >>> az.summary(watched, kind="diagnostics").index.tolist()
    ['output[0]', 'output[30]', 'output[59]', 'errors']
    """
    if max_points < 1:
        raise ValueError(f"max_points must be at least 1, got {max_points}.")
    specification = specification_of(model)
    if idata is None:
        raise ValueError("There are no draws to watch: idata, the result of pm.sample, is needed.")
    idata = read_draws(model, idata)
    posterior = idata["posterior"].to_dataset()
    watched = xr.Dataset(coords={name: posterior[name] for name in ("chain", "draw")})
    if specification.training is not None:
        n_columns = specification.training.shape[1]
        X = specification.X if X is None else as_new_inputs(X, n_columns)
        rows = np.unique(np.linspace(0, len(X) - 1, min(max_points, len(X))).round().astype(int))
        watched["output"] = _watched_outputs(model, idata, X[rows], progressbar)
        watched = watched.assign_coords(point=rows)
    elif X is not None:
        raise ValueError(f"A {specification.kind} has no inputs: leave X out.")
    if _makes_errors(specification):
        errors = _count_errors(specification, idata, progressbar)
        shape = posterior.sizes["chain"], posterior.sizes["draw"]
        watched["errors"] = (("chain", "draw"), errors.reshape(shape).astype(float))
    if f"{specification.prefix}gamma" in posterior:
        watched["active"] = posterior[f"{specification.prefix}gamma"].sum("obs").astype(float)
    for name, values in posterior.data_vars.items():
        if not _MEANINGLESS & set(values.dims):
            watched[name] = values
    return xr.DataTree.from_dict({"posterior": watched})


def _watched_outputs(model, idata, X, progressbar):
    """What each draw says of the function at points, with the dims of draws and ``point``."""
    specification = specification_of(model)
    dims = ("chain", "draw", "point")
    if isinstance(specification, GaussianProcessSpecification):
        processes = each_posterior(model, idata, progressbar=progressbar)
        outputs = np.array([process(X)[0] for process in processes])
    elif isinstance(specification, RegressionSpecification):
        outputs = outputs_by_draw(specification, idata, X).T
    else:
        blocks = output_blocks(specification, idata, X, progressbar=progressbar)
        outputs = np.moveaxis(np.concatenate([values for _, values in blocks]), 0, 1)
    coords = {}
    if outputs.ndim > 2:
        dims, coords["class"] = (*dims, "class"), specification.class_names
    sizes = idata["posterior"].to_dataset().sizes
    shape = (sizes["chain"], sizes["draw"], *outputs.shape[1:])
    return xr.DataArray(outputs.reshape(shape), dims=dims, coords=coords)


def _makes_errors(specification):
    """Whether a draw may contradict some labels."""
    if len(getattr(specification, "class_names", ())) == 0:
        return False
    return specification.noise is None or max(specification.noise) > 0.0


def _count_errors(specification, idata, progressbar):
    """Labels of the model's data that each draw contradicts."""
    specification.require_paired_data()
    positive = specification.is_positive[:, None]
    errors = 0
    for part, values in output_blocks(specification, idata, progressbar=progressbar):
        if getattr(specification, "by_class", False):
            # No class against the rest: the largest predictor wins.
            errors += (values.argmax(axis=2) != specification.codes[part, None]).sum(axis=0)
            continue
        wrong = np.where(positive[part], values <= 0, values >= 0)
        errors += (wrong if wrong.ndim == 2 else wrong.any(axis=2)).sum(axis=0)
    return errors


def loo(model, idata, *, progressbar=True):
    """Leave-one-out cross-validation of a label-noise classifier by plain importance sampling.

    Parameters
    ----------
    model : pm.Model
        A label-noise classifier with noise > 0; of a Gaussian process see
        :func:`bayeskernels.gp.loo`.
    idata : DataTree
        Its posterior draws.
    progressbar : bool
        Whether to show progress; only kernels with random hyperparameters take long.

    Returns
    -------
    ELPDDataLOO
        As ``az.compare`` takes it. ``n_eff_i`` holds the effective number of draws behind each
        point's estimate, which takes the place of Pareto k.

    Examples
    --------
    >>> import arviz as az
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> loos = {}
    >>> for width in (0.5, 5.0):
    ...     kernel = pm.gp.cov.ExpQuad(2, ls=width)
    ...     model = bk.models.label_noise_classifier(X, y, kernel=kernel, noise=0.05)
    ...     with model:
    ...         idata = pm.sample(200, chains=1, quiet=True, random_seed=1)
    ...     loos[f"width {width}"] = bk.diagnostics.loo(model, idata)
    >>> az.compare(loos).index[0]
    'width 0.5'
    """
    specification = specification_of(model)
    if isinstance(specification, GaussianProcessSpecification):
        return loo_of_process(model, idata, progressbar=progressbar)
    specification.require_two_classes("loo")
    specification.require_paired_data()
    idata = read_draws(model, idata)
    codes = specification.codes
    rates = [np.asarray(q, dtype=float) for q in flip_rates(specification, idata)]
    if min(q.min() for q in rates) == 0.0:
        raise ValueError(
            "With noise = 0 a point that was left out may be impossible under every draw: there is "
            "no leave-one-out estimate from these draws. Use noise > 0, or k-fold cross-validation."
        )
    elpd, lpd, n_eff = (np.empty(len(codes)) for _ in range(3))
    for part, outputs in output_blocks(specification, idata, progressbar=progressbar):
        positive = (codes[part] == 1)[:, None]
        right = np.where(positive, outputs > 0, outputs < 0)
        if_right = np.where(positive, 1 - rates[1], 1 - rates[0])
        if_wrong = np.where(positive, rates[0], rates[1])
        likelihood = np.where(right, if_right, if_wrong)
        weights = 1.0 / likelihood
        elpd[part] = -np.log(weights.mean(axis=1))
        lpd[part] = np.log(likelihood.mean(axis=1))
        n_eff[part] = weights.sum(axis=1) ** 2 / (weights**2).sum(axis=1)
    n = len(codes)

    def by_point(values):
        return xr.DataArray(values, dims="obs", coords={"obs": np.arange(n)})

    return ELPDDataLOO(
        elpd=float(elpd.sum()),
        se=float(np.sqrt(n * elpd.var())),
        p=float((lpd - elpd).sum()),
        n_samples=int(outputs.shape[1]),
        n_data_points=n,
        scale="log",
        warning=bool(n_eff.min() < 100),
        good_k=None,
        elpd_i=by_point(elpd),
        n_eff_i=by_point(n_eff),
    )
