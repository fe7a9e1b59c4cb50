"""Posterior draws as vectors of PyMC's unconstrained space.

``pm.sample`` returns variables as the model has them; densities that integrate to the evidence are
those of the transformed ones. A transform may depend on other variables (an interval with a random
end), so all draws go through one graph of all variables.
"""

import numpy as np
from pytensor.graph.replace import clone_replace, vectorize_graph
from pytensor.tensor.type import TensorType

from bayeskernels.distributions.uniform_sphere import UnitVector
from bayeskernels.kernels.argument import numpy_function

__all__ = ["unconstrained_draws"]

#: Relative error that coming back from unconstrained space may have.
ROUND_TRIP = 1e-5

#: How many draws are brought back to see whether they are the same.
CHECKED = 20


def unconstrained_draws(density, idata, rng):
    """Draws of a model in the coordinates of its unconstrained density.

    Parameters
    ----------
    density : UnconstrainedDensity
    idata : DataTree
        With the group ``posterior``.
    rng : numpy.random.Generator
        For the free lengths of directions: the draws do not have them.

    Returns
    -------
    array of shape (n_chains, n_draws, d)

    Examples
    --------
    >>> with pm.Model() as model:
    ...     scale = pm.HalfNormal("scale")
    >>> draws = xr.Dataset({"scale": (("chain", "draw"), np.exp([[1.0, 2.0]]))})
    >>> density = bk.graphs.unconstrained.UnconstrainedDensity(model, what="example")
    >>> idata = xr.DataTree.from_dict({"posterior": draws})
    >>> unconstrained_draws(density, idata, np.random.default_rng(1))[..., 0].round(6).tolist()
    [[1.0, 2.0]]
    """
    model, posterior = density.model, idata["posterior"].to_dataset()
    drawn = {
        rv: np.asarray(posterior[rv.name].transpose("chain", "draw", ...).values, dtype=np.float64)
        for rv in model.free_RVs
    }
    n_chains, n_draws = next(iter(drawn.values())).shape[:2]
    flat = {rv: values.reshape(-1, *values.shape[2:]) for rv, values in drawn.items()}
    for rv, values in flat.items():
        if not np.isfinite(values).all():
            raise ValueError(f"Draws of {rv.name} are not all finite numbers.")
    columns = []
    for value, transformed in zip(model.value_vars, _transform(model, flat), strict=True):
        rv = model.values_to_rvs[value]
        if isinstance(model.rvs_to_transforms[rv], UnitVector):
            # The length of z is independent of its direction, and chi distributed.
            lengths = np.sqrt(rng.chisquare(transformed.shape[-1], transformed.shape[:-1]))
            transformed = transformed * lengths[..., None]
        transformed = density.logits(value.name, transformed)
        columns.append(transformed.reshape(len(transformed), -1))
    points = np.concatenate(columns, axis=1)
    if points.shape[1] != density.dimension:
        raise ValueError(
            f"The draws have {points.shape[1]} unconstrained numbers, the model has "
            f"{density.dimension}: was idata made from this model?"
        )
    if not np.isfinite(points).all():
        raise ValueError(
            "Some draws lie on the bound of a variable, where its transform is infinite: they "
            "cannot be draws of a density. Were they rounded?"
        )
    _check_round_trip(density, points, flat)
    return points.reshape(n_chains, n_draws, -1)


def _transform(model, drawn):
    """Each variable's draws after its transform, in the order of the value variables."""
    known = {rv: rv.type(name=rv.name) for rv in drawn}
    batched = {
        known[rv]: TensorType(rv.dtype, (None,) * (rv.ndim + 1), name=rv.name)() for rv in drawn
    }
    outputs = []
    for value in model.value_vars:
        rv = model.values_to_rvs[value]
        transform = model.rvs_to_transforms[rv]
        if transform is None:
            outputs.append(known[rv])
        else:
            inputs = clone_replace(rv.owner.inputs, known)
            outputs.append(transform.forward(known[rv], *inputs))
    outputs = vectorize_graph(outputs, batched)
    function = numpy_function(list(batched.values()), list(outputs))
    return function(*drawn.values())


def _check_round_trip(density, points, flat):
    """The draws must come back: else a transform does not keep all of a variable."""
    chosen = np.unique(np.linspace(0, len(points) - 1, CHECKED).astype(int))
    back = density.constrain(points[chosen])
    for rv, values in flat.items():
        given = values[chosen]
        scale = max(np.abs(given).max(), 1e-300)
        error = np.abs(back[rv.name] - given).max() / scale
        if not error < ROUND_TRIP:
            raise ValueError(
                f"Draws of {rv.name} do not come back from unconstrained space (relative error "
                f"{error:.2g}): they are not values that this variable can have."
            )
