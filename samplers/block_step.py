"""The PyMC side that all steps of the library share.

:class:`BlockStep` finds a step's variables in the model, starts its chains, saves and restores its
state and shows its progress; :class:`GraphReader` evaluates graphs of the model at a point.
"""

import pickle
from functools import partial

import cloudpickle
import numpy as np
import pymc as pm
import pytensor
from pymc.pytensorf import compile as compile_graph
from pymc.step_methods.compound import BlockedStep, Competence, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.traversal import ancestors
from rich.progress import TextColumn
from rich.table import Column

from bayeskernels.specification.bound import present_value

__all__ = ["BlockStep", "GraphReader"]


@dataclass_state
class BlockStepState(StepMethodState):
    """Everything that the next step needs: the generator, and the step's ``state``."""

    state: dict | None


class BlockStep(BlockedStep):
    """Base of the library's step methods.

    A subclass names itself, says which types of variables it moves (``owned``), declares its
    statistics and makes a ``step``. If it carries anything from one step to the next, it has a
    property ``state`` that can be read and set, and drops all of it in ``_forget``.

    Parameters
    ----------
    vars : list, optional
        Variables to move; by default all free variables of the types in ``owned``.
    model : pm.Model, optional
        The model in context by default.
    rng : int or numpy.random.Generator, optional
        ``pm.sample`` gives each chain a generator of its own.
    initial_point : dict, optional
        Passed by ``pm.sample`` and not needed.
    compile_kwargs : dict, optional
        Passed on where a graph has to be compiled.
    blocked : bool
        PyMC's; the variables of our steps always move together.

    Attributes
    ----------
    vars : list of TensorVariable
        Value variables.
    read : GraphReader
        Of the model.
    """

    #: Types of the random variables that the step moves.
    owned: tuple[type, ...] = ()
    #: Headings of the columns of PyMC's progress bar, by the names of the statistics shown there.
    progress_columns: dict[str, str] = {}
    _state_class = BlockStepState

    def __init__(
        self,
        vars=None,
        *,
        model=None,
        rng=None,
        initial_point=None,
        compile_kwargs=None,
        blocked=True,
    ):
        model = pm.modelcontext(model)
        if vars is None:
            vars = [rv for rv in model.free_RVs if isinstance(rv.owner.op, self.owned)]
        self.vars = get_value_vars_from_user_vars(vars, model)
        self.blocked = blocked
        self.rng = get_random_generator(rng)
        self.read = GraphReader(model, compile_kwargs)

    def _declare(self, statistics):
        """Set the statistics of this instance; PyMC has set those of the class before."""
        self.stats_dtypes_shapes = statistics
        self.stats_dtypes = [{name: dtype for name, (dtype, _) in statistics.items()}]

    def setup_chain(self, rng, tune, draws):
        """Start a chain: nothing of the chain before may leak into it."""
        super().setup_chain(rng, tune, draws)
        self._forget()

    def _forget(self):
        """Drop everything that belongs to a chain."""

    @property
    def state(self):
        """What the step carries from one step to the next; None for nothing at all."""
        return None

    @state.setter
    def state(self, state):
        pass

    def _progressbar_config(self, n_chains=1):
        columns = [
            TextColumn(f"{{task.fields[{stat}]}}", table_column=Column(heading, ratio=1))
            for stat, heading in self.progress_columns.items()
        ]
        return columns, {stat: [0] * n_chains for stat in self.progress_columns}

    def _make_progressbar_update_functions(self):
        def update_stats(step_stats):
            return {stat: _shown(step_stats[stat]) for stat in self.progress_columns}

        return (update_stats,)

    @classmethod
    def competence(cls, var, has_grad):
        """Variables of the types that the step moves only."""
        if isinstance(getattr(var.owner, "op", None), cls.owned):
            return Competence.IDEAL
        return Competence.INCOMPATIBLE


def _shown(value):
    """Three digits of a number, and a dash for one that is not there."""
    if isinstance(value, float | np.floating):
        return "–" if np.isnan(value) else f"{value:.3g}"
    return value


class GraphReader:
    """Turns graphs of random variables into functions of a point; constants cost nothing.

    Parameters
    ----------
    model : pm.Model
    compile_kwargs : dict, optional
        Passed on where a graph has to be compiled.
    """

    def __init__(self, model, compile_kwargs=None):
        self.model = model
        self.compile_kwargs = compile_kwargs or {}

    def now(self, graph):
        """Present value of a graph without free variables."""
        return self(graph)({})

    def __call__(self, graph):
        """Function of a point, with the names of the variables it needs as ``names``."""
        [on_values] = self.model.replace_rvs_by_values([graph])
        used = set(ancestors([on_values]))
        inputs = [value for value in self.model.value_vars if value in used]
        if not inputs:
            return _PointFunction((), partial(present_value, on_values))
        with _exact_arithmetic():
            function = compile_graph(inputs, on_values, **self.compile_kwargs)
        return _CompiledFunction(tuple(value.name for value in inputs), function)


def _exact_arithmetic():
    """Draws must not depend on how LLVM rounds (:mod:`bayeskernels.samplers.compiled`)."""
    return pytensor.config.change_flags(numba__fastmath=False)


class _PointFunction:
    def __init__(self, names, function):
        self.names = names
        self.function = function

    def __call__(self, point):
        return self.function(*(point[name] for name in self.names))


class _CompiledFunction(_PointFunction):
    """Compiled again in a process that it is sent to, with the same arithmetic."""

    def __getstate__(self):
        return self.names, cloudpickle.dumps(self.function)

    def __setstate__(self, state):
        self.names, function = state
        with _exact_arithmetic():
            self.function = pickle.loads(function)
