r"""Width of the default kernel of a generalized kernel model: fixed or learned (GKM, section 5.3).

The kernel is :math:`\exp(-\sum_l (x_l - x'_l)^2 / \theta_l^2)` with one width for all columns or,
for automatic relevance determination, one for each. A learned width is uniform between bounds.
"""

from numbers import Real

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable
from scipy.spatial.distance import pdist

from bayeskernels.distributions import KernelWidth
from bayeskernels.distributions.kernel_width import own_width

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
    distance = pdist(rows).mean() if len(rows) > 1 else 1.0
    return float(max(distance, 1e-12))


def mean_distance_kernel(X):
    r"""Gaussian kernel :math:`\exp(-|x - x'|^2 / \theta^2)`, theta the mean distance of the inputs.

    Parameters
    ----------
    X : array of shape (n, p)
        Beyond 2,000 rows the mean is taken over a random sample of them.

    Returns
    -------
    pm.gp.cov.ExpQuad

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskernels.models.generalized_kernel_model import mean_distance_kernel
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
    """What a user says about the width theta of the default kernel.

    Parameters
    ----------
    theta : None, number, array, "learn" or prior
    bounds : tuple or None
    ard : bool
    has_kernel : bool
        Whether a kernel was given, which leaves nothing to say here.
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
        self.theta, self.ard = theta, bool(ard)
        self.bounds = None if bounds is None else _check_bounds(bounds)
        self.is_prior = isinstance(theta, Variable)
        if isinstance(theta, str) and theta != "learn":
            raise ValueError(f"theta must be a positive number, 'learn' or a prior, got {theta!r}.")
        if self.bounds is not None and not isinstance(theta, str):
            raise ValueError("theta_bounds are for theta='learn'; a number or prior has none.")
        if self.is_prior and self.ard != (theta.ndim == 1):
            raise ValueError(
                "A prior of theta needs shape=p, one width for each column, with ard=True, and no "
                "shape without it."
            )
        if self.is_prior and theta.name is None:
            own_width(theta)  # refuses what is no plain distribution
        if self.ard and theta is None:
            raise ValueError("ard=True learns a width for each column: say theta='learn' too.")

    @property
    def is_learned(self):
        """Whether theta is a random variable."""
        return self.is_prior or isinstance(self.theta, str)

    def fixed_kernel(self, X):
        """The kernel, where the width is no random variable."""
        if self.theta is None:
            return mean_distance_kernel(X)
        theta = self.theta
        is_number = isinstance(theta, Real) and not isinstance(theta, bool)
        values = np.asarray(theta, dtype=float) if is_number or np.ndim(theta) == 1 else None
        if values is None or not ((values > 0) & np.isfinite(values)).all():
            raise ValueError(f"theta must be positive, got {theta!r}.")
        if values.ndim == 1 and len(values) != X.shape[1]:
            raise ValueError(
                f"theta has {len(values)} widths, X has {X.shape[1]} columns: give one number, or "
                "one for each column."
            )
        return _gaussian(X.shape[1], values)

    def add(self, X):
        """Add the width to the model in context and return the kernel."""
        model = pm.modelcontext(None)
        dims = "feature" if self.ard else None
        if not self.is_prior:
            typical = _typical_widths(X, self.ard)
            low, high = self.bounds or (factor * typical for factor in RELATIVE_BOUNDS)
            theta = KernelWidth("theta", low, high, dims=dims)
        elif self.theta in model.named_vars.values():
            theta = self.theta
        elif self.theta.name is not None:
            raise ValueError(
                f"The prior {self.theta.name!r} belongs to another model. Build this one inside "
                "`with model:`, or give an unnamed prior such as pm.LogNormal.dist(0, 1)."
            )
        else:
            theta = model.register_rv(own_width(self.theta), "theta", dims=dims)
        return _gaussian(X.shape[1], theta)


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
