r"""Evidence and posterior expectations by brute force, for models of up to three unknowns.

The trapezoidal rule on a grid converges faster than any power of the step where an integrand is
smooth and has died out at the edges of the grid, so a plain grid is hard to beat in few dimensions.
It lies along the axes of the Laplace approximation, is widened until nothing is left at its faces,
and refined until the integral stands still: what one compares approximations against.
"""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from pymc.util import get_random_generator
from scipy.ndimage import maximum_filter
from scipy.special import logsumexp

from bayeskernels.approximations.laplace import around_mode
from bayeskernels.graphs.unconstrained import UnconstrainedDensity, as_model
from bayeskernels.inputs import as_count

__all__ = ["GridPosterior", "quadrature"]

MAX_DIMENSION = 3

#: Log density at the faces of the grid, relative to the mode, below which nothing is missed.
EDGE = -42.0

#: Half-width of the first grid in standard deviations of the Laplace approximation; it may grow to
#: so many.
FIRST_WIDTH, LARGEST_WIDTH = 7.0, 1e4

#: Points along each axis: while looking for the faces, and at most, by dimension.
COARSE = 17
FINEST = {1: 2**16, 2: 2**10, 3: 2**7}


@dataclass(frozen=True, eq=False)
class GridPosterior:
    """A posterior as weights of the points of a grid: the result of :func:`quadrature`.

    Attributes
    ----------
    log_evidence : float
        Logarithm of the probability of the data; NaN where the evidence is not defined (an improper
        prior) or the integral of a prior is not known. Without data it is 0: a proper prior
        integrates to one.
    error : float
        By how much the last refinement changed it.
    points : array of shape (n, d)
        In unconstrained space; those of negligible weight are left out.
    weights : array of shape (n,)
        Posterior probability of each; they add up to one.
    variables : dict
        Variables and deterministics of the model at the points, arrays of shape (n, ...).
    """

    log_evidence: float
    error: float
    points: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    variables: dict = field(repr=False)
    density: UnconstrainedDensity = field(repr=False)

    #: As for all ways to the evidence: nothing was drawn.
    mcse = 0.0

    def expectation(self, function):
        """Posterior mean of a function of the variables.

        ``function`` takes the dict ``variables`` and returns an array whose first axis are the
        points; or it is the name of a variable.
        """
        values = self.variables[function] if isinstance(function, str) else function(self.variables)
        return np.tensordot(self.weights, values, axes=(0, 0))

    def sample(self, draws=1000, *, random_seed=None):
        """Independent draws of the points by their weights; see ``LaplaceApproximation.sample``."""
        rng = get_random_generator(random_seed)
        chosen = rng.choice(len(self.weights), size=as_count(draws, "draws"), p=self.weights)
        note = "Independent draws of the points of a grid."
        return self.density.as_draws(self.points[chosen], sampler="quadrature", note=note)


def quadrature(model=None, *, start=None, tolerance=1e-9) -> GridPosterior:
    """Integrate the posterior of a model with one, two or three continuous unknowns.

    Parameters
    ----------
    model : pm.Model, optional
        The one in context by default.
    start : dict, optional
        Where to look for the mode, see :func:`bayeskernels.laplace`.
    tolerance : float
        Change of the log evidence by a refinement at which to stop; a positive number.

    Raises
    ------
    ValueError
        If there are more unknowns, the tails are too heavy for a grid, the density cannot be
        evaluated where it matters, or the integral does not stand still on the finest grid.

    Notes
    -----
    Points of the grid at which the model cannot be evaluated (a covariance that is not positive
    definite, say) count as impossible, as they do for ``pm.sample``, unless the density next to one
    of them is large enough to matter.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     p = pm.Beta("p", 1.0, 1.0)
    ...     heads = pm.Binomial("heads", n=3, p=p, observed=2)
    >>> exact = bk.quadrature(model)
    >>> round(exact.log_evidence, 8), round(float(exact.expectation("p")), 8)  # log 1/4, 3/5
    (-1.38629436, 0.6)
    """
    model = as_model(model, "quadrature")
    tolerance = _as_tolerance(tolerance)
    density = UnconstrainedDensity(model, what="quadrature")
    d = density.dimension
    if d > MAX_DIMENSION:
        raise ValueError(
            f"quadrature is for at most {MAX_DIMENSION} unknowns, this model has {d}. Use "
            "bk.laplace, or pm.sample."
        )
    approximation = around_mode(density, start)
    angles = density.angles(model)
    if angles:
        # One period around the mode: the density at its ends is the smallest one.
        at_mode = density.split(approximation.mean)
        centres = {name: at_mode[name] for name in angles}
        density = UnconstrainedDensity(model, what="quadrature", centres=centres)
        approximation = around_mode(
            density, at_mode | {name: 0.0 * at_mode[name] for name in angles}
        )
    factor = np.linalg.cholesky(approximation.covariance)
    log_volume = np.log(np.diag(factor)).sum()
    low, high = _find_faces(density, approximation, factor)
    n = 2 * COARSE - 1
    previous, error = np.inf, np.inf
    while n <= FINEST[d]:
        axes = [np.linspace(low[j], high[j], n) for j in range(d)]
        points, values = _evaluate(density, approximation, factor, axes)
        log_cell = sum(math.log(axis[1] - axis[0]) for axis in axes)
        log_evidence = float(logsumexp(values) + log_cell + log_volume)
        error, previous = abs(log_evidence - previous), log_evidence
        if error < tolerance:
            break
        n = 2 * n - 1
    if error > max(tolerance, 1e-3):
        raise ValueError(
            f"The integral still changes by {error:.2g} on the finest grid of {len(values)} "
            "points. The posterior is too narrow somewhere for a grid; use pm.sample."
        )
    weights = np.exp(values - logsumexp(values))
    kept = weights > 1e-16 * weights.max()
    return GridPosterior(
        log_evidence=math.nan if density.unknown_mass else log_evidence,
        error=error,
        points=points[kept],
        weights=weights[kept] / weights[kept].sum(),
        variables=density.constrain(points[kept]),
        density=density,
    )


def _as_tolerance(tolerance):
    try:
        value = float(tolerance)
    except (TypeError, ValueError):
        value = math.nan
    if isinstance(tolerance, bool) or not 0.0 < value < math.inf:
        raise ValueError(f"tolerance must be a positive number, got {tolerance!r}.")
    return value


def _evaluate(density, approximation, factor, axes):
    """Points of a grid in Laplace's coordinates, and the log densities there.

    A point that cannot be evaluated has the density zero if all of its neighbours have next to
    none; what lies there could matter otherwise.
    """
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    points = approximation.mean + grid @ factor.T
    values = density.values_or_nan(points)
    is_bad = np.isnan(values)
    values[is_bad] = -np.inf
    if is_bad.any():
        shape = [len(axis) for axis in axes]
        largest = maximum_filter(values.reshape(shape), size=3, mode="nearest").ravel()
        suspect = is_bad & (largest > approximation.log_density + EDGE)
        if suspect.any():
            worst = int(np.argmax(np.where(suspect, largest, -np.inf)))
            where = ", ".join(
                f"{name} = {x:.4g}" for name, x in zip(density.names, points[worst], strict=True)
            )
            raise ValueError(
                f"The log density cannot be evaluated at {where} (unconstrained), and next to it "
                f"it is only {approximation.log_density - largest[worst]:.3g} below the mode: the "
                "integral may miss something there. Look at the model at this point, or use "
                "pm.sample."
            )
    return points, values


def _find_faces(density, approximation, factor):
    """Widen a box in Laplace's coordinates until the density has died out at all its faces."""
    d = len(factor)
    low, high = np.full(d, -FIRST_WIDTH), np.full(d, FIRST_WIDTH)
    while True:
        axes = [np.linspace(low[j], high[j], COARSE) for j in range(d)]
        _, values = _evaluate(density, approximation, factor, axes)
        values = values.reshape((COARSE,) * d) - approximation.log_density
        wide = True
        for j, side in itertools.product(range(d), (0, -1)):
            if np.take(values, side, axis=j).max() > EDGE:
                face = low if side == 0 else high
                face[j] *= 1.5
                wide = False
        if wide:
            return low, high
        if max(-low.min(), high.max()) > LARGEST_WIDTH:
            axis = int(np.argmax(np.maximum(-low, high)))
            raise ValueError(
                f"The posterior does not die out within {LARGEST_WIDTH:.0e} standard deviations of "
                f"its Laplace approximation, mostly along {approximation.names[axis]!r}: its tails "
                "are too heavy for a grid, as those of weights with a random precision are, or its "
                "prior is improper. Fix a hyperparameter (alpha=..., say), use a prior with "
                "lighter tails, or pm.sample."
            )
