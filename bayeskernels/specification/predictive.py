r"""From the outputs of draws to the prediction of new labels or targets (KGS, section 4).

Each function goes once through blocks of points, as
:meth:`bayeskernels.specification.base.ModelSpecification.output_blocks` makes them, and returns
the variables of an ``xarray.Dataset`` with the dims ``obs_new`` and ``class``;
:func:`bayeskernels.predict` says what they mean.
"""

import numpy as np
import scipy

from bayeskernels.distributions.class_probability import class_probabilities
from bayeskernels.inputs import as_targets
from bayeskernels.kernels.beyond_span import largest_probabilities, largest_shares, tally

__all__ = [
    "binary_entropy",
    "direction_prediction",
    "kernel_diagonal",
    "largest_prediction",
    "lengths",
    "link_prediction",
    "one_vs_rest_prediction",
    "target_prediction",
]


def direction_prediction(blocks, n, class_names, rates, rank):
    """Votes of directions, and the part of the function beyond their span integrated out.

    Parameters
    ----------
    blocks : iterable
    n : int
    class_names : array of shape (2,)
    rates : tuple
        Flip rates of the two classes, numbers or arrays by draw.
    rank : int
        Number of coordinates.
    """
    q_negative, q_positive = rates
    votes, shares, gains, latent = (np.empty(n) for _ in range(4))
    # P(label 1) is q- where f < 0 and 1 - q+ where f > 0: q- plus the gain of a positive f.
    gain = np.asarray(1.0 - q_positive - q_negative)
    for part, outputs, rest in blocks:
        weights = np.broadcast_to(gain, outputs.shape[1:])
        votes[part], shares[part], gains[part], latent[part] = tally(outputs, weights, rest, rank)
    # Where both signs are equally probable, the mean output decides.
    wins = (shares > 0.5) | ((shares == 0.5) & (latent > 0.0))
    return _of_two(class_names, wins, np.mean(q_negative) + gains, votes, latent)


def link_prediction(blocks, n, class_names, link):
    """Average over draws of the probability of each of two classes (GKM, section 3.3).

    Parameters
    ----------
    blocks, n, class_names
        See :func:`direction_prediction`.
    link : callable
        From outputs and their rests to the probability of the second class, and the variance of
        the function besides.
    """
    votes, positive, latent, spread = (np.empty(n) for _ in range(4))
    for part, outputs, rest in blocks:
        probability, variance = link(outputs, rest)
        votes[part] = np.heaviside(outputs, 0.5).mean(axis=1)
        positive[part] = probability.mean(axis=1)
        latent[part] = outputs.mean(axis=1)
        beyond = np.broadcast_to(variance, outputs.shape).mean(axis=1)
        spread[part] = np.sqrt(outputs.var(axis=1) + beyond)
    prediction = _of_two(class_names, positive > 0.5, positive, votes, latent)
    return {**prediction, "latent_sd": ("obs_new", spread)}


def _of_two(class_names, wins, positive, votes, latent):
    """What is said of two classes, where that of the second is known."""
    return {
        "label": ("obs_new", class_names[wins.astype(int)]),
        "probability": (("obs_new", "class"), np.stack([1 - positive, positive], axis=1)),
        "vote": (("obs_new", "class"), np.stack([1 - votes, votes], axis=1)),
        "latent": ("obs_new", latent),
        "entropy": ("obs_new", binary_entropy(votes)),
    }


def largest_prediction(blocks, n, class_names):
    """Average over draws of the probability of each class to be the largest (GKM, section 6.2)."""
    votes, probability, latent, spread = (np.empty((n, len(class_names))) for _ in range(4))
    for part, outputs, _ in blocks:
        latent[part] = outputs.mean(axis=1)
        spread[part] = outputs.std(axis=1)
        probability[part] = class_probabilities(outputs)
        votes[part] = largest_shares(outputs)
    prediction = _of_several(class_names, probability, probability, votes, latent)
    return {**prediction, "latent_sd": (("obs_new", "class"), spread)}


def one_vs_rest_prediction(blocks, n, class_names, rank):
    """Directions that tell each class from the rest: the largest mean output wins.

    Parameters
    ----------
    blocks, n, class_names, rank
        See :func:`direction_prediction`.
    """
    votes, probability, latent = (np.empty((n, len(class_names))) for _ in range(3))
    for part, outputs, rest in blocks:
        latent[part] = outputs.mean(axis=1)
        votes[part] = largest_shares(outputs)
        # The version space knows no label noise: a class is as probable as its function is largest.
        probability[part] = largest_probabilities(outputs, rest, rank)
    return _of_several(class_names, latent, probability, votes, latent)


def _of_several(class_names, scores, probability, votes, latent):
    """What is said of several classes, of which the one with the largest score wins."""
    by_class = ("obs_new", "class")
    return {
        "label": ("obs_new", class_names[scores.argmax(axis=1)]),
        "probability": (by_class, probability),
        "vote": (by_class, votes),
        "latent": (by_class, latent),
        "entropy": ("obs_new", scipy.stats.entropy(votes, base=2, axis=1)),
    }


def target_prediction(blocks, n, noise):
    """Mean and standard deviation of new targets, and that of the function alone.

    Every draw gives a distribution with a mean and a variance; the prediction is their mixture.

    Parameters
    ----------
    blocks : iterable
        Of slices, means by draw and variances by draw, None where these are zero.
    n : int
    noise : array
        Variances of the noise by draw.
    """
    mean, latent = np.empty(n), np.empty(n)
    for part, means, variances in blocks:
        mean[part] = means.mean(axis=1)
        # The variance of a mixture: the mean of the variances and the variance of the means.
        latent[part] = means.var(axis=1) + (0.0 if variances is None else variances.mean(axis=1))
    return {
        "mean": ("obs_new", mean),
        "sd": ("obs_new", np.sqrt(latent + np.mean(noise))),
        "latent_sd": ("obs_new", np.sqrt(latent)),
    }


def kernel_diagonal(kernel, X, given):
    """Kernel values of points with themselves; None where they cannot be known."""
    if kernel is None or not kernel.is_precomputed:
        if given is not None:
            raise ValueError(
                "diagonal is for a precomputed kernel; this one knows its values at all points. "
                "Leave it out."
            )
        return None if kernel is None or kernel.is_random else kernel.diagonal(X)
    if given is None:
        return None
    values = as_targets(given, len(X), name="diagonal", inputs="X_new") + kernel.bias
    if (values < 0.0).any():
        raise ValueError(
            "diagonal has negative entries: kernel values of points with themselves are squares of "
            "lengths."
        )
    return values


def lengths(diagonal):
    """Lengths of points in feature space, one where they cannot be known."""
    if diagonal is None:
        return 1.0
    values = np.sqrt(np.maximum(diagonal, 0.0))
    return np.where(values > 0.0, values, 1.0)


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
