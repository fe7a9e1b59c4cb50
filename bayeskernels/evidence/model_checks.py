"""Refusals that hold for all methods: models without evidence, draws that are not the model's."""

import numpy as np

from bayeskernels.distributions import HingeLabelRV
from bayeskernels.evidence.data_digest import observed_values
from bayeskernels.graphs.prior_mass import is_known_density
from bayeskernels.specification.base import mark_of, specification_or_none
from bayeskernels.specification.draws import posterior_draws

__all__ = [
    "continuous_refusal",
    "likelihood_warning",
    "refuse_foreign_draws",
    "refuse_no_data",
    "refuse_unnormalised_likelihood",
    "refuse_unpaired_data",
]


def continuous_refusal(model):
    """Why a model is not one of continuous unknowns, for the methods that need such; or None."""
    discrete = [v.name for v in model.discrete_value_vars]
    if discrete:
        return (
            f"It is for continuous variables, and {', '.join(discrete)} "
            f"{'is' if len(discrete) == 1 else 'are'} discrete. Sum over what is discrete in the "
            "model. Sparse generalized kernel models have 'power-tempering' if they are of two "
            "classes with the probit link and a fixed kernel; the others have no method yet."
        )
    if not model.free_RVs:
        return "The model has no unknowns. Use 'exact'."
    return None


def likelihood_warning(model):
    """What speaks against the evidence of a model whose likelihood nobody can check, or nothing."""
    sentences = []
    custom = [rv.name for rv in model.observed_RVs if not is_known_density(rv.owner.op)]
    if custom:
        sentences.append(
            f"Nobody knows whether the density of the data {', '.join(custom)} integrates to one: "
            "if it does not, the evidence is no probability of the data. If it does, say so with "
            "bk.evidence.declare_normalised."
        )
    if model.observed_RVs and model.potentials:
        names = ", ".join(potential.name for potential in model.potentials)
        sentences.append(
            f"Potentials ({names}) count as part of the likelihood: if one of them shapes a prior, "
            "that prior does not integrate to one, and the evidence is off by its integral."
        )
    return " ".join(sentences)


def refuse_unpaired_data(model):
    """Refuse a model of this package whose inputs were set to another number than its labels."""
    specification = specification_or_none(model)
    if specification is not None:
        specification.require_paired_data()


def refuse_unnormalised_likelihood(model):
    """The hinge likelihood of the BSVM does not add up to one over the labels."""
    names = [rv.name for rv in model.observed_RVs if isinstance(rv.owner.op, HingeLabelRV)]
    if names:
        raise ValueError(
            f"The likelihood of {', '.join(names)} does not add up to one over its values (the "
            "hinge loss of bk.models.bayesian_svm), so that its evidence is no probability of the "
            "data. Build the model with complete=True."
        )


def refuse_no_data(model):
    """Without data the evidence is one, and somebody has forgotten something."""
    if not model.observed_RVs and not model.potentials:
        raise ValueError(
            "The model has neither observed variables nor potentials: there are no data whose "
            "evidence could be estimated."
        )


def refuse_foreign_draws(model, idata):
    """Draws must have the model's variables in their shapes, its observations and its data."""
    if idata is None:
        return
    posterior = idata["posterior"]
    missing = [rv.name for rv in model.free_RVs if rv.name not in posterior.data_vars]
    if missing:
        raise ValueError(
            f"idata does not belong to this model: it has no draws of {', '.join(missing)}. It "
            f"has those of {', '.join(map(str, posterior.data_vars))}."
        )
    shapes = model.eval_rv_shapes()
    for rv in model.free_RVs:
        drawn = posterior_draws(idata, rv.name).shape[2:]
        expected = tuple(int(n) for n in shapes[rv.name])
        if drawn != expected:
            raise ValueError(
                f"idata does not belong to this model: draws of {rv.name} have the shape {drawn}, "
                f"the model's variable {expected}."
            )
    if "observed_data" in getattr(idata, "children", {}):
        _refuse_other_observations(model, idata["observed_data"])
    if "constant_data" in getattr(idata, "children", {}):
        _refuse_other_inputs(model, idata["constant_data"])


def _refuse_other_observations(model, stored):
    for name, value in observed_values(model).items():
        if name not in stored:
            raise ValueError(
                f"idata does not belong to this model: its observed data have no {name}."
            )
        if not np.array_equal(np.asarray(stored[name].values), value, equal_nan=True):
            raise ValueError(
                f"idata does not belong to this model: the observations {name} for which it was "
                "drawn are not those of the model as it is now."
            )


def _refuse_other_inputs(model, stored):
    for variable in model.data_vars:
        if variable.name not in stored or variable is mark_of(model):
            continue
        now = np.asarray(variable.get_value(borrow=True))
        then = np.asarray(stored[variable.name].values)
        is_number = now.dtype.kind in "fc" and then.dtype.kind in "fc"
        if now.shape != then.shape or not np.array_equal(now, then, equal_nan=is_number):
            raise ValueError(
                f"idata does not belong to this model: its data {variable.name} were others when "
                "it was drawn. Draw again, or set them back with pm.set_data."
            )
