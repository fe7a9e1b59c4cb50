"""What power tempering needs of a PyMC model, and draws of its chains as a DataTree."""

import numpy as np
import xarray as xr
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import GammaRV

from bayeskernels.distributions import ProbitLabelRV
from bayeskernels.kernels.columns import MAX_GRAM_BYTES
from bayeskernels.samplers.block_step import GraphReader
from bayeskernels.samplers.tempering.powered_chain import PoweredTarget
from bayeskernels.specification.base import specification_of

__all__ = ["draws_to_posterior", "read_target"]

_ROLES = ("gamma", "beta", "u", "g", "eta")


def read_target(model) -> PoweredTarget:
    """Target of a sparse generalized kernel model with the probit link.

    Its precisions are fixed, or have Gamma priors with fixed parameters.
    """
    specification = specification_of(model)
    if specification.indicators is None:
        raise specification.refusal("PowerTempering", "generalized kernel models")
    if specification.is_grouped:
        raise specification.refusal(
            "PowerTempering", "two classes and one kernel", "Use pm.sample for several of them."
        )
    if not specification.is_sparse:
        raise TypeError(
            "PowerTempering moves active sets; in this model all points are active. Build it with "
            "sparse=True, or use pm.sample."
        )
    labels = model.observed_RVs
    if len(labels) != 1 or not isinstance(labels[0].owner.op, ProbitLabelRV):
        raise TypeError("PowerTempering is for the probit link. Use pm.sample for other links.")
    prefix = specification.prefix
    known = {f"{prefix}{role}" for role in _ROLES}
    unknown = [rv.name for rv in model.free_RVs if rv.name not in known]
    if unknown or specification.kernel.is_random:
        raise TypeError(
            "PowerTempering moves active set, coefficients, offset and their precisions only; this "
            f"model also has {unknown or 'a random kernel'}. Use pm.sample."
        )
    specification.require_training_inputs("PowerTempering")
    X, kernel = specification.training, specification.kernel
    kernel_options = {}
    if 8 * len(X) ** 2 <= MAX_GRAM_BYTES or kernel.is_precomputed:
        kernel_options["gram"] = kernel.gram(X)
    else:
        kernel_options["diagonal"] = kernel.diagonal(X)
        kernel_options["columns"] = lambda points: np.ascontiguousarray(kernel(X[points], X))
    return PoweredTarget(
        specification.codes == 1,
        specification.max_active,
        g_prior=_precision(model, f"{prefix}g"),
        eta_prior=_precision(model, f"{prefix}eta"),
        set_prior=specification.inclusion,
        **kernel_options,
    )


def _precision(model, name):
    """Shape and rate of a Gamma prior, or the fixed value."""
    variable = model[name]
    if variable not in model.free_RVs:
        if any(rv in model.free_RVs for rv in ancestors([variable])):
            raise TypeError(f"{name} depends on other unknowns. Use pm.sample.")
        return float(GraphReader(model).now(variable))
    if not isinstance(variable.owner.op, GammaRV):
        raise TypeError(
            f"PowerTempering needs a Gamma prior of {name}, or a number; it has "
            f"{variable.owner.op.name}. Use pm.Gamma.dist(shape, rate), or pm.sample."
        )
    parameters = variable.owner.inputs[2:4]
    if any(rv in model.free_RVs for rv in ancestors(parameters)):
        raise TypeError(f"The prior of {name} depends on other unknowns. Use pm.sample.")
    shape, scale = (float(GraphReader(model).now(p)) for p in parameters)
    return shape, 1.0 / scale


def draws_to_posterior(model, draws) -> xr.Dataset:
    """Posterior as ``pm.sample`` gives it, of a list of states for each chain."""
    specification = specification_of(model)
    n = len(specification.training)
    shape = len(draws), len(draws[0])
    values = {
        role: np.array([[getattr(where, role) for where in path] for path in draws])
        for role in ("u", "g", "eta")
    }
    values["gamma"] = np.zeros((*shape, n), dtype=np.int64)
    values["beta"] = np.zeros((*shape, n))
    for chain, path in enumerate(draws):
        for draw, where in enumerate(path):
            values["gamma"][chain, draw, where.points] = 1
            values["beta"][chain, draw, where.points] = where.beta
    free = {rv.name for rv in model.free_RVs}
    coords = {"chain": np.arange(shape[0]), "draw": np.arange(shape[1])}
    variables = {}
    for role, array in values.items():
        name = f"{specification.prefix}{role}"
        if name not in free:
            continue
        own = model.named_vars_to_dims.get(name) or ()
        variables[name] = (("chain", "draw", *own), array)
        for dim in own:
            labels = model.coords.get(dim)
            coords[dim] = np.arange(n) if labels is None else np.asarray(labels)
    return xr.Dataset(variables, coords=coords)
