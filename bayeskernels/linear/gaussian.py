r"""Linear regression with Gaussian weights and Gaussian noise, in closed form (LEC, parts 2 and 3).

With features Phi (n x M), weights :math:`w \sim N(0, \alpha^{-1} I)` and targets
:math:`t \sim N(\Phi w, \beta^{-1} I)` everything is Gaussian. The *primal* form works with the
M x M matrix :math:`A = \alpha I + \beta \Phi^T \Phi`, the *dual* with the n x n covariance of the
targets, :math:`C = \beta^{-1} I + \alpha^{-1} \Phi \Phi^T`, that is with the kernel
:math:`k(x, x') = \phi(x)^T \phi(x') / \alpha`. They give the same numbers; one chooses the smaller
matrix. The weights' mean is the ridge solution with :math:`\lambda = \alpha / \beta`.

Neither matrix is ever formed, since that would square the condition number,
at most :math:`s_{max}(\Phi) \sqrt{\beta / \alpha}`: both are multiples of R'R with the triangular
factor R of the features stacked upon :math:`\sqrt{\alpha / \beta} I`.

The precisions alpha and beta themselves may be set by maximising the evidence
:math:`p(t) = N(t \mid 0, C)` (type-II maximum likelihood).
"""

import logging
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

__all__ = [
    "BestPrecisions",
    "LinearPosterior",
    "SpectralRegression",
    "linear_posterior",
    "maximise_evidence",
]

_log = logging.getLogger(__name__)

_LOG_2PI = math.log(2.0 * math.pi)

#: Relative error that is worth a warning.
LOST = 1e-3

#: Logarithms of precisions beyond which a maximum counts as infinitely far away.
BOUND = 25.0


@dataclass(frozen=True, eq=False)
class LinearPosterior:
    """Posterior of the weights for fixed precisions.

    Attributes
    ----------
    mean : array of shape (M,)
    root : array of shape (M, M)
        A square root W of the covariance W W'. Variances are sums of squares with it, and keep
        their digits where weights are nearly undetermined.
    log_evidence : float
        log N(t | 0, C).
    alpha, beta : float
        Precisions of the weights and of the noise.
    """

    mean: np.ndarray = field(repr=False)
    root: np.ndarray = field(repr=False)
    log_evidence: float
    alpha: float
    beta: float

    @cached_property
    def covariance(self):
        """Covariance of the weights, shape (M, M)."""
        return self.root @ self.root.T

    @property
    def effective_weights(self):
        """Number of weights that the data determine, MacKay's gamma: M - alpha tr(covariance)."""
        return float(len(self.mean) - self.alpha * np.sum(self.root**2))

    def predict_function(self, features):
        """Mean and variance of the function, without noise, at features (n_new, M)."""
        return features @ self.mean, np.sum((features @ self.root) ** 2, axis=1)

    def predict(self, features):
        """Mean and standard deviation of new targets, noise included, at features (n_new, M)."""
        mean, variance = self.predict_function(features)
        return mean, np.sqrt(variance + 1.0 / self.beta)


def linear_posterior(features, targets, alpha, beta, *, form="auto") -> LinearPosterior:
    r"""Posterior of the weights of a linear model and the evidence, for fixed precisions.

    Parameters
    ----------
    features : array of shape (n, M)
        Phi, the basis functions at the data.
    targets : array of shape (n,)
    alpha, beta : float
        Precision of the weights' prior and of the noise.
    form : {"auto", "primal", "dual"}
        Which matrix to factor: M x M, n x n, or the smaller.

    Notes
    -----
    Results of either form are right to about 1e-16 times the condition number, which is at most
    s_max(Phi) sqrt(beta / alpha): to eight digits at 1e8. Where fewer than three are left a warning
    is logged.

    Examples
    --------
    >>> features = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> targets = np.array([1.0, 2.0, 2.9])
    >>> primal = linear_posterior(features, targets, 0.1, 10.0, form="primal")
    >>> dual = linear_posterior(features, targets, 0.1, 10.0, form="dual")
    >>> bool(np.allclose(primal.mean, dual.mean, atol=1e-12)), primal.mean.round(3).tolist()
    (True, [1.013, 0.95])
    """
    features, targets = _check(features, targets)
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name} must be a positive number, got {value!r}.")
    if form not in ("auto", "primal", "dual"):
        raise ValueError(f'form must be "auto", "primal" or "dual", got {form!r}.')
    n, m = features.shape
    if form == "primal" or (form == "auto" and m <= n):
        mean, root, log_evidence = _primal(features, targets, alpha, beta)
    else:
        mean, root, log_evidence = _dual(features, targets, alpha, beta)
    return LinearPosterior(mean, root, float(log_evidence), float(alpha), float(beta))


def _warn_of_condition(r, form):
    """Log a warning where a triangular factor shows that most digits are lost."""
    diagonal = np.abs(np.diag(r))
    condition = diagonal.max() / diagonal.min()
    if condition * np.finfo(float).eps > LOST:
        _log.warning(
            "The %s form of this posterior has a condition number of at least %.1g: weights, "
            "variances and evidence may have fewer than three right digits. Use a larger alpha, a "
            "smaller beta, the form with the smaller matrix, or features that are less alike.",
            form,
            condition,
        )


def _primal(features, targets, alpha, beta):
    """Bishop (2006), equations (3.53), (3.54) and (3.86), with A = beta R'R."""
    n, m = features.shape
    stacked = np.vstack([features, math.sqrt(alpha) / math.sqrt(beta) * np.eye(m)])
    q, r = scipy.linalg.qr(stacked, mode="economic", check_finite=False)
    _warn_of_condition(r, "primal")
    coordinates = q[:n].T @ targets
    residual = -q @ coordinates
    residual[:n] += targets
    log_evidence = (
        0.5 * m * (math.log(alpha) - math.log(beta))
        + 0.5 * n * (math.log(beta) - _LOG_2PI)
        - 0.5 * beta * residual @ residual
        - np.log(np.abs(np.diag(r))).sum()
    )
    root = scipy.linalg.solve_triangular(r, np.eye(m)) / math.sqrt(beta)
    return scipy.linalg.solve_triangular(r, coordinates), root, log_evidence


def _dual(features, targets, alpha, beta):
    """Kernel form: C = R'R / alpha, w = Phi' C^-1 t / alpha (LEC, "Dual representation")."""
    n, m = features.shape
    stacked = np.vstack([features.T, math.sqrt(alpha) / math.sqrt(beta) * np.eye(n)])
    q, r = scipy.linalg.qr(stacked, check_finite=False)
    _warn_of_condition(r, "dual")
    whitened = scipy.linalg.solve_triangular(r[:n], targets, trans="T")
    log_evidence = (
        0.5 * n * (math.log(alpha) - _LOG_2PI)
        - 0.5 * alpha * whitened @ whitened
        - np.log(np.abs(np.diag(r))).sum()
    )
    # The covariance is (I - Q1 Q1') / alpha with the upper left block Q1 of the orthogonal matrix.
    # The block beside it has the difference as its square: no digits cancel.
    return q[:m, :n] @ whitened, q[:m, n:] / math.sqrt(alpha), log_evidence


class SpectralRegression:
    r"""A linear model by the singular values of its features: any number of precisions is cheap.

    With :math:`\Phi = U S V^T` evidence, its gradient and predictions for given alpha and beta cost
    O(r) once U't is known; all draws of alpha and beta are one matrix product.

    Parameters
    ----------
    features : array of shape (n, M)
    targets : array of shape (n,)
    """

    def __init__(self, features, targets):
        features, targets = _check(features, targets)
        self.n, self.m = features.shape
        u, self.singular, self.vt = np.linalg.svd(features, full_matrices=False)
        self.projected = u.T @ targets
        # What no weights can explain; not by subtraction of squares, which loses digits.
        self.rest = float(np.sum((targets - u @ self.projected) ** 2))

    def log_evidence(self, log_alpha, log_beta):
        """Logarithm of the evidence and its gradient by the logarithms of alpha and beta."""
        alpha, beta = math.exp(log_alpha), math.exp(log_beta)
        damped, gamma, weight_norm, error = self._at(alpha, beta)
        # t'C^-1 t, by directions: 1 / (1/beta + s^2/alpha) = alpha beta / (alpha + beta s^2).
        fitted = alpha * beta * np.sum(self.projected**2 / damped)
        value = 0.5 * (
            self.n * (log_beta - _LOG_2PI)
            + len(damped) * log_alpha
            - np.log(damped).sum()
            - fitted
            - beta * self.rest
        )
        gradient = 0.5 * np.array([gamma - alpha * weight_norm, self.n - gamma - beta * error])
        return float(value), gradient

    def fixed_point(self, log_alpha, log_beta):
        """MacKay's update: alpha = gamma / |w|^2, beta = (n - gamma) / |t - Phi w|^2."""
        _, gamma, weight_norm, error = self._at(math.exp(log_alpha), math.exp(log_beta))
        return gamma / weight_norm, (self.n - gamma) / error

    def _at(self, alpha, beta):
        """Precisions by direction, MacKay's gamma, |w|^2 and |t - Phi w|^2."""
        damped = alpha + beta * self.singular**2
        gamma = np.sum(beta * self.singular**2 / damped)
        weight_norm = np.sum((beta * self.singular * self.projected / damped) ** 2)
        error = np.sum((alpha * self.projected / damped) ** 2) + self.rest
        return damped, gamma, weight_norm, error

    def predict_function(self, features, alpha, beta):
        """Mean and variance of the function, without noise, for many precisions at once.

        For features (n_new, M) and n_draws of alpha and beta both have the shape (n_new, n_draws).
        """
        along = features @ self.vt.T
        damped = alpha + beta * self.singular[:, None] ** 2
        mean = along @ (beta * (self.singular * self.projected)[:, None] / damped)
        variance = along**2 @ (1.0 / damped)
        if len(self.singular) < self.m:
            # Not by subtraction of squares: what is left of them would be divided by alpha.
            outside = np.sum((features - along @ self.vt) ** 2, axis=1)
            variance += outside[:, None] / alpha
        return mean, variance

    def predict(self, features, alpha, beta):
        """Like :meth:`predict_function`, with variances of new targets, noise included."""
        mean, variance = self.predict_function(features, alpha, beta)
        return mean, variance + 1.0 / beta


@dataclass(frozen=True)
class BestPrecisions:
    """Precisions that maximise the evidence: the result of :func:`maximise_evidence`.

    Attributes
    ----------
    alpha, beta : float
    log_evidence : float
    gradient : tuple of float
        Of the log evidence by log alpha and log beta at the end; those that were fixed are NaN.
    n_iterations : int
    converged : bool
        False where the search was cut short, or the maximum lies at zero or infinity: at alpha
        infinite the data want no weights at all, at beta infinite the features explain them fully.
    """

    alpha: float
    beta: float
    log_evidence: float
    gradient: tuple[float, float]
    n_iterations: int
    converged: bool


def maximise_evidence(
    features, targets, *, alpha=None, beta=None, method="gradient", max_iterations=1000
) -> BestPrecisions:
    """Set the precisions of a linear model by maximising its evidence (type-II maximum likelihood).

    Parameters
    ----------
    features : array of shape (n, M)
    targets : array of shape (n,)
    alpha, beta : float, optional
        A number fixes a precision; by default it is found.
    method : {"gradient", "fixed_point"}
        BFGS on the logarithms of the precisions, from several starts; or MacKay's fixed point
        from one.
    max_iterations : int

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> features = rng.normal(size=(200, 5))
    >>> targets = features @ rng.normal(size=5) + 0.5 * rng.normal(size=200)
    >>> best = maximise_evidence(features, targets)
    >>> best.converged, round(best.beta**-0.5, 1)
    (True, 0.5)
    """
    if method not in ("gradient", "fixed_point"):
        raise ValueError(f'method must be "gradient" or "fixed_point", got {method!r}.')
    features, targets = _check(features, targets)
    if not np.any(targets):
        raise ValueError("All targets are zero: the evidence grows without bound.")
    if not np.any(features):
        raise ValueError(
            "All features are zero: the evidence does not depend on alpha. Give features that "
            "differ from zero, a constant for example (basis=1)."
        )
    model = SpectralRegression(features, targets)
    fixed = [math.log(p) if p is not None else None for p in (alpha, beta)]
    # Start where half of the variance is noise and the weights explain the other half.
    variance = np.mean(targets**2)
    scale = np.mean(np.sum(features**2, axis=1))
    centre = np.array([math.log(2.0 * scale / variance), math.log(2.0 / variance)])
    if method == "fixed_point":
        x, n_iterations = _iterate(model, centre, fixed, max_iterations)
    else:
        x, n_iterations = _climb(model, centre, fixed, max_iterations)
    value, gradient = model.log_evidence(*x)
    free = [k for k in (0, 1) if fixed[k] is None]
    inside = all(abs(x[k] - centre[k]) < BOUND - 1e-6 for k in free)
    converged = bool(inside and np.abs(gradient[free]).max(initial=0.0) < 1e-4 * max(1, model.n))
    if not converged:
        _log.warning(
            "The evidence has no maximum within reach: alpha = %.3g, beta = %.3g at the end.",
            *np.exp(x),
        )
    gradient[[k for k in (0, 1) if fixed[k] is not None]] = np.nan
    return BestPrecisions(
        alpha=float(np.exp(x[0])),
        beta=float(np.exp(x[1])),
        log_evidence=value,
        gradient=(float(gradient[0]), float(gradient[1])),
        n_iterations=n_iterations,
        converged=converged,
    )


def _iterate(model, centre, fixed, max_iterations):
    is_free = np.array([value is None for value in fixed])
    known = np.array([0.0 if value is None else value for value in fixed])
    x = np.where(is_free, centre, known)
    n_iterations, change = 0, np.inf
    while n_iterations < max_iterations and change > 1e-12:
        with np.errstate(divide="ignore"):
            update = np.clip(np.log(model.fixed_point(*x)), centre - BOUND, centre + BOUND)
        previous, x = x, np.where(is_free, update, known)
        change = np.abs(x - previous).max()
        n_iterations += 1
    return x, n_iterations


def _climb(model, centre, fixed, max_iterations):
    free = [k for k in (0, 1) if fixed[k] is None]
    whole = np.array([c if f is None else f for c, f in zip(centre, fixed, strict=True)])
    if not free:
        return whole, 0

    def objective(part):
        whole[free] = part
        value, gradient = model.log_evidence(*whole)
        return -value, -gradient[free]

    bounds = [(centre[k] - BOUND, centre[k] + BOUND) for k in free]
    options = {"maxiter": max_iterations, "ftol": 1e-15, "gtol": 1e-9}
    # The evidence can have two maxima, one of which takes everything for noise.
    results = [
        scipy.optimize.minimize(
            objective,
            (centre + shift)[free],
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        for shift in (np.zeros(2), np.array([-4.0, 4.0]), np.array([4.0, -1.0]))
    ]
    best = min(results, key=lambda result: result.fun)
    whole[free] = best.x
    return whole, sum(result.nit for result in results)


def _check(features, targets):
    features = np.asarray(features, dtype=np.float64)
    targets = np.asarray(targets, dtype=np.float64)
    if features.ndim != 2 or targets.shape != (len(features),):
        raise ValueError(
            "Expected features of the shape (n, M) and targets of the shape (n,), got "
            f"{features.shape} and {targets.shape}."
        )
    if not (np.isfinite(features).all() and np.isfinite(targets).all()):
        raise ValueError("Features and targets must be finite.")
    return features, targets
