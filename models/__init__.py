"""Models of the zoo: each builder returns (or adds to) a ``pm.Model``."""

from bayeskernels.models.bayes_point_machine import bayes_point_machine
from bayeskernels.models.label_noise_classifier import label_noise_classifier

__all__ = ["bayes_point_machine", "label_noise_classifier"]
