"""Models of the zoo: each builder returns (or adds to) a ``pm.Model``."""

from bayeskernels.models.bayes_point_machine import bayes_point_machine
from bayeskernels.models.generalized_kernel_model import generalized_kernel_model
from bayeskernels.models.label_noise_classifier import label_noise_classifier

__all__ = ["bayes_point_machine", "generalized_kernel_model", "label_noise_classifier"]
