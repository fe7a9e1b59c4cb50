"""Samplers of the zoo: compiled functions, and the PyMC steps around them.

Importing this package registers the steps, so that ``pm.sample`` picks them for the variables they
are made for. It also switches PyTensor's fast mathematics off, unless ``PYTENSOR_FLAGS`` or a
``.pytensorrc`` asks for it.
"""

from typing import TYPE_CHECKING

import pytensor
from pymc.step_methods import STEP_METHODS

from bayeskernels.geometry.walls import WallGeometry, Walls, label_costs
from bayeskernels.lazy import late_names
from bayeskernels.samplers.active_sets.reversible_jump import ReversibleJump
from bayeskernels.samplers.directions.billiard import Billiard
from bayeskernels.samplers.directions.billiards.rolling_ball import simulate_billiard
from bayeskernels.samplers.directions.flip_rate_gibbs import FlipRateGibbs
from bayeskernels.samplers.directions.kernel_gibbs import KernelGibbs, simulate_kernel_gibbs
from bayeskernels.samplers.directions.refractive_billiard import (
    RefractiveBilliard,
    simulate_refractive_billiard,
)
from bayeskernels.samplers.directions.sphere_step import prefer

if TYPE_CHECKING:
    from bayeskernels.samplers.approximations.expectation_propagation import ExpectationPropagation
    from bayeskernels.samplers.approximations.permutation_perceptron import (
        PermutationPerceptron,
        most_used,
    )
    from bayeskernels.samplers.directions.sample_directions import sample_directions
    from bayeskernels.samplers.independence_metropolis import IndependenceMetropolis
    from bayeskernels.samplers.laplace_mixture import LaplaceMixture
    from bayeskernels.samplers.tempering.power_tempering import PowerTempering

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

#: It serves models of several classes or kernels too; they once had a step of their own.
GroupedReversibleJump = ReversibleJump

for _step in (RefractiveBilliard, KernelGibbs, Billiard, FlipRateGibbs, ReversibleJump):
    if _step not in STEP_METHODS:
        STEP_METHODS.append(_step)

# NUTS beside a step has to draw the same in every process too (bayeskernels.compiled). Workers of
# pm.sample read the model, and with it import this package, before they compile.
if type(pytensor.config).numba__fastmath.is_default:
    pytensor.config.numba__fastmath = False

__getattr__, __dir__ = late_names(
    globals(),
    {
        "ExpectationPropagation": ".approximations.expectation_propagation:ExpectationPropagation",
        "IndependenceMetropolis": ".independence_metropolis:IndependenceMetropolis",
        "LaplaceMixture": ".laplace_mixture:LaplaceMixture",
        "PermutationPerceptron": ".approximations.permutation_perceptron:PermutationPerceptron",
        "PowerTempering": ".tempering.power_tempering:PowerTempering",
        "most_used": ".approximations.permutation_perceptron:most_used",
        "sample_directions": ".directions.sample_directions:sample_directions",
    },
)
