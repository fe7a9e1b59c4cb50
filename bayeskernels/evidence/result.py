"""What every estimator of the evidence returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["Evidence"]


@dataclass(frozen=True)
class Evidence:
    """Log evidence of a model for its data, with the error of that number.

    Parameters
    ----------
    log_evidence : float
        log p(data | model), in nats.
    mcse : float
        Standard error of `log_evidence`; 0 where it is exact, nan where the method has none
        (Laplace, expectation propagation), and such a result cannot be compared.
    method : str
        Name of the method as `estimate` takes it.
    n_evaluations : int
        Evaluations of the likelihood, or of whatever the method spends its time on.
    diagnostics : mapping
        Signs of whether the number can be trusted: round trips, effective draws, Pareto k.
    data_digest : str
        Fingerprint of the data. Models of different data cannot be compared.
    """

    log_evidence: float
    mcse: float
    method: str
    n_evaluations: int = 0
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    data_digest: str = ""

    def __post_init__(self):
        object.__setattr__(self, "diagnostics", MappingProxyType(dict(self.diagnostics)))
