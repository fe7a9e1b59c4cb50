r"""Metropolis steps whose proposals do not depend on where the chain is.

A proposal x' from a fixed density q is accepted with the probability
:math:`\min(1, w(x') / w(x))`, :math:`w = p / q`. Where q resembles the posterior p this jumps
between modes that a chain of local moves never leaves, in the proportion of their masses. It needs
values of the density only, no gradient.
"""

import numpy as np
import pymc as pm

from bayeskernels.graphs.unconstrained import UnconstrainedDensity
from bayeskernels.inputs import as_count
from bayeskernels.samplers.block_step import BlockStep

__all__ = ["IndependenceMetropolis"]


class IndependenceMetropolis(BlockStep):
    """Step method that proposes from a fixed distribution, for all variables of a model at once.

    Alone it is right where the proposal covers the posterior well; beside another step on the same
    variables, ``step=[pm.NUTS(), IndependenceMetropolis(proposal)]``, it carries the chain from
    mode to mode, and the other step explores them.

    Parameters
    ----------
    proposal : LaplaceMixture
        Or an object with its methods ``draw``, ``log_density`` and ``nearest``, in PyMC's
        unconstrained space: the value variables of the model in their order, in one row.
    log_density : callable, optional
        Log density of the posterior at such a row, up to a constant; that of the model by default.
    proposals : int
        Made for each draw.
    model : pm.Model, optional
        The model in context by default; its variables must be continuous.

    Notes
    -----
    Sampler statistics: ``independence_accepted``, the share of accepted proposals, and
    ``independence_mode``, the mode that the draw belongs to.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.NormalMixture("x", w=[0.3, 0.7], mu=[-9.0, 9.0], sigma=1.0)
    ...     proposal = bk.samplers.LaplaceMixture([[-9.0], [9.0]], [[[1.0]], [[1.0]]], [0.0, 0.0])
    ...     step = bk.samplers.IndependenceMetropolis(proposal)
    ...     idata = pm.sample(1000, chains=1, step=step, quiet=True, random_seed=1)
    >>> round(float((idata["posterior"]["x"] > 0).mean()), 1)
    0.7
    """

    name = "independence"
    default_tune_steps = 0
    stats_dtypes_shapes = {"independence_accepted": (float, []), "independence_mode": (int, [])}
    progress_columns = {"independence_accepted": "Jumps accepted"}

    def __init__(self, proposal, *, log_density=None, proposals=1, model=None, **kwargs):
        model = pm.modelcontext(model)
        super().__init__(model.value_vars, model=model, **kwargs)
        self.proposal = proposal
        self.proposals = as_count(proposals, "proposals")
        self._log_density = log_density or _ModelDensity(model)
        self._forget()

    def _forget(self):
        self._known = None, None

    def step(self, point):
        """Make the proposals; variables keep their shapes."""
        here = np.concatenate([np.ravel(point[v.name]) for v in self.vars])
        weight = self._log_weight(here)
        accepted = 0
        for new in self.proposal.draw(self.rng, self.proposals):
            # A NaN is no density, and comparisons with it are false.
            new_weight = self._log_density(new) - self.proposal.log_density(new[None])[0]
            if np.log(self.rng.random()) < new_weight - weight:
                here, weight = new, new_weight
                accepted += 1
        self._known = here, weight
        stats = {
            "independence_accepted": accepted / self.proposals,
            "independence_mode": self.proposal.nearest(here),
        }
        return self._placed(here, point), [stats]

    def _log_weight(self, here):
        """Log density of the posterior less that of the proposal, known where nobody moved."""
        place, weight = self._known
        if place is not None and np.array_equal(place, here):
            return weight
        return self._log_density(here) - self.proposal.log_density(here[None])[0]

    def _placed(self, row, point):
        ends = np.cumsum([np.size(point[v.name]) for v in self.vars])
        parts = zip(self.vars, np.split(row, ends[:-1]), strict=True)
        return {**point, **{v.name: part.reshape(np.shape(point[v.name])) for v, part in parts}}


class _ModelDensity:
    """Log density of a model at one row."""

    def __init__(self, model):
        self._density = UnconstrainedDensity(model, what="IndependenceMetropolis")

    def __call__(self, row):
        return self._density.values(row[None])[0]
