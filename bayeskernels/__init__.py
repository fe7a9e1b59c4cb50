"""Bayesian kernel machines as PyMC models, with the samplers they need as PyMC step methods.

Examples in docstrings take ``import bayeskernels as bk``, ``import numpy as np`` and
``import pymc as pm`` as given, and so ``az`` (ArviZ), ``pd`` (pandas), ``pt`` (``pytensor.tensor``)
and ``xr`` (xarray).
"""

from typing import TYPE_CHECKING

from bayeskernels import samplers
from bayeskernels.lazy import late_names

if TYPE_CHECKING:
    from bayeskernels import (
        data,
        diagnostics,
        distributions,
        evidence,
        gp,
        models,
        plots,
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

__getattr__, __dir__ = late_names(
    globals(),
    {
        "GridPosterior": ".approximations.quadrature:GridPosterior",
        "LaplaceApproximation": ".approximations.laplace:LaplaceApproximation",
        "active_learning": ".prediction.active_learning",
        "active_sets": ".diagnostics.active_sets",
        "adaptation_ladder": ".linear.rbf_fitting:adaptation_ladder",
        "bayes_point": ".prediction.bayes_points:bayes_point",
        "data": ".data",
        "diagnostics": ".diagnostics",
        "distributions": ".distributions",
        "evidence": ".evidence",
        "fit_rbf_network": ".linear.rbf_fitting:fit_rbf_network",
        "flip_probability": ".prediction.flips:flip_probability",
        "gp": ".gp",
        "laplace": ".approximations.laplace:laplace",
        "linear_gaussian": ".linear.gaussian",
        "models": ".models",
        "plots": ".plots",
        "predict": ".prediction.predict:predict",
        "quadrature": ".approximations.quadrature:quadrature",
        "rejection_curve": ".prediction.rejection:rejection_curve",
        "specification_of": ".specification.base:specification_of",
        "testing": ".testing",
    },
)
