"""What the steps for a label-noise posterior need to know of a PyMC model.

A direction w enters such a model through outputs that are linear in it, f = A w, and nowhere else.
:class:`LabelNoiseTarget` finds the likelihood terms, takes A, the labels and the flip rates from
the model's graph, and turns them into walls; it recomputes only what other variables have moved.

A variable may hold several directions as rows, one for each class: F = A W', with a column of
labels for each. They are independent given the rest, and their walls differ by labels only.
"""

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.math import Dot

from bayeskernels.distributions import LabelNoiseRV, UniformSphereRV
from bayeskernels.geometry.walls import WallGeometry, label_costs
from bayeskernels.samplers.block_step import GraphReader

__all__ = ["LabelNoiseTarget", "label_noise_terms", "named_dims", "only_direction"]


def label_noise_terms(model, w):
    """Observed label-noise variables of ``model`` whose outputs depend on the variable ``w``."""
    return [
        rv
        for rv in model.observed_RVs
        if isinstance(rv.owner.op, LabelNoiseRV) and w in ancestors([rv.owner.inputs[2]])
    ]


def only_direction(model, what):
    """The direction of a model without other unknowns, for a tool that is called ``what``."""
    free = model.free_RVs
    if len(free) != 1 or not isinstance(free[0].owner.op, UniformSphereRV):
        raise TypeError(
            f"{what} needs a model whose only unknown is a direction, this one has "
            f"{[rv.name for rv in free]}. Fix the others, or use pm.sample."
        )
    return free[0]


def named_dims(model, w):
    """Dims of a direction as ``pm.sample`` names them, and coordinates of those that have any."""
    dims = model.named_vars_to_dims.get(w.name) or [f"{w.name}_dim_{k}" for k in range(w.ndim)]
    coords = {dim: model.coords.get(dim) for dim in dims}
    return dims, {dim: np.asarray(labels) for dim, labels in coords.items() if labels is not None}


class LabelNoiseTarget:
    """The walls that a model puts into the space of a direction, or of each of several.

    Parameters
    ----------
    value : TensorVariable
        Value variable of the direction, or of a matrix whose rows are directions.
    model, compile_kwargs
        As for :class:`bayeskernels.samplers.block_step.GraphReader`.
    """

    def __init__(self, value, model, compile_kwargs=None):
        w = model.values_to_rvs[value]
        if not isinstance(w.owner.op, UniformSphereRV):
            raise TypeError(f"{w.name} must be a UniformSphere variable, it is {w.owner.op}.")
        terms = label_noise_terms(model, w)
        if not terms:
            raise TypeError(
                f"No LabelNoise likelihood of the model depends on {w.name}: this step samples "
                "label-noise posteriors only. Use another step, e.g. pm.NUTS or pm.Metropolis."
            )
        _refuse_other_terms(model, w, terms)
        read = GraphReader(model, compile_kwargs)
        self._read_labels = [read(model.rvs_to_values[rv]) for rv in terms]
        self._features = [read(_linear_map(rv.owner.inputs[2], w)) for rv in terms]
        self._rates = [[read(rate) for rate in rv.owner.inputs[3:5]] for rv in terms]
        self.geometry_names = sorted({n for f in self._features for n in f.names})
        self.rate_names = sorted({n for pair in self._rates for rate in pair for n in rate.names})
        self._labels = None
        self._data = None
        self._geometry = None
        self._geometry_inputs = None
        self._walls = None
        self._walled = None  # the geometry on which these walls stand
        self._rate_inputs = None

    def geometry_inputs(self, point):
        """Values of the other variables on which the places of the walls depend."""
        return [np.asarray(point[name]) for name in self.geometry_names]

    def geometries(self, point):
        """Hyperplanes of each direction at a point of the model, whatever the flip rates."""
        inputs = self.geometry_inputs(point)
        if self._labels is None or not _equal(inputs, self._geometry_inputs):
            parts = [f(point) for f in self._features]
            all_labels = [_columns(read({}) == 1) for read in self._read_labels]
            for part, labels in zip(parts, all_labels, strict=True):
                if len(part) != len(labels):
                    raise ValueError(
                        f"The model has outputs at {len(part)} points but {len(labels)} labels. "
                        "Was X set to new points? Set it back to those of training first."
                    )
            data = [*parts, *all_labels]
            if self._geometry is None or not _equal(data, self._data):
                labels = np.concatenate(all_labels)
                first = WallGeometry.from_features(np.concatenate(parts), labels[:, 0])
                self._geometry = [first, *map(first.relabelled, labels.T[1:])]
            self._labels, self._data = all_labels, data
            self._geometry_inputs = [value.copy() for value in inputs]
        return self._geometry

    def refresh(self):
        """Read labels, features and flip rates anew: they may have been set to other values."""
        self._labels = None
        self._walled = None

    def walls(self, point):
        """Walls of each direction at a point of the model, as a list.

        It is the same object as before if nothing has moved.
        """
        geometries = self.geometries(point)
        rates = [np.asarray(point[name]) for name in self.rate_names]
        if geometries is not self._walled or not _equal(rates, self._rate_inputs):
            costs, _ = self.costs(point)
            self._walls = [
                geometry.with_costs(column)
                for geometry, column in zip(geometries, costs.T, strict=True)
            ]
            self._walled = geometries
            self._rate_inputs = [value.copy() for value in rates]
        return self._walls

    def costs(self, point):
        """What errors cost, and log-likelihoods without errors, by point and direction."""
        self.geometries(point)
        costs, log_right = [], []
        for labels, rates in zip(self._labels, self._rates, strict=True):
            negative, positive = (_columns(rate(point)) for rate in rates)
            costs.append(np.broadcast_to(label_costs(labels, negative, positive), labels.shape))
            log_right.append(np.log1p(-np.where(labels, positive, negative)))
        return np.concatenate(costs), np.concatenate(log_right)

    def best_log_likelihoods(self, point):
        """Log-likelihood of a classifier on the better side of every wall, for each direction.

        Zero feature vectors are errors everywhere, and of points that share a wall some may be
        errors on either side: the walls themselves do not know what these cost.
        """
        self.walls(point)
        costs, log_right = self.costs(point)
        best = []
        for geometry, cost, right in zip(self._geometry, costs.T, log_right.T, strict=True):
            wall, side = geometry.wall_of_point, geometry.right_side
            on_wall = wall >= 0
            by_side = [
                np.bincount(wall[chosen], cost[chosen], minlength=len(geometry.normals))
                for chosen in (on_wall & (side < 0), on_wall & (side > 0))
            ]
            lost = cost[~on_wall].sum() + np.minimum(*by_side).sum()
            if np.isinf(lost):
                raise ValueError(
                    "A point with a zero feature vector is wrong everywhere, and a flip rate of "
                    "zero allows no error: the posterior is empty. Use noise > 0 or a bias."
                )
            best.append(float(right.sum() - lost))
        return best


def _columns(values):
    """Values by point as a column; what is by point and direction stays, and so do scalars."""
    values = np.asarray(values)
    return values[:, None] if values.ndim == 1 else values


def _equal(values, others):
    return all(np.array_equal(a, b) for a, b in zip(values, others, strict=True))


def _refuse_other_terms(model, w, terms):
    """A step that only sees the walls would be wrong if w had another say in the posterior."""
    others = [rv for rv in model.basic_RVs if rv is not w and rv not in terms]
    inputs = [i for rv in others for i in rv.owner.inputs]
    for name, parents in [("another variable", inputs), ("a potential", model.potentials)]:
        if w in ancestors(parents):
            raise TypeError(
                f"{w.name} also enters the density of {name} of the model, which this step would "
                "not see. Use a general step such as pm.Metropolis for it."
            )


def _linear_map(f, w):
    """Matrix A of outputs f = A w or F = A W', as a graph."""
    A = _matrix_of_product(f, w)
    if A is not None and w not in ancestors([A]):
        return A
    if w.ndim > 1:
        raise TypeError(
            f"The outputs must be a plain product A @ {w.name}.T where {w.name} holds several "
            "directions as rows."
        )
    dimension = int(np.prod(w.shape.eval()))
    points = np.concatenate([np.zeros((1, dimension)), np.ones((1, dimension)), np.eye(dimension)])
    outputs = vectorize_graph(f, {w: pt.as_tensor(points)})
    zero, ones, columns = outputs[0], outputs[1], outputs[2:]
    # Beside the outputs of each point, which may be small ones.
    size = pt.maximum(pt.abs(columns).max(axis=0), np.finfo(float).tiny)
    is_linear = pt.all(pt.isclose(zero / size, 0.0)) & pt.all(
        pt.isclose(ones / size, columns.sum(axis=0) / size)
    )
    message = f"The outputs are not linear in {w.name}: there are no flat walls to bounce off."
    return CheckAndRaise(TypeError, message)(columns.T, is_linear)


def _matrix_of_product(f, w):
    """The matrix A where the graph of f is plainly A @ w (or A @ w.T for rows), else None."""
    if w.ndim == 2:
        if f.owner is None or not isinstance(f.owner.op, Dot):
            return None
        A, operand = f.owner.inputs
        is_transposed = (
            operand.owner is not None
            and isinstance(operand.owner.op, DimShuffle)
            and operand.owner.op.new_order == (1, 0)
            and operand.owner.inputs[0] is w
        )
        return A if is_transposed else None

    def unpadded(variable):
        # PyTensor writes a product with a vector as one with a column, squeezed afterwards.
        while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
            variable = variable.owner.inputs[0]
        return variable

    product = unpadded(f)
    if product.owner is None or not isinstance(product.owner.op, Dot):
        return None
    A, operand = product.owner.inputs
    return A if A.ndim == 2 and unpadded(operand) is w else None
