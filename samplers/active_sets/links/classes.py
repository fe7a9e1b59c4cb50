r"""The working response of a probit model of several classes (GKM, section 6.2).

Row i of the paper's :math:`S = \tilde K_\gamma \tilde B_\gamma H + E H` has c entries that sum to
zero, and its noise has the covariance H, not the identity matrix that the paper prints for single
entries. With C an orthonormal basis of the vectors that sum to zero, :math:`C C^T = H`, the c - 1
columns of S C are independent and each has the :math:`Q_\gamma` of two classes: this is the
response here. The label says which entry of a row is the largest, so *every* entry is bounded by
the others; the paper prints this for the winner only.

A whole row can be drawn at once and exactly. Without the centring the noise of the entries is
independent; the winner's noise t has the density h of
:mod:`bayeskernels.distributions.class_probability`, which falls faster than a normal density, and
given it the others are truncated normal numbers.

With two classes C is (-1, 1) / sqrt(2), and all is as in the model of two classes: its predictor is
:math:`(f_2 - f_1) / \sqrt 2` with the same priors.
"""

import math
from typing import NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import overload
from scipy.linalg import helmert

from bayeskernels.compiled import JIT, hazard, log_normal_cdf
from bayeskernels.distributions.class_probability import (
    NEGLIGIBLE,
    STEP,
    label_log_probabilities,
    label_mode,
    label_slope,
    log_label_density,
)
from bayeskernels.samplers.active_sets.links import link
from bayeskernels.samplers.active_sets.links.probit import truncated_normal

__all__ = [
    "ClassLabels",
    "class_contrasts",
    "class_terms",
    "draw_classes",
    "draw_row",
    "labels_log_probability",
]

_ROOT_HALF = math.sqrt(0.5)
_INVERSE_ROOT_TAU = 1.0 / math.sqrt(2.0 * math.pi)


class ClassLabels(NamedTuple):
    """Data of a probit model of several classes.

    Attributes
    ----------
    labels : array of int, shape (n,)
        Numbers of the classes.
    contrasts : array of shape (c, c - 1)
        Coordinates of the response, from :func:`class_contrasts`.
    """

    labels: np.ndarray
    contrasts: np.ndarray

    @classmethod
    def of(cls, labels, n_classes):
        """Labels of so many classes."""
        labels = np.ascontiguousarray(labels, dtype=np.int64)
        return cls(labels, class_contrasts(n_classes))


def class_contrasts(n_classes):
    """Orthonormal basis of the vectors of ``n_classes`` numbers that sum to zero.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    array of shape (n_classes, n_classes - 1)
        Of two classes the second is the positive one.

    Examples
    --------
    >>> class_contrasts(2).round(4).tolist()
    [[-0.7071], [0.7071]]
    """
    return np.ascontiguousarray(-helmert(n_classes).T)


@numba.njit(**JIT)
def draw_row(mean, deviation, label, contrasts, row, rng):
    """Draw the response of one point from its normal distribution, cut off by the label.

    Parameters
    ----------
    mean : array of shape (c - 1,)
    deviation : float
        Standard deviation of each of the c - 1 independent entries.
    label : int
    contrasts : array of shape (c, c - 1)
    row : array of shape (c - 1,)
        Becomes the response.
    rng : numpy.random.Generator
    """
    c = len(contrasts)
    f = np.zeros(c)
    for j in range(c):
        for d in range(c - 1):
            f[j] += contrasts[j, d] * mean[d]
        f[j] /= deviation
    mode = label_mode(f, label)
    height = log_label_density(mode, f, label)
    # Newton's method stops early, so the tangent there need not be level: log h lies below the
    # parabola with this tangent and the second derivative -1.
    tangent = label_slope(mode, f, label)
    while True:
        t = mode + tangent + rng.standard_normal()
        step = t - mode
        bound = height + tangent * step - 0.5 * step * step
        if math.log(1.0 - rng.random()) < log_label_density(t, f, label) - bound:
            break
    winner = f[label] + t
    for d in range(c - 1):
        row[d] = contrasts[label, d] * winner
    for j in range(c):
        if j != label:
            other = winner + truncated_normal(f[j] - winner, 1.0, False, rng)
            for d in range(c - 1):
                row[d] += contrasts[j, d] * other
    for d in range(c - 1):
        row[d] *= deviation


@numba.njit(**JIT)
def draw_classes(f, labels, contrasts, S, rng):
    """Draw the whole response S given the predictors f, both of shape (c - 1, n)."""
    mean = np.empty(len(f))
    row = np.empty(len(f))
    for i in range(f.shape[1]):
        mean[:] = f[:, i]
        draw_row(mean, 1.0, labels[i], contrasts, row, rng)
        S[:, i] = row


@numba.njit(**JIT)
def _by_class(f, contrasts):
    """Predictors of all classes, (n, c), from those of the contrasts."""
    return np.ascontiguousarray(np.dot(contrasts, f).T)


@numba.njit(**JIT)
def labels_log_probability(f, labels, contrasts):
    """Log-probability of all labels given predictors of shape (c - 1, n)."""
    return label_log_probabilities(_by_class(f, contrasts), labels).sum()


@numba.njit(**JIT)
def class_terms(f, labels, contrasts, slope, bend):
    """Log-probability of the labels, with its derivatives by the predictors.

    Parameters
    ----------
    f : array of shape (c - 1, n)
    labels : array of int, shape (n,)
    contrasts : array of shape (c, c - 1)
    slope, bend : arrays of shape (c - 1, n)
        Become the gradient and minus the second derivatives by each entry of f.

    Returns
    -------
    float
    """
    r, n = f.shape
    c = r + 1
    total = 0.0
    by_class = _by_class(f, contrasts)
    width = STEP / math.sqrt(c)
    first = np.empty(r)
    second = np.empty(r)
    along = np.empty(r)
    across = np.empty(r)
    for i in range(n):
        label = labels[i]
        row = by_class[i]
        mode = label_mode(row, label)
        top = log_label_density(mode, row, label)
        mass = 0.0
        first[:] = 0.0
        second[:] = 0.0
        for side in (-1.0, 1.0):
            k = 0 if side < 0.0 else 1
            while True:
                t = mode + side * k * width
                # One erfc and one exp for each class, one logarithm for all: this loop is most of
                # the time of a window.
                product = 1.0
                height = -0.5 * t * t - top
                along[:] = 0.0
                across[:] = 0.0
                for j in range(c):
                    if j == label:
                        continue
                    x = t + row[label] - row[j]
                    if x > -20.0:
                        cdf = 0.5 * math.erfc(-x * _ROOT_HALF)
                        ratio = _INVERSE_ROOT_TAU * math.exp(-0.5 * x * x) / cdf
                        product *= cdf
                        if product < 1e-200:
                            height += math.log(product)
                            product = 1.0
                    else:
                        ratio = hazard(x)
                        height += log_normal_cdf(x)
                    falling = ratio * (ratio + x)
                    for d in range(r):
                        difference = contrasts[label, d] - contrasts[j, d]
                        along[d] += ratio * difference
                        across[d] += falling * difference * difference
                height += math.log(product)
                if height < -NEGLIGIBLE:
                    break
                weight = math.exp(height)
                mass += weight
                for d in range(r):
                    first[d] += weight * along[d]
                    second[d] += weight * (along[d] * along[d] - across[d])
                k += 1
        for d in range(r):
            slope[d, i] = first[d] / mass
            bend[d, i] = max(slope[d, i] * slope[d, i] - second[d] / mass, 0.0)
        total += top + math.log(mass * width) - 0.5 * math.log(2.0 * math.pi)
    return total


def _is_classes(response):
    return isinstance(response, types.NamedTuple) and response.instance_class is ClassLabels


@overload(link.log_likelihood)
def _log_likelihood_of(f, response):
    if _is_classes(response):
        return lambda f, response: labels_log_probability(f, response.labels, response.contrasts)


@overload(link.label_terms)
def _label_terms(f, response, slope, bend):
    if _is_classes(response):
        return lambda f, response, slope, bend: class_terms(
            f, response.labels, response.contrasts, slope, bend
        )


@overload(link.draw_point)
def _draw_point(response, i, mean, deviation, drawn, rng):
    if _is_classes(response):
        return lambda response, i, mean, deviation, drawn, rng: draw_row(
            mean, deviation, response.labels[i], response.contrasts, drawn, rng
        )


@overload(link.impute_response)
def _impute_response(state, S, response, rng):
    if _is_classes(response):
        return lambda state, S, response, rng: link.impute(state, S, response, rng)


@overload(link.renew_response)
def _renew_response(f, response, S, weights, rng):
    if _is_classes(response):
        return lambda f, response, S, weights, rng: draw_classes(
            f, response.labels, response.contrasts, S, rng
        )
