import numpy as np
import pytest
from random_walls import make_walls

from bayeskernels.geometry.version_space import find_consistent_direction
from bayeskernels.samplers import simulate_kernel_gibbs
from bayeskernels.samplers.directions import kernel_gibbs
from bayeskernels.samplers.directions.great_circle import draw_angle
from bayeskernels.samplers.directions.kernel_gibbs import GreatCircleWalker


def density_on_circle(f, g, jumps):
    """Crossings and masses by brute force: energies recounted in the middle of every interval."""
    crossings = np.sort(np.concatenate([np.arctan2(-f, g), np.arctan2(f, -g)]) % (2 * np.pi))
    edges = np.concatenate([[0.0], crossings, [2 * np.pi]])
    middle = (edges[1:] + edges[:-1]) / 2
    outputs = np.outer(np.cos(middle), f) + np.outer(np.sin(middle), g)
    hard = np.isinf(jumps)
    energy = (outputs[:, ~hard] < 0) @ jumps[~hard]
    forbidden = ((outputs[:, hard] > 0) != (jumps[hard] > 0)).any(axis=1)
    mass = np.diff(edges) * np.where(forbidden, 0.0, np.exp(-(energy - energy.min())))
    return edges, mass / mass.sum()


@pytest.mark.parametrize("seed", range(6))
def test_angle_has_the_density_of_the_circle(seed):
    """The drawn angle is the inverse distribution function of the brute-force density."""
    rng = np.random.default_rng(seed)
    f, g = rng.standard_normal((2, 7))
    jumps = rng.normal(scale=2.0, size=7)
    if seed % 2:
        jumps[:2] = np.copysign(np.inf, f[:2])  # allowed at the start
    edges, mass = density_on_circle(f, g, jumps)
    distribution = np.concatenate([[0.0], np.cumsum(mass)])
    uniforms = rng.random(300)
    angles = [draw_angle(f.copy(), g, jumps, u, np.empty(7)) for u in uniforms]
    np.testing.assert_allclose(np.interp(angles, edges, distribution), uniforms, atol=1e-9)


def test_outputs_next_to_zero_keep_their_side():
    """A crossing just ahead and one just behind (half a turn ahead) are told apart."""
    jumps = np.array([50.0])
    for f, allowed_first_half in [(1e-30, True), (-1e-30, True)]:
        angles = [
            draw_angle(np.array([f]), np.array([1.0]), jumps, u, np.empty(1))
            for u in np.linspace(0.01, 0.99, 20)
        ]
        assert all((0 < a < np.pi) == allowed_first_half for a in angles)


@pytest.mark.parametrize("q", [0.0, 0.05, 0.2])
def test_norm_is_kept_and_errors_equal_a_recount(q):
    walls, features, is_positive = make_walls(q=q, seed=3)
    start = np.ones(walls.dimension)
    if q == 0:
        start = find_consistent_direction(features, is_positive)
    path = simulate_kernel_gibbs(walls, start, 5000, rng=np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(path.draws, axis=1), 1.0, rtol=1e-12)
    recount = np.sum((path.draws @ features.T > 0) != is_positive, axis=1)
    np.testing.assert_array_equal(path.errors, recount)
    assert ((path.angles >= 0) & (path.angles <= 2 * np.pi)).all()


@pytest.mark.parametrize("r", [1, 2, 3, 20])
def test_outputs_do_not_drift(r):
    walls, _, _ = make_walls(r=r, seed=4)
    walker = GreatCircleWalker(walls, np.ones(r), sweeps=50)
    rng = np.random.default_rng(2)
    for _ in range(100):
        walker.move(rng)
        np.testing.assert_allclose(walker.outputs, walls.normals @ walker.w, atol=1e-10)
        assert walker.growth <= kernel_gibbs.MAX_ERROR_GROWTH * 1e3


def test_leaves_a_forbidden_start():
    """Only intervals with the fewest forbidden sides count, so a bad start heals."""
    walls, features, is_positive = make_walls(m=6, r=3, q=0.0)
    start = -find_consistent_direction(features, is_positive)
    path = simulate_kernel_gibbs(walls, start, 200, rng=np.random.default_rng(0))
    assert path.errors[-1] == 0
