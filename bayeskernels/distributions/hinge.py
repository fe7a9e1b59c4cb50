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
"""

import pytensor.tensor as pt

from bayeskernels.distributions.output_label import OutputLabel, OutputLabelRV

__all__ = [
    "CompleteHingeLabel",
    "CompleteHingeLabelRV",
    "HingeLabel",
    "HingeLabelRV",
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
    >>> complete_hinge_logit(np.array([0.5, 3.0, -3.0])).tolist()
    [1.0, 4.0, -4.0]
    """
    return output + output.clip(-1.0, 1.0)


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


class HingeLabel(OutputLabel):
    r"""Label (0 or 1) whose log-likelihood is minus its hinge loss: not a normalised one.

    The values :math:`\exp(-\max(1 - f, 0))` of label 1 and :math:`\exp(-\max(1 + f, 0))` of label 0
    add up to between 0.74 and 1.14, depending on f. Draws, which need probabilities, come from the
    values divided by their sum.

    Examples
    --------
    >>> pm.logp(HingeLabel.dist([2.0, 0.5, 0.5]), [1, 1, 0]).eval().tolist()
    [-0.0, -0.5, -1.5]
    """

    rv_type = HingeLabelRV
    rv_op = HingeLabelRV.rv_op


class CompleteHingeLabel(OutputLabel):
    """Label (0 or 1) with the hinge likelihood divided by its sum over the two labels.

    Examples
    --------
    >>> pm.logp(CompleteHingeLabel.dist([0.0, 2.0]), 1).eval().round(4).tolist()
    [-0.6931, -0.0486]
    """

    rv_type = CompleteHingeLabelRV
    rv_op = CompleteHingeLabelRV.rv_op
