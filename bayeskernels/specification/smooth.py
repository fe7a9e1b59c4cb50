"""Classifiers of two classes whose probabilities are smooth functions of linear outputs."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, ndtr

from bayeskernels.kernels.beyond_span import hinge_probabilities
from bayeskernels.kernels.features import FeatureMap, WithOffset
from bayeskernels.linear.basis import Basis
from bayeskernels.specification.base import LabelSpecification
from bayeskernels.specification.draws import posterior_draws
from bayeskernels.specification.outputs import GraphFunctions, LinearFunctions

__all__ = ["LatentClassifierSpecification", "LogisticSpecification"]


@dataclass(frozen=True, kw_only=True)
class LatentClassifierSpecification(GraphFunctions, LabelSpecification):
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
    def needs_rest(self):
        """Whether the part of the function beyond the span belongs to the likelihood."""
        return self.is_fitc

    def drawn_functions(self, idata):
        """Coordinates of the drawn functions, and the offset as the last one."""
        w, feature_map = super().drawn_functions(idata)
        if feature_map is None:
            return w, None
        u = posterior_draws(idata, f"{self.prefix}u")
        return np.concatenate([w, u[..., None]], axis=-1), WithOffset(feature_map)

    def class_probability(self, idata, outputs, rest):
        """Probability of the positive class, the part of the function beyond the span included."""
        variance = 0.0 if rest is None else rest / self.draws_of(idata, "g")
        if self.link == "hinge":
            return hinge_probabilities(outputs, variance), variance
        # A probit link of a normal function is one of its mean, on a longer scale.
        return ndtr(outputs / np.sqrt(1.0 + variance)), variance


@dataclass(frozen=True, kw_only=True)
class LogisticSpecification(LinearFunctions, LabelSpecification):
    """Logistic regression of two classes: f(x) = <w, phi(x)> are log odds.

    Attributes
    ----------
    feature_map : Basis
        The basis functions phi.
    """

    feature_map: Basis = field(repr=False)

    def class_probability(self, idata, outputs, rest):
        """Probability of the positive class."""
        return expit(outputs), 0.0
