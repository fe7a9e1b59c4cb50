import numpy as np
import pymc as pm
import pytest
from scipy import stats

from bayeskernels.distributions import SilvermanG

RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 2))
GRAM = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
GAMMA = np.array([0, 1, 1, 0, 1, 0])
ACTIVE = np.flatnonzero(GAMMA)
COVARIANCE = np.linalg.inv(2.5 * GRAM[np.ix_(ACTIVE, ACTIVE)])


def logp(beta, gamma=GAMMA, **gram):
    prior = SilvermanG.dist(gamma, 2.5, **(gram or {"gram": GRAM}))
    return float(pm.logp(prior, beta).eval(mode="FAST_COMPILE"))


def test_density_is_that_of_a_normal_distribution_at_the_active_points():
    beta = np.zeros(6)
    beta[ACTIVE] = [0.3, -1.2, 0.8]
    expected = stats.multivariate_normal(np.zeros(3), COVARIANCE).logpdf(beta[ACTIVE])
    assert np.isclose(logp(beta), expected, atol=1e-6)
    assert np.isclose(logp(beta, active_gram=GRAM[np.ix_(ACTIVE, ACTIVE)]), expected, atol=1e-6)
    beta[0] = 0.1
    assert logp(beta) == -np.inf


def test_nothing_active():
    assert logp(np.zeros(6), gamma=np.zeros(6, dtype=int)) == 0.0


def test_draws():
    draws = pm.draw(SilvermanG.dist(GAMMA, 2.5, gram=GRAM), draws=20_000, random_seed=1)
    assert (draws[:, GAMMA == 0] == 0).all()
    # Standard errors of the entries are about 0.005.
    np.testing.assert_allclose(np.cov(draws[:, ACTIVE].T), COVARIANCE, atol=0.03)


def test_singular_kernel():
    """Repeated points: the function that the draws make still has the kernel as its covariance."""
    doubled = np.concatenate([X[:2], X[:1]])
    gram = np.exp(-((doubled[:, None] - doubled[None]) ** 2).sum(axis=2))
    draws = pm.draw(SilvermanG.dist(np.ones(3, int), 1.0, gram=gram), draws=20_000, random_seed=1)
    np.testing.assert_allclose(np.cov((draws @ gram).T), gram, atol=0.05)


def test_needs_one_matrix():
    with pytest.raises(ValueError, match="either gram or active_gram"):
        SilvermanG.dist(GAMMA, 1.0)
