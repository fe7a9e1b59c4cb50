"""Exact evidence: of models without unknowns, and of those that are jointly Gaussian.

A density whose logarithm is quadratic has its integral in closed form: Laplace's formula is exact
for it. That covers the mean of a Gaussian, linear regression with fixed precisions, and any model
of Normal and MvNormal variables in which means are linear and variances fixed. Whether a model is
one of these is not read from its graph but tried: a quadratic function has the same second
derivative everywhere.
"""

import math

import numpy as np
from pytensor.tensor.random.basic import MvNormalRV, NormalRV

from bayeskernels.evidence.data_digest import specification_or_none
from bayeskernels.evidence.result import Evidence
from bayeskernels.kernels import numpy_function
from bayeskernels.laplace_approximation import laplace
from bayeskernels.unconstrained import UnconstrainedDensity

__all__ = ["Exact"]

#: Points at which second derivatives are compared, and how much they may differ by rounding.
TRIALS, TOLERANCE = 3, 1e-9

_GAUSSIAN = (NormalRV, MvNormalRV)


class Exact:
    """Closed form, where there is one."""

    name = "exact"
    is_automatic = True
    gives_way = False
    uses_draws = False

    def refusal(self, model, idata):
        """Why a model has no closed form."""
        if _is_bound(model):
            return (
                "The evidence of a VFE approximation is a lower bound, by an unknown amount. "
                "bk.gp.log_evidence(model) gives the bound."
            )
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
        if not is_quadratic(UnconstrainedDensity(model, what="exact")):
            return (
                "All variables are normally distributed, but not jointly: some mean is not linear, "
                "or some variance not fixed. Use 'bridge'."
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


def is_quadratic(density):
    """Whether a log density is a quadratic function, as far as a few random points can tell.

    Parameters
    ----------
    density : UnconstrainedDensity

    Returns
    -------
    bool
    """
    rng = np.random.default_rng(20010)
    start = density.join({})
    _, _, first = density.derivatives(start)
    scale = np.abs(first).max()
    for width in np.geomspace(0.5, 5.0, TRIALS):
        _, _, other = density.derivatives(start + width * rng.standard_normal(len(start)))
        # The comparison is false for NaN too.
        if not np.abs(other - first).max() <= TOLERANCE * scale:
            return False
    return True


def _is_bound(model):
    return getattr(specification_or_none(model), "approximation", None) == "VFE"
