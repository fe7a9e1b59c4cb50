"""Evidence of models: estimated with an error, compared, and used to choose and average models."""

from bayeskernels.evidence.result import Evidence

__all__ = ["Evidence"]
