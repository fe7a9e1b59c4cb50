"""Chains of one step method, made by hand: what the conformance test compares."""

import pickle

import numpy as np
from pymc.step_methods.compound import BlockedStep

__all__ = ["StepChain", "expect", "first_difference"]


def expect(condition, message):
    """Raise an error that says what was expected, unless it is so."""
    if not condition:
        raise AssertionError(message)


class StepChain:
    """Runs a step by hand, with all its draws and statistics on record."""

    def __init__(self, step_factory, model, start, move_others, n_steps):
        self.step_factory = step_factory
        self.model = model
        with model:
            self.start = model.initial_point(random_seed=0) if start is None else start
        self.move_others = move_others or (lambda point, k: point)
        self.n_steps = n_steps

    def new_step(self):
        """Make the step, in the context of the model."""
        with self.model:
            step = self.step_factory()
        expect(
            isinstance(step, BlockedStep),
            f"expected one step method (a BlockedStep); got {type(step).__name__}. "
            "Check the parts of a compound step one by one",
        )
        return step

    def begin(self, step, seed):
        """Set a step up for a chain."""
        step.setup_chain(np.random.default_rng(seed), 0, self.n_steps)
        return step

    def run(self, step, point=None, steps=None, before_each=None):
        """Make some steps; returns the points and the statistics."""
        point = self.start if point is None else point
        record = []
        for k in range(self.n_steps) if steps is None else steps:
            if before_each is not None:
                before_each()
            point, statistics = step.step(self.move_others(point, k))
            record.append((point, statistics))
        return record

    def own(self, step):
        """Names of the variables that the step moves."""
        return [value.name for value in step.vars]

    def watch(self, seed):
        """A whole chain from a seed; returns its record and the states before some of its steps."""
        step = self.begin(self.new_step(), seed)
        saved = []
        record = self.run(step, before_each=lambda: saved.append(step.sampling_state))
        moments = sorted({1, self.n_steps // 3, self.n_steps // 2})
        # A state must also survive its way to the disk.
        return record, {at: pickle.dumps(saved[at]) for at in moments}

    def resume(self, record, states, step=None):
        """Go on from saved states of a chain; returns the rest of its record for each of them."""
        rest = {}
        for at, state in states.items():
            target = self.new_step() if step is None else step
            target.sampling_state = pickle.loads(state)
            rest[at] = self.run(target, record[at - 1][0], range(at, self.n_steps))
        return rest


def first_difference(record, other, names):
    """Description of where two records of a chain part, or None."""
    for k, ((point, statistics), (point_2, statistics_2)) in enumerate(
        zip(record, other, strict=True)
    ):
        for name in names:
            if not np.array_equal(point[name], point_2[name]):
                return f"step {k} gave {name} = {point[name]} and {point_2[name]}"
        for name, value in statistics[0].items():
            same = np.array_equal(value, statistics_2[0][name], equal_nan=True)
            if not same:
                return f"step {k} gave the statistic {name} = {value} and {statistics_2[0][name]}"
    return None
