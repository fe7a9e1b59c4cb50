import numpy as np
import pymc as pm
import pytensor
import pytest

from bayeskernels.distributions import LabelNoise

OUTPUTS = np.array([2.0, -1.0, 0.0])


def test_log_probability_by_class():
    positive = pm.logp(LabelNoise.dist(OUTPUTS, 0.1, 0.3), np.ones(3, int)).eval()
    negative = pm.logp(LabelNoise.dist(OUTPUTS, 0.1, 0.3), np.zeros(3, int)).eval()
    # An output of zero is an error whatever the label.
    np.testing.assert_allclose(positive, np.log([0.7, 0.1, 0.1]))
    np.testing.assert_allclose(negative, np.log([0.3, 0.9, 0.3]))
    np.testing.assert_allclose(np.exp(positive + 0)[:2] + np.exp(negative)[:2], 1.0)
    assert (pm.logp(LabelNoise.dist(OUTPUTS, 0.1), np.full(3, 2)).eval() == -np.inf).all()


def test_without_noise():
    logp = pm.logp(LabelNoise.dist(OUTPUTS, 0.0), np.ones(3, int)).eval()
    np.testing.assert_array_equal(logp, [0.0, -np.inf, -np.inf])


@pytest.mark.parametrize("rate", [-0.1, 0.5, 0.9])
def test_rates_outside_the_interval(rate):
    with pytest.raises(pm.logprob.utils.ParameterValueError, match="flip rate"):
        pm.logp(LabelNoise.dist(OUTPUTS, rate), np.ones(3, int)).eval()


def test_draws():
    """Frequencies within 5 standard errors (false-alarm rate 2e-6)."""
    y = pm.draw(LabelNoise.dist(OUTPUTS, 0.1, 0.3), draws=4000, random_seed=1)
    assert set(np.unique(y)) == {0, 1}
    expected = np.array([0.7, 0.1, 0.5])
    error = np.sqrt(expected * (1 - expected) / 4000)
    assert (np.abs(y.mean(axis=0) - expected) < 5 * error).all()


def test_shapes():
    assert pm.draw(LabelNoise.dist(OUTPUTS, 0.1, shape=(5, 3))).shape == (5, 3)
    assert pm.draw(LabelNoise.dist(0.3, [0.1, 0.2])).shape == (2,)


def test_gradient_is_undefined_in_the_outputs_and_defined_in_the_rates():
    f, q = pytensor.tensor.vector("f"), pytensor.tensor.scalar("q")
    logp = pm.logp(LabelNoise.dist(f, q), np.array([1, 0, 1])).sum()
    with pytest.raises(pytensor.gradient.NullTypeGradError):
        pytensor.grad(logp, f)
    slope = pytensor.grad(logp, q).eval({f: np.array([1.0, 1.0, 1.0]), q: 0.2})
    assert np.isclose(slope, 1 / 0.2 - 2 / 0.8)
