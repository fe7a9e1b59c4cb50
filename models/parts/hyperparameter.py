"""Hyperparameters of the builders: a number, a prior, or a variable of the model in context.

All builders read theirs here, before they touch a model, so that a mistake gets the same answer
everywhere.
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np
import pymc as pm
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.graph.utils import MissingInputError
from pytensor.tensor.random.op import RandomVariable

from bayeskernels.graphs.numpy_graphs import numpy_function

__all__ = [
    "ETA_PRIOR",
    "FLIP_RATE",
    "G_PRIOR",
    "NOT_NEGATIVE",
    "PROBABILITY",
    "REAL",
    "Hyperparameter",
    "as_number",
    "refuse_foreign",
]

#: Default priors of the paper on generalized kernel models (section 5.1): shape and rate, halves of
#: what it calls a and b.
G_PRIOR = (2.0, 0.05)
ETA_PRIOR = (0.5, 0.05)


@dataclass(frozen=True)
class Range:
    """Where the values of a hyperparameter lie.

    Attributes
    ----------
    words : str
        What a number must be, for errors.
    prior : str
        A prior on the range, as a user would write it.
    lower, upper : float
    has_lower : bool
        Whether the lower bound is one of the values.
    reason : str
        Why other numbers make no sense, where that is not plain.
    """

    words: str
    prior: str
    lower: float = 0.0
    upper: float = np.inf
    has_lower: bool = False
    reason: str = ""

    def holds(self, number):
        """Whether a number is one of the values."""
        return self.lower < number < self.upper or (self.has_lower and number == self.lower)

    def mass_outside(self, prior):
        """Largest probability of values outside; zero where PyMC cannot tell."""

        def below(bound):
            with np.errstate(all="ignore"):
                return np.exp(numpy_function([], pm.logcdf(prior, bound))())

        try:
            low = below(self.lower) if np.isfinite(self.lower) else 0.0
            high = 1.0 - below(self.upper) if np.isfinite(self.upper) else 0.0
        except (NotImplementedError, ValueError, MissingInputError):
            return 0.0
        return float(np.max(low + high))


POSITIVE = Range("a positive number", "pm.Gamma.dist(2, 1)")
NOT_NEGATIVE = Range("a number >= 0", "pm.HalfNormal.dist(1)", has_lower=True)
REAL = Range("a finite number", "pm.Normal.dist(0, 1)", lower=-np.inf)
PROBABILITY = Range("a probability from 0 to below 1", "pm.Beta.dist(1, 1)", 0.0, 1.0, True)
FLIP_RATE = Range(
    "a number in [0, 1/2)",
    "bayeskernels.distributions.FlipRate.dist(1, 9)",
    upper=0.5,
    has_lower=True,
    reason=": at one half labels say nothing, and beyond it they say the opposite",
)


def as_number(name, value, within=POSITIVE, *, otherwise=()):
    """A number in a range, as a float.

    Parameters
    ----------
    name : str
        What to call it in an error.
    value : object
    within : Range
    otherwise : sequence of str
        What it may be instead, for the error.

    Examples
    --------
    >>> as_number("prior_sd", 2)
    2.0
    """
    has_no_dims = getattr(value, "ndim", None) == 0
    is_scalar = has_no_dims and getattr(value.dtype, "kind", "O") in "iuf"
    is_number = is_scalar or (isinstance(value, Real) and not isinstance(value, bool))
    if is_number and within.holds(float(value)):
        return float(value)
    *most, last = (within.words, *otherwise)
    expected = f"{', '.join(most)} or {last}" if most else last
    error = ValueError if isinstance(value, Real | str) or is_number else TypeError
    reason = within.reason if is_number else ""
    raise error(f"{name} must be {expected}, got {value!r}{reason}.")


class Hyperparameter:
    """What a builder was given for one of its hyperparameters, checked.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : float, prior or variable
        A variable may be any expression of variables of the model in context.
    within : Range
    words : sequence of str or None
        Other values, which the builder knows the meaning of; None and "infer" stand for a default.
    shape : tuple of int
        Of a prior; a number stands for as many equal ones. None for a length that is not known.
    """

    def __init__(self, name, value, within=POSITIVE, *, words=(), shape=()):
        self.name, self.within, self.shape = name, within, shape
        self.is_variable = isinstance(value, Variable)
        self.is_word = (value is None or isinstance(value, str)) and value in words
        if self.is_variable:
            self._check_variable(value)
        elif not self.is_word:
            otherwise = [*(repr(word) for word in words if word is not None), "a prior"]
            value = as_number(name, value, within, otherwise=otherwise)
        self.value = value

    def _check_variable(self, value):
        have, need = value.type.shape, self.shape
        if len(have) != len(need) or any(
            None not in pair and pair[0] != pair[1] for pair in zip(have, need, strict=True)
        ):
            raise ValueError(
                f"A prior of {self.name} must "
                f"{f'have the shape {need}' if need else 'be a scalar'}, this one has the shape "
                f"{have}. Give e.g. {self.within.prior[:-1]}{f', shape={need}' if need else ''})."
            )
        refuse_foreign(value, self.name, f", or give an unnamed prior such as {self.within.prior}")
        outside = self.within.mass_outside(value) if _is_prior(value) else 0.0
        if outside > 1e-9:
            raise ValueError(
                f"A prior of {self.name} must lie within ({self.within.lower:g}, "
                f"{self.within.upper:g}), this one has {outside:.2g} of its mass outside. Use e.g. "
                f"{self.within.prior}, or pm.Truncated.dist(prior, lower=..., upper=...)."
            )

    @property
    def number(self):
        """The value where it is a number, else None."""
        return None if self.is_variable or self.is_word else self.value

    def variable(self, name, dims=None):
        """A given variable as one of the model in context; a prior is added to it by this name."""
        model = pm.modelcontext(None)
        if not _is_prior(self.value) or self.value in _variables(model):
            return self.value
        return model.register_rv(self.value, name, dims=dims)

    def add(self, default=None, *parameters, dims=None):
        """Add the hyperparameter to the model in context, by its own name.

        Parameters
        ----------
        default : type
            Distribution in the place of a word; what the user gives is not wrapped.
        *parameters
            Its parameters.
        dims : str, optional

        Returns
        -------
        TensorVariable
            A number becomes data; a variable of another name is in the model by both.
        """
        if self.is_word:
            return default(self.name, *parameters, dims=dims)
        if not self.is_variable:
            number = np.full(self.shape, self.value) if self.shape else self.value
            return pm.Data(self.name, number, dims=dims)
        variable = self.variable(self.name, dims)
        model = pm.modelcontext(None)
        if model.named_vars.get(model.name_for(self.name)) is variable:
            return variable
        return pm.Deterministic(self.name, variable, dims=dims)


def refuse_foreign(graph, what, remedy=""):
    """Refuse a graph of random variables that belong to another model than the one in context.

    Parameters
    ----------
    graph : TensorVariable
    what : str
        Argument that the graph was given for.
    remedy : str
        What else one may do.
    """
    known = _variables(pm.Model.get_context(error_if_none=False))
    for variable in ancestors([graph], blockers=known):
        # Parts of a mixture are random too, but have no names.
        if _is_prior(variable) and variable.name is not None and variable not in known:
            raise ValueError(
                f"In {what}: {variable.name!r} belongs to another model. Build this one inside "
                f"the same `with pm.Model():`{remedy}."
            )


def _is_prior(variable):
    op = getattr(variable.owner, "op", None)
    return isinstance(op, RandomVariable | SymbolicRandomVariable)


def _variables(model):
    return set() if model is None else set(model.root.named_vars.values())
