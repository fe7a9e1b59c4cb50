"""What all steps of the library have in common."""

import numpy as np
import pymc as pm
import pytest
from every_step import COMPILED_STEPS, STEPS, chain_of
from pymc.step_methods.compound import Competence
from pytensor.tensor.random.basic import NormalRV

from bayeskernels.samplers.block_step import BlockStep
from bayeskernels.testing import check_sampler


class Refreshment(BlockStep):
    """Draws standard normal variables afresh, and counts how often."""

    name = "refreshment"
    owned = (NormalRV,)
    stats_dtypes_shapes = {"refreshment_count": (int, []), "refreshment_mean": (float, [])}
    progress_columns = {"refreshment_count": "Count", "refreshment_mean": "Mean"}

    def __init__(self, vars=None, **kwargs):
        super().__init__(vars, **kwargs)
        self._forget()

    def _forget(self):
        self.count = 0

    @property
    def state(self):
        return {"count": self.count}

    @state.setter
    def state(self, state):
        self.count = state["count"]

    def step(self, point):
        self.count += 1
        new = {v.name: self.rng.standard_normal(np.shape(point[v.name])) for v in self.vars}
        mean = float(np.mean(np.concatenate([np.ravel(value) for value in new.values()])))
        return point | new, [{"refreshment_count": self.count, "refreshment_mean": mean}]


@pytest.fixture
def model():
    with pm.Model() as model:
        pm.Normal("x", shape=2)
        pm.Normal("y")
        pm.Exponential("other", 1.0)
    return model


def test_a_step_says_only_what_is_its_own(model):
    """Its variables, its competence, its state: the base does the rest."""
    check_sampler(Refreshment, model=model, parallel=False)
    with model:
        step = Refreshment()
        assert [value.name for value in step.vars] == ["x", "y"]
        assert [value.name for value in Refreshment([model["y"]]).vars] == ["y"]
        levels = [Refreshment.competence(rv, True) for rv in model.free_RVs]
    assert levels == [Competence.IDEAL, Competence.IDEAL, Competence.INCOMPATIBLE]


def test_state_is_saved_and_restored(model):
    with model:
        step, other = Refreshment(), Refreshment()
    point = model.initial_point()
    for _ in range(3):
        point, _ = step.step(point)
    saved = step.sampling_state
    assert saved.state == {"count": 3}
    other.sampling_state = saved
    for one, two in zip(step.step(point), other.step(point), strict=True):
        np.testing.assert_equal(one, two)
    step.setup_chain(np.random.default_rng(1), 0, 1)
    assert step.state == {"count": 0}


def test_progress_shows_three_digits_and_a_dash_for_what_is_not_there(model):
    with model:
        [update] = Refreshment()._make_progressbar_update_functions()
    shown = update({"refreshment_count": 7, "refreshment_mean": -12.3456})
    assert shown == {"refreshment_count": 7, "refreshment_mean": "-12.3"}
    assert update({"refreshment_count": 7, "refreshment_mean": np.nan})["refreshment_mean"] == "–"


@pytest.mark.parametrize("name", STEPS | COMPILED_STEPS)
def test_steps_of_the_library(name):
    """Each stands on the base, and the columns of its progress bar are statistics of its own."""
    step = chain_of(name, 1).new_step()
    assert isinstance(step, BlockStep)
    assert set(step.progress_columns) <= set(step.stats_dtypes_shapes)
    assert step.stats_dtypes == [
        {stat: kind for stat, (kind, _) in step.stats_dtypes_shapes.items()}
    ]
    columns, values = step._progressbar_config(2)
    assert len(columns) == len(values) == len(step.progress_columns)
    [update] = step._make_progressbar_update_functions()
    assert set(update(dict.fromkeys(step.stats_dtypes_shapes, 1))) == set(step.progress_columns)
