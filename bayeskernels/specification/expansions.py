"""Generalized kernel models: kernel expansions in active points, with an offset."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtr

from bayeskernels.kernels.argument import Kernel
from bayeskernels.kernels.family import KernelFamily
from bayeskernels.kernels.features import KernelExpansion, SideBySide
from bayeskernels.specification.base import LabelSpecification
from bayeskernels.specification.draws import posterior_draws
from bayeskernels.specification.outputs import LinearFunctions, each_draw
from bayeskernels.specification.predictive import target_prediction

__all__ = ["GeneralizedKernelSpecification", "GroupedKernelSpecification"]


class _Expansions(LinearFunctions):
    """Kernel expansions, with coefficients by kernel, by point and by class."""

    #: Coordinates are kernel values with active points, which differ from draw to draw.
    feature_map = None
    indicators = "gamma"

    def drawn_functions(self, idata):
        """Coefficients by class of all points that any draw uses with a kernel, and the offsets."""
        beta = posterior_draws(idata, f"{self.prefix}beta")
        u = posterior_draws(idata, f"{self.prefix}u")
        n_kernels = (len(self.kernels),) if self.by_kernel else ()
        n_classes = (self.n_classes,) if self.by_class else ()
        expected = (*n_kernels, len(self.training), *n_classes)
        if beta.shape[2:] != expected:
            raise ValueError(
                f"idata holds coefficients of the shape {beta.shape[2:]}, those of the model have "
                f"{expected}: they do not belong together."
            )
        beta = beta if self.by_class else beta[..., None]
        beta = beta if self.by_kernel else beta[:, :, None]
        coordinates, parts = [], []
        for j, kernel in enumerate(self.kernels):
            support = np.flatnonzero((beta[:, :, j] != 0.0).any(axis=(0, 1, 3)))
            points = support if kernel.is_precomputed else self.training[support]
            coordinates.append(KernelExpansion(kernel, points))
            parts.append(np.moveaxis(beta[:, :, j, support], 3, 2))
        w = np.concatenate(parts, axis=-1)
        w = w if self.by_class else w[:, :, 0]
        w = np.concatenate([w, u[..., None]], axis=-1)
        return w, None if self.kernel.is_random else SideBySide(coordinates)


@dataclass(frozen=True, kw_only=True)
class GeneralizedKernelSpecification(_Expansions, LabelSpecification):
    """A generalized kernel model of one kernel and two classes, or a regression.

    Attributes
    ----------
    max_active : int
        Largest number of active points.
    is_sparse : bool
        False where all points are active.
    inclusion : tuple of float
        Parameters of the Beta prior of the share of active points.
    link : {"probit", "logistic", "identity"}
        How observations depend on the predictor; a regression (identity) has no classes.
    """

    max_active: int
    is_sparse: bool
    inclusion: tuple[float, float]
    link: str = "probit"

    by_kernel = by_class = is_grouped = False
    kernel_off = 0.0
    evidence_methods = ("power-tempering",)

    @property
    def kernels(self):
        """The one kernel."""
        return (self.kernel,)

    @property
    def targets(self):
        """Observations of a regression as the model has them now."""
        return np.asarray(self.observed, dtype=np.float64)

    @cached_property
    def family(self):
        """The kernel as a function of its random hyperparameters, None where it has none."""
        return KernelFamily(self.kernel, self.model) if self.kernel.is_random else None

    def outputs_draw_by_draw(self, idata, X, progressbar):
        """Outputs of kernel expansions in active points, each with its own kernel: (n, n_draws)."""
        beta, u = (self.draws_of(idata, name) for name in ("beta", "u"))
        theta = [posterior_draws(idata, name).reshape(len(u), -1) for name in self.family.names]
        theta = np.concatenate(theta, axis=1)
        outputs = np.empty((len(X), len(u)))
        with each_draw(len(u), progressbar) as numbers:
            for s in numbers:
                active = np.flatnonzero(beta[s])
                outputs[:, s] = u[s]
                if len(active):
                    values = self.family.at(theta[s])(X, self.training[active])
                    outputs[:, s] += values @ beta[s, active]
        return outputs, None

    def class_probability(self, idata, outputs, rest):
        """Probability of the positive class."""
        return (ndtr if self.link == "probit" else expit)(outputs), 0.0

    def summary(self, idata, blocks, n):
        """Variables of the prediction at n points, from blocks of outputs."""
        if self.n_classes > 0:
            return super().summary(idata, blocks, n)
        return target_prediction(blocks, n, np.square(self.draws_of(idata, "noise")))


@dataclass(frozen=True, kw_only=True)
class GroupedKernelSpecification(_Expansions, LabelSpecification):
    """A generalized kernel model of several classes, several kernels, or both.

    Attributes
    ----------
    kernels : tuple of Kernel
        The attribute ``kernel`` is their sum.
    by_kernel, by_class : bool
        Whether coefficients have a dim ``kernel``, and a dim ``class``.
    kernel_off : float
        Prior probability of a kernel being off.
    max_active, is_sparse, inclusion
        As of a :class:`GeneralizedKernelSpecification`.
    """

    kernels: tuple[Kernel, ...] = field(repr=False)
    by_kernel: bool
    by_class: bool
    kernel_off: float
    max_active: int
    is_sparse: bool
    inclusion: tuple[float, float]

    is_grouped = True
    link = "probit"
    family = None

    @property
    def has_output_by_class(self):
        """Whether every class has an output of its own."""
        return self.by_class

    def class_probability(self, idata, outputs, rest):
        """Probability of the positive class."""
        return ndtr(outputs), 0.0

    def evidence_refusal(self, method):
        """No density where classes sum to zero, and no ladder."""
        if method == "power-tempering":
            return "It is for two classes and one kernel; with more there is no method yet."
        if self.by_class and not self.is_sparse:
            return (
                "Offsets and coefficients of the classes sum to zero, so that the posterior has no "
                "density in as many dimensions as the model has unknowns. There is no method for "
                "it yet; two classes have 'bridge'."
            )
        return None
