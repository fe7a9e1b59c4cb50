"""Type-II maximum likelihood: the hyperparameters at which the evidence is largest."""

import logging
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import xarray as xr
from rich.progress import Progress
from scipy.optimize import minimize

from bayeskernels.gp.hyperparameters.evidence import EvidenceFunction
from bayeskernels.inputs import as_count
from bayeskernels.specification.posterior_process import few_threads
from bayeskernels.specification.process import process_of

__all__ = ["EvidenceMaximum", "maximise_evidence"]

_log = logging.getLogger(__name__)

#: A transformed hyperparameter stays within this distance of where it starts: factors of 1e5.
REACH = np.log(1e5)

#: Gain in log evidence by a factor e of a hyperparameter that is worth a warning.
STEEP = 1e-2

#: Gain in log evidence that is not worth another step.
SETTLED = 1e-6

#: Relative to the log evidence, the largest gradient at which rounding may stop a line search.
DROWNED = 1e-4


@dataclass(frozen=True, eq=False)
class EvidenceMaximum:
    """Hyperparameters at which the evidence is largest.

    It takes the place of posterior draws in :func:`bayeskernels.predict` and the functions of
    :mod:`bayeskernels.gp`.

    Attributes
    ----------
    point : dict
        Hyperparameters, and deterministic variables made of them, by name.
    log_evidence : float
    converged : bool
        Whether the best start met the optimiser's criteria, or, where its line search drowned in
        rounding error, ended so close to the maximum that a Newton step would gain less than 1e-6
        in log evidence. Whether others came to the same maximum is for ``starts`` to tell.
    gradient_norm : float
        Largest component of the gradient that does not point out of the bounds.
    at_bounds : tuple of str
        Hyperparameters at the bounds of the search, a factor of 1e5 from where it starts, with an
        evidence that grows beyond them: targets are far from the prior mean, say, or fitted without
        any noise. (Length scales of columns without influence may lie there too, but nothing
        grows; they are not named.)
    starts : DataFrame
        One row for each start: ``log_evidence``, ``evaluations``, ``converged``, ``message``.
    theta : array of shape (d,)
        The maximum in unconstrained space.
    ends : array of shape (n_starts, d)
        Where each start ended, there.
    dims : dict
        Dims of each variable.
    coords : dict
    """

    point: dict
    log_evidence: float
    converged: bool
    gradient_norm: float
    starts: pd.DataFrame = field(repr=False)
    theta: np.ndarray = field(repr=False)
    ends: np.ndarray | None = field(repr=False, default=None)
    at_bounds: tuple = ()
    dims: dict = field(repr=False, default_factory=dict)
    coords: dict = field(repr=False, default_factory=dict)

    def to_datatree(self):
        """The maximum as a posterior of one draw, a DataTree."""
        variables = {}
        for name, value in self.point.items():
            dims = self.dims.get(name) or [f"{name}_dim_{k}" for k in range(np.ndim(value))]
            variables[name] = (("chain", "draw", *dims), np.asarray(value)[None, None])
        used = {dim for dims, _ in variables.values() for dim in dims}
        coords = {dim: values for dim, values in self.coords.items() if dim in used}
        posterior = xr.Dataset(variables, coords={"chain": [0], "draw": [0], **coords})
        posterior.attrs["is_mcmc"] = 0
        return xr.DataTree.from_dict({"posterior": posterior})


def maximise_evidence(
    model, *, starts=3, max_evaluations=500, tolerance=1e-5, random_seed=None, progressbar=True
) -> EvidenceMaximum:
    """Find hyperparameters of a Gaussian process by maximising the evidence.

    The lecture's type-II maximum likelihood (slide "Hyperparameters in Gaussian Processes"), by
    L-BFGS-B in unconstrained space. Priors do not count, except that the first start is where they
    put it; full Bayes with them is ``pm.sample`` on the same model.

    Parameters
    ----------
    model : pm.Model
        Made by :func:`bayeskernels.models.gp_regression`.
    starts : int
        How many starts: the model's initial point, and others around it, normal with standard
        deviation 1 in unconstrained space (a factor e where a logarithm is taken).
    max_evaluations : int
        Evaluations of value and gradient allowed to each start.
    tolerance : float
        Largest component of the gradient at which to stop.
    random_seed : int, optional
    progressbar : bool

    Examples
    --------
    >>> x, error = np.linspace(0, 6, 40), 0.1 * np.random.default_rng(1).normal(size=40)
    >>> model = bk.models.gp_regression(x[:, None], np.sin(x) + error)
    >>> best = bk.gp.maximise_evidence(model, random_seed=1)
    >>> best.converged, float(best.point["noise"].round(1))
    (True, 0.1)
    >>> bk.predict(model, best, [[1.5]])["mean"].values.round(1)
    array([1.])
    """
    for name, value in (("starts", starts), ("max_evaluations", max_evaluations)):
        as_count(value, name)
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, got {tolerance!r}.")
    evidence = EvidenceFunction(model)
    points = starting_points(evidence, starts, random_seed)
    reach = np.where(evidence.is_transformed, REACH, np.inf)
    bounds = np.column_stack([points[0] - reach, points[0] + reach])
    results = []
    with (
        few_threads(process_of(model)),
        Progress(disable=not progressbar, transient=True) as progress,
    ):
        task = progress.add_task("Maximising the evidence", total=starts)
        for point in points:
            results.append(_climb(evidence, point, bounds, max_evaluations, tolerance))
            progress.advance(task)
    table = pd.DataFrame(
        {
            "log_evidence": [-r.fun for r in results],
            "evaluations": [r.nfev for r in results],
            "converged": [bool(r.success) for r in results],
            "message": [r.message for r in results],
        }
    )
    first = int(table["log_evidence"].argmax())
    best = results[first]
    if not np.isfinite(best.fun):
        raise ValueError(
            "The covariance matrix was not positive definite at any start: give a larger noise, or "
            "a prior that starts at one."
        )
    point = evidence.constrained(best.x)
    at_bounds = _names_of(evidence, _grows_beyond(best, bounds))
    if at_bounds:
        _log.warning(
            "The evidence still grows at the bounds of the search: %s. Is the mean of the targets "
            "far from that of the process?",
            ", ".join(at_bounds),
        )
    with few_threads(process_of(model)):
        table.loc[first, "converged"] |= _is_settled(evidence, best, bounds)
    return EvidenceMaximum(
        point=point,
        log_evidence=float(-best.fun),
        converged=bool(table.loc[first, "converged"]),
        gradient_norm=_projected_norm(best, bounds),
        starts=table,
        theta=best.x,
        ends=np.array([r.x for r in results if np.isfinite(r.fun)]),
        at_bounds=at_bounds,
        dims={name: model.named_vars_to_dims.get(name) for name in point},
        coords={dim: list(values) for dim, values in model.coords.items() if values is not None},
    )


def _grows_beyond(result, bounds):
    """Whether a number lies at a bound, and the evidence has a slope beyond it."""
    below = (result.x <= bounds[:, 0]) & (result.jac > STEEP)
    above = (result.x >= bounds[:, 1]) & (result.jac < -STEEP)
    return below | above


def _names_of(evidence, chosen):
    """Names of hyperparameters, with a number in brackets where they are many of one name."""
    names = []
    for variable, size in zip(evidence.variables, evidence.sizes, strict=True):
        several = variable.ndim > 0
        names += [f"{variable.name}[{k}]" if several else variable.name for k in range(size)]
    return tuple(name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen)


def starting_points(evidence, starts, random_seed):
    """The model's initial point and others around it, each a row in unconstrained space."""
    first = evidence.initial_point()
    rng = np.random.default_rng(random_seed)
    return np.vstack([first, first + rng.standard_normal((starts - 1, len(first)))])


def _climb(evidence, start, bounds, max_evaluations, tolerance):
    """L-BFGS-B, begun afresh where its line search gives up although the gradient is large."""
    best, evaluations = np.inf, 0

    def negative(theta):
        nonlocal best
        value, gradient = evidence(theta)
        if value == -np.inf:
            # No Cholesky factor there. Infinity would end the line search, a high wall turns it
            # back.
            return best + 10.0 * (1.0 + abs(best)), gradient
        best = min(best, -value)
        return -value, -gradient

    while True:
        before = best
        left = max_evaluations - evaluations
        result = minimize(
            negative,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxfun": left, "maxiter": left, "gtol": tolerance},
        )
        evaluations += result.nfev
        gave_up = result.status == 2
        if not gave_up or evaluations >= max_evaluations or not result.fun < before - 1e-6:
            result.nfev = evaluations
            return result
        start = result.x


def _is_settled(evidence, result, bounds):
    """Whether a Newton step from where the line search gave up would gain next to nothing.

    Near the maximum of an ill-conditioned process the gain of a step is less than the rounding
    error of the log evidence, while the gradient still has digits.
    """
    if result.status != 2 or _projected_norm(result, bounds) > DROWNED * max(1.0, abs(result.fun)):
        return False
    free = np.flatnonzero((result.x > bounds[:, 0]) & (result.x < bounds[:, 1]))
    steps = 1e-4 * np.eye(len(result.x))[free]
    rows = [evidence(result.x - h)[1][free] - evidence(result.x + h)[1][free] for h in steps]
    curvature = (np.array(rows) + np.transpose(rows)) / 4e-4
    if not np.linalg.eigvalsh(curvature)[0] > 0.0:
        return False
    gradient = result.jac[free]
    return bool(0.5 * gradient @ np.linalg.solve(curvature, gradient) < SETTLED)


def _projected_norm(result, bounds):
    step = np.clip(result.x - result.jac, *bounds.T) - result.x
    return float(np.abs(step).max())
