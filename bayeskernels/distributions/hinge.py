r"""The hinge loss as a likelihood (Sollich 2001; Mallick, Ghosh and Ghosh 2005).

A support vector machine minimises a sum of hinge losses and half the squared norm of its
predictor. Read as the negative logarithm of a posterior, the loss of a label :math:`y = \pm 1` is
minus the logarithm of :math:`q(y \mid f) = \exp(-\max(1 - y f, 0))`. The two values of q do not add
up to one. Divided by their sum they do; since
:math:`\max(1 + f, 0) - \max(1 - f, 0) = f + \min(\max(f, -1), 1)`, the *complete* likelihood is
logistic with a slope of two within the margin and of one outside:

.. math::

    p(y = 1 \mid f) = \frac{1}{1 + e^{-2 f}} \quad (|f| \le 1), \qquad
    p(y = 1 \mid f) = \frac{1}{1 + e^{-(f + \operatorname{sgn} f)}} \quad (|f| > 1).

The probit likelihood, with which they are compared, has the same form: a function of y f.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import Distribution, SymbolicRandomVariable, _support_point
from pymc.distributions.shape_utils import implicit_size_from_params, rv_size_is_none
from pymc.logprob.abstract import _logprob
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor.random.utils import normalize_size_param

__all__ = [
    "CompleteHingeLabel",
    "CompleteHingeLabelRV",
    "HingeLabel",
    "HingeLabelRV",
    "OutputLabelRV",
    "ProbitLabel",
    "ProbitLabelRV",
    "complete_hinge_logit",
]


def complete_hinge_logit(output):
    """Log-odds of the positive label under the complete hinge likelihood.

    Parameters
    ----------
    output : array_like or tensor
        Output f.

    Returns
    -------
    array or tensor
        Of the same shape: f plus f clipped to [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskernels.distributions.hinge import complete_hinge_logit
    >>> complete_hinge_logit(np.array([0.5, 3.0, -3.0])).tolist()
    [1.0, 4.0, -4.0]
    """
    return output + output.clip(-1.0, 1.0)


class OutputLabelRV(SymbolicRandomVariable):
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
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(output, ndims_params=cls.ndims_params)
        p = cls.probability(output)
        next_rng, y = pm.Bernoulli.dist(p=p, size=size, rng=rng, return_next_rng=True)
        return cls(inputs=[rng, size, output], outputs=[next_rng, y])(rng, size, output)


class CompleteHingeLabelRV(OutputLabelRV):
    """A label with the normalised hinge likelihood."""

    name = "CompleteHingeLabel"
    _print_name = ("CompleteHingeLabel", "\\operatorname{CompleteHingeLabel}")

    @staticmethod
    def log_likelihood(margin):
        """Logarithm of the logistic function of the log-odds, which are odd in the output."""
        return -pt.softplus(-complete_hinge_logit(margin))


class HingeLabelRV(OutputLabelRV):
    """A label with the hinge likelihood; draws are from the complete one."""

    name = "HingeLabel"
    _print_name = ("HingeLabel", "\\operatorname{HingeLabel}")
    probability = CompleteHingeLabelRV.probability

    @staticmethod
    def log_likelihood(margin):
        """Minus the hinge loss."""
        return -pt.maximum(1.0 - margin, 0.0)


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


class _OutputLabel(Distribution):
    @classmethod
    def dist(cls, output, **kwargs):
        """Build a variable that belongs to no model."""
        return super().dist([output], **kwargs)


class HingeLabel(_OutputLabel):
    r"""Label (0 or 1) whose log-likelihood is minus its hinge loss: not a normalised one.

    The values :math:`\exp(-\max(1 - f, 0))` of label 1 and :math:`\exp(-\max(1 + f, 0))` of label 0
    add up to between 0.74 and 1.14, depending on f. Draws, which need probabilities, come from the
    values divided by their sum.

    Parameters
    ----------
    output : tensor_like of float
        Output f.

    Examples
    --------
    >>> import pymc as pm
    >>> from bayeskernels.distributions import HingeLabel
    >>> pm.logp(HingeLabel.dist([2.0, 0.5, 0.5]), [1, 1, 0]).eval().tolist()
    [-0.0, -0.5, -1.5]
    """

    rv_type = HingeLabelRV
    rv_op = HingeLabelRV.rv_op


class CompleteHingeLabel(_OutputLabel):
    """Label (0 or 1) with the hinge likelihood divided by its sum over the two labels.

    Parameters
    ----------
    output : tensor_like of float
        Output f.

    Examples
    --------
    >>> import pymc as pm
    >>> from bayeskernels.distributions import CompleteHingeLabel
    >>> pm.logp(CompleteHingeLabel.dist([0.0, 2.0]), 1).eval().round(4).tolist()
    [-0.6931, -0.0486]
    """

    rv_type = CompleteHingeLabelRV
    rv_op = CompleteHingeLabelRV.rv_op


class ProbitLabel(_OutputLabel):
    """Label that is 1 with the probability Phi(output), 0 otherwise; right in both tails.

    Parameters
    ----------
    output : tensor_like of float
        Output f.

    Examples
    --------
    >>> import pymc as pm
    >>> from bayeskernels.distributions import ProbitLabel
    >>> pm.logp(ProbitLabel.dist([0.0, 40.0]), 0).eval().round(3).tolist()
    [-0.693, -804.608]
    """

    rv_type = ProbitLabelRV
    rv_op = ProbitLabelRV.rv_op


@_support_point.register(OutputLabelRV)
def _label_support_point(op, rv, rng, size, output):
    return pt.cast(pt.gt(output, 0) + pt.zeros_like(rv), rv.dtype)


@_logprob.register(OutputLabelRV)
def _label_logp(op, values, rng, size, output, **kwargs):
    (value,) = values
    logp = op.log_likelihood((2 * value - 1) * output)
    return pt.switch(pt.eq(value, 1) | pt.eq(value, 0), logp, -np.inf)
