"""What every model answers to the tools, and what models of labels or of targets add to it.

A builder attaches a specification to the ``pm.Model`` it returns, so that people pass around
nothing but the model. Prediction, diagnostics, evidence and plots ask it; none of them looks at its
type. What is asked of a model that cannot answer is refused by one sentence,
:meth:`ModelSpecification.refusal`.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from bayeskernels.inputs import Classes
from bayeskernels.specification.bound import (
    MARK,
    BoundSpecification,
    attach_specification,
    mark_of,
    refuse_second_specification,
    specification_of,
    specification_or_none,
)
from bayeskernels.specification.draws import posterior_draws
from bayeskernels.specification.predictive import (
    kernel_diagonal,
    largest_prediction,
    lengths,
    link_prediction,
)

__all__ = [
    "MARK",
    "LabelSpecification",
    "ModelSpecification",
    "TargetSpecification",
    "attach_specification",
    "mark_of",
    "refuse_second_specification",
    "specification_of",
    "specification_or_none",
]


@dataclass(frozen=True, kw_only=True)
class ModelSpecification(BoundSpecification):
    """What tools may ask of any model.

    A model has to answer :meth:`output_blocks` and :meth:`predictive`. The other answers are those
    of a model about which there is nothing more to say.
    """

    #: Number of classes; 0 where observations are no labels.
    n_classes = 0

    #: Whether a draw is a direction, whose sign at a point labels contradict at a flip rate only.
    has_directions = False

    #: Whether it is a Gaussian process that was integrated out of the model.
    is_process = False

    #: Whether observations are independent given the unknowns that are drawn.
    has_independent_observations = False

    #: Name of the indicators of active points, where a model has such.
    indicators = None

    #: Dims of variables whose single entries mean nothing to anybody.
    unwatched_dims = frozenset({"basis", "support", "obs", "unit"})

    #: Names of the methods of estimating the evidence that are made for this kind of model.
    evidence_methods = ()

    def output_blocks(self, idata, X=None, *, diagonal=None, progressbar=True):
        """Go through points in blocks, with what the draws say of them and what they leave open.

        Parameters
        ----------
        idata : DataTree
            As :func:`bayeskernels.specification.draws.read_draws` returns it.
        X : array of shape (n, p), optional
            Points; those that the model has as data by default.
        diagonal : array of shape (n,), optional
            Kernel values of the points with themselves, where the kernel is fixed.
        progressbar : bool
            Whether to show progress where every draw has to be evaluated by itself.

        Yields
        ------
        slice
            Which points.
        array of shape (n_points, n_draws) or (n_points, n_draws, n_classes)
            Their outputs, chains one after the other; by class where there are more than two. In
            a regression the function of each draw, or its mean where it is integrated out.
        array of shape (n_points, 1) or (n_points, n_draws), or None
            Variance of the function besides, before it is divided by a precision. None where it is
            not known, or the model has none.
        """
        raise NotImplementedError

    def predictive(self, idata, X_new, *, beyond_span=True, diagonal=None, progressbar=True):
        """Predictive distribution of new observations at X_new (n, p), or of the next one at None.

        Takes what :func:`bayeskernels.predict` takes, with the draws as
        :func:`bayeskernels.specification.draws.read_draws` returns them, and returns the same.
        """
        raise NotImplementedError

    def watched(self, idata, *, progressbar=True):
        """Numbers to watch beside outputs and unknowns: arrays with the dims chain and draw."""
        if self.indicators is None or f"{self.prefix}{self.indicators}" not in idata["posterior"]:
            return {}
        indicators = idata["posterior"][f"{self.prefix}{self.indicators}"]
        return {"active": indicators.sum("obs").astype(float)}

    def held_out_densities(self, idata, *, progressbar=True):
        """Densities of single observations, with which a draw is weighted to leave one out.

        Yields
        ------
        slice
            Which observations.
        array of shape (n_points, n_draws)
            Log densities, given the draw (and all other observations, where a draw leaves them
            dependent).
        """
        remedy = "pm.compute_log_likelihood and az.loo work on it as they are."
        raise self.refusal(
            "loo",
            "classifiers under label noise and Gaussian processes",
            remedy if self.has_independent_observations else "",
        )

    def evidence_refusal(self, method):
        """Why a method of estimating the evidence is not for this model, as sentences; or None.

        Methods read the graph of a model. This is for what the graph does not show.
        """
        return None

    def draws_of(self, idata, name):
        """Values of a variable with the draws as the first axis; one where it is fixed."""
        value = self.fixed(name)
        if value is not None:
            return np.asarray(value, dtype=np.float64)[None]
        values = posterior_draws(idata, f"{self.prefix}{name}")
        return values.reshape(-1, *values.shape[2:])

    def refusal(self, what, wanted, remedy=""):
        """The error of a tool that does not fit the model.

        ``what`` is its name, ``wanted`` says in the plural which models it is for, and ``remedy``
        what to do instead, as a sentence.
        """
        found = f"{self.kind}, which is a regression"
        if self.n_classes > 0:
            found = f"{self.kind} of {'two' if self.n_classes == 2 else self.n_classes} classes"
        return TypeError(f"{what} is for {wanted}; this is a {found}. {remedy}".rstrip())

    def require_classes(self, what, n_classes=None, remedy=None):
        """Refuse a regression, or another number of classes, for a tool that is called ``what``."""
        if self.n_classes == 0:
            raise self.refusal(
                what,
                "classifiers",
                "bk.predict gives the mean and the standard deviation of new targets, "
                "bk.plots.regression_band shows them.",
            )
        if n_classes is not None and self.n_classes != n_classes:
            raise self.refusal(
                what,
                f"classifiers of {'two' if n_classes == 2 else n_classes} classes",
                remedy or "Build a model of one class against the rest: y == class_name.",
            )

    def require_directions(self, what, n_classes=None, remedy=""):
        """Refuse what is no classifier under label noise, for a tool that is called ``what``."""
        self.require_classes(what, n_classes)
        if not self.has_directions:
            raise self.refusal(what, "classifiers under label noise", remedy)


@dataclass(frozen=True, kw_only=True)
class LabelSpecification(ModelSpecification):
    """What classifiers answer.

    Of two classes the probability of the second is a function of one output, of more classes that
    with the largest output wins.

    Attributes
    ----------
    class_names : array of shape (n_classes,)
        Labels; of two, the second is the positive class. Empty where a model of the same family is
        a regression.
    """

    class_names: np.ndarray

    has_independent_observations = True

    #: Whether a draw may contradict labels.
    makes_errors = True

    #: Whether the part of the function beyond the span belongs to the likelihood.
    needs_rest = False

    @property
    def n_classes(self):
        """Number of classes."""
        return len(self.class_names)

    @property
    def has_output_by_class(self):
        """Whether every class has an output of its own."""
        return self.n_classes > 2

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

    def class_probability(self, idata, outputs, rest):
        """Probability of the second class by draw, and the variance of the function besides.

        ``outputs`` and ``rest`` are those of :meth:`output_blocks`.
        """
        raise NotImplementedError

    def summary(self, idata, blocks, n):
        """Variables of the prediction at n points, from blocks of outputs."""
        if self.has_output_by_class:
            return largest_prediction(blocks, n, self.class_names)

        def link(outputs, rest):
            return self.class_probability(idata, outputs, rest)

        return link_prediction(blocks, n, self.class_names, link)

    def predictive(self, idata, X_new, *, beyond_span=True, diagonal=None, progressbar=True):
        """Predictive distribution of new labels."""
        diagonal = kernel_diagonal(self.kernel, X_new, diagonal)
        has_rest = False

        def blocks():
            nonlocal has_rest
            found = self.output_blocks(idata, X_new, diagonal=diagonal, progressbar=progressbar)
            for part, outputs, rest in found:
                rest = rest if beyond_span or self.needs_rest else None
                has_rest |= rest is not None
                yield part, outputs, rest

        variables = self.summary(idata, blocks(), len(X_new))
        coords = {"obs_new": np.arange(len(X_new))}
        if self.n_classes == 0:
            return xr.Dataset(variables, coords=coords)
        latent = variables["latent"][1]
        winning = np.abs(latent) if latent.ndim == 1 else latent.max(axis=1)
        variables["margin"] = ("obs_new", winning / lengths(diagonal))
        return xr.Dataset(
            variables,
            coords={**coords, "class": self.class_names},
            attrs={"beyond_span": int(has_rest)},
        )

    def contradictions(self, outputs, part):
        """Which labels of a block of points each draw contradicts, (n_points, n_draws)."""
        codes = self.codes[part, None]
        if outputs.ndim == 3:
            return outputs.argmax(axis=2) != codes
        return np.where(codes == 1, outputs <= 0, outputs >= 0)

    def watched(self, idata, *, progressbar=True):
        """The number of labels that a draw contradicts, where it may contradict any."""
        others = super().watched(idata, progressbar=progressbar)
        if self.n_classes == 0 or not self.makes_errors:
            return others
        self.require_paired_data()
        errors = 0
        for part, outputs, _ in self.output_blocks(idata, progressbar=progressbar):
            errors = errors + self.contradictions(outputs, part).sum(axis=0)
        sizes = idata["posterior"].sizes
        errors = errors.reshape(sizes["chain"], sizes["draw"]).astype(float)
        return {"errors": xr.DataArray(errors, dims=("chain", "draw")), **others}


@dataclass(frozen=True, kw_only=True)
class TargetSpecification(ModelSpecification):
    """What regressions have in the place of classes."""

    conditions_on_data = True

    @property
    def y(self):
        """Targets as the model has them now, shape (n,)."""
        self.require_paired_data()
        return np.asarray(self.observed, dtype=np.float64)
