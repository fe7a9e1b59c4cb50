"""Standard deviation of the noise of a regression, with a type of its own.

An ordinary half-normal variable that a block step may recognise and own, see
:mod:`bayeskernels.distributions.precision`.
"""

import pymc as pm
from pytensor.tensor.random.basic import HalfNormalRV

__all__ = ["NoiseScale", "NoiseScaleRV"]


class NoiseScaleRV(HalfNormalRV):
    """A half-normal variable that a block step may own."""

    _print_name = ("NoiseScale", "\\operatorname{NoiseScale}")


class NoiseScale(pm.HalfNormal):
    """Standard deviation of noise: a half-normal variable.

    Parameters
    ----------
    sigma : float
        As for ``pm.HalfNormal``.

    Examples
    --------
    >>> bool(pm.draw(NoiseScale.dist(2.0), random_seed=1) > 0)
    True
    """

    rv_op = NoiseScaleRV()
