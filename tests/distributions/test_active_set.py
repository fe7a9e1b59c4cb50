import itertools
from collections import Counter

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy import stats

from bayeskernels.distributions import ActiveSet
from bayeskernels.distributions.active_set import log_size_weights


@pytest.mark.parametrize(("n", "max_active", "alpha", "beta"), [(5, 5, 1, 1), (6, 2, 0.5, 3.0)])
def test_probabilities_of_all_sets_add_up_to_one(n, max_active, alpha, beta):
    logp = pm.compile(
        [value := pm.pytensorf.pt.lvector()],
        pm.logp(ActiveSet.dist(max_active, alpha, beta, n=n), value),
        mode="FAST_COMPILE",
    )
    sets = np.array(list(itertools.product([0, 1], repeat=n)))
    probabilities = np.exp([logp(gamma) for gamma in sets])
    assert np.isclose(probabilities.sum(), 1.0)
    assert (probabilities[sets.sum(axis=1) > max_active] == 0).all()
    weights = np.exp(log_size_weights(n, max_active, alpha, beta))
    allowed = sets.sum(axis=1) <= max_active
    np.testing.assert_allclose(probabilities[allowed], weights[sets.sum(axis=1)[allowed]])


def test_without_truncation_it_is_the_beta_bernoulli():
    """Equation (10) of the paper, by averaging over the share of active points."""
    n, alpha, beta = 4, 2.0, 3.0
    share = stats.beta(alpha, beta)
    expected = [share.expect(lambda a, k=k: a**k * (1 - a) ** (n - k)) for k in range(n + 1)]
    np.testing.assert_allclose(np.exp(log_size_weights(n, n, alpha, beta)), expected, rtol=1e-6)


def test_draws_follow_the_probabilities():
    n, max_active = 4, 2
    draws = pm.draw(ActiveSet.dist(max_active, 1.0, 2.0, n=n), draws=20_000, random_seed=1)
    counts = Counter(map(tuple, draws.tolist()))
    weights = np.exp(log_size_weights(n, max_active, 1.0, 2.0))
    sets = [s for s in itertools.product([0, 1], repeat=n) if sum(s) <= max_active]
    observed = [counts[s] for s in sets]
    assert sum(observed) == 20_000
    # Fails by chance once in a thousand runs.
    assert stats.chisquare(observed, 20_000 * weights[[sum(s) for s in sets]]).pvalue > 1e-3


def test_batches_and_dims():
    assert pm.draw(ActiveSet.dist(2, n=5, shape=(3, 5)), random_seed=1).shape == (3, 5)
    with pm.Model(coords={"obs": range(7)}) as model:
        ActiveSet("gamma", 3, dims="obs")
    assert model.initial_point()["gamma"].tolist() == [0] * 7
    with pytest.raises(ValueError, match="number of points"):
        ActiveSet.dist(2)


@pytest.mark.parametrize("max_active", [0, 5])
def test_impossible_limits(max_active):
    with pytest.raises(ValueError, match=f"max_active must be .* got {max_active} of 4"):
        ActiveSet.dist(max_active, n=4)
    # One that is not known when the variable is made.
    limit = pt.lscalar("limit")
    logp = pm.logp(ActiveSet.dist(limit, n=4), np.zeros(4, dtype=int))
    with pytest.raises(pm.logprob.utils.ParameterValueError, match="max_active"):
        logp.eval({limit: max_active}, mode="FAST_COMPILE")
