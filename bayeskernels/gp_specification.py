"""What the tools need to know of a Gaussian-process regression beyond its PyMC graph."""

from dataclasses import dataclass, field

import numpy as np

from bayeskernels.kernels import Kernel
from bayeskernels.specification import no_classes, specification_of

__all__ = ["GaussianProcessSpecification", "process_of", "targets_of"]


@dataclass(frozen=True, kw_only=True)
class GaussianProcessSpecification:
    """A Gaussian-process regression.

    Attributes
    ----------
    kind : str
        Name of the builder.
    X : array of shape (n, p)
        Training inputs, or the Gram matrix where the kernel is precomputed.
    y : array of shape (n,)
        Targets.
    kernel : Kernel
    noise : TensorVariable
        Standard deviation of the noise: data or a random variable of the model.
    mean : TensorVariable
        Prior mean of the process, a scalar.
    approximation : {None, "VFE", "FITC"}
        None for the exact process.
    inducing : array of shape (m, p) or None
        Inducing inputs of VFE and FITC.
    jitter : float
        What is added to the diagonal of their kernel matrix.
    prefix : str
        What precedes the names of variables where the model is a named or nested one.
    """

    kind: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    kernel: Kernel
    noise: object = field(repr=False)
    mean: object = field(repr=False)
    approximation: str | None = None
    inducing: np.ndarray | None = field(default=None, repr=False)
    jitter: float = 0.0
    prefix: str = ""

    def require_classes(self, what, n_classes=None):
        """Refuse, for a tool of classifiers that is called ``what``."""
        raise no_classes(what, self.kind)

    def require_two_classes(self, what):
        """Refuse, for a tool of classifiers that is called ``what``."""
        raise TypeError(f"{what} is for classifiers; this is a {self.kind}.")


def process_of(model):
    """The specification of a Gaussian-process regression; other models are refused."""
    specification = specification_of(model)
    if not isinstance(specification, GaussianProcessSpecification):
        raise TypeError(
            "This works on models made by bk.models.gp_regression; the given one is a "
            f"{specification.kind}."
        )
    return specification


def targets_of(model):
    """The term of a process in the log density of its model: observed variable or potential."""
    prefix = process_of(model).prefix
    # PyMC's sparse processes put a prefix of their own before the name of the targets.
    names = {f"{prefix}{before}y" for before in ("", "marginalapprox_loglik_")}
    [targets] = [v for v in (*model.observed_RVs, *model.potentials) if v.name in names]
    return targets
