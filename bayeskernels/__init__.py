"""Bayesian kernel machines as PyMC models, with the samplers they need as PyMC step methods.

Examples in docstrings take ``import bayeskernels as bk``, ``import numpy as np`` and
``import pymc as pm`` as given, and so ``az`` (ArviZ), ``pd`` (pandas), ``pt`` (``pytensor.tensor``)
and ``xr`` (xarray).
"""

from bayeskernels import (
    data,
    diagnostics,
    distributions,
    evidence,
    gp,
    models,
    plots,
    samplers,
    testing,
)
from bayeskernels.approximations.laplace import LaplaceApproximation, laplace
from bayeskernels.approximations.quadrature import GridPosterior, quadrature
from bayeskernels.diagnostics import active_sets
from bayeskernels.linear import gaussian as linear_gaussian
from bayeskernels.linear.rbf_fitting import adaptation_ladder, fit_rbf_network
from bayeskernels.prediction import active_learning
from bayeskernels.prediction.bayes_points import bayes_point
from bayeskernels.prediction.flips import flip_probability
from bayeskernels.prediction.predict import predict
from bayeskernels.prediction.rejection import rejection_curve
from bayeskernels.specification.base import specification_of

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
