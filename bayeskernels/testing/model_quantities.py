"""Scalar functions of a model's variables, evaluated at draws: what oracles compare."""

from functools import cached_property

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors

from bayeskernels.kernels.argument import WITHOUT_COMPILER, numpy_function

__all__ = ["LOG_LIKELIHOOD", "ModelQuantities"]

#: Name of the one quantity that every model has.
LOG_LIKELIHOOD = "log likelihood"

#: Outputs are watched at so many observations.
MAX_OUTPUTS = 3


class ModelQuantities:
    """Named scalars of a model, with its log-likelihood as the last one.

    All of them are read from the graph of the model, and nothing from its specification: they share
    no code with the tools that they are meant to check.

    Parameters
    ----------
    model : pm.Model
    quantities : dict of str to TensorVariable, optional
        Scalar graphs of the model's variables. By default every scalar variable, the sum of every
        discrete one, the arctan of the first entry of every continuous one, and the outputs (the
        first parameter of the observed variable) at three observations.
    """

    def __init__(self, model, quantities=None):
        self.model = model
        if not model.free_RVs:
            raise ValueError("The model has no free variables: nothing is drawn from a posterior.")
        chosen = _defaults(model) if quantities is None else dict(quantities)
        for name, graph in chosen.items():
            if getattr(graph, "ndim", None) != 0:
                raise ValueError(
                    f"A quantity is a scalar graph of the model's variables; {name!r} is "
                    f"{graph!r} with {getattr(graph, 'ndim', 'no')} dimensions. Pick entries, or "
                    "reduce it."
                )
        chosen[LOG_LIKELIHOOD] = _log_likelihood(model)
        self.names = list(chosen)
        self._graphs = [pt.cast(graph, "float64") for graph in chosen.values()]

    def __call__(self, draws, places=slice(None)):
        """Evaluate at draws: an array of shape (n_draws, n_quantities).

        Parameters
        ----------
        draws : dict of str to array, or Dataset
            Draws of all free variables by name, along the first axis; a dataset with the dims
            ``chain`` and ``draw`` is taken chain by chain.
        places : array of int, optional
            Which of the draws; all by default.
        """
        columns = [_stacked(draws, rv.name)[places] for rv in self.model.free_RVs]
        return np.array([self._evaluate(*row) for row in zip(*columns, strict=True)])

    def draw_prior(self, n, rng, *, observed=True):
        """Joint draws of the free variables, and of the observed ones if wanted, by name."""
        variables = self.model.free_RVs + (self.model.observed_RVs if observed else [])
        seed = int(rng.integers(2**32))
        values = pm.draw(variables, draws=n, random_seed=seed, mode=WITHOUT_COMPILER)
        # One draw has no axis of draws.
        values = [np.asarray(v)[None] if n == 1 else v for v in values]
        return {v.name: value for v, value in zip(variables, values, strict=True)}

    @cached_property
    def observed_data(self):
        """Name of the data that each observed variable takes its values from, by its own name."""
        found = {}
        for rv in self.model.observed_RVs:
            shared = {
                v.name
                for v in ancestors([self.model.rvs_to_values[rv]])
                if isinstance(v, SharedVariable) and v.name in self.model.named_vars
            }
            if len(shared) != 1:
                raise ValueError(
                    f"The observed variable {rv.name!r} does not take its values from one pm.Data, "
                    "so that there is nothing to set anew. Build the model with "
                    "observed=pm.Data(...), or pass build=."
                )
            found[rv.name] = shared.pop()
        return found

    @cached_property
    def _evaluate(self):
        values = {rv: rv.type(name=rv.name) for rv in self.model.free_RVs}
        graphs = graph_replace(self._graphs, values, strict=False)
        return numpy_function(list(values.values()), graphs)


def _stacked(draws, name):
    """Draws of a variable with one axis of draws in front."""
    values = draws[name]
    if "chain" not in getattr(values, "dims", ()):
        return np.asarray(values)
    values = values.transpose("chain", "draw", ...).values
    return values.reshape(-1, *values.shape[2:])


def _log_likelihood(model):
    terms = [
        pt.sum(pm.logp(rv, model.rvs_to_values[rv], warn_rvs=False)) for rv in model.observed_RVs
    ]
    # Sparse Gaussian processes, and likelihoods of a user's own, are potentials.
    terms += [pt.sum(potential) for potential in model.potentials]
    if not terms:
        raise ValueError("The model has no observations.")
    return sum(terms)


def _defaults(model):
    chosen = {}
    for rv in model.free_RVs:
        if rv.ndim == 0:
            chosen[rv.name] = rv
        elif rv.dtype.startswith("float"):
            # Bounded: such entries may have heavy tails, and their means errors without end.
            chosen[f"arctan of {rv.name}, first entry"] = pt.arctan(rv.ravel()[0])
        else:
            chosen[f"sum of {rv.name}"] = pt.sum(rv)
    for rv in model.observed_RVs:
        outputs = rv.owner.op.dist_params(rv.owner)[0]
        if rv.owner.op.ndim_supp > 0:
            continue  # its mean, where a process is integrated out, tells nothing
        size = int(np.prod(model.rvs_to_values[rv].shape.eval()))
        if outputs.ndim == 0 or not set(model.free_RVs) & set(ancestors([outputs])):
            continue
        for k in np.unique(np.linspace(0, size - 1, min(size, MAX_OUTPUTS)).astype(int)):
            chosen[f"output {k} of {rv.name}"] = outputs.ravel()[k]
    return chosen
