import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import bayeskernels as bk
from bayeskernels.distributions import LabelNoise, UniformSphere
from bayeskernels.samplers import WallGeometry
from bayeskernels.samplers.directions import label_noise_target
from bayeskernels.samplers.directions.label_noise_target import LabelNoiseTarget

FEATURES = np.random.default_rng(0).standard_normal((6, 3))
LABELS = np.array([0, 1, 1, 0, 1, 0])


def target_of(model):
    return LabelNoiseTarget(model.rvs_to_values[model["w"]], model)


OUTPUTS = {
    "dot": lambda w: pt.dot(FEATURES, w),
    "matmul": lambda w: pt.as_tensor(FEATURES) @ w,
    "sum": lambda w: pt.sum(FEATURES * w, axis=1),
    "scaled": lambda w: pt.dot(2.0 * FEATURES, w) / 2.0,
}


@pytest.mark.parametrize("form", OUTPUTS)
def test_linear_outputs_in_any_form(form):
    with pm.Model() as model:
        w = UniformSphere("w", 3)
        LabelNoise("y", OUTPUTS[form](w), 0.1, observed=LABELS)
    [walls] = target_of(model).walls(model.initial_point())
    units = FEATURES / np.linalg.norm(FEATURES, axis=1, keepdims=True)
    np.testing.assert_allclose(walls.normals, units, atol=1e-12)
    np.testing.assert_allclose(walls.jumps, np.where(LABELS == 1, 1, -1) * np.log(9))


def test_several_likelihoods_share_a_direction():
    with pm.Model() as model:
        w = UniformSphere("w", 3)
        LabelNoise("y1", pt.dot(FEATURES[:2], w), 0.1, observed=LABELS[:2])
        LabelNoise("y2", pt.dot(FEATURES[2:], w), 0.2, 0.3, observed=LABELS[2:])
    [walls] = target_of(model).walls(model.initial_point())
    assert walls.n_walls == 6
    expected = [-np.log(9), np.log(9), np.log(0.7 / 0.2), -np.log(0.8 / 0.3)]
    np.testing.assert_allclose(walls.jumps[:4], expected)


def test_refusals():
    with pm.Model() as model:
        w = UniformSphere("w", 3)
        LabelNoise("y", pt.dot(FEATURES, w) ** 2 - 0.1, 0.1, observed=LABELS)
    with pytest.raises(TypeError, match="not linear"):
        target_of(model).walls(model.initial_point())
    with pm.Model() as model:
        w = UniformSphere("w", 3)
        LabelNoise("y", pt.dot(FEATURES, w), 0.1, observed=LABELS)
        pm.Potential("extra", w[0])
    with pytest.raises(TypeError, match="a potential"):
        target_of(model)
    with pm.Model() as model:
        w = UniformSphere("w", 3)
        LabelNoise("y", pt.dot(FEATURES, w), 0.1, observed=LABELS)
        pm.Normal("extra", w[0], observed=0.0)
    with pytest.raises(TypeError, match="another variable"):
        target_of(model)
    with pm.Model() as model:
        UniformSphere("w", 3)
    with pytest.raises(TypeError, match="No LabelNoise"):
        target_of(model)
    with pm.Model() as model:
        w = pm.Normal("w", shape=3)
        LabelNoise("y", pt.dot(FEATURES, w), 0.1, observed=LABELS)
    with pytest.raises(TypeError, match="must be a UniformSphere"):
        target_of(model)


def test_only_what_has_moved_is_recomputed(monkeypatch):
    calls = {"geometry": 0, "costs": 0}
    from_features, label_costs = WallGeometry.from_features, label_noise_target.label_costs

    def count_geometry(*args):
        calls["geometry"] += 1
        return from_features(*args)

    def count_costs(*args):
        calls["costs"] += 1
        return label_costs(*args)

    monkeypatch.setattr(WallGeometry, "from_features", count_geometry)
    monkeypatch.setattr(label_noise_target, "label_costs", count_costs)
    X, y = bk.data.make_two_moons(12, random_seed=1)
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=ls), noise="infer")
    target = target_of(model)
    assert target.geometry_names == ["ls_log__"]
    assert target.rate_names == ["noise_interval__"]
    point = model.initial_point()
    walls = target.walls(point)
    assert calls == {"geometry": 1, "costs": 1}
    assert target.walls({**point, "w_unitvector__": -point["w_unitvector__"]}) is walls
    assert calls == {"geometry": 1, "costs": 1}
    point["noise_interval__"] = point["noise_interval__"] + 0.1
    higher = target.walls(point)
    assert calls == {"geometry": 1, "costs": 2}
    assert higher[0].normals is walls[0].normals
    point["ls_log__"] = point["ls_log__"] + 0.1
    moved = target.walls(point)
    assert calls == {"geometry": 2, "costs": 3}
    assert np.abs(moved[0].normals - walls[0].normals).max() > 0.01
