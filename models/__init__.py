"""Models of the zoo: each builder returns (or adds to) a ``pm.Model``."""

from bayeskernels.models.bayes_point_machine import bayes_point_machine
from bayeskernels.models.bayesian_svm import bayesian_svm
from bayeskernels.models.generalized_kernel_model import generalized_kernel_model
from bayeskernels.models.gp_probit import gp_probit
from bayeskernels.models.gp_regression import gp_regression
from bayeskernels.models.label_noise_classifier import label_noise_classifier
from bayeskernels.models.sparse_gp_classifier import sparse_gp_classifier

__all__ = [
    "bayes_point_machine",
    "bayesian_svm",
    "generalized_kernel_model",
    "gp_probit",
    "gp_regression",
    "label_noise_classifier",
    "sparse_gp_classifier",
]
