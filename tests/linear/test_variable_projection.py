import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bayeskernels.linear.rbf_units import RBFUnits, UnitParameters
from bayeskernels.linear.variable_projection import RidgeProjection

RNG = np.random.default_rng(4)
X = RNG.normal(size=(20, 2))
Y = RNG.normal(size=20)


def start():
    factors = np.tril(RNG.normal(size=(3, 2, 2)))
    factors[:, [0, 1], [0, 1]] = np.abs(factors[:, [0, 1], [0, 1]]) + 0.3
    return RBFUnits(RNG.normal(size=(3, 2)), factors)


def test_weights_are_those_of_ridge_regression():
    features = RNG.normal(size=(20, 4))
    solution = RidgeProjection(features, Y, 0.7)
    expected = np.linalg.solve(features.T @ features + 0.7 * np.eye(4), features.T @ Y)
    np.testing.assert_allclose(solution.weights, expected, atol=1e-12)
    penalised = np.sum((Y - features @ expected) ** 2) + 0.7 * expected @ expected
    assert solution.objective == pytest.approx(penalised)
    assert solution.mean_squared_error == pytest.approx(np.mean((Y - features @ expected) ** 2))


@pytest.mark.parametrize("adapt", ["centers", "metric", "all"])
@pytest.mark.parametrize("shared", [False, True])
def test_jacobian_against_differences(adapt, shared):
    units = start()
    if shared:
        units = RBFUnits(units.centers, np.broadcast_to(units.factors[:1], (3, 2, 2)))
    parameters = UnitParameters(units, adapt, shared=shared)
    theta = parameters.initial

    def residual(theta):
        return RidgeProjection(parameters.units(theta)(X), Y, 0.05).residual

    solution = RidgeProjection(units(X), Y, 0.05)
    derivatives = parameters.derivatives(units, X)
    exact = parameters.gather(solution.jacobian(*derivatives))
    steps = 1e-6 * np.eye(len(theta))
    numeric = np.stack([residual(theta + h) - residual(theta - h) for h in steps], axis=1) / 2e-6
    np.testing.assert_allclose(exact, numeric, atol=1e-7)
    # Kaufman's is another matrix with the same gradient.
    kaufman = parameters.gather(solution.jacobian(*derivatives, kaufman=True))
    assert np.abs(kaufman - exact).max() > 1e-3
    gradient = parameters.gather(solution.gradient(*derivatives))
    for jacobian in (exact, kaufman):
        np.testing.assert_allclose(jacobian.T @ solution.residual, gradient, atol=1e-10)
    numeric = approx_fprime(theta, lambda t: 0.5 * np.sum(residual(t) ** 2), 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)


def test_units_at_their_start():
    units = start()
    again = UnitParameters(units, "all").units(UnitParameters(units, "all").initial)
    np.testing.assert_allclose(again.centers, units.centers)
    np.testing.assert_allclose(again.factors, units.factors)
    differences = X[:, None] - units.centers
    expected = np.exp(-0.5 * np.einsum("nmi,mij,nmj->nm", differences, units.metrics, differences))
    np.testing.assert_allclose(units(X), expected, atol=1e-12)
    assert (np.linalg.eigvalsh(units.metrics) > 0).all()
