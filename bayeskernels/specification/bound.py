"""A specification that reads from the model to which it is bound.

Data of a PyMC model may change (``pm.set_data``), and a model may be copied (``pm.do``,
``pm.observe``, ``model.copy()``). So a specification keeps no data: it knows names, and asks the
model for their present values. What a copy needs of the original travels in the tag of a data
variable (:data:`MARK`), which PyMC copies along; :func:`specification_of` finds it there and binds
it to the copy.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pymc as pm
import pytensor
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors

from bayeskernels.kernels.argument import Kernel

__all__ = [
    "MARK",
    "BoundSpecification",
    "attach_specification",
    "mark_of",
    "present_value",
    "refuse_second_specification",
    "specification_of",
    "specification_or_none",
]

_ATTRIBUTE = "bayeskernels_specification"

#: Name of the data variable by which draws of a model are known again.
MARK = "zoo_model__"

#: Number of training points whose coordinates are in the mark.
MARKED = 64


def present_value(graph):
    """Value of a graph of data and constants, as they are now."""
    if isinstance(graph, Constant):
        return graph.data
    if isinstance(graph, SharedVariable):
        return graph.get_value(borrow=True)
    # Evaluated once, e.g. labels cast to another type: not worth compiling.
    return pytensor.function([], graph, mode=Mode(linker="py", optimizer=None))()


@dataclass(frozen=True, kw_only=True)
class BoundSpecification:
    """What all models of the zoo have.

    Attributes
    ----------
    kind : str
        Name of the builder.
    model : pm.Model or dict
        Where data and variables are looked up; a dict of arrays where there is no PyMC model.
    training : array of shape (m, p) or None
        Inputs with which the model was built: coordinates, kernel expansions and their draws refer
        to these, whatever ``X`` is set to. The Gram matrix where the kernel is precomputed.
    kernel : Kernel or None
    prefix : str
        What precedes the names of variables where the model is a named or nested one.
    """

    kind: str
    model: object = field(repr=False, compare=False)
    training: np.ndarray | None = field(repr=False)
    kernel: Kernel | None = None
    prefix: str = ""

    #: Name of the observed variable; that of its data has ``_data`` behind it.
    observed_name = "y"

    #: Whether predictions use the observations, beside draws.
    conditions_on_data = False

    #: From inputs to coordinates in which functions are linear, where there are fixed ones.
    feature_map = None

    @property
    def X(self):
        """Inputs as the model has them now, shape (n, p); None where it has none."""
        return None if self.training is None else np.asarray(self._look_up("X"))

    @property
    def is_precomputed(self):
        """Whether rows of a Gram matrix stand in the place of inputs."""
        return self.kernel is not None and self.kernel.is_precomputed

    @property
    def observed(self):
        """Labels or targets as the model has them now."""
        if not isinstance(self.model, Mapping):
            variable = self.model.named_vars.get(f"{self.prefix}{self.observed_name}")
            if variable in self.model.observed_RVs:
                return np.asarray(present_value(self.model.rvs_to_values[variable]))
        return np.asarray(self._look_up(f"{self.observed_name}_data"))

    @property
    def is_at_training(self):
        """Whether the inputs are those with which the model was built."""
        return self.training is None or np.array_equal(self.X, self.training)

    def require_training_inputs(self, what):
        """Refuse inputs that were set anew, for a tool that is called ``what``."""
        if not self.is_at_training:
            raise ValueError(
                f"X was set to other points than those with which the model was built; {what} "
                "needs these. Set X back to them, or build a new model of the new points."
            )

    def require_paired_data(self):
        """Refuse inputs and observations of different numbers."""
        if self.training is not None and len(self.X) != len(self.observed):
            raise ValueError(
                f"The model has inputs at {len(self.X)} points but {len(self.observed)} "
                "observations. Was X set to new points? Set it back to those of training first, or "
                f"set {self.prefix}{self.observed_name}_data too."
            )

    def fixed(self, name):
        """Present value of a variable that is not random; None where posterior draws have it."""
        variable = self.variable(f"{self.prefix}{name}")
        [variable] = self.model.replace_rvs_by_values([variable])
        if set(self.model.value_vars) & set(ancestors([variable])):
            return None
        return np.asarray(present_value(variable))

    def bound_to(self, model):
        """The specification of a copy of the model."""
        same = replace(self, model=model)
        if not hasattr(self.kernel, "with_variables"):
            return same
        known = self.model.named_vars
        variables = {known[name]: same.variable(name) for name in model.named_vars if name in known}
        return replace(same, kernel=self.kernel.with_variables(variables))

    def variable(self, name):
        """Variable of the model by its full name; where it is observed, what it was observed as."""
        variable = self.model[name]
        if variable in self.model.observed_RVs:
            return self.model.rvs_to_values[variable]
        return variable

    def without_observed(self, graph):
        """A graph in which observed random variables have their values."""
        values = {v: self.model.rvs_to_values[v] for v in self.model.observed_RVs}
        return graph_replace(graph, values, strict=False)

    def _look_up(self, name):
        variable = self.model[f"{self.prefix}{name}"]
        return variable if isinstance(variable, np.ndarray) else present_value(variable)


def refuse_second_specification(model):
    """Raise if a model already holds one of the zoo: before a builder adds anything to it."""
    if hasattr(model, _ATTRIBUTE):
        raise ValueError(
            "The model in context already holds a model of the zoo. Build each in a model of its "
            "own."
        )


def attach_specification(specification):
    """Attach a specification to its model, which has none yet, and a mark that its draws will have.

    The mark is a data variable, which ``pm.sample`` stores with the draws: numbers for the kind of
    model, for its kernel and for its options. Its name ends like that of a transformed variable, so
    that graphs of the model do not show it. It carries the specification to copies of the model.
    """
    model = specification.model
    refuse_second_specification(model)
    setattr(model, _ATTRIBUTE, specification)
    name = "/".join([specification.kind, getattr(specification, "link", "")])
    with model:
        mark = pm.Data(
            MARK, [_checksum(name), _fingerprint(specification), _options(specification)]
        )
    setattr(mark.tag, _ATTRIBUTE, specification)


def mark_of(model):
    """The data variable by which draws of a model are known again; None where there is none."""
    specification = specification_or_none(model)
    return getattr(model, "named_vars", {}).get(f"{getattr(specification, 'prefix', '')}{MARK}")


def _checksum(text):
    return float(zlib.crc32(text.encode()))


def _options(specification):
    """A number that depends on all options of a model that are numbers, words or points."""
    found = {f.name: getattr(specification, f.name) for f in fields(specification)}
    known = {
        name: np.asarray(value)
        for name, value in found.items()
        if name not in ("kind", "link", "training", "class_names", "prefix")
        and isinstance(value, bool | int | float | str | tuple | np.ndarray)
    }
    # Not to the last digit: points may come from k-means, on another machine.
    words = [
        f"{name} {[f'{v:.5g}' if value.dtype.kind == 'f' else v for v in value.ravel().tolist()]}"
        for name, value in known.items()
        if value.dtype.kind != "O"
    ]
    return _checksum(" ".join(words))


def _fingerprint(specification):
    """A number that depends on all coordinates, or kernel values, of some training points."""
    kernel = specification.kernel
    if specification.feature_map is not None:
        values = specification.feature_map.at_training[:MARKED]
    elif kernel is not None and not kernel.is_random:
        some = specification.training[:MARKED]
        values = kernel(some, np.arange(len(some)) if kernel.is_precomputed else some)
    else:
        return 0.0
    rows, columns = (np.cos(np.arange(1.0, n + 1.0)) for n in values.shape)
    return float(rows @ values @ columns)


def specification_of(model):
    """Specification of a model that a builder of this package has made, or of a copy of one."""
    specification = specification_or_none(model)
    if specification is None:
        raise TypeError(
            "This works on models made by bayeskernels.models; the given one was made otherwise."
        )
    return specification


def specification_or_none(model):
    """Specification of a model of this package or of a copy of one, None of others."""
    if not hasattr(model, _ATTRIBUTE):
        variables = getattr(model, "named_vars", {}).values()
        found = [s for v in variables if (s := getattr(v.tag, _ATTRIBUTE, None)) is not None]
        if len(found) != 1:
            return None
        setattr(model, _ATTRIBUTE, found[0].bound_to(model))
    return getattr(model, _ATTRIBUTE)
