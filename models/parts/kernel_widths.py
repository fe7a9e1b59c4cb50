r"""Width of the default kernel of a generalized kernel model: fixed or learned (GKM, section 5.3).

The kernel is :math:`\exp(-\sum_l (x_l - x'_l)^2 / \theta_l^2)` with one width for all columns or,
for automatic relevance determination, one for each. A learned width is uniform between bounds.
"""

import numpy as np
import pymc as pm
import scipy
from pytensor.graph.basic import Variable

from bayeskernels.distributions import KernelWidth
from bayeskernels.distributions.kernel_width import own_width
from bayeskernels.models.parts.hyperparameter import Hyperparameter, as_number

__all__ = ["WidthOptions", "mean_distance", "mean_distance_kernel"]

#: Default bounds of a width, relative to the mean distance of the inputs.
RELATIVE_BOUNDS = (0.1, 10.0)


def _rows(X):
    """At most 2,000 of the inputs, for mean distances."""
    if len(X) <= 2000:
        return X
    return X[np.random.default_rng(0).choice(len(X), 2000, replace=False)]


def mean_distance(X):
    """Mean Euclidean distance between inputs; one where it is zero or there is one input only."""
    rows = _rows(X)
    distance = scipy.spatial.distance.pdist(rows).mean() if len(rows) > 1 else 1.0
    return float(max(distance, 1e-12))


def mean_distance_kernel(X) -> pm.gp.cov.ExpQuad:
    r"""Gaussian kernel :math:`\exp(-|x - x'|^2 / \theta^2)`, theta the mean distance of the inputs.

    Beyond 2,000 rows of X the mean is taken over a random sample of them.

    Examples
    --------
    >>> kernel = mean_distance_kernel(np.array([[0.0], [2.0]]))
    >>> kernel(np.array([[0.0], [2.0]])).eval().round(4).tolist()  # exp(-1) off the diagonal
    [[1.0, 0.3679], [0.3679, 1.0]]
    """
    return _gaussian(X.shape[1], mean_distance(X))


def _gaussian(n_columns, theta):
    return pm.gp.cov.ExpQuad(n_columns, ls=theta / np.sqrt(2.0))


def _typical_widths(X, ard):
    """The mean distance; of each column alone, times the root of their number, with ``ard``."""
    if not ard:
        return mean_distance(X)
    widths = np.array([mean_distance(X[:, [j]]) for j in range(X.shape[1])])
    constant = widths <= 1e-12
    widths[constant] = 1.0
    return np.sqrt(X.shape[1]) * widths


class WidthOptions:
    """What a user says about the width theta of the default kernel, and its bounds.

    A kernel of the user's own (``has_kernel``) leaves nothing to say here.
    """

    def __init__(self, theta, bounds, ard, has_kernel):
        if theta is None and bounds is not None:
            theta = "learn"
        if has_kernel and (theta is not None or ard):
            raise ValueError(
                "theta, theta_bounds and ard belong to the default Gaussian kernel; a kernel was "
                "given as well. Leave one of them out; a kernel of your own may hold "
                "bk.distributions.KernelWidth variables."
            )
        self.ard = bool(ard)
        self.bounds = None if bounds is None else _check_bounds(bounds)
        if self.bounds is not None and not isinstance(theta, str):
            raise ValueError("theta_bounds are for theta='learn'; a number or prior has none.")
        is_prior = isinstance(theta, Variable)
        if is_prior and self.ard != (theta.ndim == 1):
            raise ValueError(
                "A prior of theta needs shape=p, one width for each column, with ard=True, and no "
                "shape without it."
            )
        if self.ard and theta is None:
            raise ValueError("ard=True learns a width for each column: say theta='learn' too.")
        if is_prior and theta.name is None:
            theta = own_width(theta)
        self.widths = None
        if not is_prior and (isinstance(theta, list | tuple) or getattr(theta, "ndim", 0) == 1):
            self.widths = np.array([as_number(f"theta[{j}]", w) for j, w in enumerate(theta)])
            theta = None
        shape = (None,) if self.ard else ()
        self.theta = Hyperparameter("theta", theta, words=(None, "learn"), shape=shape)

    @property
    def is_learned(self):
        """Whether theta is a random variable."""
        return self.theta.is_variable or self.theta.value == "learn"

    def fixed_kernel(self, X):
        """The kernel, where the width is no random variable."""
        if self.widths is not None and len(self.widths) != X.shape[1]:
            raise ValueError(
                f"theta has {len(self.widths)} widths, X has {X.shape[1]} columns: give one "
                "number, or one for each column."
            )
        widths = self.theta.number if self.widths is None else self.widths
        return mean_distance_kernel(X) if widths is None else _gaussian(X.shape[1], widths)

    def add(self, X):
        """Add the width to the model in context and return the kernel."""
        dims = "feature" if self.ard else None
        if self.theta.is_variable:
            return _gaussian(X.shape[1], self.theta.variable("theta", dims))
        typical = _typical_widths(X, self.ard)
        low, high = self.bounds or (factor * typical for factor in RELATIVE_BOUNDS)
        return _gaussian(X.shape[1], self.theta.add(KernelWidth, low, high, dims=dims))


def _check_bounds(bounds):
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError):
        raise ValueError(f"theta_bounds must be two numbers (low, high), got {bounds!r}.") from None
    if not 0 < low < high < np.inf:
        raise ValueError(
            f"theta_bounds must be positive and in ascending order, got ({low:g}, {high:g})."
        )
    return low, high
