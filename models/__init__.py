"""Models of the zoo: each builder returns (or adds to) a ``pm.Model``."""

from bayeskernels.models.bayes_point_machine import bayes_point_machine
from bayeskernels.models.bayesian_linear_regression import bayesian_linear_regression
from bayeskernels.models.bayesian_svm import bayesian_svm
from bayeskernels.models.gaussian_mean import gaussian_mean, mean_evolution
from bayeskernels.models.generalized_kernel_model import generalized_kernel_model
from bayeskernels.models.gp_probit import gp_probit
from bayeskernels.models.gp_regression import gp_regression
from bayeskernels.models.label_noise_classifier import label_noise_classifier
from bayeskernels.models.logistic_regression import logistic_regression
from bayeskernels.models.rbf_network import rbf_network
from bayeskernels.models.sparse_gp_classifier import sparse_gp_classifier

__all__ = [
    "bayes_point_machine",
    "bayesian_linear_regression",
    "bayesian_svm",
    "gaussian_mean",
    "generalized_kernel_model",
    "gp_probit",
    "gp_regression",
    "label_noise_classifier",
    "logistic_regression",
    "mean_evolution",
    "rbf_network",
    "sparse_gp_classifier",
]
