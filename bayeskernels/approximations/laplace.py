r"""The Laplace approximation: a Gaussian around the mode of a posterior (LEC, part 3).

The logarithm of the joint density of parameters and data is expanded to second order around its
maximum x0,

.. math:: \ln p(D, x) \approx \ln p(D, x_0) - \tfrac12 (x - x_0)^T A (x - x_0), \quad
    A = -\nabla\nabla \ln p(D, x) |_{x_0},

which makes the posterior :math:`N(x_0, A^{-1})` and the evidence
:math:`p(D) \approx p(D, x_0) (2\pi)^{d/2} |A|^{-1/2}`. Both are exact where the posterior is
Gaussian.

All of this happens in PyMC's unconstrained space, in which a scale is replaced by its logarithm:
densities there include the Jacobian terms of the transforms, their mode is not that of
``pm.find_MAP`` (which leaves these terms out), and another parametrisation gives another answer.
"""

import logging
import math
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from pymc.util import get_random_generator
from scipy.optimize import minimize

from bayeskernels.graphs.unconstrained import UnconstrainedDensity, as_model
from bayeskernels.inputs import as_count

__all__ = ["LaplaceApproximation", "laplace"]

_log = logging.getLogger(__name__)

#: Newton steps at the end: each doubles the number of right digits.
MAX_NEWTON = 50

#: Newton decrement (twice the gain in log density that a step promises) at which to stop.
DECREMENT = 1e-24

#: A larger decrement at the end means that there was no convergence.
SETTLED = 1e-10


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """A Gaussian in unconstrained space: the result of :func:`laplace`.

    Attributes
    ----------
    mode : dict
        Variables and deterministics of the model at the mode.
    names : list of str
        What the coordinates of the unconstrained vector are.
    mean : array of shape (d,)
        The mode in unconstrained space.
    covariance : array of shape (d, d)
        Inverse of the negative Hessian of the log density there.
    log_density : float
        Of variables and data at the mode, Jacobian terms included.
    log_evidence : float
        Logarithm of the approximate probability of the data; NaN where the evidence is not defined
        (an improper prior) or the integral of a prior is not known. Without data it is that of a
        proper prior, about 0.
    decrement : float
        Newton decrement at the mode: about twice the log density that is still to gain.
    """

    mode: dict = field(repr=False)
    names: list = field(repr=False)
    mean: np.ndarray = field(repr=False)
    covariance: np.ndarray = field(repr=False)
    log_density: float
    log_evidence: float
    decrement: float = field(repr=False)
    density: UnconstrainedDensity = field(repr=False)

    #: Nothing was drawn to find the evidence. How far off it is, is another question.
    mcse = 0.0

    def sample(self, draws=1000, *, random_seed=None):
        """Independent draws from the Gaussian, for tools that take draws.

        They are a DataTree with the group ``posterior``: one chain of all variables as the model
        has them, bounded ones within their bounds, with dims and coords; what ``pm.sample`` would
        give.
        """
        draws = as_count(draws, "draws")
        rng = get_random_generator(random_seed)
        noise = rng.standard_normal((draws, len(self.mean)))
        points = self.mean + noise @ np.linalg.cholesky(self.covariance).T
        note = "Independent draws of a Gaussian approximation, not of the posterior."
        return self.density.as_draws(points, sampler="Laplace", note=note)


def laplace(model=None, *, start=None, max_iterations=2000) -> LaplaceApproximation:
    """Approximate the posterior of a model by a Gaussian around its mode.

    Parameters
    ----------
    model : pm.Model, optional
        The one in context by default. Any PyMC model with continuous variables, not only those of
        this package.
    start : dict, optional
        Where to begin, as ``model.initial_point()`` has it (unconstrained values); variables that
        it leaves out begin at their initial point. A posterior with several modes has a Laplace
        approximation at each.
    max_iterations : int
        Of the search (L-BFGS) before the Newton steps.

    Raises
    ------
    TypeError
        If a variable is discrete.
    ValueError
        If the search ends where the negative Hessian is not positive definite: a posterior without
        a mode in unconstrained space, or one that is flat in some direction.

    Notes
    -----
    ``pymc_extras.fit_laplace`` draws from such a Gaussian too, but gives no evidence, and
    ``pm.find_MAP`` and BFGS stop at about six digits of the mode; here the Hessian is exact, by
    automatic differentiation, and Newton steps polish the mode to rounding error.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0.0, 1.0)
    ...     x = pm.Normal("x", mu, 1.0, observed=2.0)
    >>> approximation = bk.laplace(model)  # exact: the posterior is Gaussian
    >>> round(float(approximation.mode["mu"]), 6), round(float(approximation.covariance[0, 0]), 6)
    (1.0, 0.5)
    >>> round(approximation.log_evidence, 6)  # log N(2 | 0, 2)
    -2.265512
    """
    max_iterations = as_count(max_iterations, "max_iterations")
    density = UnconstrainedDensity(as_model(model, "laplace"), what="laplace")
    return around_mode(density, start, max_iterations)


def around_mode(density, start=None, max_iterations=2000):
    """As :func:`laplace`, of a density."""
    x = density.join(start or {})
    value, _ = density.value_and_gradient(x)
    if not np.isfinite(value):
        raise ValueError(
            f"The log density at the start is {value}. Give a start with a finite one."
        )

    def objective(x):
        value, gradient = density.value_and_gradient(x)
        # L-BFGS takes a large number for a bad step; NaN would stop it.
        return (-value, -gradient) if np.isfinite(value) else (1e300, np.zeros_like(x))

    found = minimize(objective, x, jac=True, method="L-BFGS-B", options={"maxiter": max_iterations})
    x, value, factor, decrement = _polish(density, found.x)
    if decrement > SETTLED:
        _log.warning(
            "The mode was not reached: another step would gain about %.2g in log density. Try "
            "another start or more iterations.",
            0.5 * decrement,
        )
    d = len(x)
    half_log_determinant = np.log(np.diag(factor)).sum()
    log_evidence = float(value + 0.5 * d * math.log(2.0 * math.pi) - half_log_determinant)
    if density.unknown_mass:
        _log.warning("There is no evidence, only a posterior: %s", density.unknown_mass)
        log_evidence = math.nan
    covariance = scipy.linalg.cho_solve((factor, True), np.eye(d))
    return LaplaceApproximation(
        mode={name: values[0] for name, values in density.constrain(x[None]).items()},
        names=density.names,
        mean=x,
        covariance=0.5 * (covariance + covariance.T),
        log_density=value,
        log_evidence=log_evidence,
        decrement=float(decrement),
        density=density,
    )


def _polish(density, x):
    """Newton steps with halving, to rounding error.

    Returns the mode, the log density there, the Cholesky factor of the negative Hessian, and the
    Newton decrement.
    """
    value, gradient, hessian = density.derivatives(x)
    for _ in range(MAX_NEWTON):
        factor = _factor(-hessian, x, density.names)
        step = scipy.linalg.cho_solve((factor, True), gradient)
        decrement = gradient @ step
        if decrement < DECREMENT:
            break
        size = 1.0
        while size > 1e-8:
            moved = x + size * step
            new_value, new_gradient, new_hessian = density.derivatives(moved)
            # Near the mode the gain drowns in rounding: there the gradient must shrink instead.
            gained = new_value > value
            shrunk = decrement < 1e-6 and np.abs(new_gradient).max() < np.abs(gradient).max()
            if np.isfinite(new_value) and (gained or shrunk):
                break
            size *= 0.5
        else:
            break
        x, value, gradient, hessian = moved, new_value, new_gradient, new_hessian
    factor = _factor(-hessian, x, density.names)
    decrement = gradient @ scipy.linalg.cho_solve((factor, True), gradient)
    return x, value, factor, decrement


def _factor(matrix, x, names):
    """Cholesky factor of the negative Hessian, or an error that names the worst direction."""
    if not np.isfinite(matrix).all():
        raise ValueError("The Hessian of the log density has NaN or infinite values at the mode.")
    # Scaled to a unit diagonal, so that the test does not depend on units.
    scale = np.sqrt(np.abs(np.diag(matrix)))
    scale[scale == 0.0] = 1.0
    eigenvalues, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    if eigenvalues[0] <= 1e-13 * max(1.0, eigenvalues[-1]):
        worst = names[int(np.argmax(np.abs(vectors[:, 0])))]
        raise ValueError(
            "The negative Hessian at the end of the search is not positive definite (smallest "
            f"eigenvalue {eigenvalues[0]:.2g} after scaling, mostly along {worst!r}): the "
            "posterior has no Gaussian around this point. It may be flat or have no mode in "
            "unconstrained space; use a proper prior, another start, or pm.sample."
        )
    return np.linalg.cholesky(matrix)
