"""What the tools need to know of a model beyond its PyMC graph.

A builder attaches a :class:`ModelSpecification` to the ``pm.Model`` it returns; prediction,
plots and diagnostics read it from there, so that people pass around nothing but the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.traversal import ancestors
from pytensor.tensor.math import Dot

from bayeskernels.inputs import Classes
from bayeskernels.kernels.argument import Kernel
from bayeskernels.kernels.family import KernelFamily
from bayeskernels.kernels.features import FeatureMap
from bayeskernels.specification.bound import (
    MARK,
    BoundSpecification,
    attach_specification,
    mark_of,
    refuse_second_specification,
    specification_of,
    specification_or_none,
)

__all__ = [
    "MARK",
    "ClassifierSpecification",
    "GeneralizedKernelSpecification",
    "GroupedKernelSpecification",
    "LatentClassifierSpecification",
    "LogisticSpecification",
    "ModelSpecification",
    "SmoothSpecification",
    "TargetSpecification",
    "attach_specification",
    "mark_of",
    "no_classes",
    "refuse_second_specification",
    "specification_of",
    "specification_or_none",
]


@dataclass(frozen=True, kw_only=True)
class ModelSpecification(BoundSpecification):
    """What all classifiers have, and regressions of the same family of models.

    Attributes
    ----------
    class_names : array of shape (n_classes,)
        Labels; of two, the second is the positive class.
    """

    class_names: np.ndarray

    @property
    def n_classes(self):
        """Number of classes."""
        return len(self.class_names)

    def require_classes(self, what, n_classes=None):
        """Refuse a regression, or another number of classes, for a tool that is called ``what``."""
        if self.n_classes == 0:
            raise no_classes(what, self.kind)
        if n_classes is not None and self.n_classes != n_classes:
            raise TypeError(
                f"{what} is for {'two' if n_classes == 2 else n_classes} classes; this {self.kind} "
                f"has {self.n_classes}. Build a model of one class against the rest: "
                "y == class_name."
            )

    @property
    def codes(self):
        """Labels as the model has them now, as numbers of classes: shape (m,)."""
        labels = self.observed
        if self.n_classes == 0:
            return np.zeros(0, dtype=np.int64)
        if labels.ndim == 2:
            # A column for each class, which tells it from the rest.
            is_label = np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all()
            labels = labels.argmax(axis=1)
        else:
            is_label = np.isin(labels, np.arange(self.n_classes)).all()
        if not is_label:
            raise ValueError(
                f"{self.prefix}y_data must hold numbers of classes, 0 to {self.n_classes - 1} "
                "(with a column for each class: a single 1 in each row), in the order of the "
                f"model's coordinate class: {self.class_names.tolist()}."
            )
        return labels.astype(np.int64)

    @property
    def is_positive(self):
        """Labels by direction, see :attr:`bayeskernels.inputs.Classes.is_positive`."""
        return Classes(self.codes, self.class_names).is_positive


class _WithGraphs:
    """Graphs of the model's variables, for kernels that differ from draw to draw."""

    @property
    def outputs(self):
        """Outputs f, where they have no independent rest: what the labels depend on."""
        return self.without_observed(self.model[f"{self.prefix}y"].owner.inputs[2])

    @property
    def features(self):
        """Coordinates of the inputs, (n, r): the matrix that is multiplied by the direction."""
        products = (v for v in ancestors([self.outputs]) if v.owner is not None)
        return next(v for v in products if isinstance(v.owner.op, Dot)).owner.inputs[0]

    @property
    def rest(self):
        """Variances k(x, x) - |phi(x)|^2 beyond the span; None where the kernel is fixed.

        See :mod:`bayeskernels.kernels.beyond_span`.
        """
        if self.feature_map is not None or isinstance(self.model, Mapping):
            return None
        diagonal = self.kernel.covariance(self.model[f"{self.prefix}X"], diag=True)
        return pt.maximum(diagonal - pt.sum(pt.sqr(self.features), axis=1), 0.0)


@dataclass(frozen=True, kw_only=True)
class ClassifierSpecification(_WithGraphs, ModelSpecification):
    """A classifier that is linear in the direction ``w``, or in one direction for each class.

    More than two classes are told apart one against the rest.

    Attributes
    ----------
    feature_map : FeatureMap or None
        None where the kernel has random hyperparameters.
    flip_rate : float or None
        The flip rate where it cannot be set; None where the model has a variable ``noise``.
    softness : float or None
        The lambda of soft boundaries; None where it is random.
    """

    feature_map: FeatureMap | None = field(repr=False)
    flip_rate: float | None = None
    softness: float | None = 0.0

    @property
    def noise(self):
        """Flip rates of the two classes as they are set now; None where the posterior has them."""
        value = self.fixed("noise") if self.flip_rate is None else self.flip_rate
        if value is None:
            return None
        rates = np.broadcast_to(value, 2)
        return float(rates[0]), float(rates[1])

    def require_two_classes(self, what):
        """Refuse a model of several classes, for a tool that is called ``what``."""
        if self.n_classes > 2:
            raise TypeError(
                f"{what} is for two classes; this model has {self.n_classes}. Build a model of "
                "one class against the rest: y == class_name."
            )

    @property
    def rank(self):
        """Number of coordinates of the direction."""
        return len(self.training) if self.feature_map is None else self.feature_map.rank

    @property
    def discarded_trace(self):
        """Share of the Gram matrix's trace that a low rank leaves out."""
        return 0.0 if self.feature_map is None else self.feature_map.factor.discarded


@dataclass(frozen=True, kw_only=True)
class SmoothSpecification(ModelSpecification):
    """A model of two classes whose likelihood is smooth: it knows no flip rates."""

    noise = None

    def require_two_classes(self, what):
        """Refuse, for a tool of label-noise classifiers that is called ``what``."""
        raise TypeError(
            f"{what} is for classifiers under label noise; this is a {self.kind}, whose likelihood "
            "is smooth: pm.compute_log_likelihood and az.loo work on it as they are."
        )


@dataclass(frozen=True, kw_only=True)
class GeneralizedKernelSpecification(SmoothSpecification):
    """A generalized kernel model: a kernel expansion in active points, with an offset.

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

    @property
    def targets(self):
        """Observations of a regression as the model has them now."""
        return np.asarray(self.observed, dtype=np.float64)

    @cached_property
    def family(self):
        """The kernel as a function of its random hyperparameters, None where it has none."""
        return KernelFamily(self.kernel, self.model) if self.kernel.is_random else None

    #: Coordinates are kernel values with active points, which differ from draw to draw.
    feature_map = None


@dataclass(frozen=True, kw_only=True)
class GroupedKernelSpecification(SmoothSpecification):
    """A generalized kernel model of several classes, several kernels, or both.

    Attributes
    ----------
    kernels : tuple of Kernel
        The attribute ``kernel`` is their sum.
    by_kernel, by_class : bool
        Whether coefficients have a dim ``kernel``, and a dim ``class``.
    kernel_off : float
        Prior probability of a kernel being off.
    max_active : int
        Largest number of active points.
    is_sparse : bool
        False where all points are active.
    inclusion : tuple of float
        Parameters of the Beta prior of the share of active points.
    """

    kernels: tuple[Kernel, ...] = field(repr=False)
    by_kernel: bool
    by_class: bool
    kernel_off: float
    max_active: int
    is_sparse: bool
    inclusion: tuple[float, float]

    #: Coordinates are kernel values with active points, which differ from draw to draw.
    feature_map = None


@dataclass(frozen=True, kw_only=True)
class LatentClassifierSpecification(_WithGraphs, SmoothSpecification):
    """A classifier of two classes with a smooth link: f(x) = u + <w, phi(x)>, w and u Gaussian.

    Attributes
    ----------
    feature_map : FeatureMap or None
        None where the kernel has random hyperparameters.
    link : {"probit", "hinge"}
        From outputs to the probability of the positive class; ``hinge`` is the complete form.
    is_fitc : bool
        Whether the variance k(x, x) - |phi(x)|^2 beyond the span, divided by the precision g, is a
        part of the likelihood as well.
    """

    feature_map: FeatureMap | None = field(repr=False)
    link: str
    is_fitc: bool = False

    @property
    def rank(self):
        """Number of coordinates of w."""
        return len(self.training) if self.feature_map is None else self.feature_map.rank


@dataclass(frozen=True, kw_only=True)
class LogisticSpecification(SmoothSpecification):
    """Logistic regression of two classes: f(x) = <w, phi(x)> are log odds.

    Attributes
    ----------
    feature_map : Basis
        The basis functions phi.
    """

    feature_map: object = field(repr=False)

    @property
    def rank(self):
        """Number of weights."""
        return len(self.feature_map.names)


@dataclass(frozen=True, kw_only=True)
class TargetSpecification(BoundSpecification):
    """What regressions have in the place of classes."""

    conditions_on_data = True

    @property
    def y(self):
        """Targets as the model has them now, shape (n,)."""
        self.require_paired_data()
        return np.asarray(self.observed, dtype=np.float64)

    def require_classes(self, what, n_classes=None):
        """Refuse, for a tool of classifiers that is called ``what``."""
        raise no_classes(what, self.kind)


def no_classes(what, kind):
    """Say that a tool for classifiers was given a regression."""
    return TypeError(
        f"{what} is for classifiers; this {kind} is a regression. bk.predict gives the mean and "
        "the standard deviation of new targets, bk.plots.regression_band shows them."
    )
