"""Precisions of an offset and of a Gaussian process, which two families of models share.

Every one may be a number, a prior, or left to the default of the paper on generalized kernel models
(section 5.1), a Gamma distribution.
"""

from numbers import Real

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable

__all__ = ["ETA_PRIOR", "G_PRIOR", "add_precision", "check_precision"]

#: Defaults of the paper: shape and rate, halves of what it calls a and b.
G_PRIOR = (2.0, 0.05)
ETA_PRIOR = (0.5, 0.05)


def check_precision(name, value):
    """Refuse what is neither a positive number nor a prior, before the model is touched."""
    if value is None or isinstance(value, Variable):
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive number or a prior, got {value!r}.")


def add_precision(name, value, default, distribution):
    """Add a precision to the model in context.

    Parameters
    ----------
    name : str
    value : float, prior or None
        None stands for the default.
    default : tuple of float
        Shape and rate.
    distribution : type
        That of the default: ``pm.Gamma``, or :class:`bayeskernels.distributions.Precision` where
        the reversible-jump step is to have it.

    Returns
    -------
    TensorVariable
    """
    if value is None:
        return distribution(name, *default)
    if not isinstance(value, Variable):
        return pm.Data(name, float(value))
    model = pm.modelcontext(None)
    if value in model.named_vars.values():
        return value if value.name == model.name_for(name) else pm.Deterministic(name, value)
    if value.name is not None:
        raise ValueError(
            f"The prior {value.name!r} belongs to another model. Build this one inside "
            "`with model:`, or give an unnamed prior such as pm.Gamma.dist(2, 1)."
        )
    return model.register_rv(value, name)
