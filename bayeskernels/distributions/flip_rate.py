r"""Prior of an unknown flip rate: a Beta distribution cut off at one half.

Beyond one half the labels would be better read the other way round, so the rate lives on (0, 1/2).
Given the number of flipped labels the posterior is again such a Beta; its own type lets
:class:`bayeskernels.samplers.FlipRateGibbs` draw from it exactly.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Distribution, _support_point
from pymc.distributions.transforms import Interval, _default_transform
from pymc.logprob.abstract import _logprob
from pytensor.tensor.special import betaln

from bayeskernels.distributions.sized import SizedRV

__all__ = ["FlipRate", "FlipRateRV"]


class FlipRateRV(SizedRV):
    """Inverse-distribution-function draw of a truncated Beta."""

    name = "FlipRate"
    extended_signature = "[rng],[size],(),()->[rng],()"
    _print_name = ("FlipRate", "\\operatorname{FlipRate}")

    @classmethod
    def rv_op(cls, alpha, beta, *, size=None, rng=None):
        """Build the graph of a draw."""
        alpha, beta = (pt.as_tensor(p).astype("float64") for p in (alpha, beta))
        rng, size = cls.rng_and_size(rng, size, alpha, beta)
        next_rng, level = pm.Uniform.dist(size=size, rng=rng, return_next_rng=True)
        q = pt.betaincinv(alpha, beta, level * pt.betainc(alpha, beta, 0.5))
        return cls(inputs=[rng, size, alpha, beta], outputs=[next_rng, q])(rng, size, alpha, beta)


class FlipRate(Distribution):
    r"""Beta(alpha, beta) restricted to (0, 1/2): prior of the rate at which labels are flipped.

    Parameters
    ----------
    alpha, beta : tensor_like of float
        Parameters of the Beta distribution, both 1 by default (uniform on (0, 1/2)).

    Examples
    --------
    >>> q = pm.draw(FlipRate.dist(1, 9), draws=100, random_seed=1)
    >>> bool(((0 < q) & (q < 0.5)).all())
    True
    """

    rv_type = FlipRateRV
    rv_op = FlipRateRV.rv_op

    @classmethod
    def dist(cls, alpha=1.0, beta=1.0, **kwargs):
        """Build a variable that belongs to no model."""
        return super().dist([alpha, beta], **kwargs)


@_default_transform.register(FlipRateRV)
def _flip_rate_interval(op, rv):
    return Interval(0.0, 0.5)


@_support_point.register(FlipRateRV)
def _flip_rate_support_point(op, rv, rng, size, alpha, beta):
    return pt.minimum(alpha / (alpha + beta), 0.25) + pt.zeros_like(rv)


@_logprob.register(FlipRateRV)
def _flip_rate_logp(op, values, rng, size, alpha, beta, **kwargs):
    (q,) = values
    log_mass = pt.log(pt.betainc(alpha, beta, 0.5))
    logp = (alpha - 1) * pt.log(q) + (beta - 1) * pt.log1p(-q) - betaln(alpha, beta) - log_mass
    inside = (q > 0) & (q < 0.5)
    return check_parameters(
        pt.switch(inside, logp, -np.inf), alpha > 0, beta > 0, msg="alpha > 0, beta > 0"
    )
