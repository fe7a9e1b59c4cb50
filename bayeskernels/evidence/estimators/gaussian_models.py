"""Exact evidence: of models without unknowns, and of those that are jointly Gaussian.

A density whose logarithm is quadratic has its integral in closed form: Laplace's formula is exact
for it. That covers the mean of a Gaussian, linear regression with fixed precisions, and any model
of Normal and MvNormal variables in which means are affine functions of the unknowns and variances
fixed, which its graph tells.
"""

import math

from pytensor.tensor.random.basic import MvNormalRV, NormalRV

from bayeskernels.approximations.laplace import laplace
from bayeskernels.evidence.estimators.affine_graphs import NotAffine, depends_affinely
from bayeskernels.evidence.estimators.method import EvidenceMethod
from bayeskernels.evidence.result import Evidence
from bayeskernels.kernels.argument import numpy_function

__all__ = ["Exact"]

_GAUSSIAN = (NormalRV, MvNormalRV)


class Exact(EvidenceMethod):
    """Closed form, where there is one."""

    name = "exact"

    def refusal(self, model, idata):
        """Why a model has no closed form."""
        if not model.free_RVs:
            return None
        others = [
            rv.name
            for rv in model.basic_RVs
            if not isinstance(rv.owner.op, _GAUSSIAN) or model.rvs_to_transforms.get(rv) is not None
        ]
        if others or model.potentials:
            others += [p.name for p in model.potentials]
            advice = "." if model.discrete_value_vars else ", or use 'bridge'."
            return (
                f"A closed form is known for Gaussian models only; {', '.join(others)} "
                f"{'is' if len(others) == 1 else 'are'} not normally distributed. Fix "
                f"hyperparameters{advice}"
            )
        reason = _not_jointly_gaussian(model)
        if reason is not None:
            return (
                "All variables are normally distributed, but not jointly: some mean is not linear, "
                f"or some variance not fixed. {reason} Use 'bridge'."
            )
        return None

    def run(self, model, idata, *, random_seed=None, progressbar=False):
        """Log evidence to rounding error."""
        if not model.free_RVs:
            value = float(numpy_function([], model.logp())())
        else:
            value = laplace(model).log_evidence
        if math.isnan(value):
            raise ValueError("The log density of the data is not a number: are there NaNs in them?")
        return Evidence(value, 0.0, self.name, n_evaluations=1)


def _not_jointly_gaussian(model):
    """Which mean or variance keeps normal variables from being jointly Gaussian; or None."""
    for rv in model.basic_RVs:
        mean, *scales = rv.owner.op.dist_params(rv.owner)
        # A variable's own inputs can hold free variables only where these come before it.
        graph = {"variables": model.free_RVs, "fixed": model.observed_RVs}
        try:
            depends_affinely(mean, **graph)
        except NotAffine as error:
            return f"The mean of {rv.name} goes through {error}, not an affine operation."
        try:
            is_fixed = not depends_affinely(scales, **graph)
        except NotAffine:
            is_fixed = False
        if not is_fixed:
            return f"The variance of {rv.name} depends on unknowns."
    return None
