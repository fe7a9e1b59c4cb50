import numpy as np
import pymc as pm
import pytest

import bayeskernels as bk

X = np.linspace(-1, 1, 8)[:, None]


@pytest.mark.parametrize("kernel", [pm.gp.cov.ExpQuad(1, ls=0.7), pm.gp.cov.Matern12(1, ls=0.7)])
def test_draws_have_the_kernel_as_covariance(kernel):
    n = 20_000
    draws = bk.gp.draw_prior(kernel, X, draws=n, random_seed=1).values
    gram = kernel(X).eval()
    # Each of 64 entries has a standard error of at most sqrt(2 / n): five of them.
    assert np.abs(draws.T @ draws / n - gram).max() < 5 * np.sqrt(2 / n)
    assert np.abs(draws.mean(axis=0)).max() < 5 / np.sqrt(n)


def test_ornstein_uhlenbeck_is_rough():
    # E (f(x + h) - f(x))^2 is 2 - 2 k(h): of order h, and of order h^2 for the Gaussian kernel.
    points = np.linspace(0, 1, 400)[:, None]
    h = 1 / 399
    for kernel, expected in [
        (pm.gp.cov.Matern12(1, ls=0.5), 2 * h / 0.5),
        (pm.gp.cov.ExpQuad(1, ls=0.5), (h / 0.5) ** 2),
    ]:
        draws = bk.gp.draw_prior(kernel, points, draws=400, random_seed=2)
        found = np.mean(np.diff(draws.values, axis=1) ** 2)
        assert np.isclose(found, expected, rtol=0.1)


def test_seeds_and_dims():
    kernel = pm.gp.cov.ExpQuad(1, ls=1.0)
    one, same, other = (bk.gp.draw_prior(kernel, X, random_seed=seed) for seed in (1, 1, 2))
    assert one.dims == ("draw", "obs")
    assert one.shape == (3, 8)
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="draws must be"):
        bk.gp.draw_prior(pm.gp.cov.ExpQuad(1, ls=1.0), X, draws=0)
    with pytest.raises(ValueError, match="two dimensions"):
        bk.gp.draw_prior(pm.gp.cov.ExpQuad(1, ls=1.0), [1.0, 2.0])
    with pytest.raises(ValueError, match="positive semidefinite"):
        bk.gp.draw_prior(-np.eye(3), None)
