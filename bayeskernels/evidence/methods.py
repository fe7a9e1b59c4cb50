"""The list of all methods of estimating the evidence.

The order of the list is the order in which ``method="auto"`` asks them: those that know a model's
structure come first, general ones last.
"""

from bayeskernels.evidence.estimators.approximations import (
    EPEvidence,
    LaplaceEvidence,
    QuadratureEvidence,
)
from bayeskernels.evidence.estimators.bridge import BridgeSampling
from bayeskernels.evidence.estimators.gaussian_models import Exact
from bayeskernels.evidence.estimators.method import EvidenceMethod
from bayeskernels.evidence.estimators.noise_tempering import Tempering
from bayeskernels.evidence.estimators.power_evidence import PowerEvidence
from bayeskernels.evidence.estimators.smc import SequentialMonteCarlo
from bayeskernels.evidence.estimators.version_space import Orthant
from bayeskernels.specification.base import specification_or_none

__all__ = ["METHODS", "EvidenceMethod", "method_named", "refusal_of"]


METHODS: tuple[EvidenceMethod, ...] = (
    Exact(),
    Orthant(),
    Tempering(),
    PowerEvidence(),
    BridgeSampling(),
    SequentialMonteCarlo(),
    QuadratureEvidence(),
    LaplaceEvidence(),
    EPEvidence(),
)


def refusal_of(method, model, idata):
    """Why a method does not fit a model, by its specification or by the method itself; or None."""
    specification = specification_or_none(model)
    known = None if specification is None else specification.evidence_refusal(method.name)
    return known or method.refusal(model, idata)


def method_named(name):
    """The method of that name."""
    for method in METHODS:
        if method.name == name:
            return method
    known = ", ".join(repr(method.name) for method in METHODS)
    raise ValueError(f"method must be 'auto' or one of {known}; got {name!r}.")
