import numpy as np
import pymc as pm
import pytest
from scipy import stats

from bayeskernels.distributions import UniformSphere, UnitVector
from bayeskernels.distributions.uniform_sphere import log_sphere_area


@pytest.mark.parametrize("r", [1, 2, 3, 10])
def test_draws_are_uniform(r):
    """First and second moments of every coordinate, and one marginal (false-alarm rate 1e-4)."""
    w = pm.draw(UniformSphere.dist(r), draws=4000, random_seed=1)
    assert w.shape == (4000, r)
    np.testing.assert_allclose(np.linalg.norm(w, axis=1), 1.0)
    assert np.abs(w.mean(axis=0)).max() < 5 / np.sqrt(4000 * r)
    np.testing.assert_allclose(
        w.T @ w / 4000, np.eye(r) / r, atol=5 / np.sqrt(4000) / r * np.sqrt(2)
    )
    if r > 1:
        # (1 + w_1) / 2 has a Beta((r - 1) / 2, (r - 1) / 2) distribution.
        law = stats.beta((r - 1) / 2, (r - 1) / 2)
        assert stats.kstest((1 + w[:, 0]) / 2, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("r", "area"), [(1, 2.0), (2, 2 * np.pi), (3, 4 * np.pi), (4, 2 * np.pi**2)]
)
def test_density_is_one_over_the_area(r, area):
    assert np.isclose(log_sphere_area(r).eval(), np.log(area))
    w = np.eye(r)[0]
    assert np.isclose(pm.logp(UniformSphere.dist(r), w).eval(), -np.log(area))
    assert pm.logp(UniformSphere.dist(r), 1.1 * w).eval() == -np.inf


@pytest.mark.parametrize("r", [1, 3, 6])
def test_unconstrained_density_is_standard_normal(r):
    with pm.Model() as model:
        UniformSphere("w", r)
    logp = model.compile_logp()
    for z in np.random.default_rng(0).standard_normal((5, r)) * 2:
        assert np.isclose(logp({"w_unitvector__": z}), stats.norm.logpdf(z).sum())


def test_transform_keeps_the_direction():
    z = np.random.default_rng(0).standard_normal((4, 3))
    w = UnitVector().backward(z).eval()
    np.testing.assert_allclose(w, z / np.linalg.norm(z, axis=1, keepdims=True))
    np.testing.assert_allclose(UnitVector().backward(UnitVector().forward(w)).eval(), w)


def test_support_point_is_on_the_sphere():
    with pm.Model() as model:
        UniformSphere("w", 4)
        UniformSphere("many", 3, shape=(2, 3))
    point = model.initial_point()
    np.testing.assert_allclose(np.linalg.norm(point["w_unitvector__"]), 1.0)
    np.testing.assert_allclose(np.linalg.norm(point["many_unitvector__"], axis=-1), 1.0)
    assert np.isfinite(model.compile_logp()(point))


def test_shapes_and_dims():
    assert pm.draw(UniformSphere.dist(shape=(5, 3))).shape == (5, 3)
    with pm.Model(coords={"basis": list("abcd")}) as model:
        w = UniformSphere("w", dims="basis")
        prior = pm.sample_prior_predictive(10, random_seed=1)
    assert model.named_vars_to_dims["w"] == ("basis",)
    assert w.eval().shape == (4,)
    assert prior.prior["w"].dims == ("chain", "draw", "basis")
    np.testing.assert_allclose((prior.prior["w"] ** 2).sum("basis"), 1.0)


def test_dimension_is_needed():
    with pytest.raises(ValueError, match="dimension"):
        UniformSphere.dist()


def test_seeds():
    first, same, other = (pm.draw(UniformSphere.dist(3), random_seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)
