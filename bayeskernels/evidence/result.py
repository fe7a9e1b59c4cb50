"""What every estimator of the evidence returns, and how it is kept beside the draws."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import xarray as xr

__all__ = ["GROUP", "Evidence"]

#: Group of a DataTree that holds a result.
GROUP = "evidence"

#: What precedes the names of diagnostics that are arrays, in that group.
_ARRAY = "diagnostics_"


@dataclass(frozen=True, eq=False)
class Evidence:
    """Log evidence of a model for its data, with the error of that number.

    Parameters
    ----------
    log_evidence : float
        log p(data | model), in nats.
    mcse : float
        Standard error of `log_evidence`; 0 where it is exact, nan where the method has none
        (Laplace, expectation propagation), and such a result cannot be compared.
    method : str
        Name of the method as `estimate` takes it.
    n_evaluations : int
        Evaluations of the likelihood, or of whatever the method spends its time on.
    diagnostics : mapping
        Signs of whether the number can be trusted: round trips, effective draws, Pareto k. Values
        are numbers, truth values, texts or arrays of numbers.
    data_digest : str
        Fingerprint of the data. Models of different data cannot be compared.

    Notes
    -----
    A subclass may hold more, such as a curve over a noise level. Its own fields need defaults; it
    says in :meth:`_arrays` and :meth:`_from_arrays` how they are stored.

    Examples
    --------
    >>> model = bk.models.gaussian_mean([1.0, 3.0], sd=1.0, prior_sd=1.0)
    >>> evidence = bk.evidence.estimate(model)
    >>> print(evidence)
    log evidence -4.7205 (exact)
    >>> tree = evidence.to_datatree()
    >>> bk.evidence.Evidence.from_datatree(tree).log_evidence == evidence.log_evidence
    True
    """

    log_evidence: float
    mcse: float
    method: str
    n_evaluations: int = 0
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    data_digest: str = ""

    #: Whether :meth:`curve` gives something.
    has_curve: ClassVar[bool] = False

    #: Subclasses by name, so that a stored result comes back as what it was.
    _kinds: ClassVar[dict[str, type]] = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Evidence._kinds[cls.__name__] = cls

    def __post_init__(self):
        if not self.mcse >= 0.0 and not math.isnan(self.mcse):
            raise ValueError(f"mcse must not be negative, got {self.mcse}.")
        # An empty warning is none.
        told = {k: v for k, v in self.diagnostics.items() if k != "warning" or v}
        object.__setattr__(self, "diagnostics", MappingProxyType(told))

    def __getstate__(self):
        # A mapping proxy cannot be pickled, and parallel loops have to.
        return {**self.__dict__, "diagnostics": dict(self.diagnostics)}

    def __setstate__(self, state):
        self.__dict__.update(state)
        object.__setattr__(self, "diagnostics", MappingProxyType(state["diagnostics"]))

    @property
    def has_error(self):
        """Whether the error of the number is known."""
        return not math.isnan(self.mcse)

    @property
    def is_known(self):
        """Whether there is a number to go by.

        That is a finite one, or minus infinity by ``exact``: a model without unknowns may give the
        data no density at all. Of other methods it means that nothing was found, and plus infinity
        that the density of the data is not bounded.
        """
        is_impossible = self.log_evidence == -math.inf and self.method == "exact"
        return math.isfinite(self.log_evidence) or is_impossible

    @property
    def warning(self):
        """What speaks against trusting the number, empty if nothing does."""
        return str(self.diagnostics.get("warning", ""))

    def curve(self, q):
        """Log evidence as a function of the noise level; only tempering of label noise has it."""
        raise TypeError(
            f"A result of the method {self.method!r} is one number, not a curve over noise levels. "
            "bk.evidence.estimate(model, method='tempering') of a label-noise classifier gives one."
        )

    def __str__(self):
        if not math.isfinite(self.log_evidence):
            number = f"{self.log_evidence}"
        elif not self.has_error or self.mcse == 0.0:
            number = f"{self.log_evidence:.4f}"
        else:
            number = f"{self.log_evidence:.{decimals(self.mcse)}f}"
        if not self.has_error:
            text = f"log evidence {number} ({self.method}, an approximation of unknown error)"
        elif self.mcse == 0.0:
            how = "exact" if self.method == "exact" else f"{self.method}, no sampling error"
            text = f"log evidence {number} ({how})"
        else:
            error = f"{self.mcse:.{decimals(self.mcse)}f}"
            text = f"log evidence {number} ± {error} ({self.method})"
        return f"{text}\nNot to be trusted: {self.warning}" if self.warning else text

    def _repr_html_(self):
        """Table for notebooks."""
        rows = [
            ("log evidence", str(self).splitlines()[0].removeprefix("log evidence ")),
            ("evaluations", f"{self.n_evaluations:,}"),
            *((name, _brief(value)) for name, value in self.diagnostics.items()),
        ]
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
        return f"<table>{cells}</table>"

    def to_dataset(self):
        """All of it as a Dataset of plain numbers and texts, which files can hold."""
        scalars, arrays = {}, {}
        for name, value in self.diagnostics.items():
            if np.ndim(value):
                value = np.asarray(value)
                dims = tuple(f"{_ARRAY}{name}_dim_{k}" for k in range(value.ndim))
                arrays[f"{_ARRAY}{name}"] = (dims, value)
            else:
                scalars[name] = value.item() if isinstance(value, np.generic) else value
        attributes = {
            "kind": type(self).__name__,
            "method": self.method,
            "n_evaluations": int(self.n_evaluations),
            "data_digest": self.data_digest,
            "diagnostics": json.dumps(scalars),
        }
        numbers = {"log_evidence": float(self.log_evidence), "mcse": float(self.mcse)}
        return xr.Dataset({**numbers, **arrays, **self._arrays()}, attrs=attributes)

    def to_datatree(self, idata=None):
        """Store the result as the group ``evidence``.

        Parameters
        ----------
        idata : DataTree, optional
            To which the group is added, in place; a result that is there already is replaced. By
            default a new tree.

        Returns
        -------
        DataTree
        """
        tree = xr.DataTree() if idata is None else idata
        tree[GROUP] = xr.DataTree(self.to_dataset())
        return tree

    @classmethod
    def from_datatree(cls, idata):
        """Read a result back from a DataTree, or from the Dataset of the group itself.

        Returns
        -------
        Evidence
            Of the class that was stored.
        """
        if isinstance(idata, xr.Dataset):
            data = idata
        elif GROUP in getattr(idata, "children", {}):
            data = idata[GROUP].to_dataset()
        else:
            raise ValueError(
                "There is no group 'evidence': store a result with evidence.to_datatree(idata)."
            )
        kind = data.attrs.get("kind", "Evidence")
        if kind not in Evidence._kinds:
            raise ValueError(f"The stored result is a {kind!r}, which this version does not know.")
        diagnostics = json.loads(data.attrs["diagnostics"])
        for name in data.data_vars:
            if str(name).startswith(_ARRAY):
                diagnostics[str(name).removeprefix(_ARRAY)] = data[name].values
        found = Evidence._kinds[kind]
        return found(
            log_evidence=float(data["log_evidence"]),
            mcse=float(data["mcse"]),
            method=str(data.attrs["method"]),
            n_evaluations=int(data.attrs["n_evaluations"]),
            data_digest=str(data.attrs["data_digest"]),
            diagnostics=diagnostics,
            **found._from_arrays(data),
        )

    def _arrays(self):
        """Variables that hold the fields of a subclass: name to (dims, values)."""
        return {}

    @classmethod
    def _from_arrays(cls, data):
        """Fields of a subclass from the stored Dataset, as keyword arguments."""
        own = [f.name for f in fields(cls) if f.name not in {g.name for g in fields(Evidence)}]
        return {name: data[name].values for name in own if name in data}


Evidence._kinds["Evidence"] = Evidence


def decimals(error):
    """Decimals that a number with this error deserves: two digits of the error."""
    if not 0.0 < error < math.inf:
        return 4
    return min(max(1 - math.floor(math.log10(error)), 0), 8)


def _brief(value):
    if np.ndim(value):
        value = np.asarray(value)
        return f"{value.size} numbers from {value.min():.3g} to {value.max():.3g}"
    return f"{value:.3g}" if isinstance(value, float) else f"{value}"
