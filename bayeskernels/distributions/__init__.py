"""PyMC distributions of the zoo: what the models are made of, and what the steps look for."""

from bayeskernels.distributions.flip_rate import FlipRate, FlipRateRV
from bayeskernels.distributions.label_noise import LabelNoise, LabelNoiseRV
from bayeskernels.distributions.uniform_sphere import UniformSphere, UniformSphereRV, UnitVector

__all__ = [
    "FlipRate",
    "FlipRateRV",
    "LabelNoise",
    "LabelNoiseRV",
    "UniformSphere",
    "UniformSphereRV",
    "UnitVector",
]
