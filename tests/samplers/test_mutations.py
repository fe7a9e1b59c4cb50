"""Do the tests see what they are meant to see? Small errors planted into the kernels must show.

The kernels run as plain Python here, from their own source with one line changed.
"""

import inspect

import numpy as np
import pytest
from scipy import stats

from bayeskernels.samplers import (
    WallGeometry,
    kernel_gibbs,
    label_costs,
    refractive_billiard,
    simulate_kernel_gibbs,
    simulate_refractive_billiard,
    wall_dynamics,
)
from bayeskernels.testing import label_noise_cells

FEATURES = np.array([[1.0, 0.2, 0.1], [-0.3, 1.0, 0.4], [0.2, -0.5, 1.0], [1.0, 1.0, -0.7]])
IS_POSITIVE = np.array([True, True, False, False])
RATES = (0.15, 0.3)

# Module of the planted errors, simulation, functions to run as plain Python, sweeps per draw.
BILLIARD = (
    wall_dynamics,
    simulate_refractive_billiard,
    [(refractive_billiard, "_run"), (refractive_billiard, "fly"), (wall_dynamics, "fly")],
    2,
)
CIRCLES = (
    kernel_gibbs,
    simulate_kernel_gibbs,
    [(kernel_gibbs, name) for name in ("_run", "_draw_angle")],
    4,
)

MUTATIONS = {
    "sign of the refraction": (
        BILLIARD,
        "velocity_behind",
        "jump if velocity < 0 else -jump",
        "-jump if velocity < 0 else jump",
    ),
    "refraction too weak": (BILLIARD, "velocity_behind", "2.0 * cost", "1.0 * cost"),
    "no reflection": (BILLIARD, "velocity_behind", "return -velocity", "return velocity"),
    "kick of the position": (BILLIARD, "fly", "kicks[0, wall] +=", "kicks[0, wall] -="),
    "direction of a crossing": (
        CIRCLES,
        "_draw_angle",
        "energy += jumps[j] if f[j] > 0.0 else -jumps[j]",
        "energy -= jumps[j] if f[j] > 0.0 else -jumps[j]",
    ),
    "other half of the circle": (
        CIRCLES,
        "_draw_angle",
        "total_energy - energy if",
        "energy if",
    ),
    "sign of the energy": (
        CIRCLES,
        "_draw_angle",
        "math.exp(-cost)",
        "math.exp(cost)",
    ),
    "place of an interval": (
        CIRCLES,
        "_draw_angle",
        "return start + share *",
        "return share *",
    ),
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


def mutate(monkeypatch, module, name, old, new):
    source = inspect.getsource(getattr(module, name))
    source = source[source.index("def ") :]
    assert source.count(old) == 1, f"{name} has no line {old!r} any more: adapt the mutation"
    scope = {}
    exec(compile(source.replace(old, new), f"mutated {name}", "exec"), vars(module), scope)
    compiled = getattr(module, name)
    for holder in (module, refractive_billiard):
        if getattr(holder, name, None) is compiled:
            monkeypatch.setattr(holder, name, scope[name])


@pytest.mark.parametrize("kernel", [BILLIARD, CIRCLES], ids=["billiard", "great circles"])
def test_plain_python_kernel_is_right(kernel, monkeypatch):
    _, simulate, functions, sweeps = kernel
    as_plain_python(monkeypatch, functions)
    assert p_value(simulate, sweeps) > 0.001  # false-alarm rate


@pytest.mark.parametrize("name", MUTATIONS)
def test_planted_error_shows(name, monkeypatch):
    (module, simulate, functions, sweeps), function, old, new = MUTATIONS[name]
    mutate(monkeypatch, module, function, old, new)
    as_plain_python(monkeypatch, functions)
    assert p_value(simulate, sweeps) < 1e-9
