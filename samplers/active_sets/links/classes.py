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

import numba
import numpy as np
from scipy.linalg import helmert

from bayeskernels.compiled import JIT, log_normal_cdf
from bayeskernels.distributions.class_probability import (
    label_log_probabilities,
    label_mode,
    label_slope,
    log_label_density,
)
from bayeskernels.samplers.active_sets.links.probit import truncated_normal

__all__ = ["class_contrasts", "draw_classes", "draw_row", "labels_log_probability"]


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
    if c == 2:
        row[0] = truncated_normal(mean[0], deviation, label == 1, rng)
        return
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
    """Draw the whole response S given the predictors f, both of shape (n, c - 1)."""
    for i in range(len(f)):
        draw_row(f[i], 1.0, labels[i], contrasts, S[i], rng)


@numba.njit(**JIT)
def labels_log_probability(f, labels, contrasts):
    """Log-probability of all labels given predictors of shape (n, c - 1)."""
    if len(contrasts) > 2:
        return label_log_probabilities(np.dot(f, contrasts.T), labels).sum()
    total = 0.0
    for i in range(len(f)):
        total += log_normal_cdf(f[i, 0] if labels[i] == 1 else -f[i, 0])
    return total
