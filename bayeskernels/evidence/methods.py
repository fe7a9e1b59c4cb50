"""What a method of estimating the evidence has to offer, and the list of all methods.

A method is an object with a name, a way to say why a model is not for it, and a way to run. The
order of the list is the order in which ``method="auto"`` asks them: those that know a model's
structure come first, general ones last.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from bayeskernels.evidence.estimators.approximations import (
    EPEvidence,
    LaplaceEvidence,
    QuadratureEvidence,
)
from bayeskernels.evidence.estimators.bridge import BridgeSampling
from bayeskernels.evidence.estimators.gaussian_models import Exact
from bayeskernels.evidence.estimators.noise_tempering import Tempering
from bayeskernels.evidence.estimators.power_evidence import PowerEvidence
from bayeskernels.evidence.estimators.smc import SequentialMonteCarlo
from bayeskernels.evidence.estimators.version_space import Orthant
from bayeskernels.evidence.result import Evidence
from bayeskernels.specification.base import specification_or_none

__all__ = ["METHODS", "EvidenceMethod", "method_named", "refusal_of"]


@runtime_checkable
class EvidenceMethod(Protocol):
    """A way to estimate the evidence.

    Attributes
    ----------
    name : str
        As :func:`bayeskernels.evidence.estimate` takes it.
    is_automatic : bool
        Whether ``method="auto"`` may choose it: false for approximations without an error.
    gives_way : bool
        Whether ``method="auto"`` goes on to the next method that fits where this one warns.
    uses_draws : bool
        Whether the estimate is made from the draws in ``idata``, where they are given.
        Repetitions then share them, and their average is no more certain than each.
    """

    name: str
    is_automatic: bool
    gives_way: bool
    uses_draws: bool

    def refusal(self, model, idata) -> str | None:
        """Why the method does not fit and what to use instead, as sentences; None if it fits.

        It should be cheap: nothing is sampled, and a graph is compiled only where the answer
        depends on it.
        """

    def run(self, model, idata, *, random_seed, progressbar, **options) -> Evidence:
        """Estimate. `random_seed` is a ``numpy.random.Generator``.

        ``data_digest`` may stay empty: :func:`bayeskernels.evidence.estimate` fills it in.
        """


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
