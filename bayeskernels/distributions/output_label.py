"""Labels whose likelihood is a function of their margin, such as the probit likelihood.

``pm.Bernoulli`` with a probability computed from the output is exact until that probability is one
to all digits; these have a log-likelihood and a gradient everywhere.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import Distribution, _support_point
from pymc.logprob.abstract import _logprob

from bayeskernels.distributions.sized import SizedRV

__all__ = [
    "LogisticLabel",
    "LogisticLabelRV",
    "OutputLabel",
    "OutputLabelRV",
    "ProbitLabel",
    "ProbitLabelRV",
]


class OutputLabelRV(SizedRV):
    """A label (0 or 1) whose log-likelihood is a function of its margin, plus or minus the output.

    With probabilities by ``pm.Bernoulli`` the gradient of log(1 - p) is NaN as soon as p is one to
    all digits, at outputs from 8 (probit) or 37 (logistic) on, and a trajectory of NUTS ends there.
    """

    extended_signature = "[rng],[size],()->[rng],()"

    @staticmethod
    def log_likelihood(margin):
        """Log-likelihood of a label with the given margin."""
        raise NotImplementedError

    @classmethod
    def probability(cls, output):
        """Probability of label 1, for draws."""
        return pt.exp(cls.log_likelihood(output))

    @classmethod
    def rv_op(cls, output, *, size=None, rng=None):
        """Build the graph of a draw."""
        output = pt.as_tensor(output)
        rng, size = cls.rng_and_size(rng, size, output)
        p = cls.probability(output)
        next_rng, y = pm.Bernoulli.dist(p=p, size=size, rng=rng, return_next_rng=True)
        return cls(inputs=[rng, size, output], outputs=[next_rng, y])(rng, size, output)


class OutputLabel(Distribution):
    """Base of the labels that depend on an output only.

    Parameters
    ----------
    output : tensor_like of float
        Output f.
    """

    @classmethod
    def dist(cls, output, **kwargs):
        """Build a variable that belongs to no model."""
        return super().dist([output], **kwargs)


class ProbitLabelRV(OutputLabelRV):
    """A label with a probit likelihood."""

    name = "ProbitLabel"
    _print_name = ("ProbitLabel", "\\operatorname{ProbitLabel}")

    @staticmethod
    def log_likelihood(margin):
        """Logarithm of the normal distribution function, with a gradient everywhere.

        Each branch sees its own side of zero only: a branch that is not taken but overflows would
        spoil the gradient all the same.
        """
        left, right = pt.minimum(margin, 0.0), pt.maximum(margin, 0.0)
        tail = pt.log(pt.erfcx(-left * np.sqrt(0.5)) / 2.0) - left**2 / 2.0
        return pt.switch(margin < 0.0, tail, pt.log1p(-pt.erfc(right * np.sqrt(0.5)) / 2.0))


class ProbitLabel(OutputLabel):
    """Label that is 1 with the probability Phi(output), 0 otherwise; right in both tails.

    Examples
    --------
    >>> pm.logp(ProbitLabel.dist([0.0, 40.0]), 0).eval().round(3).tolist()
    [-0.693, -804.608]
    """

    rv_type = ProbitLabelRV
    rv_op = ProbitLabelRV.rv_op


class LogisticLabelRV(OutputLabelRV):
    """A label with a logistic likelihood."""

    name = "LogisticLabel"
    _print_name = ("LogisticLabel", "\\operatorname{LogisticLabel}")

    @staticmethod
    def log_likelihood(margin):
        """Logarithm of the logistic function."""
        return -pt.softplus(-margin)


class LogisticLabel(OutputLabel):
    """Label that is 1 with the probability 1 / (1 + exp(-output)), 0 otherwise.

    Examples
    --------
    >>> pm.logp(LogisticLabel.dist([0.0, 40.0]), 0).eval().round(3).tolist()
    [-0.693, -40.0]
    """

    rv_type = LogisticLabelRV
    rv_op = LogisticLabelRV.rv_op


@_support_point.register(OutputLabelRV)
def _label_support_point(op, rv, rng, size, output):
    return pt.cast(pt.gt(output, 0) + pt.zeros_like(rv), rv.dtype)


@_logprob.register(OutputLabelRV)
def _label_logp(op, values, rng, size, output, **kwargs):
    (value,) = values
    logp = op.log_likelihood((2 * value - 1) * output)
    return pt.switch(pt.eq(value, 1) | pt.eq(value, 0), logp, -np.inf)
