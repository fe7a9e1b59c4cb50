"""Scale and offset of a generalized kernel model, with types of their own.

They are an ordinary Gamma and an ordinary normal distribution. PyMC asks each step method about one
variable at a time, so a step that moves active set, coefficients, offset and precisions together
can only claim them if it recognises them; a user's own prior in their place is left to PyMC.
"""

import pymc as pm
from pytensor.tensor.random.basic import GammaRV, NormalRV

__all__ = ["Offset", "OffsetRV", "Precision", "PrecisionRV"]


class PrecisionRV(GammaRV):
    """A Gamma variable that a block step may own."""

    _print_name = ("Precision", "\\operatorname{Precision}")


class Precision(pm.Gamma):
    r"""Precision with the distribution Gamma(a / 2, b / 2), b / 2 being a rate.

    Parameters
    ----------
    alpha, beta : float
        As for ``pm.Gamma``: a / 2 and b / 2.

    Examples
    --------
    >>> bool(pm.draw(Precision.dist(2.0, 0.05), random_seed=1) > 0)
    True
    """

    rv_op = PrecisionRV()


class OffsetRV(NormalRV):
    """A normal variable that a block step may own."""

    _print_name = ("Offset", "\\operatorname{Offset}")


class Offset(pm.Normal):
    """Offset of a predictor: a normal variable.

    Parameters
    ----------
    mu, sigma, tau : float
        As for ``pm.Normal``.

    Examples
    --------
    >>> bool(np.isfinite(pm.draw(Offset.dist(0.0, tau=2.0), random_seed=1)))
    True
    """

    rv_op = OffsetRV()
