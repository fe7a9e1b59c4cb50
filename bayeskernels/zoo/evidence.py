"""The evidence of an entry, by the method that fits its model."""

from bayeskernels.evidence import estimate
from bayeskernels.evidence.estimators.bridge import TooFewDraws

__all__ = ["estimate_evidence"]


def estimate_evidence(model, idata, random_seed, **options):
    """Evidence of a model of the zoo, or None where a short run left too few draws for the method.

    Options are those of :func:`bayeskernels.evidence.estimate`.
    """
    try:
        return estimate(model, idata, random_seed=random_seed, progressbar=False, **options)
    except TooFewDraws:
        return None
