"""Models of the zoo: each builder returns (or adds to) a ``pm.Model``."""

from bayeskernels.models.label_noise_classifier import label_noise_classifier

__all__ = ["label_noise_classifier"]
