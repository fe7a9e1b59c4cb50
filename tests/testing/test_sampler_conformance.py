"""The conformance test must pass good samplers and name the fault of bad ones."""

import numpy as np
import pymc as pm
import pytest
from pymc.step_methods.compound import BlockedStep, Competence, CompoundStep, StepMethodState
from pymc.step_methods.state import dataclass_state

from bayeskernels.testing import check_sampler


@dataclass_state
class WalkState(StepMethodState):
    ahead: np.ndarray | None


class Walk(BlockedStep):
    """Exact draws of an autoregressive process with a standard normal law, from noise in blocks."""

    name = "walk"
    stats_dtypes_shapes = {"walk_length": (float, [])}
    _state_class = WalkState
    default_tune_steps = 0

    def __init__(self, vars=None, *, model=None, rng=None, blocked=True, **kwargs):
        self.model = pm.modelcontext(model)
        self.vars = [self.model.rvs_to_values[self.model["x"]]]
        self.rng = np.random.default_rng(rng)
        self.ahead = None

    def setup_chain(self, rng, tune, draws):
        super().setup_chain(rng, tune, draws)
        self.ahead = None

    def noise(self):
        if self.ahead is None or len(self.ahead) == 0:
            self.ahead = self.rng.standard_normal((7, 2))
        now, self.ahead = self.ahead[0], self.ahead[1:]
        return now

    def step(self, point):
        x = 0.5 * point["x"] + np.sqrt(0.75) * self.noise()
        return {**point, "x": x}, [{"walk_length": float(np.linalg.norm(x))}]

    @staticmethod
    def competence(var, has_grad):
        return Competence.INCOMPATIBLE


@pytest.fixture(scope="module")
def model():
    with pm.Model() as model:
        pm.Normal("x", shape=2)
        pm.Normal("other")
    return model


MEANS = {
    "mean": (lambda p: p["x"][..., 0], 0.0),
    "square": (lambda p: p["x"][..., 1] ** 2, 1.0),
}


def test_good_sampler(model):
    report = check_sampler(
        Walk,
        model=model,
        exact_means=MEANS,
        agreement={"product": lambda p: p["x"][..., 0] * p["x"][..., 1]},
        reference=lambda: pm.Metropolis([model["x"]]),
        draws=1000,
    )
    assert report.passed == [
        "protocol",
        "seeds",
        "per-chain reset",
        "state replay",
        "cores",
        "exact means",
        "agreement",
    ]
    assert set(report.z_scores) == {"mean", "square", "product"}
    assert "walk: 7 checks passed" in str(report)


class HangsOnHashes(Walk):
    """Hashes of strings are others in each process."""

    def step(self, point):
        point, statistics = super().step(point)
        return {**point, "x": point["x"] + 1e-20 * hash("walk")}, statistics


def test_other_processes(model):
    options = {"model": model, "parallel": False, "processes": True, "n_steps": 10}
    assert "processes" in check_sampler(Walk, **options).passed
    with pytest.raises(AssertionError, match="the same draws in a process with warm caches; step"):
        check_sampler(HangsOnHashes, **options)


class UndeclaredStatistic(Walk):
    def step(self, point):
        point, [statistics] = super().step(point)
        return point, [{**statistics, "walk_extra": 1.0}]


class NoStatistics(Walk):
    def step(self, point):
        return super().step(point)[0], []


class VectorStatistic(Walk):
    def step(self, point):
        point, _ = super().step(point)
        return point, [{"walk_length": point["x"]}]


class WrongType(Walk):
    stats_dtypes_shapes = {"walk_length": (int, [])}


class AnotherName(Walk):
    name = "run"


class MovesOthers(Walk):
    def step(self, point):
        point, statistics = super().step(point)
        return {**point, "other": point["other"] + 1.0}, statistics


class OverwritesItsArgument(Walk):
    def step(self, point):
        new, statistics = super().step(point)
        point["x"][:] = new["x"]
        return new, statistics


class StandsStill(Walk):
    def step(self, point):
        return point, super().step(point)[1]


class LosesItsWay(Walk):
    def step(self, point):
        point, statistics = super().step(point)
        return {**point, "x": point["x"] * np.nan}, statistics


class ForgetsTheBlock(Walk):
    """The directions drawn ahead are no part of the state."""

    _state_class = StepMethodState


class KeepsTheBlock(Walk):
    """Directions drawn for one chain leak into the next."""

    def setup_chain(self, rng, tune, draws):
        BlockedStep.setup_chain(self, rng, tune, draws)


class OwnRandomness(Walk):
    generator = np.random.default_rng(1)

    def noise(self):
        return self.generator.standard_normal(2)


class FixedRandomness(Walk):
    def setup_chain(self, rng, tune, draws):
        super().setup_chain(np.random.default_rng(5), tune, draws)


class TooWide(Walk):
    def noise(self):
        return 1.2 * super().noise()


class Compound(Walk):
    def __new__(cls, *args, **kwargs):
        return CompoundStep([Walk()])


FAULTS = {
    UndeclaredStatistic: r"declared statistics .* got .*walk_extra",
    NoStatistics: "list of one dict",
    VectorStatistic: "scalar walk_length",
    WrongType: "walk_length of type int",
    AnotherName: "statistics named run",
    MovesOthers: "other variables to stay; other went",
    OverwritesItsArgument: "overwrote x in place",
    StandsStill: "stood still",
    LosesItsWay: "log-density",
    ForgetsTheBlock: "replay the draws",
    KeepsTheBlock: "forget the chain before",
    OwnRandomness: "same draws from the same seed",
    FixedRandomness: "other draws from another seed",
    TooWide: "expected square = 1; got .* standard errors apart",
    Compound: "one by one",
}


@pytest.mark.parametrize("faulty", FAULTS, ids=lambda c: c.__name__)
def test_fault_is_named(model, faulty):
    means = MEANS if faulty is TooWide else None
    with pytest.raises(AssertionError, match=FAULTS[faulty]):
        check_sampler(faulty, model=model, parallel=False, exact_means=means, draws=800)


def test_disagreement_with_the_reference(model):
    with pytest.raises(AssertionError, match="as from the reference"):
        check_sampler(
            Walk,
            model=model,
            parallel=False,
            agreement={"square": lambda p: p["x"][..., 0] ** 2},
            reference=TooWide,
            draws=800,
        )


def test_slow_chains_are_not_judged(model):
    with pytest.raises(AssertionError, match="effective draws"):
        check_sampler(Walk, model=model, parallel=False, exact_means=MEANS, draws=10, tune=0)


def test_step_of_pymc(model):
    """Metropolis on a scalar conforms (on vectors its order of coordinates survives a chain)."""
    check_sampler(
        lambda: pm.Metropolis([model["other"]]), model=model, stat_prefix="", parallel=False
    )
