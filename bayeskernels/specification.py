"""What the tools need to know of a model beyond its PyMC graph.

A builder attaches a :class:`ModelSpecification` to the ``pm.Model`` it returns; prediction,
plots and diagnostics read it from there, so that people pass around nothing but the model.
"""

import zlib
from dataclasses import dataclass, field

import numpy as np
import pymc as pm

from bayeskernels.features import FeatureMap
from bayeskernels.inputs import Classes
from bayeskernels.kernel_family import KernelFamily
from bayeskernels.kernels import Kernel

__all__ = [
    "MARK",
    "ClassifierSpecification",
    "GeneralizedKernelSpecification",
    "GroupedKernelSpecification",
    "LatentClassifierSpecification",
    "LogisticSpecification",
    "ModelSpecification",
    "SmoothSpecification",
    "attach_specification",
    "mark_of",
    "no_classes",
    "refuse_second_specification",
    "specification_of",
    "specification_or_none",
]

_ATTRIBUTE = "bayeskernels_specification"

#: Name of the data variable by which draws of a model are known again.
MARK = "zoo_model__"

#: Number of training points whose coordinates are in the mark.
MARKED = 64


@dataclass(frozen=True, kw_only=True)
class ModelSpecification:
    """What all models of the zoo have.

    Attributes
    ----------
    kind : str
        Name of the builder.
    class_names : array of shape (n_classes,)
        Labels; of two, the second is the positive class.
    codes : array of int, shape (m,)
        Training labels as numbers of classes.
    X : array of shape (m, p)
        Training inputs, or the Gram matrix where the kernel is precomputed.
    kernel : Kernel
    prefix : str
        What precedes the names of variables where the model is a named or nested one.
    """

    kind: str
    class_names: np.ndarray
    codes: np.ndarray = field(repr=False)
    X: np.ndarray = field(repr=False)
    kernel: Kernel
    prefix: str = ""

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
    def is_positive(self):
        """Training labels by direction, see :attr:`bayeskernels.inputs.Classes.is_positive`."""
        return Classes(self.codes, self.class_names).is_positive


@dataclass(frozen=True, kw_only=True)
class ClassifierSpecification(ModelSpecification):
    """A classifier that is linear in the direction ``w``, or in one direction for each class.

    More than two classes are told apart one against the rest.

    Attributes
    ----------
    feature_map : FeatureMap or None
        None where the kernel has random hyperparameters.
    outputs : TensorVariable or None
        Outputs f as a graph of the model's variables; None where there is no PyMC model.
    rest : TensorVariable or None
        Where the kernel is random, the variance k(x, x) - |phi(x)|^2 beyond the span as such a
        graph (:mod:`bayeskernels.beyond_span`).
    noise_data : SharedVariable, float or None
        The model's data ``noise`` where the flip rates are fixed, a number where they cannot be
        set; None where they are random.
    softness : float or None
        The lambda of soft boundaries; None where it is random.
    """

    feature_map: FeatureMap | None = field(repr=False)
    outputs: object = field(repr=False)
    rest: object = field(default=None, repr=False)
    noise_data: object = field(repr=False)
    softness: float | None = 0.0

    @property
    def noise(self):
        """Flip rates of the two classes as they are set now; None where the posterior has them."""
        if self.noise_data is None:
            return None
        value = self.noise_data
        rates = np.broadcast_to(value.get_value() if hasattr(value, "get_value") else value, 2)
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
        return len(self.X) if self.feature_map is None else self.feature_map.rank

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
    targets : array of shape (m,) or None
        Observations of a regression.
    noise_data : SharedVariable or None
        The model's data ``noise`` where the noise of a regression is fixed.
    family : KernelFamily or None
        The kernel as a function of its random hyperparameters, where it has any.
    """

    max_active: int
    is_sparse: bool
    inclusion: tuple[float, float]
    link: str = "probit"
    targets: np.ndarray | None = field(default=None, repr=False)
    noise_data: object = field(default=None, repr=False)
    family: KernelFamily | None = field(default=None, repr=False)

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
class LatentClassifierSpecification(SmoothSpecification):
    """A classifier of two classes with a smooth link: f(x) = u + <w, phi(x)>, w and u Gaussian.

    Attributes
    ----------
    feature_map : FeatureMap or None
        None where the kernel has random hyperparameters.
    outputs : TensorVariable
        Outputs f as a graph of the model's variables.
    rest : TensorVariable or None
        Where the kernel is random, the variance k(x, x) - |phi(x)|^2 beyond the span as such a
        graph (:mod:`bayeskernels.beyond_span`).
    link : {"probit", "hinge"}
        From outputs to the probability of the positive class; ``hinge`` is the complete form.
    precision : SharedVariable or str
        The precision g of the process, by which that variance is divided: the model's data, or the
        name of its posterior draws.
    is_fitc : bool
        Whether that variance is a part of the likelihood as well.
    """

    feature_map: FeatureMap | None = field(repr=False)
    outputs: object = field(repr=False)
    rest: object = field(default=None, repr=False)
    link: str
    precision: object = field(repr=False)
    is_fitc: bool = False

    @property
    def rank(self):
        """Number of coordinates of w."""
        return len(self.X) if self.feature_map is None else self.feature_map.rank


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


def no_classes(what, kind):
    """Say that a tool for classifiers was given a regression."""
    return TypeError(
        f"{what} is for classifiers; this {kind} is a regression. bk.predict gives the mean and "
        "the standard deviation of new targets, bk.plots.regression_band shows them."
    )


def refuse_second_specification(model):
    """Raise if a model already holds a classifier: before a builder adds anything to it."""
    if hasattr(model, _ATTRIBUTE):
        raise ValueError(
            "The model in context already holds a model of the zoo. Build each in a model of its "
            "own."
        )


def attach_specification(model, specification):
    """Attach a specification to a model that has none yet, and a mark that its draws will have.

    The mark is a data variable, which ``pm.sample`` stores with the draws: a number for the kind of
    model and one for its kernel. Its name ends like that of a transformed variable, so that graphs
    of the model do not show it.
    """
    refuse_second_specification(model)
    setattr(model, _ATTRIBUTE, specification)
    name = "/".join([specification.kind, getattr(specification, "link", "")])
    with model:
        pm.Data(MARK, [float(zlib.crc32(name.encode())), _fingerprint(specification)])


def mark_of(model):
    """The data variable by which draws of a model are known again; None where there is none."""
    specification = specification_or_none(model)
    return getattr(model, "named_vars", {}).get(f"{getattr(specification, 'prefix', '')}{MARK}")


def _fingerprint(specification):
    """A number that depends on all coordinates, or kernel values, of some training points."""
    features = getattr(specification, "feature_map", None) or getattr(specification, "basis", None)
    kernel = getattr(specification, "kernel", None)
    if features is not None:
        values = features.factor.features[:MARKED]
    elif kernel is not None and not kernel.is_random:
        some = specification.X[:MARKED]
        values = kernel(some, np.arange(len(some)) if kernel.is_precomputed else some)
    else:
        return 0.0
    rows, columns = (np.cos(np.arange(1.0, n + 1.0)) for n in values.shape)
    return float(rows @ values @ columns)


def specification_of(model):
    """Specification of a model that a builder of this package has made."""
    try:
        return getattr(model, _ATTRIBUTE)
    except AttributeError:
        raise TypeError(
            "This works on models made by bayeskernels.models; the given one was made otherwise."
        ) from None


def specification_or_none(model):
    """Specification of a model of this package, None of others."""
    return getattr(model, _ATTRIBUTE, None)
