"""The generalized kernel model: an entry of the zoo."""

import pymc as pm

from bayeskernels.models import generalized_kernel_model
from bayeskernels.zoo.bayes_point import overlapping_moons
from bayeskernels.zoo.registry import register


@register(
    name="generalized-kernel",
    title="Generalized kernel model, sparse",
    source="GKM",
    steps=["ReversibleJump"],
    load=overlapping_moons,
    notebook="03_generalized_kernel_models.ipynb",
    draws=1000,
    tune=500,
    sample_options={"reversible_jump": {"sweeps": 4}},
)
def sparse_probit(problem):
    """A probit model whose predictor is a kernel expansion in a few active points.

    Which points are active is part of the posterior: births, deaths and swaps by reversible jumps.
    """
    kernel = pm.gp.cov.ExpQuad(2, ls=0.6)
    return generalized_kernel_model(problem.X, problem.y, kernel=kernel, max_active=50)
