"""The one reader of posterior draws: what comes in, in which form, and whether it is the model's.

Tools that take ``idata`` pass it through :func:`read_draws` first, and take variables out of the
result by :func:`posterior_draws`.
"""

import numpy as np
import pandas as pd
import xarray as xr
from pytensor.graph.traversal import ancestors

from bayeskernels.specification.bound import mark_of, specification_or_none

__all__ = ["posterior_draws", "read_draws", "read_posterior"]

#: Dims of fixed hyperparameters. An array with others may hold points, new ones at prediction.
HYPERPARAMETER_DIMS = frozenset({"class", "kernel", "unit", "feature", "pair"})


def read_draws(model, idata):
    """Posterior draws in the form that all tools take, if they can be the model's.

    Parameters
    ----------
    model : pm.Model or PermutationPerceptron
    idata : DataTree, xarray.Dataset, xarray.DataArray or None
        What ``pm.sample`` returned, its posterior alone, one chain or draw of it, or samples that
        were stacked by ``az.extract``, which makes an array of a single variable. Also an object
        with ``to_datatree``.

    Returns
    -------
    DataTree or None
        With the dims chain and draw in the group ``posterior``; None stays None.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If there is not one draw, or the draws are those of another model, as far as variables, data
        and the mark that models of the zoo leave in the group ``constant_data`` can tell.
    """
    if idata is None:
        return None
    tree = read_posterior(idata)
    specification = specification_or_none(model)
    if specification is not None and "constant_data" in tree.children:
        _refuse_other_mark(model, specification, tree["constant_data"])
        _refuse_other_inputs(specification, tree["constant_data"])
        _refuse_other_constants(model, specification, tree["constant_data"])
    if specification is not None and "observed_data" in tree.children:
        _refuse_other_observations(specification, tree["observed_data"])
    fixed = set(tree["constant_data"].data_vars) if "constant_data" in tree.children else set()
    _refuse_other_variables(model, tree["posterior"], fixed)
    return tree


def read_posterior(idata):
    """Posterior draws of any model as a DataTree, with the dims chain and draw."""
    if hasattr(idata, "bayes_point"):
        raise TypeError(
            "This is a Gaussian approximation without draws: give bayes_point the result itself, "
            "and the other tools draws of it, result.sample()."
        )
    if not isinstance(idata, xr.DataTree | xr.Dataset) and hasattr(idata, "to_datatree"):
        idata = idata.to_datatree()
    if isinstance(idata, xr.DataArray) and idata.name is not None:
        idata = idata.to_dataset()
    if isinstance(idata, xr.DataTree):
        if "posterior" not in idata.children and idata.data_vars:
            idata = idata.to_dataset()
    elif not isinstance(idata, xr.Dataset):
        # An approximation that can be drawn from was handed over itself.
        is_data = isinstance(idata, xr.DataArray | pd.DataFrame | pd.Series)
        can_be_drawn = hasattr(idata, "sample") and not is_data
        remedy = "draws of it, .sample(1000)" if can_be_drawn else "that of pm.sample"
        raise TypeError(
            "idata must be a DataTree with posterior draws, got an object of the type "
            f"{type(idata).__name__}: give {remedy}."
        )
    is_tree = isinstance(idata, xr.DataTree)
    if is_tree and "posterior" not in idata.children:
        found = ", ".join(idata.children) or "no group at all"
        raise ValueError(
            f"idata has no group 'posterior', it has {found}: give the result of pm.sample."
        )
    posterior = idata["posterior"].to_dataset() if is_tree else idata
    if not is_tree or not {"chain", "draw"} <= set(posterior.dims):
        groups = {"posterior": _with_sample_dims(posterior)}
        if is_tree:
            # Statistics of draws that were selected or stacked are not needed, data are.
            kept = ("observed_data", "constant_data")
            groups |= {name: idata[name].to_dataset() for name in kept if name in idata.children}
        idata = xr.DataTree.from_dict(groups)
    sizes = idata["posterior"].sizes
    if not sizes["chain"] or not sizes["draw"]:
        raise ValueError(
            f"idata has {sizes['chain']} chains of {sizes['draw']} draws: at least one draw is "
            "needed."
        )
    return idata


def _with_sample_dims(posterior):
    """A posterior with the dims chain and draw, from which one was selected or which is stacked."""
    if "sample" in posterior.dims:
        index = [name for name in ("sample", "chain", "draw") if name in posterior.coords]
        posterior = posterior.drop_vars(index).rename(sample="draw")
    for dim in ("draw", "chain"):
        if dim not in posterior.dims:
            posterior = posterior.drop_vars(dim, errors="ignore").expand_dims(dim)
    return posterior


def posterior_draws(idata, name):
    """Draws of a variable, shape (n_chains, n_draws, ...); all of them are finite numbers."""
    if idata is None:
        raise ValueError(
            "This model has random variables: idata, the result of pm.sample, is needed."
        )
    posterior = read_posterior(idata)["posterior"]
    if name not in posterior.data_vars:
        raise ValueError(
            f"idata has no posterior draws of {name!r}: was it made by pm.sample on this model?"
        )
    values = posterior[name].transpose("chain", "draw", ...).values
    if values.dtype.kind not in "biuf":
        raise ValueError(f"Draws of {name!r} are no numbers but of the type {values.dtype}.")
    is_finite = np.isfinite(values)
    if not is_finite.all():
        bad = np.count_nonzero(~is_finite.reshape(*values.shape[:2], -1).all(axis=2))
        raise ValueError(
            f"Draws of {name!r} are not finite in {bad} of {values.shape[0] * values.shape[1]} "
            "draws: drop these draws, or sample again."
        )
    return values


def _refuse_other_mark(model, specification, stored):
    """The mark tells kinds, links and kernels apart that have the same variables."""
    own = mark_of(model)
    if own is None or own.name not in stored:
        return
    kind, features, *options = stored[own.name].values
    own_kind, own_features, own_options = own.get_value()
    if kind != own_kind:
        raise _foreign(f"they were drawn from another kind of model than a {specification.kind}")
    # Not to the last digit: the same factor comes out a little different on another machine.
    if not np.isclose(features, own_features, rtol=1e-5, atol=1e-8):
        raise _foreign("they were drawn with another kernel")
    if options and options[0] != own_options:
        raise _foreign(f"they were drawn from a {specification.kind} with other options")


def _refuse_other_constants(model, specification, stored):
    """Hyperparameters that are fixed; inputs and observations, which may be set, are elsewhere."""
    terms = {f"{specification.prefix}{specification.observed_name}"}
    terms = [v for v in getattr(model, "observed_RVs", ()) if v.name in terms]
    terms += [*getattr(model, "free_RVs", ()), *getattr(model, "potentials", ())]
    depended_on = set(ancestors(terms))
    for variable in getattr(model, "data_vars", ()):
        name = variable.name
        dims = model.named_vars_to_dims.get(name) or ()
        is_hyperparameter = variable.ndim == len(dims) and HYPERPARAMETER_DIMS.issuperset(dims)
        if not is_hyperparameter or name not in stored or variable not in depended_on:
            continue
        now, then = variable.get_value(), stored[name].values
        # Not to the last digit either.
        if now.shape != then.shape or not np.allclose(now, then, rtol=1e-5, atol=1e-8):
            raise _foreign(f"{name} was {_shown(then)} when they were drawn, and is {_shown(now)}")


def _shown(values):
    return f"{float(values):.6g}" if values.ndim == 0 else "other numbers"


def _refuse_other_inputs(specification, stored):
    name = f"{specification.prefix}X"
    if specification.training is None or name not in stored:
        return
    known = [specification.X]
    if not specification.conditions_on_data:
        # New points may have been set since, for posterior predictive draws.
        known.append(specification.training)
    if not any(np.array_equal(stored[name].values, X) for X in known):
        raise _foreign(f"the inputs {name} were others when they were drawn")


def _refuse_other_observations(specification, stored):
    name = f"{specification.prefix}{specification.observed_name}"
    is_elsewhere = not specification.conditions_on_data and not specification.is_at_training
    if name not in stored or is_elsewhere:
        return
    if not np.array_equal(stored[name].values, specification.observed):
        raise _foreign(f"the observations {name} were others when they were drawn")


def _refuse_other_variables(model, posterior, fixed):
    """Variables that are data in one model and drawn in the other, or have other dims."""
    known = getattr(model, "named_vars", {})
    for name in sorted(fixed & {v.name for v in getattr(model, "free_RVs", ())}):
        raise _foreign(f"{name} was fixed in theirs, and is drawn in this model")
    data = {v.name for v in getattr(model, "data_vars", ())}
    for name, values in posterior.data_vars.items():
        if name in data:
            raise _foreign(f"{name} is fixed in this model, and was drawn in theirs")
        if name in known and values.ndim - 2 != known[name].ndim:
            dims = [dim for dim in values.dims if dim not in ("chain", "draw")]
            raise _foreign(
                f"draws of {name} have the dims {dims}, the model's variable has "
                f"{known[name].ndim} of them"
            )


def _foreign(why):
    return ValueError(f"idata does not belong to this model: {why}.")
