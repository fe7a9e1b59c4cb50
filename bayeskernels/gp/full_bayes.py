"""Full Bayes for Gaussian processes: NUTS on hyperparameters, with the evidence's own gradient.

A process has few hyperparameters and an evidence that is dear to evaluate. What ``pm.sample``
spends most of its time on, tuning a mass matrix, is known beforehand here: it is the covariance of
the Laplace approximation around the mode. Value and gradient come from :class:`EvidenceFunction`,
which takes half the time of the model's own graph (at n = 500 to 1,000) and needs no compiler.
"""

import numpy as np
import pymc as pm
from pytensor import grad
from scipy.optimize import minimize

from bayeskernels.gp.evidence import EvidenceFunction
from bayeskernels.gp.posteriors import few_threads
from bayeskernels.gp_specification import process_of
from bayeskernels.inputs import as_count
from bayeskernels.kernels import numpy_function

__all__ = ["HyperparameterDensity", "sample_hyperparameters"]

#: Half the distance of the gradients whose difference is the Hessian.
STEP = 1e-4

#: Smallest curvature that is believed, relative to the largest one.
FLAT = 1e-8


def sample_hyperparameters(
    model,
    start=None,
    *,
    draws=500,
    tune=100,
    chains=4,
    target_accept=0.8,
    random_seed=None,
    **options,
):
    """Draw the hyperparameters of a Gaussian process by NUTS.

    The draws are those of ``pm.sample`` on the same model, at a fraction of the cost where there
    are some hundred points or more: the mass matrix is that of the Laplace approximation around a
    mode of the posterior, chains start at draws from it with twice its standard deviation, and only
    the step size is left to tune.

    Parameters
    ----------
    model : pm.Model
        Made by :func:`bayeskernels.models.gp_regression`, with something random in it.
    start : EvidenceMaximum, optional
        From where to climb to the mode; the model's initial point by default. A posterior may
        have several modes: :func:`maximise_evidence` with several starts looks for the best one.
    draws, tune, chains : int
        As of ``pm.sample``.
    target_accept : float
        Of NUTS.
    random_seed : int, optional
    **options
        Of ``pm.sample``, for example ``cores``.

    Returns
    -------
    DataTree
        What ``pm.sample`` returns; :func:`bayeskernels.predict` takes it.

    Examples
    --------
    >>> import numpy as np
    >>> import bayeskernels as bk
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
    for name, value in (("draws", draws), ("tune", tune), ("chains", chains)):
        as_count(value, name)
    if not 0.0 < target_accept < 1.0:
        raise ValueError(f"target_accept must lie between 0 and 1, got {target_accept!r}.")
    density = HyperparameterDensity(model)
    seeds = np.random.SeedSequence(random_seed).spawn(2)
    with few_threads(process_of(model)), model:
        mode = density.climb(density.initial_point(start))
        highest = density(mode)[0]
        covariance = density.laplace_covariance(mode)
        noise = np.random.default_rng(seeds[0]).standard_normal((chains, len(mode)))
        points = mode + 2.0 * noise @ np.linalg.cholesky(covariance).T
        step = pm.NUTS(
            model.value_vars,
            scaling=covariance,
            is_cov=True,
            target_accept=target_accept,
            # A preconditioned posterior is about a standard normal one.
            step_scale=1.0,
            logp_dlogp_func=density,
        )
        return pm.sample(
            draws,
            tune=tune,
            chains=chains,
            step=step,
            initvals=[
                density.constrained(density.pull_in(point, mode, highest)) for point in points
            ],
            random_seed=int(seeds[1].generate_state(1)[0]),
            **options,
        )


class HyperparameterDensity:
    """Log posterior of all free variables of a process, unnormalised, and its gradient.

    It has the attributes by which PyMC's Hamiltonian samplers call the function that a model
    compiles, and takes that function's place.

    Parameters
    ----------
    model : pm.Model
        Made by :func:`bayeskernels.models.gp_regression`, with something random in it.
    """

    dtype = "float64"
    _raveled_inputs = True

    def __init__(self, model):
        self.model = model
        self._extra_vars_shared = {}
        self._pytensor_function = self
        self._evidence = EvidenceFunction(model)
        discrete = [v.name for v in model.discrete_value_vars]
        if discrete:
            raise TypeError(f"NUTS needs continuous variables; {', '.join(discrete)} is discrete.")
        rest = model.logp(vars=_without_targets(model))
        values = model.value_vars
        gradients = grad(rest, values, disconnected_inputs="ignore")
        self._rest = numpy_function(values, [rest, *gradients])
        self._start = {v.name: np.asarray(model.initial_point()[v.name]) for v in values}
        sizes = [part.size for part in self._start.values()]
        ends = np.cumsum(sizes)
        places = {v: np.arange(e - n, e) for v, n, e in zip(values, sizes, ends, strict=True)}
        chosen = [model.rvs_to_values[v] for v in self._evidence.variables]
        self._places = np.concatenate([places[v] for v in chosen])
        self._splits, self._shapes = ends[:-1], [part.shape for part in self._start.values()]

    def __call__(self, x):
        """Log density and gradient at an unconstrained point, all value variables in a row."""
        value, gradient = self._evidence(x[self._places])
        rest, *parts = self._rest(*self._split(x))
        total = np.concatenate([np.ravel(part) for part in parts])
        total[self._places] += gradient
        return np.asarray(value + rest), total

    def initial_point(self, best=None):
        """The model's initial point, with the hyperparameters of an evidence maximum if given."""
        x = np.concatenate([part.ravel() for part in self._start.values()]).astype(float)
        if best is not None:
            theta = getattr(best, "theta", None)
            if np.shape(theta) != self._places.shape:
                raise ValueError(
                    "start must be what bk.gp.maximise_evidence returned for this model."
                )
            x[self._places] = theta
        return x

    def climb(self, x):
        """A mode, by L-BFGS."""

        def negative(x):
            value, gradient = self(x)
            # A high wall, where a matrix has no Cholesky factor, turns the line search back.
            return (-value, -gradient) if np.isfinite(value) else (1e10, np.zeros_like(x))

        if not np.isfinite(self(x)[0]):
            raise ValueError(
                "The covariance matrix is not positive definite at the start: give a larger noise, "
                "or the result of bk.gp.maximise_evidence as start."
            )
        return minimize(negative, x, jac=True, method="L-BFGS-B").x

    def laplace_covariance(self, mode):
        """Inverse of the negative Hessian, by differences of gradients."""
        steps = STEP * np.eye(len(mode))
        rows = [(self(mode - h)[1] - self(mode + h)[1]) / (2.0 * STEP) for h in steps]
        curvatures, axes = np.linalg.eigh(0.5 * (np.array(rows) + np.transpose(rows)))
        # Any positive definite matrix is right for NUTS; the Hessian of a mode is only the best.
        curvatures = np.maximum(curvatures, FLAT * curvatures[-1])
        return (axes / curvatures) @ axes.T

    def pull_in(self, x, mode, highest):
        """The point, or one on the way to the mode where the density is so small as to be none.

        ``highest`` is the log density at the mode.
        """
        while not self(x)[0] > highest - 1000.0 and not np.allclose(x, mode):
            x = mode + 0.5 * (x - mode)
        return x

    def constrained(self, x):
        """Values of the random variables, by name."""
        if not hasattr(self, "_constrain"):
            graphs = self.model.replace_rvs_by_values(self.model.free_RVs)
            self._constrain = numpy_function(self.model.value_vars, graphs)
        names = [v.name for v in self.model.free_RVs]
        return dict(zip(names, self._constrain(*self._split(x)), strict=True))

    def _split(self, x):
        parts = np.split(x, self._splits)
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]


def _without_targets(model):
    """All that has a log density, but for the targets of the process."""
    specification = process_of(model)
    if specification.approximation == "FITC":
        return model.free_RVs  # Its evidence is compiled with all other terms of the model.
    # PyMC's sparse processes put a prefix of their own before the name of the targets.
    names = {f"{specification.prefix}{before}y" for before in ("", "marginalapprox_loglik_")}
    return [v for v in (*model.basic_RVs, *model.potentials) if v.name not in names]
