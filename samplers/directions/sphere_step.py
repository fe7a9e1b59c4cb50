"""The PyMC side that the samplers of a direction share.

PyMC moves a direction w as an unconstrained vector z with w = z / |z| (see
:mod:`bayeskernels.distributions.uniform_sphere`); a sampler carries its own state along with it:
outputs at the walls and random directions drawn ahead. :class:`SphereStep` keeps both together when
other steps move other variables, and when a sampling state is saved and restored.
"""

from abc import abstractmethod
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import pymc as pm
from pymc.step_methods.compound import Competence

from bayeskernels.distributions import UniformSphereRV
from bayeskernels.samplers.block_step import BlockStep
from bayeskernels.samplers.directions.billiards.wall_dynamics import wall_gram
from bayeskernels.samplers.directions.label_noise_target import LabelNoiseTarget, label_noise_terms

__all__ = ["SphereStep", "prefer"]

_preferred = ContextVar("preferred sampler of directions", default=None)


@contextmanager
def prefer(step_class):
    """Make ``pm.sample`` choose another registered step for directions.

    Parameters
    ----------
    step_class : type
        E.g. :class:`bayeskernels.samplers.KernelGibbs`.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(20, random_seed=1)
    >>> with bk.models.label_noise_classifier(X, y), bk.samplers.prefer(bk.samplers.KernelGibbs):
    ...     idata = pm.sample(20, chains=1, quiet=True)
    >>> "kernel_gibbs_errors" in idata.sample_stats
    True
    """
    token = _preferred.set(step_class)
    try:
        yield
    finally:
        _preferred.reset(token)


class SphereStep(BlockStep):
    """Base of the steps that sample directions under label noise.

    A subclass names itself, says how well it suits a label-noise posterior (``suitability``), makes
    its sampler from walls and a position, and moves it. A variable whose rows are directions (one
    for each class) has a sampler for each row.
    """

    #: What the names of the step's statistics begin with.
    stat_prefix: str
    owned = (UniformSphereRV,)
    suitability = Competence.COMPATIBLE
    #: Whether the samplers need the Gram matrix of the walls.
    uses_gram = False

    def __init__(self, vars=None, *, sweeps=None, **kwargs):
        super().__init__(vars, **kwargs)
        if len(self.vars) != 1:
            raise ValueError(
                f"{type(self).__name__} moves one direction, got {len(self.vars)} variables. "
                "Pass one step for each: step=[Step([w1]), Step([w2])]."
            )
        if sweeps is not None and sweeps < 1:
            raise ValueError(f"sweeps must be at least 1, got {sweeps}.")
        self.sweeps = sweeps
        self.target = LabelNoiseTarget(self.vars[0], self.read.model, self.read.compile_kwargs)
        self._value_name = self.vars[0].name
        self._nothing_else_moves = not self.target.geometry_names and not self.target.rate_names
        self._forget()

    def _forget(self):
        self.samplers = None
        # Of samplers that are made when the walls are known.
        self._sampler_states = None
        self.last_value = None
        self.geometry_inputs = None
        self._shared_gram = None

    def setup_chain(self, rng, tune, draws):
        """Start a chain, with the data as they are now."""
        super().setup_chain(rng, tune, draws)
        self.target.refresh()

    @property
    def state(self):
        """States of the samplers, and for what they hold."""
        if self.samplers is not None:
            self._sampler_states = [sampler.state for sampler in self.samplers]
        return {
            "samplers": self._sampler_states,
            "last_value": self.last_value,
            "geometry_inputs": self.geometry_inputs,
        }

    @state.setter
    def state(self, state):
        self.samplers = None
        self._sampler_states = state["samplers"]
        self.last_value = state["last_value"]
        self.geometry_inputs = state["geometry_inputs"]

    def step(self, point):
        """Move the direction; the other variables of ``point`` stay."""
        value = point[self._value_name]
        if not (
            self._nothing_else_moves and self.samplers is not None and value is self.last_value
        ):
            self._adapt_to(point)
        if value.ndim == 1:
            value, stats = self._move(self.samplers[0])
        else:
            value, stats = self._move_rows()
        self.last_value = value
        return {**point, self._value_name: value}, [stats]

    def _adapt_to(self, point):
        """Bring the samplers to where the model's variables are now."""
        all_walls = self._walls_at(point)
        value = np.asarray(point[self._value_name])
        rows = np.atleast_2d(value)
        geometry_inputs = self.target.geometry_inputs(point)
        if self.samplers is None:
            self.samplers = [
                self._make_sampler(walls, z) for walls, z in zip(all_walls, rows, strict=True)
            ]
            if self._sampler_states is not None:
                for sampler, state in zip(self.samplers, self._sampler_states, strict=True):
                    sampler.state = state
        has_moved = self.last_value is None or not np.array_equal(value, self.last_value)
        # A restored sampler was just made with these walls, but its outputs may be of older ones.
        has_bent = self.geometry_inputs is not None and not all(
            map(np.array_equal, geometry_inputs, self.geometry_inputs)
        )
        for sampler, walls, z in zip(self.samplers, all_walls, rows, strict=True):
            if has_moved:
                sampler.place(z)
            if (
                has_bent
                or sampler.walls.normals is not walls.normals
                or len(sampler.outputs) != walls.n_walls
            ):
                sampler.change_normals(walls, self._gram_of(walls) if self.uses_gram else None)
            sampler.walls = walls
        self.geometry_inputs = [array.copy() for array in geometry_inputs]

    def _walls_at(self, point):
        """Walls of each direction at a point of the model."""
        return self.target.walls(point)

    def _move_rows(self):
        """Move all directions; counts are added up, other statistics averaged."""
        moves = [self._move(sampler) for sampler in self.samplers]
        stats = {}
        for name, (dtype, _) in self.stats_dtypes_shapes.items():
            values = [row_stats[name] for _, row_stats in moves]
            if dtype is object:
                stats[name] = np.stack(values)
            else:
                stats[name] = sum(values) if dtype is int else sum(values) / len(values)
        return np.stack([row for row, _ in moves]), stats

    def _gram_of(self, walls):
        """Gram matrix of the normals, computed once for all directions that share them."""
        if self._shared_gram is None or self._shared_gram[0] is not walls.normals:
            self._shared_gram = walls.normals, wall_gram(walls.normals)
        return self._shared_gram[1]

    @abstractmethod
    def _make_sampler(self, walls, value):
        """Sampler at a position, with the methods place, change_normals and the attribute state."""

    @abstractmethod
    def _move(self, sampler):
        """Advance a sampler; return the new value of the direction and the statistics."""

    @classmethod
    def competence(cls, var, has_grad):
        """Directions under label noise only; of several, the one that :func:`prefer` names."""
        if not isinstance(getattr(var.owner, "op", None), UniformSphereRV):
            return Competence.INCOMPATIBLE
        model = pm.Model.get_context(error_if_none=False)
        if model is None or var not in model.free_RVs:
            # pm.sample(model=...) asks without a context. Label noise has no gradient: where there
            # is one, the direction is that of some other posterior.
            if has_grad:
                return Competence.INCOMPATIBLE
        elif not label_noise_terms(model, var):
            return Competence.INCOMPATIBLE
        if _preferred.get() is None:
            return cls.suitability
        return Competence.IDEAL if cls.is_chosen() else Competence.COMPATIBLE

    @classmethod
    def is_chosen(cls):
        """Whether ``pm.sample`` takes this step for directions: by default, or by ``prefer``."""
        preferred = _preferred.get()
        return cls.suitability is Competence.IDEAL if preferred is None else cls is preferred
