"""Do the tests see what they are meant to see? Small errors planted into the kernels must show.

The kernels run as plain Python here, from their own source with one line changed.
"""

import inspect
from functools import partial

import numpy as np
import pytest
from scipy import stats

from bayeskernels.samplers import (
    WallGeometry,
    label_costs,
    simulate_billiard,
    simulate_kernel_gibbs,
    simulate_refractive_billiard,
)
from bayeskernels.samplers.directions import great_circle, kernel_gibbs
from bayeskernels.samplers.directions.billiards import (
    billiard_ball,
    noise_ladder,
    replicas,
    rolling_ball,
    wall_dynamics,
)
from bayeskernels.testing import label_noise_cells

FEATURES = np.array([[1.0, 0.2, 0.1], [-0.3, 1.0, 0.4], [0.2, -0.5, 1.0], [1.0, 1.0, -0.7]])
IS_POSITIVE = np.array([True, True, False, False])
RATES = (0.15, 0.3)

ENGINE = [
    *((billiard_ball, "play"), (noise_ladder, "play"), (wall_dynamics, "fly")),
    *((replicas, name) for name in ("_move", "_turn", "_swap_gain", "settle", "fly", "draw_angle")),
    *((replicas, name) for name in ("count_trips", "offer_swap")),
]

# Module of the planted errors, simulation, functions to run as plain Python, sweeps per draw.
BILLIARD = (
    wall_dynamics,
    partial(simulate_refractive_billiard, tempering=False, circles=False),
    ENGINE,
    2,
)
LADDER = (replicas, partial(simulate_refractive_billiard, tempering=True), ENGINE, 1)
CIRCLES = (
    great_circle,
    simulate_kernel_gibbs,
    [(kernel_gibbs, name) for name in ("_run", "draw_angle")],
    4,
)

# From what is wrong to the function and the change in its source.
MUTATIONS = {
    "sign of the refraction": (
        BILLIARD,
        "velocity_behind",
        "jump if velocity < 0 else -jump -> -jump if velocity < 0 else jump",
    ),
    "refraction too weak": (BILLIARD, "velocity_behind", "2.0 * cost -> 1.0 * cost"),
    "no reflection": (BILLIARD, "velocity_behind", "return -velocity -> return velocity"),
    "kick of the position": (BILLIARD, "fly", "kicks[0, wall] += -> kicks[0, wall] -="),
    "direction of a crossing": (
        CIRCLES,
        "draw_angle",
        "energy += jumps[j] if -> energy -= jumps[j] if",
    ),
    "other half of the circle": (CIRCLES, "draw_angle", "total_energy - energy if -> energy if"),
    "sign of the energy": (CIRCLES, "draw_angle", "math.exp(-cost) -> math.exp(cost)"),
    "place of an interval": (CIRCLES, "draw_angle", "return start + share * -> return share *"),
    "angle of an ellipse": (
        LADDER,
        "_move",
        "f[j] = f[j] * cos_t + speeds[j] * sin_t -> f[j] = f[j] * cos_t - speeds[j] * sin_t",
    ),
    "turn of the kicks": (LADDER, "_turn", "pending[j] *= cos_t -> pending[j] *= sin_t"),
    "sign of a swap": (
        LADDER,
        "_swap_gain",
        "gain += difference if -> gain -= difference if",
    ),
    "free swaps": (LADDER, "_swap_gain", "return gain -> return 0.0"),
}


def p_value(simulate, sweeps):
    exact = label_noise_cells(FEATURES, IS_POSITIVE, *RATES)
    walls = WallGeometry.from_features(FEATURES, IS_POSITIVE).with_costs(
        label_costs(IS_POSITIVE, *RATES)
    )
    with np.errstate(all="ignore"):
        path = simulate(walls, np.ones(3), 2500, rng=np.random.default_rng(1), sweeps=sweeps)
    if not np.isfinite(path.draws).all():
        return 0.0
    cell = exact.locate(path.draws)
    counts = np.bincount(cell[cell >= 0], minlength=len(exact.probabilities))
    if counts.sum() < len(cell):
        return 0.0
    return stats.chisquare(counts, exact.probabilities * counts.sum()).pvalue


def as_plain_python(monkeypatch, functions):
    for module, name in functions:
        function = getattr(module, name)
        monkeypatch.setattr(module, name, getattr(function, "py_func", function))


def mutate(monkeypatch, module, name, change):
    old, _, new = change.partition(" -> ")
    source = inspect.getsource(getattr(module, name))
    source = source[source.index("def ") :]
    assert source.count(old) == 1, f"{name} has no line {old!r} any more: adapt the mutation"
    scope = {}
    exec(compile(source.replace(old, new), f"mutated {name}", "exec"), vars(module), scope)
    compiled = getattr(module, name)
    for holder in (module, replicas, billiard_ball, noise_ladder, kernel_gibbs, rolling_ball):
        if getattr(holder, name, None) is compiled:
            monkeypatch.setattr(holder, name, scope[name])


@pytest.mark.parametrize(
    "kernel", [BILLIARD, LADDER, CIRCLES], ids=["billiard", "ladder", "great circles"]
)
def test_plain_python_kernel_is_right(kernel, monkeypatch):
    _, simulate, functions, sweeps = kernel
    as_plain_python(monkeypatch, functions)
    assert p_value(simulate, sweeps) > 0.001  # false-alarm rate


@pytest.mark.parametrize("name", MUTATIONS)
def test_planted_error_shows(name, monkeypatch):
    (module, simulate, functions, sweeps), function, change = MUTATIONS[name]
    mutate(monkeypatch, module, function, change)
    as_plain_python(monkeypatch, functions)
    assert p_value(simulate, sweeps) < 1e-9


# A triangle on the sphere.
TRIANGLE = FEATURES[:3]
ROLLING = [
    (rolling_ball, name)
    for name in ("_run", "_segment", "_turn", "_settle", "_new_velocity", "_recompute", "fly")
] + [(wall_dynamics, "fly")]

# The sign of the velocity in the integral of the position cannot show here: velocities are as
# likely as their opposites. The exact test of the mean position in test_billiard.py sees it.
ROLLING_MUTATIONS = {
    "turn of the velocity": (
        rolling_ball,
        "_turn",
        "velocity * cos_t - position * sin_t -> velocity * cos_t + position * sin_t",
    ),
    "kick of the position": (wall_dynamics, "fly", "kicks[0, wall] += -> kicks[0, wall] -="),
    "kick of the velocity": (wall_dynamics, "fly", "kicks[1, wall] += -> kicks[1, wall] -="),
    "kick of the mean position": (wall_dynamics, "fly", "kicks[2, wall] += -> kicks[2, wall] -="),
    "new velocity not tangent": (
        rolling_ball,
        "_new_velocity",
        "direction[i] - along * rows[0, i] -> direction[i]",
    ),
    "outputs of the new velocity": (
        rolling_ball,
        "_new_velocity",
        "outputs[j] - along * f[j] -> outputs[j] + along * f[j]",
    ),
    "pending kicks forgotten": (rolling_ball, "_new_velocity", " + dot(outputs, pending[0]) -> "),
    "kicks of the new velocity": (
        rolling_ball,
        "_new_velocity",
        "-along * scale * pending[0, j] -> along * scale * pending[0, j]",
    ),
    "settling of the velocity": (
        rolling_ball,
        "_settle",
        "rows[1, i] += b * normal -> rows[1, i] -= b * normal",
    ),
    "turning round at the cap": (rolling_ball, "_segment", "g[:] = -g_before -> g[:] = g_before"),
}


def triangle_centre():
    """Half the sum of edge angle times inward edge normal, over the area by angle excess."""
    inward = TRIANGLE / np.linalg.norm(TRIANGLE, axis=1, keepdims=True)
    inward *= np.where(IS_POSITIVE[:3], 1, -1)[:, None]
    corners = np.cross(inward[[1, 2, 0]], inward[[2, 0, 1]])
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    corners *= np.sign(np.sum(corners * inward, axis=1, keepdims=True))
    edges = np.arccos(np.sum(corners[[1, 2, 0]] * corners[[2, 0, 1]], axis=1))
    angles = np.pi - np.arccos(np.sum(inward[[1, 2, 0]] * inward[[2, 0, 1]], axis=1))
    return 0.5 * edges @ inward / (angles.sum() - np.pi)


def rolling_p_value():
    """Smallest p-value of three, times three: cells and mean position; cells of a capped path."""
    centre = triangle_centre()
    # Two great circles through the centre cut the triangle into four cells.
    probes = np.cross(centre, np.eye(3)[:2])
    exact = label_noise_cells(TRIANGLE, IS_POSITIVE[:3], 0.0, probes=probes)
    assert len(exact.probabilities) == 4
    walls = WallGeometry.from_features(TRIANGLE, IS_POSITIVE[:3]).with_costs(
        label_costs(IS_POSITIVE[:3], 0.0, 0.0)
    )
    p_values = []
    for max_events in (None, 2):
        rng = np.random.default_rng(1)
        options = {"path_length": 6.0, "refresh_rate": 0.5, "max_events": max_events}
        with np.errstate(all="ignore"):
            path = simulate_billiard(walls, centre, 2000, rng=rng, **options)
        if not (np.isfinite(path.draws).all() and np.isfinite(path.centres).all()):
            return 0.0
        cell = exact.locate(path.draws)
        if cell.min() < 0:
            return 0.0
        # By batches, since what follows a capped path is not independent of it.
        inside = (cell[:, None] == np.arange(3)).astype(float)
        p_values.append(p_value_of_mean(inside, exact.probabilities[:3]))
        if max_events is None:
            p_values.append(p_value_of_mean(path.centres, centre))
    return 3 * min(p_values)


def p_value_of_mean(draws, expected):
    """Hotelling's test with the means of 100 batches."""
    batches = draws.reshape(100, -1, 3).mean(axis=1)
    difference = batches.mean(axis=0) - expected
    t_squared = 100 * difference @ np.linalg.solve(np.cov(batches.T), difference)
    return stats.f.sf(t_squared * (100 - 3) / (3 * (100 - 1)), 3, 100 - 3)


def test_plain_python_rolling_ball_is_right(monkeypatch):
    as_plain_python(monkeypatch, ROLLING)
    assert rolling_p_value() > 0.001  # false-alarm rate


@pytest.mark.parametrize("name", ROLLING_MUTATIONS)
def test_error_planted_into_the_rolling_ball_shows(name, monkeypatch):
    mutate(monkeypatch, *ROLLING_MUTATIONS[name])
    as_plain_python(monkeypatch, ROLLING)
    try:
        found = rolling_p_value()
    except ZeroDivisionError:
        found = 0.0  # plain Python says so where compiled code goes on with infinities
    assert found < 1e-6
