r"""Prediction from the draws of a classifier (KGS, section 4).

*Bayesian transduction* lets the drawn classifiers vote on a new point (KGS, equation (4)); the
share of the majority says how sure they are. The *Bayes point* (5) is the mean direction: one
classifier that approximates the vote.

The drawn classifiers lie in the span of the training points. That suffices for the Bayes point
(BPM, Theorem 12), but far from all data their vote is surer than the posterior is: there the part
of a classifier outside the span decides, of which the labels say nothing. The posterior predictive
probability integrates over this part (:mod:`bayeskernels.kernels.beyond_span`) and over the noise
of the new label itself.

More than two classes are told apart one against the rest (BPM, section 4.3): the class with the
largest mean output wins, a draw votes for the class with its largest output.
"""

import numpy as np
import xarray as xr
from scipy.special import expit, ndtr
from scipy.stats import entropy

from bayeskernels.distributions.class_probability import class_probabilities
from bayeskernels.gp.prediction import predict_process
from bayeskernels.inputs import as_new_inputs, as_targets
from bayeskernels.kernels.beyond_span import (
    hinge_probabilities,
    largest_probabilities,
    largest_shares,
    tally,
)
from bayeskernels.prediction.outputs import (
    flip_rates,
    noise_deviations,
    outputs_with_rest,
    process_precisions,
)
from bayeskernels.prediction.regression import predict_targets
from bayeskernels.specification.base import (
    GeneralizedKernelSpecification,
    GroupedKernelSpecification,
    LatentClassifierSpecification,
    LogisticSpecification,
    specification_of,
)
from bayeskernels.specification.draws import read_draws
from bayeskernels.specification.process import GaussianProcessSpecification
from bayeskernels.specification.regression import RegressionSpecification

__all__ = ["binary_entropy", "column_names", "new_inputs", "predict"]


def predict(model, idata, X_new=None, *, beyond_span=True, diagonal=None, progressbar=True):
    """Predict the classes, or the targets, of new points by Bayesian model averaging.

    Parameters
    ----------
    model : pm.Model or PermutationPerceptron
        Made by a builder of :mod:`bayeskernels.models`, or an ensemble.
    idata : DataTree or Dataset
        Its posterior draws, from ``pm.sample``: all that it returned, the posterior alone, one
        chain of it, or samples stacked by ``az.extract``. None where nothing is random, or the rest
        is known in closed form. Of a Laplace approximation or a grid: draws of it, ``.sample()``.
        For a Gaussian process also the result of :func:`bayeskernels.gp.maximise_evidence`.
    X_new : array_like of shape (n, p)
        New inputs. For a precomputed kernel: kernel values with all m training points, (n, m). A
        model without inputs takes none.
    beyond_span : bool, default True
        Whether probabilities of classifiers account for the part of the function that the training
        points do not determine. False restricts functions to the span of the training points, as
        the papers do, and as ``pm.set_data`` with ``pm.sample_posterior_predictive`` does: far from
        the data it is too sure.
    diagonal : array_like of shape (n,), optional
        For a precomputed kernel: kernel values of the new points with themselves. Without them
        functions are restricted to the span.
    progressbar : bool
        Whether to show progress; only kernels with random hyperparameters take long.

    Returns
    -------
    xarray.Dataset
        With the dims ``obs_new`` and ``class``:

        ``probability``
            Posterior predictive probability that the label reads so: averaged over draws, flips
            included, and with the part of the function beyond the span.
        ``label``
            The more probable class of the point itself, flips aside; of more than two classes told
            apart one against the rest the one with the largest mean output.
        ``vote``
            Share of the drawn classifiers, all in the span, that vote for a class (KGS, equation
            (4)). It knows nothing of flips and of what lies beyond the span. Where the outputs of
            classes are equal, they have equal parts of a vote.
        ``entropy``
            Of the votes, in bits (KGS prints it without its minus sign).
        ``latent``
            Mean output, in label-noise classifiers and Bayes point machines that of unit-length
            classifiers; by class where there are more than two. The part beyond the span has mean
            zero.
        ``latent_sd``
            In models with a smooth likelihood: standard deviation of the output, the part beyond
            the span included.
        ``margin``
            Size of the winning mean output divided by the square root of k(x, x), the number by
            which to reject; not divided where the kernel is random, or a Gram matrix without
            ``diagonal``.

        The attribute ``beyond_span`` is 1 where that part is in it, 0 where not: on request, or
        since there is none. Kernel expansions in active points (generalized kernel models,
        ``sparse_gp_classifier``) and linear models have none by definition. Ensembles of
        perceptrons that are expanded in training points are no posterior draws; of them
        ``probability`` is the vote.

        A regression has ``mean`` and ``sd`` of a new target, noise included, and ``latent_sd`` of
        the function without noise, instead of all these.

    Examples
    --------
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> with model:
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1)
    >>> bk.predict(model, idata, [[0.0, 1.0], [1.0, -0.5]]).label.values.tolist()
    [-1, 1]
    """
    if not isinstance(beyond_span, bool | np.bool_):
        raise TypeError(f"beyond_span must be True or False, got {beyond_span!r}.")
    specification = specification_of(model)
    idata = read_draws(model, idata)
    if isinstance(specification, RegressionSpecification):
        if specification.X is not None:
            X_new = new_inputs(X_new, specification, column_names(model))
        elif X_new is not None:
            raise ValueError(
                f"A {specification.kind} has no inputs: leave X_new out. The prediction is that of "
                "the next observation."
            )
        return predict_targets(specification, idata, X_new)
    X_new = new_inputs(X_new, specification, column_names(model))
    if isinstance(specification, GaussianProcessSpecification):
        return predict_process(model, idata, X_new, progressbar=progressbar)
    n = len(X_new)
    diagonal = _diagonal(specification.kernel, X_new, diagonal)
    blocks = outputs_with_rest(
        specification, idata, X_new, diagonal=diagonal, progressbar=progressbar
    )
    if not beyond_span and not getattr(specification, "is_fitc", False):
        blocks = ((part, outputs, None) for part, outputs, _ in blocks)
    blocks = _Watched(blocks)
    if isinstance(specification, GeneralizedKernelSpecification):
        if specification.link == "identity":
            variables = _regression_prediction(blocks, n, noise_deviations(specification, idata))
            return xr.Dataset(variables, coords={"obs_new": np.arange(n)})
        link = _probit if specification.link == "probit" else _logistic
        variables = _link_prediction(blocks, n, specification.class_names, link)
    elif isinstance(specification, GroupedKernelSpecification):
        predict_link = _class_prediction if specification.by_class else _link_prediction
        variables = predict_link(blocks, n, specification.class_names, _probit)
    elif isinstance(specification, LogisticSpecification):
        variables = _link_prediction(blocks, n, specification.class_names, _logistic)
    elif isinstance(specification, LatentClassifierSpecification):
        link = _process_link(specification, idata)
        variables = _link_prediction(blocks, n, specification.class_names, link)
    elif specification.n_classes == 2:
        rates = flip_rates(specification, idata)
        variables = _two_class_prediction(blocks, n, rates, specification)
    else:
        variables = _one_vs_rest_prediction(blocks, n, specification)
    winning = np.abs(variables["latent"][1])
    winning = winning if winning.ndim == 1 else variables["latent"][1].max(axis=1)
    variables["margin"] = ("obs_new", winning / _lengths(diagonal))
    return xr.Dataset(
        variables,
        coords={"obs_new": np.arange(n), "class": specification.class_names},
        attrs={"beyond_span": int(blocks.have_rest)},
    )


class _Watched:
    """Blocks of outputs, of which it is noted whether any of them has a rest."""

    def __init__(self, blocks):
        self._blocks = blocks
        self.have_rest = False

    def __iter__(self):
        for part, outputs, rest in self._blocks:
            self.have_rest |= rest is not None
            yield part, outputs, rest


def _two_class_prediction(blocks, n, rates, specification):
    q_negative, q_positive = rates
    votes, shares, gains, latent = (np.empty(n) for _ in range(4))
    # P(label 1) is q- where f < 0 and 1 - q+ where f > 0: q- plus the gain of a positive f.
    gain = np.asarray(1.0 - q_positive - q_negative)
    for part, outputs, rest in blocks:
        weights = np.broadcast_to(gain, outputs.shape[1:])
        found = tally(outputs, weights, rest, specification.rank)
        votes[part], shares[part], gains[part], latent[part] = found
    positive = np.mean(q_negative) + gains
    # Where both signs are equally probable, the mean output decides.
    wins = (shares > 0.5) | ((shares == 0.5) & (latent > 0.0))
    return {
        "label": ("obs_new", specification.class_names[wins.astype(int)]),
        "probability": (("obs_new", "class"), np.stack([1 - positive, positive], axis=1)),
        "vote": (("obs_new", "class"), np.stack([1 - votes, votes], axis=1)),
        "latent": ("obs_new", latent),
        "entropy": ("obs_new", binary_entropy(votes)),
    }


def _process_link(specification, idata):
    """Link of a latent process: probabilities of the positive class, and the variance beyond."""

    def link(outputs, rest):
        variance = 0.0 if rest is None else rest / process_precisions(specification, idata)
        if specification.link == "hinge":
            return hinge_probabilities(outputs, variance), variance
        # A probit link of a normal function is one of its mean, on a longer scale.
        return ndtr(outputs / np.sqrt(1.0 + variance)), variance

    return link


def _probit(outputs, rest):
    return ndtr(outputs), 0.0


def _logistic(outputs, rest):
    return expit(outputs), 0.0


def _link_prediction(blocks, n, class_names, link):
    """Average over draws of the probability of each class (GKM, section 3.3)."""
    votes, positive, latent, spread = (np.empty(n) for _ in range(4))
    for part, outputs, rest in blocks:
        probability, variance = link(outputs, rest)
        votes[part] = np.heaviside(outputs, 0.5).mean(axis=1)
        positive[part] = probability.mean(axis=1)
        latent[part] = outputs.mean(axis=1)
        beyond = np.broadcast_to(variance, outputs.shape).mean(axis=1)
        spread[part] = np.sqrt(outputs.var(axis=1) + beyond)
    return {
        "label": ("obs_new", class_names[(positive > 0.5).astype(int)]),
        "probability": (("obs_new", "class"), np.stack([1 - positive, positive], axis=1)),
        "vote": (("obs_new", "class"), np.stack([1 - votes, votes], axis=1)),
        "latent": ("obs_new", latent),
        "latent_sd": ("obs_new", spread),
        "entropy": ("obs_new", binary_entropy(votes)),
    }


def _class_prediction(blocks, n, class_names, link=None):
    """Average over draws of the probability of each class to be the largest (GKM, section 6.2)."""
    votes, probability, latent, spread = (np.empty((n, len(class_names))) for _ in range(4))
    for part, outputs, _ in blocks:
        latent[part] = outputs.mean(axis=1)
        spread[part] = outputs.std(axis=1)
        probability[part] = class_probabilities(outputs)
        votes[part] = largest_shares(outputs)
    by_class = ("obs_new", "class")
    return {
        "label": ("obs_new", class_names[probability.argmax(axis=1)]),
        "probability": (by_class, probability),
        "vote": (by_class, votes),
        "latent": (by_class, latent),
        "latent_sd": (by_class, spread),
        "entropy": ("obs_new", entropy(votes, base=2, axis=1)),
    }


def _regression_prediction(blocks, n, noise):
    """Mean and standard deviation of a new target, and that of the function alone."""
    mean, spread = np.empty(n), np.empty(n)
    for part, outputs, _ in blocks:
        mean[part] = outputs.mean(axis=1)
        spread[part] = outputs.std(axis=1)
    return {
        "mean": ("obs_new", mean),
        "sd": ("obs_new", np.sqrt(spread**2 + np.mean(np.square(noise)))),
        "latent_sd": ("obs_new", spread),
    }


def _one_vs_rest_prediction(blocks, n, specification):
    class_names = specification.class_names
    votes, probability, latent = (np.empty((n, len(class_names))) for _ in range(3))
    for part, outputs, rest in blocks:
        latent[part] = outputs.mean(axis=1)
        votes[part] = largest_shares(outputs)
        # The version space knows no label noise: a class is as probable as its function is largest.
        probability[part] = largest_probabilities(outputs, rest, specification.rank)
    by_class = ("obs_new", "class")
    return {
        "label": ("obs_new", class_names[latent.argmax(axis=1)]),
        "probability": (by_class, probability),
        "vote": (by_class, votes),
        "latent": (by_class, latent),
        "entropy": ("obs_new", entropy(votes, base=2, axis=1)),
    }


def _diagonal(kernel, X, given):
    """Kernel values of points with themselves; None where they cannot be known."""
    if not kernel.is_precomputed:
        if given is not None:
            raise ValueError(
                "diagonal is for a precomputed kernel; this one knows its values at all points. "
                "Leave it out."
            )
        return None if kernel.is_random else kernel.diagonal(X)
    if given is None:
        return None
    values = as_targets(given, len(X), name="diagonal", inputs="X_new") + kernel.bias
    if (values < 0.0).any():
        raise ValueError(
            "diagonal has negative entries: kernel values of points with themselves are squares of "
            "lengths."
        )
    return values


def _lengths(diagonal):
    """Lengths of points in feature space, one where they cannot be known."""
    if diagonal is None:
        return 1.0
    lengths = np.sqrt(np.maximum(diagonal, 0.0))
    return np.where(lengths > 0.0, lengths, 1.0)


def column_names(model):
    """Names of the columns with which a model was trained, None where they are only numbered."""
    names = getattr(model, "coords", {}).get("feature")
    if names is None or list(names) == [str(k) for k in range(len(names))]:
        return None
    return tuple(names)


def new_inputs(X_new, specification, columns):
    """New inputs; a DataFrame must have the columns of training in the same order."""
    values = as_new_inputs(X_new, specification.X.shape[1])
    if columns is not None and hasattr(X_new, "columns"):
        given = tuple(str(c) for c in X_new.columns)
        if given != columns:
            remedy = "Reorder" if set(columns) <= set(given) else "Rename"
            raise ValueError(
                f"The columns of X_new are {list(given)}, the model was trained with "
                f"{list(columns)}. {remedy} them."
            )
    return values


def binary_entropy(p):
    """Entropy of a coin that shows heads with probability p, in bits.

    Examples
    --------
    >>> binary_entropy([0.5, 1.0]).tolist()
    [1.0, 0.0]
    """
    p = np.clip(np.asarray(p, dtype=float), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.stack([p * np.log2(p), (1 - p) * np.log2(1 - p)])
    return np.abs(np.nansum(terms, axis=0))
