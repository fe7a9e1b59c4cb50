"""Evidence without draws: by a Gaussian around the mode, by expectation propagation, by a grid.

Laplace's approximation and expectation propagation say nothing about their own error, so their
results have none and cannot be compared; quadrature is accurate to many digits where a posterior
has one mode, and wrong without a sign where it has another one far away.
"""

import math

from bayeskernels.approximations.laplace import laplace
from bayeskernels.approximations.quadrature import MAX_DIMENSION, quadrature
from bayeskernels.distributions import UniformSphereRV
from bayeskernels.evidence.estimators.method import EvidenceMethod
from bayeskernels.evidence.model_checks import continuous_refusal
from bayeskernels.evidence.result import Evidence
from bayeskernels.samplers import ExpectationPropagation
from bayeskernels.samplers.directions.label_noise_target import LabelNoiseTarget

__all__ = ["EPEvidence", "LaplaceEvidence", "QuadratureEvidence"]


class LaplaceEvidence(EvidenceMethod):
    """Laplace's approximation, see :func:`bayeskernels.laplace`."""

    name = "laplace"
    is_automatic = False

    def refusal(self, model, idata):
        """Why there is no mode to look for."""
        if any(isinstance(rv.owner.op, UniformSphereRV) for rv in model.free_RVs):
            return (
                "The likelihood of a classifier with label noise has steps and no curvature. Use "
                "'tempering', 'orthant' or 'ep'."
            )
        return continuous_refusal(model)

    def run(self, model, idata=None, *, random_seed=None, progressbar=False, **options):
        """Approximate; options are those of :func:`bayeskernels.laplace`."""
        found = laplace(model, **options)
        return Evidence(
            found.log_evidence,
            math.nan,
            self.name,
            diagnostics={"dimension": len(found.mean), "newton_decrement": found.decrement},
        )


class EPEvidence(EvidenceMethod):
    """Expectation propagation, see :class:`bayeskernels.samplers.ExpectationPropagation`."""

    name = "ep"
    is_automatic = False

    def refusal(self, model, idata):
        """Why the posterior has no walls, or more unknowns than a direction."""
        try:
            ExpectationPropagation(model)
            [w] = model.free_RVs
            LabelNoiseTarget(model.rvs_to_values[w], model)
        except TypeError as error:
            advice = (
                "" if model.discrete_value_vars else " Smooth models have 'laplace' and 'bridge'."
            )
            return f"{error}{advice}"
        return None

    def run(self, model, idata=None, *, random_seed=None, progressbar=False, **options):
        """Approximate; options are those of the class."""
        found = ExpectationPropagation(model, **options).fit()
        diagnostics = {"sweeps": found.n_sweeps, "converged": found.converged}
        if not found.converged:
            diagnostics["warning"] = (
                f"Expectation propagation did not settle in {found.n_sweeps} sweeps. Use "
                "'tempering', or a smaller damping."
            )
        return Evidence(
            found.log_evidence,
            math.nan,
            self.name,
            n_evaluations=found.n_sweeps,
            diagnostics=diagnostics,
        )


class QuadratureEvidence(EvidenceMethod):
    """A grid over up to three unknowns, see :func:`bayeskernels.approximations.quadrature`."""

    name = "quadrature"
    is_automatic = False

    def refusal(self, model, idata):
        """Why there is no grid."""
        reason = continuous_refusal(model)
        if reason is not None:
            return reason
        point = model.initial_point()
        dimension = sum(point[v.name].size for v in model.value_vars)
        if dimension > MAX_DIMENSION:
            return (
                f"A grid is for at most {MAX_DIMENSION} unknowns, the model has {dimension}. Use "
                "'bridge'."
            )
        return None

    def run(self, model, idata=None, *, random_seed=None, progressbar=False, **options):
        """Integrate; options are those of :func:`bayeskernels.approximations.quadrature`."""
        found = quadrature(model, **options)
        return Evidence(
            found.log_evidence,
            found.error,
            self.name,
            n_evaluations=len(found.points),
            diagnostics={"grid_points": len(found.points)},
        )
