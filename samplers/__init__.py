"""Samplers of the zoo: pure kernels, and the PyMC steps around them.

Importing this package registers the steps, so that ``pm.sample`` picks them for the variables they
are made for.
"""

from pymc.step_methods import STEP_METHODS

from bayeskernels.samplers.billiard import Billiard
from bayeskernels.samplers.direct import sample_directions
from bayeskernels.samplers.flip_rate_gibbs import FlipRateGibbs
from bayeskernels.samplers.gaussian_directions import ExpectationPropagation
from bayeskernels.samplers.grouped_reversible_jump import GroupedReversibleJump
from bayeskernels.samplers.independence_metropolis import IndependenceMetropolis
from bayeskernels.samplers.kernel_gibbs import KernelGibbs, simulate_kernel_gibbs
from bayeskernels.samplers.laplace_mixture import LaplaceMixture
from bayeskernels.samplers.permutation_perceptron import PermutationPerceptron, most_used
from bayeskernels.samplers.power_tempering import PowerTempering
from bayeskernels.samplers.refractive_billiard import (
    RefractiveBilliard,
    simulate_refractive_billiard,
)
from bayeskernels.samplers.reversible_jump import ReversibleJump
from bayeskernels.samplers.rolling_ball import simulate_billiard
from bayeskernels.samplers.sphere_step import prefer
from bayeskernels.samplers.walls import WallGeometry, Walls, label_costs

__all__ = [
    "Billiard",
    "ExpectationPropagation",
    "FlipRateGibbs",
    "GroupedReversibleJump",
    "IndependenceMetropolis",
    "KernelGibbs",
    "LaplaceMixture",
    "PermutationPerceptron",
    "PowerTempering",
    "RefractiveBilliard",
    "ReversibleJump",
    "WallGeometry",
    "Walls",
    "label_costs",
    "most_used",
    "prefer",
    "sample_directions",
    "simulate_billiard",
    "simulate_kernel_gibbs",
    "simulate_refractive_billiard",
]

for _step in (
    *(RefractiveBilliard, KernelGibbs, Billiard, FlipRateGibbs),
    *(ReversibleJump, GroupedReversibleJump),
):
    if _step not in STEP_METHODS:
        STEP_METHODS.append(_step)
