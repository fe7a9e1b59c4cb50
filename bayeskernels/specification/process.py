"""What the tools need to know of a Gaussian-process regression beyond its PyMC graph."""

from dataclasses import dataclass, field

import numpy as np
import pytensor.tensor as pt

from bayeskernels.specification.base import TargetSpecification, specification_of

__all__ = ["GaussianProcessSpecification", "process_of", "targets_of"]


@dataclass(frozen=True, kw_only=True)
class GaussianProcessSpecification(TargetSpecification):
    """A Gaussian-process regression.

    Attributes
    ----------
    fixed_mean : float or None
        Prior mean of the process; None where the model has a variable ``mean``.
    approximation : {None, "VFE", "FITC"}
        None for the exact process.
    inducing : array of shape (m, p) or None
        Inducing inputs of VFE and FITC.
    jitter : float
        What is added to the diagonal of their kernel matrix.
    """

    fixed_mean: float | None
    approximation: str | None = None
    inducing: np.ndarray | None = field(default=None, repr=False)
    jitter: float = 0.0

    @property
    def noise(self):
        """Standard deviation of the noise: data or a random variable of the model."""
        return self.variable(f"{self.prefix}noise")

    @property
    def mean(self):
        """Prior mean of the process, a scalar graph."""
        if self.fixed_mean is not None:
            return pt.as_tensor(np.float64(self.fixed_mean))
        return self.variable(f"{self.prefix}mean")

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
