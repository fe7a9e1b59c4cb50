"""Gaussian-process regression: evidence, type-II maximum likelihood, dual form, joint draws.

Models are made by :func:`bayeskernels.models.gp_regression` and predicted from by
:func:`bayeskernels.predict`.
"""

from bayeskernels.gp.dual import dual_coefficients
from bayeskernels.gp.hyperparameters.evidence import EvidenceFunction, log_evidence
from bayeskernels.gp.hyperparameters.full_bayes import sample_hyperparameters
from bayeskernels.gp.hyperparameters.maximisation import EvidenceMaximum, maximise_evidence
from bayeskernels.gp.joint_draws import posterior_predictive
from bayeskernels.gp.leave_one_out import loo, pointwise_log_likelihood
from bayeskernels.gp.prediction import log_predictive_density
from bayeskernels.gp.prior_draws import draw_prior

__all__ = [
    "EvidenceFunction",
    "EvidenceMaximum",
    "draw_prior",
    "dual_coefficients",
    "log_evidence",
    "log_predictive_density",
    "loo",
    "maximise_evidence",
    "pointwise_log_likelihood",
    "posterior_predictive",
    "sample_hyperparameters",
]
