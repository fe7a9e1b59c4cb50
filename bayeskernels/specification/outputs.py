"""Outputs of drawn functions at given points: what prediction and diagnostics are made of.

For a kernel with fixed hyperparameters the outputs of all draws at all points are one matrix
product; it is done in blocks of points, so that the result of each block is still in cache when it
is used. With random hyperparameters every draw has a kernel of its own, and is evaluated by itself.
"""

from collections.abc import Mapping
from contextlib import contextmanager

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.tensor.math import Dot
from pytensor.tensor.random.op import RandomVariable
from rich.progress import Progress
from threadpoolctl import threadpool_limits

from bayeskernels.specification.draws import posterior_draws

__all__ = ["BLOCK_BYTES", "GraphFunctions", "LinearFunctions", "each_draw"]

#: Size of a block of outputs: large enough for BLAS to run at full speed, small enough for caches.
BLOCK_BYTES = 2**25


@contextmanager
def each_draw(n_draws, progressbar):
    """Numbers of draws that are evaluated one by one, with a progress bar."""
    # Each draw is a small problem, on which several BLAS threads only wait for each other.
    with (
        threadpool_limits(1, user_api="blas"),
        Progress(disable=not progressbar, transient=True) as progress,
    ):
        yield progress.track(range(n_draws), description="Outputs by draw")


class LinearFunctions:
    """Models whose functions are linear in coordinates of the inputs: a part of a specification.

    The specification has a ``feature_map``, from inputs (n, p) to coordinates (n, r); None where
    every draw has coordinates of its own.
    """

    @property
    def rank(self):
        """Number of coordinates."""
        return len(self.training) if self.feature_map is None else self.feature_map.rank

    def drawn_functions(self, idata):
        """Drawn functions and the coordinates in which they are linear.

        Returns
        -------
        array of shape (n_chains, n_draws, r) or (n_chains, n_draws, n_classes, r)
        callable or None
            From inputs to their r coordinates; None where every draw has its own. Its methods
            ``rest`` and ``at_training``, if it has them, are those of
            :class:`bayeskernels.kernels.features.FeatureMap`.
        """
        w = posterior_draws(idata, f"{self.prefix}w")
        self.check_coordinates(w, self.rank)
        return w, self.feature_map

    def outputs_draw_by_draw(self, idata, X, progressbar):
        """Outputs, (n, n_draws, ...), and rests, (n, n_draws) or None, of draws one by one."""
        raise NotImplementedError

    def output_blocks(self, idata, X=None, *, diagonal=None, progressbar=True):
        """Go through points in blocks, with the outputs of all draws."""
        w, feature_map = self.drawn_functions(idata)
        points = self.X if X is None else X
        if feature_map is None:
            yield slice(0, len(points)), *self.outputs_draw_by_draw(idata, points, progressbar)
            return
        w = w.reshape(-1, *w.shape[2:])
        columns = w.reshape(-1, w.shape[-1]).T
        features = None
        if X is None and self.is_at_training and hasattr(feature_map, "at_training"):
            features = feature_map.at_training
        n_rows = max(1, BLOCK_BYTES // (8 * max(columns.shape)))
        for start in range(0, len(points), n_rows):
            part = slice(start, min(start + n_rows, len(points)))
            rows = feature_map(points[part]) if features is None else features[part]
            rest = None
            if diagonal is not None and hasattr(feature_map, "rest"):
                rest = feature_map.rest(rows, diagonal[part])[:, None]
            yield part, (rows @ columns).reshape(len(rows), *w.shape[:-1]), rest

    def check_coordinates(self, w, rank):
        """Refuse directions with other coordinates, or of another number of classes."""
        several = self.n_classes > 2
        expected = (self.n_classes, rank) if several else (rank,)
        if w.shape[2:] != expected:
            raise ValueError(
                f"idata holds directions of {w.shape[-1]} coordinates"
                f"{f' for {w.shape[2]} classes' if w.ndim == 4 else ''}, the model has {rank}"
                f"{f' for {expected[0]} classes' if several else ''}: they do not belong together."
            )


class GraphFunctions(LinearFunctions):
    """Linear functions that are read from the model's graph, where kernels differ by draw."""

    @property
    def outputs(self):
        """Outputs f, where they have no independent rest: what the labels depend on."""
        return self.without_observed(self.model[f"{self.prefix}y"].owner.inputs[2])

    @property
    def features(self):
        """Coordinates of the inputs, (n, r): the matrix that is multiplied by the direction."""
        products = (v for v in ancestors([self.outputs]) if v.owner is not None)
        return next(v for v in products if isinstance(v.owner.op, Dot)).owner.inputs[0]

    @property
    def rest(self):
        """Variances k(x, x) - |phi(x)|^2 beyond the span; None where the kernel is fixed.

        See :mod:`bayeskernels.kernels.beyond_span`.
        """
        if self.feature_map is not None or isinstance(self.model, Mapping):
            return None
        diagonal = self.kernel.covariance(self.model[f"{self.prefix}X"], diag=True)
        return pt.maximum(diagonal - pt.sum(pt.sqr(self.features), axis=1), 0.0)

    def outputs_draw_by_draw(self, idata, X, progressbar):
        """Outputs and rests under each draw's own kernel, (n, n_draws, ...) and (n, n_draws)."""
        evaluate, names = _compile([self.outputs, self.rest])
        draws = [posterior_draws(idata, name) for name in names]
        draws = [values.reshape(-1, *values.shape[2:]) for values in draws]
        by_class = () if self.n_classes == 2 else (self.n_classes,)
        outputs = np.empty((len(X), len(draws[0]), *by_class))
        rest = np.empty(outputs.shape[:2])
        with each_draw(len(draws[0]), progressbar) as numbers:
            for s in numbers:
                outputs[:, s], rest[:, s] = evaluate(X, *(values[s] for values in draws))
        return outputs, rest


def _compile(graphs):
    """Function of inputs and the variables on which graphs depend, with their names."""
    inputs = next(v for v in ancestors(graphs) if v.name is not None and _is_inputs(v))
    random = [v for v in ancestors(graphs) if v.name is not None and _is_random(v)]
    arguments = [v.type(name=v.name) for v in [inputs, *random]]
    replaced = clone_replace(graphs, dict(zip([inputs, *random], arguments, strict=True)))
    function = pytensor.function(arguments, replaced, on_unused_input="ignore")
    return function, [v.name for v in random]


def _is_inputs(variable):
    return hasattr(variable, "get_value") and variable.name.split("::")[-1] == "X"


def _is_random(variable):
    return variable.owner is not None and isinstance(
        variable.owner.op, RandomVariable | SymbolicRandomVariable
    )
