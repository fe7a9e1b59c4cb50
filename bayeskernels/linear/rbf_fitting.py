"""Least-squares fits of RBF networks: variable projection, and the lecture's alternating steps."""

from dataclasses import dataclass, field
from numbers import Real

import numpy as np
import pandas as pd
import scipy

from bayeskernels.inputs import as_count, as_inputs, as_new_inputs, as_targets
from bayeskernels.linear.rbf_units import ADAPTATIONS, RBFUnits, UnitParameters, as_units, box_of
from bayeskernels.linear.variable_projection import RidgeProjection

__all__ = ["RBFFit", "adaptation_ladder", "check_adaptation", "fit_rbf_network"]

METHODS = ("variable_projection", "alternating")

#: Alternating steps before Levenberg-Marquardt takes over.
WARM_STEPS = 200

#: How many times narrower units may start.
NARROWER = (2.0, 3.0, 4.0)

#: Smaller derivatives are none.
TINY = 1e-60


@dataclass(frozen=True, eq=False)
class RBFFit:
    """A fitted RBF network: the result of :func:`fit_rbf_network`.

    Attributes
    ----------
    units : RBFUnits
        Centres and metrics.
    weights : array of shape (M,) or (M + 1,)
        Of the output layer; that of the constant first.
    bias : bool
        Whether there is a constant.
    mse : float
        Mean squared error at the data.
    objective : float
        Sum of squared errors and ridge penalty, which was minimised.
    n_evaluations : int
        Of the objective.
    converged : bool
    history : array
        Objective at each accepted step, where the method is ``"alternating"``; else start and end.
    """

    units: RBFUnits = field(repr=False)
    weights: np.ndarray = field(repr=False)
    bias: bool
    mse: float
    objective: float
    n_evaluations: int
    converged: bool
    history: np.ndarray = field(repr=False)

    def features(self, X):
        """Hidden layer at inputs (n, p): the constant, if there is one, and the units."""
        X = as_new_inputs(X, self.units.centers.shape[1])
        return _hidden(self.units, X, self.bias)

    def predict(self, X):
        """Output of the network at inputs (n, p)."""
        return self.features(X) @ self.weights


def fit_rbf_network(
    X,
    y,
    *,
    centers=10,
    width=None,
    adapt="all",
    shared=False,
    ridge=1e-10,
    bias=True,
    method="variable_projection",
    several_starts=True,
    max_iterations=None,
) -> RBFFit:
    r"""Fit a network of Gaussian units by least squares.

    It minimises :math:`\sum_n (y_n - w_0 - \sum_k w_k \phi_k(x_n))^2 + \lambda |w|^2` over the
    weights and what is to be adapted of the units.

    Parameters
    ----------
    X : array_like of shape (n, p)
    y : array_like of shape (n,)
    centers : int, array of shape (M, p), or RBFUnits
        Where to start; a number stands for so many centres by k-means.
    width : float, optional
        Standard deviation of the units at the start; by default the mean distance of a centre to
        its nearest neighbour.
    adapt : {"all", "centers", "metric", "none"}
    shared : bool, default False
        Whether all units have one metric.
    ridge : float
        Lambda, positive.
    bias : bool
        Whether the hidden layer has a constant.
    method : {"variable_projection", "alternating"}
        Levenberg-Marquardt on the problem in which the weights have been solved for, see
        :mod:`bayeskernels.linear.variable_projection`; or, as in the lecture, a gradient step on
        the units and the weights anew, in turn. Its step is halved when the error rises and grows
        by a tenth when it falls.
    several_starts : bool, default True
        Levenberg-Marquardt leaps, and may land in a worse valley than small steps lead to. It then
        also starts from where 200 alternating steps have led, if the metric is adapted from units
        two, three and four times narrower, and, if all is, from the networks in which only the
        centres or only the metric were; the best fit counts.
    max_iterations : int, optional
        Of either from each start; 500 by default for the first, 2000 for the second.

    Notes
    -----
    The objective has many local minima: which one is found depends on the start. On 48 problems
    (four functions, four starting widths, three adaptations) one run of Levenberg-Marquardt from
    the given start ended in a worse one than 2,000 alternating steps 6 times, the best of several
    starts never. What is found need not be the best there is: of 60 random starts of six units the
    best one was as good on a function with a kink, and three times better on one with a step.

    The search happens in inputs that are shifted and scaled to [-2, 2], so that a fit does not
    depend on the units in which they are measured.

    Units of a network that interpolates may pair up with large weights of opposite sign; ``ridge``
    bounds them.

    References
    ----------
    .. [1] G. H. Golub and V. Pereyra, "The Differentiation of Pseudo-Inverses and Nonlinear Least
       Squares Problems Whose Variables Separate", SIAM J. Numer. Anal. 10:413-432, 1973.
    .. [2] L. Kaufman, "A Variable Projection Method for Solving Separable Nonlinear Least Squares
       Problems", BIT 15:49-57, 1975.

    Examples
    --------
    >>> x = np.linspace(-2, 2, 50)[:, None]
    >>> y = np.sin(3 * x[:, 0])
    >>> for adapt in ("none", "all"):
    ...     print(fit_rbf_network(x, y, centers=5, width=1.5, adapt=adapt).mse < 1e-4)
    False
    True
    """
    X, _ = as_inputs(X)
    y = as_targets(y, len(X))
    check_adaptation(adapt)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if isinstance(ridge, bool) or not isinstance(ridge, Real) or not 0 < ridge < np.inf:
        raise ValueError(f"ridge must be a positive number, got {ridge!r}.")
    if max_iterations is not None:
        as_count(max_iterations, "max_iterations")
    units = as_units(X, centers, width)
    if shared and np.ptp(units.factors, axis=0).any():
        raise ValueError("The units have different metrics at the start: shared must be False.")
    # Steps of the search move centres and logarithms of widths alike: in the box they do not depend
    # on the units in which inputs are measured.
    shift, scale = box_of(X)
    problem = _Problem(
        (X - shift) / scale,
        y,
        UnitParameters(units.moved(shift, scale), adapt, shared=shared),
        ridge,
        bias,
    )
    theta = problem.parameters.initial
    first = problem.at(theta).objective
    if adapt == "none":
        n_evaluations, converged, history = 1, True, [first]
    elif method == "alternating":
        theta, n_evaluations, converged, history = _alternate(problem, max_iterations or 2000)
    else:
        search = _search if several_starts else _levenberg_marquardt
        theta, n_evaluations, converged = search(problem, theta, max_iterations or 500)
        history = [first, problem.at(theta).objective]
    solution = problem.at(theta)
    parameters = problem.parameters
    found = parameters.units(theta).moved(-shift / scale, 1.0 / scale)
    return RBFFit(
        # What was not adapted is as it was, to the last bit.
        units=RBFUnits(
            found.centers if parameters.moves_centers else units.centers,
            found.factors if parameters.moves_metric else units.factors,
        ),
        weights=solution.weights,
        bias=bool(bias),
        mse=solution.mean_squared_error,
        objective=solution.objective,
        n_evaluations=n_evaluations,
        converged=converged,
        history=np.array(history),
    )


def check_adaptation(adapt):
    """Refuse what is no step of the ladder."""
    if adapt not in ADAPTATIONS:
        raise ValueError(f"adapt must be one of {', '.join(ADAPTATIONS)}; got {adapt!r}.")


def adaptation_ladder(X, y, *, methods=METHODS, **options):
    """Mean squared error with nothing, the centres, the metric, and all adapted.

    A table with a row for each adaptation and a column for each method. Options are those of
    :func:`fit_rbf_network`: where all fits start.

    Examples
    --------
    >>> x = np.linspace(-2, 2, 50)[:, None]
    >>> ladder = adaptation_ladder(x, np.sin(3 * x[:, 0]), centers=5, width=1.5)
    >>> ladder.index.tolist()
    ['none', 'centers', 'metric', 'all']
    """
    rows = {
        adapt: {
            method: fit_rbf_network(X, y, adapt=adapt, method=method, **options).mse
            for method in methods
        }
        for adapt in ADAPTATIONS
    }
    return pd.DataFrame.from_dict(rows, orient="index")


class _Problem:
    """The separable problem, which remembers its last solution."""

    def __init__(self, X, y, parameters, ridge, bias):
        self.X, self.y = X, y
        self.parameters = parameters
        self.ridge, self.bias = ridge, bool(bias)
        self._theta, self._solution = None, None

    def at(self, theta):
        """Best weights at a vector of unit parameters."""
        if self._theta is None or not np.array_equal(theta, self._theta):
            features = _hidden(self.parameters.units(theta), self.X, self.bias)
            self._solution = RidgeProjection(features, self.y, self.ridge)
            self._theta = np.array(theta)
        return self._solution

    def with_units(self, units, adapt):
        """The same data with another start."""
        parameters = UnitParameters(units, adapt, shared=self.parameters.shared)
        return _Problem(self.X, self.y, parameters, self.ridge, self.bias)

    def _derivatives(self, theta):
        derivatives, which = self.parameters.derivatives(self.parameters.units(theta), self.X)
        return derivatives, which + self.bias

    def jacobian(self, theta):
        jacobian = self.parameters.gather(self.at(theta).jacobian(*self._derivatives(theta)))
        # A unit far from all data has derivatives whose squares underflow: MINPACK then divides
        # zero by zero.
        jacobian[np.abs(jacobian) < TINY] = 0.0
        return jacobian

    def gradient(self, theta):
        return self.parameters.gather(self.at(theta).gradient(*self._derivatives(theta)))


def _hidden(units, X, bias):
    outputs = units(X)
    return np.column_stack([np.ones(len(X)), outputs]) if bias else outputs


def _search(problem, theta, max_iterations):
    """Levenberg-Marquardt from several starts; the best fit, and evaluations in all."""
    starts = [theta, _alternate(problem, WARM_STEPS)[0]]
    n_evaluations = WARM_STEPS
    parameters = problem.parameters
    if parameters.moves_metric:
        units = parameters.start
        starts += [
            parameters.at(RBFUnits(units.centers, times * units.factors)) for times in NARROWER
        ]
    if parameters.moves_centers and parameters.moves_metric:
        for part in ("centers", "metric"):
            smaller = problem.with_units(parameters.start, part)
            found, n, _ = _search(smaller, smaller.parameters.initial, max_iterations)
            units = smaller.parameters.units(found)
            starts.append(parameters.at(units))
            n_evaluations += n
    results = [_levenberg_marquardt(problem, start, max_iterations) for start in starts]
    n_evaluations += sum(n for _, n, _ in results)
    best, _, converged = min(results, key=lambda result: problem.at(result[0]).objective)
    return best, n_evaluations, converged


def _levenberg_marquardt(problem, theta, max_iterations):
    residuals = len(problem.at(theta).residual)
    result = scipy.optimize.least_squares(
        lambda theta: problem.at(theta).residual,
        theta,
        jac=problem.jacobian,
        # MINPACK's needs as many residuals as parameters.
        method="lm" if residuals >= len(theta) else "trf",
        max_nfev=max_iterations,
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-15,
    )
    return result.x, int(result.nfev), bool(result.status > 0)


def _alternate(problem, max_iterations):
    theta = problem.parameters.initial
    objective, gradient = problem.at(theta).objective, problem.gradient(theta)
    history, n_evaluations, converged = [objective], 1, False
    step = 0.1 / max(np.abs(gradient).max(), 1e-300)
    for _ in range(max_iterations):
        moved = theta - step * gradient
        value = problem.at(moved).objective
        n_evaluations += 1
        if value < objective:
            theta, gradient = moved, problem.gradient(moved)
            objective = value
            history.append(objective)
            step *= 1.1
        else:
            step *= 0.5
        if step * np.abs(gradient).max() < 1e-14:
            converged = True
            break
    return theta, n_evaluations, converged, history
