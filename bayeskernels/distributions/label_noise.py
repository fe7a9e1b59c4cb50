r"""The label-noise likelihood of the Kernel Gibbs Sampler (KGS, section 2).

A classifier with output f assigns the class ``f > 0``; its label is then flipped with a rate that
may depend on the class. The likelihood is piecewise constant in f: it has no useful gradient, and
its graph says so, such that PyMC does not hand kernel hyperparameters to a gradient-based step.
"""

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Distribution, _support_point
from pymc.logprob.abstract import _logprob
from pytensor.gradient import undefined_grad

from bayeskernels.distributions.sized import SizedRV

__all__ = ["LabelNoise", "LabelNoiseRV"]


class LabelNoiseRV(SizedRV):
    """A Bernoulli draw around the side of zero on which the output lies."""

    name = "LabelNoise"
    extended_signature = "[rng],[size],(),(),()->[rng],()"
    _print_name = ("LabelNoise", "\\operatorname{LabelNoise}")

    @classmethod
    def rv_op(cls, output, flip_negative, flip_positive, *, size=None, rng=None):
        """Build the graph of a draw."""
        parameters = [pt.as_tensor(p) for p in (output, flip_negative, flip_positive)]
        rng, size = cls.rng_and_size(rng, size, *parameters)
        f, q_negative, q_positive = parameters
        # An output of exactly zero belongs to no class: its label is a fair coin.
        probability = pt.switch(
            pt.gt(f, 0), 1 - q_positive, pt.switch(pt.lt(f, 0), q_negative, 0.5)
        )
        next_rng, y = pm.Bernoulli.dist(p=probability, size=size, rng=rng, return_next_rng=True)
        return cls(inputs=[rng, size, *parameters], outputs=[next_rng, y])(rng, size, *parameters)


class LabelNoise(Distribution):
    r"""Label of a point whose true class is the sign of ``output``, flipped now and then.

    .. math::

        P(y = 1 \mid f > 0) = 1 - q_+, \qquad P(y = 1 \mid f < 0) = q_-.

    An output of exactly zero counts as an error whatever the label (KGS, equation before (3): the
    error is :math:`y f \le 0`), so there the mass is :math:`q_-` for label 1 and :math:`q_+` for 0,
    which does not add up to one; a draw is a fair coin. Only zero feature vectors have it.

    Parameters
    ----------
    output : tensor_like of float
        Real-valued output f of the classifier.
    flip_negative : tensor_like of float
        Rate q- at which labels of the negative class (f < 0) are flipped, in [0, 1/2).
    flip_positive : tensor_like of float, optional
        Rate q+ for the positive class; the same as ``flip_negative`` by default.

    Examples
    --------
    >>> pm.logp(LabelNoise.dist([2.0, -1.0], 0.1), [1, 1]).eval().round(3).tolist()
    [-0.105, -2.303]
    """

    rv_type = LabelNoiseRV
    rv_op = LabelNoiseRV.rv_op

    @classmethod
    def dist(cls, output, flip_negative, flip_positive=None, **kwargs):
        """Build a variable that belongs to no model."""
        if flip_positive is None:
            flip_positive = flip_negative
        return super().dist([output, flip_negative, flip_positive], **kwargs)


@_support_point.register(LabelNoiseRV)
def _label_support_point(op, rv, rng, size, f, q_negative, q_positive):
    return pt.cast(pt.gt(f, 0) + pt.zeros_like(rv), rv.dtype)


@_logprob.register(LabelNoiseRV)
def _label_logp(op, values, rng, size, f, q_negative, q_positive, **kwargs):
    (value,) = values
    f = undefined_grad(f)
    says_positive = pt.eq(value, 1)
    correct = pt.switch(says_positive, pt.gt(f, 0), pt.lt(f, 0))
    log_correct = pt.switch(says_positive, pt.log1p(-q_positive), pt.log1p(-q_negative))
    log_error = pt.switch(says_positive, pt.log(q_negative), pt.log(q_positive))
    logp = pt.switch(correct, log_correct, log_error)
    return check_parameters(
        pt.switch(says_positive | pt.eq(value, 0), logp, -float("inf")),
        (q_negative >= 0) & (q_negative < 0.5) & (q_positive >= 0) & (q_positive < 0.5),
        msg="0 <= flip rate < 1/2",
    )
