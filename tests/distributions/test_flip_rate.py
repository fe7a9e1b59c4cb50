import numpy as np
import pymc as pm
import pytest
from scipy import integrate, stats

from bayeskernels.distributions import FlipRate


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (2.0, 9.0), (0.5, 0.7), (8.0, 3.0)])
def test_draws_and_density_match_scipy(alpha, beta):
    law = stats.beta(alpha, beta)
    q = pm.draw(FlipRate.dist(alpha, beta), draws=3000, random_seed=1)
    # False-alarm rate 1e-4.
    assert stats.kstest(q, lambda x: law.cdf(np.minimum(x, 0.5)) / law.cdf(0.5)).pvalue > 1e-4
    x = np.array([0.01, 0.2, 0.49])
    np.testing.assert_allclose(
        pm.logp(FlipRate.dist(alpha, beta), x).eval(), law.logpdf(x) - np.log(law.cdf(0.5))
    )
    outside = pm.logp(FlipRate.dist(alpha, beta), np.array([-0.1, 0.5, 0.7])).eval()
    assert (outside == -np.inf).all()


def test_unconstrained_density_integrates_to_one():
    with pm.Model() as model:
        FlipRate("q", 2.0, 5.0)
    logp = model.compile_logp()
    total, _ = integrate.quad(lambda v: np.exp(logp({"q_interval__": np.asarray(v)})), -30, 30)
    assert np.isclose(total, 1.0, atol=1e-6)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (9.0, 1.0), (1.0, 99.0)])
def test_support_point_is_inside(alpha, beta):
    with pm.Model() as model:
        FlipRate("q", alpha, beta, shape=2)
    point = model.initial_point()
    assert np.isfinite(point["q_interval__"]).all()
    assert np.isfinite(model.compile_logp()(point))


def test_bad_parameters():
    with pytest.raises(pm.logprob.utils.ParameterValueError, match="alpha > 0"):
        pm.logp(FlipRate.dist(-1.0, 1.0), 0.1).eval()


def test_shapes_and_dims():
    assert pm.draw(FlipRate.dist([1.0, 2.0], 5.0)).shape == (2,)
    assert pm.draw(FlipRate.dist(shape=(3, 2))).shape == (3, 2)
    with pm.Model(coords={"class": ["a", "b"]}):
        FlipRate("q", dims="class")
        prior = pm.sample_prior_predictive(5, random_seed=1).prior["q"]
    assert prior.dims == ("chain", "draw", "class")
    assert ((prior > 0) & (prior < 0.5)).all()


def test_generic_samplers_take_it():
    """NUTS on the prior: the mean of Beta(2, 5) cut at one half, within 4.5 standard errors."""
    with pm.Model():
        q = FlipRate("q", 2.0, 5.0)
        idata = pm.sample(
            500,
            tune=300,
            chains=2,
            cores=1,
            step=pm.NUTS([q]),
            random_seed=1,
            quiet=True,
            progressbar=False,
            compute_convergence_checks=False,
        )
    law = stats.beta(2, 5)
    expected = integrate.quad(lambda x: x * law.pdf(x), 0, 0.5)[0] / law.cdf(0.5)
    assert abs(float(idata.posterior["q"].mean()) - expected) < 4.5 * 0.15 / np.sqrt(250)
