"""Full Bayes for Gaussian processes: NUTS on hyperparameters, with jumps between modes.

A process has few hyperparameters and an evidence that is dear to evaluate. What ``pm.sample``
spends most of its time on, tuning a mass matrix, is known beforehand here: it is the covariance of
the Laplace approximation around the mode. Value and gradient come from
:class:`bayeskernels.gp.EvidenceFunction`, which takes a third of the time of the model's own graph
(at n = 500 to 1,000) and needs no compiler. And where the posterior has several modes, as it often
has with a length scale for every column, all that are found take part.
"""

import numpy as np
import pymc as pm

from bayeskernels.gp.hyperparameters.density import HyperparameterDensity
from bayeskernels.gp.hyperparameters.maximisation import starting_points
from bayeskernels.gp.hyperparameters.modes import find_modes
from bayeskernels.inputs import as_count
from bayeskernels.samplers.independence_metropolis import IndependenceMetropolis
from bayeskernels.samplers.laplace_mixture import LaplaceMixture
from bayeskernels.specification.posterior_process import few_threads
from bayeskernels.specification.process import process_of

__all__ = ["sample_hyperparameters"]

#: A chain does not start where the log density is so much lower than at the mode.
FAR = 1000.0

#: Ends of maximisations that differ by less than this are one.
CLOSE = 1e-2


def sample_hyperparameters(
    model,
    start=None,
    *,
    draws=500,
    tune=100,
    chains=4,
    searches=20,
    jumps=2,
    target_accept=0.8,
    random_seed=None,
    **options,
):
    """Draw the hyperparameters of a Gaussian process by NUTS.

    The draws are those of ``pm.sample`` on the same model, at a fraction of the cost where there
    are some hundred points or more: the mass matrix is that of the Laplace approximation around the
    heaviest mode of the posterior, and only the step size is left to tune. Before that, modes are
    looked for from several points. Chains start at draws of a mixture of heavy-tailed Laplace
    approximations around them. Where there is more than one mode they may jump between the steps
    of NUTS (:class:`bayeskernels.samplers.IndependenceMetropolis`), so that modes appear in the
    proportion of their masses; with NUTS alone each chain stays in the one it starts in.

    Parameters
    ----------
    model : pm.Model
        Made by :func:`bayeskernels.models.gp_regression`, with something random in it.
    start : EvidenceMaximum, optional
        The search for modes begins where the starts of :func:`maximise_evidence` ended, instead of
        at points of its own.
    draws, tune, chains : int
        As of ``pm.sample``.
    searches : int
        From how many points to look for modes, where there is no ``start``: the model's initial
        point, and draws of the prior (points around the initial one, where it has no draws).
    jumps : int
        Proposals of jumps for each draw where there are several modes, 0 for none.
    target_accept : float
        Of NUTS.
    random_seed : int, optional
    **options
        Of ``pm.sample``, for example ``cores``.

    Returns
    -------
    DataTree
        What ``pm.sample`` returns; :func:`bayeskernels.predict` takes it. The attribute
        ``mode_masses`` of its posterior has the shares of the modes that were found, by Laplace's
        approximation; the statistic ``independence_mode``, where there are several, the mode of
        each draw in the same order.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(0, 6, size=(40, 1))
    >>> model = bk.models.gp_regression(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=40))
    >>> options = {"chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}
    >>> idata = bk.gp.sample_hyperparameters(model, draws=100, tune=50, **options)
    >>> round(float(idata["posterior"]["noise"].mean()), 1)
    0.1
    >>> bk.predict(model, idata, [[1.5]], progressbar=False)["mean"].values.round(1)
    array([1.])
    """
    for reserved in ("step", "initvals", "nuts_sampler", "model"):
        if reserved in options:
            raise TypeError(f"{reserved} is chosen by sample_hyperparameters; use pm.sample.")
    counts = {"draws": draws, "tune": tune, "chains": chains, "searches": searches}
    for name, value in counts.items():
        as_count(value, name)
    if jumps != 0:
        as_count(jumps, "jumps")
    if not 0.0 < target_accept < 1.0:
        raise ValueError(f"target_accept must lie between 0 and 1, got {target_accept!r}.")
    density = HyperparameterDensity(model)
    seeds = np.random.SeedSequence(random_seed).spawn(3)
    points = _points_to_search(density, start, searches, seeds[2])
    is_shown = options.get("progressbar", True) and not options.get("quiet", False)
    with few_threads(process_of(model)), model:
        modes = find_modes(density, points, progressbar=bool(is_shown))
        mixture = LaplaceMixture(
            [mode.x for mode in modes],
            [mode.covariance for mode in modes],
            [mode.log_density for mode in modes],
        )
        steps = [
            pm.NUTS(
                model.value_vars,
                scaling=modes[0].covariance,
                is_cov=True,
                target_accept=target_accept,
                # A preconditioned posterior is about a standard normal one.
                step_scale=1.0,
                logp_dlogp_func=density,
            )
        ]
        if jumps and len(modes) > 1:
            steps.append(
                IndependenceMetropolis(mixture, log_density=density.value, proposals=jumps)
            )
        idata = pm.sample(
            draws,
            tune=tune,
            chains=chains,
            step=steps,
            initvals=[
                density.constrained(_pulled_in(density, point, modes))
                for point in mixture.draw(np.random.default_rng(seeds[0]), chains)
            ],
            random_seed=int(seeds[1].generate_state(1)[0]),
            **options,
        )
    idata["posterior"].attrs["mode_masses"] = mixture.masses.tolist()
    return idata


def _points_to_search(density, start, searches, seed):
    """From where to climb: where the evidence was maximal, or draws of the prior."""
    if start is None:
        [number] = seed.generate_state(1)
        drawn = density.prior_draws(searches - 1, int(number)) if searches > 1 else []
        if drawn is not None:
            return [density.initial_point(), *drawn]
        ends = starting_points(density.evidence, searches, seed)
    else:
        ends = getattr(start, "ends", None)
        if np.ndim(ends) != 2 or np.shape(ends)[1] != sum(density.evidence.sizes):
            raise ValueError("start must be what bk.gp.maximise_evidence returned for this model.")
        ends = _distinct(ends)
    return [density.initial_point(end) for end in ends]


def _distinct(points):
    """Points without those that are next to an earlier one: both would climb to the same mode."""
    kept = []
    for point in points:
        if not any(np.allclose(point, other, rtol=CLOSE, atol=CLOSE) for other in kept):
            kept.append(point)
    return kept


def _pulled_in(density, x, modes):
    """The point, or one on the way to the nearest mode where there is next to no density."""
    nearest = min(modes, key=lambda mode: mode.distance(x))
    while not density.value(x) > modes[0].log_density - FAR and not np.allclose(x, nearest.x):
        x = nearest.x + 0.5 * (x - nearest.x)
    return x
