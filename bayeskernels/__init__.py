"""Bayesian kernel machines as PyMC models, with the samplers they need as PyMC step methods."""

from bayeskernels import (
    active_learning,
    data,
    diagnostics,
    distributions,
    evidence,
    gp,
    linear_gaussian,
    models,
    plots,
    samplers,
    testing,
)
from bayeskernels import active_set_diagnostics as active_sets
from bayeskernels.bayes_points import bayes_point
from bayeskernels.flips import flip_probability
from bayeskernels.laplace_approximation import LaplaceApproximation, laplace
from bayeskernels.prediction import predict
from bayeskernels.quadrature import GridPosterior, quadrature
from bayeskernels.rbf_fitting import adaptation_ladder, fit_rbf_network
from bayeskernels.rejection import rejection_curve
from bayeskernels.specification import specification_of

__version__ = "0.1.0"

__all__ = [
    "GridPosterior",
    "LaplaceApproximation",
    "active_learning",
    "active_sets",
    "adaptation_ladder",
    "bayes_point",
    "data",
    "diagnostics",
    "distributions",
    "evidence",
    "fit_rbf_network",
    "flip_probability",
    "gp",
    "laplace",
    "linear_gaussian",
    "models",
    "plots",
    "predict",
    "quadrature",
    "rejection_curve",
    "samplers",
    "specification_of",
    "testing",
]
