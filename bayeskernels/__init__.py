"""Bayesian kernel machines as PyMC models, with the samplers they need as PyMC step methods."""

from bayeskernels import data, distributions, models, samplers
from bayeskernels.specification import specification_of

__version__ = "0.1.0"

__all__ = [
    "data",
    "distributions",
    "models",
    "samplers",
    "specification_of",
]
