"""The modes of a posterior of hyperparameters, by climbing from many points.

Evidence as a function of many length scales may have dozens of maxima, tens of nats apart. A chain
that starts at one of the lower ones stays there, and nothing in its draws tells.
"""

from dataclasses import dataclass, field

import numpy as np
from rich.progress import Progress
from scipy.optimize import minimize

__all__ = ["Mode", "find_modes"]

#: Half the distance of the gradients whose difference is the Hessian.
STEP = 1e-4

#: Smallest curvature that is believed, relative to the largest one.
FLAT = 1e-8

#: Two ends of climbs are one mode if closer than this, in standard deviations.
SAME = 1.0

#: Modes of so much less mass (in nats) than the heaviest one are forgotten.
NEGLIGIBLE = 10.0


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode with the Laplace approximation around it.

    Attributes
    ----------
    x : array of shape (d,)
    log_density : float
    covariance : array of shape (d, d)
    log_mass : float
        Laplace's approximation of the integral of the density around the mode.
    """

    x: np.ndarray
    log_density: float
    covariance: np.ndarray = field(repr=False)
    log_mass: float

    def distance(self, x):
        """How many standard deviations a point is away."""
        difference = x - self.x
        return float(np.sqrt(difference @ np.linalg.solve(self.covariance, difference)))


def find_modes(density, points, *, progressbar=False):
    """Climb from each point, and keep the modes that matter.

    Parameters
    ----------
    density : callable
        Log density and its gradient, from an array of shape (d,).
    points : list of array
    progressbar : bool

    Returns
    -------
    list of Mode
        By their masses, the heaviest one first; those of less than e^-10 of its mass are left out.

    Raises
    ------
    ValueError
        If there is a density at none of the points.
    """
    ends = []
    with Progress(disable=not progressbar, transient=True) as progress:
        for point in progress.track(points, description="Looking for modes"):
            if np.isfinite(density(point)[0]):
                ends.append(climb(density, point))
    if not ends:
        raise ValueError(
            "The covariance matrix is not positive definite at the start: give a larger noise, or "
            "the result of bk.gp.maximise_evidence as start."
        )
    modes = []
    for log_density, x in sorted(ends, key=lambda end: -end[0]):
        if all(mode.distance(x) > SAME for mode in modes):
            modes.append(_mode(density, x, log_density))
    modes.sort(key=lambda mode: -mode.log_mass)
    return [mode for mode in modes if mode.log_mass > modes[0].log_mass - NEGLIGIBLE]


def climb(density, x):
    """Log density at a mode, and the mode, by L-BFGS."""

    def negative(x):
        value, gradient = density(x)
        # A high wall, where a matrix has no Cholesky factor, turns the line search back.
        return (-value, -gradient) if np.isfinite(value) else (1e10, np.zeros_like(x))

    found = minimize(negative, x, jac=True, method="L-BFGS-B")
    return -float(found.fun), found.x


def _mode(density, x, log_density):
    covariance = laplace_covariance(density, x)
    _, log_determinant = np.linalg.slogdet(2.0 * np.pi * covariance)
    return Mode(x, log_density, covariance, log_density + 0.5 * log_determinant)


def laplace_covariance(density, x):
    """Inverse of the negative Hessian, by differences of gradients."""
    steps = STEP * np.eye(len(x))
    rows = [(density(x - h)[1] - density(x + h)[1]) / (2.0 * STEP) for h in steps]
    curvatures, axes = np.linalg.eigh(0.5 * (np.array(rows) + np.transpose(rows)))
    # Any positive definite matrix is right for the samplers; the Hessian is only the best one.
    curvatures = np.maximum(np.abs(curvatures), FLAT * np.abs(curvatures).max())
    return (axes / curvatures) @ axes.T
