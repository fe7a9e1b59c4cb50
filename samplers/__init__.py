"""Samplers of the zoo: pure kernels, and the PyMC steps around them.

Importing this package registers the steps, so that ``pm.sample`` picks them for the variables they
are made for.
"""

from pymc.step_methods import STEP_METHODS

from bayeskernels.samplers.direct import sample_directions
from bayeskernels.samplers.flip_rate_gibbs import FlipRateGibbs
from bayeskernels.samplers.kernel_gibbs import KernelGibbs, simulate_kernel_gibbs
from bayeskernels.samplers.refractive_billiard import (
    RefractiveBilliard,
    simulate_refractive_billiard,
)
from bayeskernels.samplers.sphere_step import prefer
from bayeskernels.samplers.walls import WallGeometry, Walls, label_costs

__all__ = [
    "FlipRateGibbs",
    "KernelGibbs",
    "RefractiveBilliard",
    "WallGeometry",
    "Walls",
    "label_costs",
    "prefer",
    "sample_directions",
    "simulate_kernel_gibbs",
    "simulate_refractive_billiard",
]

for _step in (RefractiveBilliard, KernelGibbs, FlipRateGibbs):
    if _step not in STEP_METHODS:
        STEP_METHODS.append(_step)
