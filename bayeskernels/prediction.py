r"""Prediction from the draws of a classifier (KGS, section 4).

*Bayesian transduction* lets the drawn classifiers vote on a new point (KGS, equation (4)); the
share of the majority says how sure they are. The *Bayes point* (5) is the mean direction: one
classifier that approximates the vote. The posterior predictive probability also accounts for the
label noise of the new label itself.

More than two classes are told apart one against the rest (BPM, section 4.3): the class with the
largest mean output wins, a draw votes for the class with its largest output.
"""

import numba
import numpy as np
import xarray as xr
from scipy.special import expit, ndtr
from scipy.stats import entropy

from bayeskernels.class_probability import class_probabilities
from bayeskernels.distributions.hinge import complete_hinge_logit
from bayeskernels.gp.prediction import predict_process
from bayeskernels.gp_specification import GaussianProcessSpecification
from bayeskernels.inputs import as_new_inputs
from bayeskernels.models.latent_classifier import rest_variances
from bayeskernels.outputs import fitc_precisions, flip_rates, noise_deviations, output_blocks
from bayeskernels.regression_prediction import predict_targets
from bayeskernels.regression_specification import RegressionSpecification
from bayeskernels.specification import (
    GeneralizedKernelSpecification,
    GroupedKernelSpecification,
    LatentClassifierSpecification,
    LogisticSpecification,
    specification_of,
)

__all__ = ["binary_entropy", "column_names", "new_inputs", "predict"]


def predict(model, idata, X_new=None, *, progressbar=True):
    """Predict the classes, or the targets, of new points by Bayesian model averaging.

    Parameters
    ----------
    model : pm.Model or PermutationPerceptron
        Made by a builder of :mod:`bayeskernels.models`, or an ensemble.
    idata : DataTree
        Its posterior draws, from ``pm.sample``; None where nothing is random, or the rest is known
        in closed form. Of a Laplace approximation or a grid: draws of it, ``.sample()``. For a
        Gaussian process also the result of
        :func:`bayeskernels.gp.maximise_evidence`.
    X_new : array_like of shape (n, p)
        New inputs. For a precomputed kernel: kernel values with all m training points, (n, m). A
        model without inputs takes none.
    progressbar : bool
        Whether to show progress; only kernels with random hyperparameters take long.

    Returns
    -------
    xarray.Dataset
        With the dims ``obs_new`` and ``class``: ``label`` (the class with most votes; of more than
        two classes the one with the largest mean output; in models with a smooth link the more
        probable one), ``vote`` (share of the draws that vote
        for a class), ``probability`` (that the label reads so, flips included), ``latent`` (mean
        output of the unit-length classifiers; by class where there are more than two), ``margin``
        (size of the winning mean output divided by the square root of k(x, x), the number by which
        to reject; not divided where the kernel is a Gram matrix or random) and ``entropy`` (of the
        votes, in bits; KGS prints it without its minus sign). Models with a smooth likelihood also
        have ``latent_sd``, the standard deviation of the output. A regression has ``mean`` and
        ``sd`` of a new target, noise included, and ``latent_sd`` of the function without noise,
        instead of all these.

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
    specification = specification_of(model)
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
    blocks = output_blocks(specification, idata, X_new, progressbar=progressbar)
    n = len(X_new)
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
        link = _link(specification, idata, X_new)
        variables = _link_prediction(blocks, n, specification.class_names, link)
    elif specification.n_classes == 2:
        rates = flip_rates(specification, idata)
        variables = _two_class_prediction(blocks, n, rates, specification.class_names)
    else:
        variables = _one_vs_rest_prediction(blocks, n, specification.class_names)
    winning = np.abs(variables["latent"][1])
    winning = winning if winning.ndim == 1 else variables["latent"][1].max(axis=1)
    variables["margin"] = ("obs_new", winning / _lengths(specification.kernel, X_new))
    return xr.Dataset(
        variables, coords={"obs_new": np.arange(n), "class": specification.class_names}
    )


def _two_class_prediction(blocks, n, rates, class_names):
    q_negative, q_positive = rates
    votes, gains, latent = np.empty(n), np.empty(n), np.empty(n)
    # P(label 1) is q- where f < 0 and 1 - q+ where f > 0: q- plus the gain of a positive vote.
    gain = np.asarray(1.0 - q_positive - q_negative)
    for part, outputs in blocks:
        weights = np.broadcast_to(gain, outputs.shape[1:])
        votes[part], gains[part], latent[part] = _tally(outputs, np.ascontiguousarray(weights))
    positive = np.mean(q_negative) + gains
    # Where as many vote for the one as for the other, the mean output decides.
    wins = (votes > 0.5) | ((votes == 0.5) & (latent > 0.0))
    return {
        "label": ("obs_new", class_names[wins.astype(int)]),
        "probability": (("obs_new", "class"), np.stack([1 - positive, positive], axis=1)),
        "vote": (("obs_new", "class"), np.stack([1 - votes, votes], axis=1)),
        "latent": ("obs_new", latent),
        "entropy": ("obs_new", binary_entropy(votes)),
    }


def _link(specification, idata, X_new):
    """From the slice of a block and its outputs to probabilities of the positive class."""
    if specification.link == "hinge":
        return _complete_hinge
    if specification.fitc_precision is None:
        return _probit
    g = fitc_precisions(specification, idata)
    rest = rest_variances(specification.kernel, specification.feature_map(X_new), X_new)
    return lambda part, outputs: ndtr(outputs / np.sqrt(1.0 + rest[part, None] / g))


def _probit(part, outputs):
    return ndtr(outputs)


def _logistic(part, outputs):
    return expit(outputs)


def _complete_hinge(part, outputs):
    return expit(complete_hinge_logit(outputs))


def _link_prediction(blocks, n, class_names, link):
    """Average over draws of the probability of each class (GKM, section 3.3)."""
    votes, positive, latent, spread = (np.empty(n) for _ in range(4))
    for part, outputs in blocks:
        votes[part] = (outputs > 0).mean(axis=1)
        positive[part] = link(part, outputs).mean(axis=1)
        latent[part] = outputs.mean(axis=1)
        spread[part] = outputs.std(axis=1)
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
    for part, outputs in blocks:
        latent[part] = outputs.mean(axis=1)
        spread[part] = outputs.std(axis=1)
        probability[part] = class_probabilities(outputs)
        largest = outputs.argmax(axis=2)
        for c in range(len(class_names)):
            votes[part, c] = (largest == c).mean(axis=1)
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
    for part, outputs in blocks:
        mean[part] = outputs.mean(axis=1)
        spread[part] = outputs.std(axis=1)
    return {
        "mean": ("obs_new", mean),
        "sd": ("obs_new", np.sqrt(spread**2 + np.mean(np.square(noise)))),
        "latent_sd": ("obs_new", spread),
    }


def _one_vs_rest_prediction(blocks, n, class_names):
    votes, latent = np.empty((n, len(class_names))), np.empty((n, len(class_names)))
    for part, outputs in blocks:
        latent[part] = outputs.mean(axis=1)
        for c in range(len(class_names)):
            votes[part, c] = (outputs.argmax(axis=2) == c).mean(axis=1)
    by_class = ("obs_new", "class")
    return {
        "label": ("obs_new", class_names[latent.argmax(axis=1)]),
        # The version space knows no label noise: a class is as probable as it has votes.
        "probability": (by_class, votes.copy()),
        "vote": (by_class, votes),
        "latent": (by_class, latent),
        "entropy": ("obs_new", entropy(votes, base=2, axis=1)),
    }


def _lengths(kernel, X):
    """Lengths of points in feature space, one where they cannot be known."""
    if kernel.is_precomputed or kernel.is_random:
        return 1.0
    lengths = np.sqrt(np.maximum(kernel.diagonal(X), 0.0))
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


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _tally(outputs, weights):
    """Share of positive outputs, mean of the weights where positive, and mean output, by row.

    An output of exactly zero is half a vote.
    """
    n, n_draws = outputs.shape
    votes = np.zeros(n)
    gains = np.zeros(n)
    means = np.zeros(n)
    for i in range(n):
        vote = 0.0
        gain = 0.0
        total = 0.0
        for s in range(n_draws):
            f = outputs[i, s]
            side = 0.5 * (f > 0.0) + 0.5 * (f >= 0.0)
            vote += side
            gain += side * weights[s]
            total += f
        votes[i] = vote / n_draws
        gains[i] = gain / n_draws
        means[i] = total / n_draws
    return votes, gains, means


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
