"""What a method of estimating the evidence has to offer."""

from typing import Protocol, runtime_checkable

from bayeskernels.evidence.result import Evidence

__all__ = ["EvidenceMethod"]


@runtime_checkable
class EvidenceMethod(Protocol):
    """A way to estimate the evidence; estimators of this package inherit what they do not say.

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
    is_automatic: bool = True
    gives_way: bool = False
    uses_draws: bool = False

    def refusal(self, model, idata) -> str | None:
        """Why the method does not fit and what to use instead, as sentences; None if it fits.

        It should be cheap: nothing is sampled, and a graph is compiled only where the answer
        depends on it.
        """

    def run(self, model, idata, *, random_seed, progressbar, **options) -> Evidence:
        """Estimate. `random_seed` is a ``numpy.random.Generator``.

        ``data_digest`` may stay empty: :func:`bayeskernels.evidence.estimate` fills it in.
        """
