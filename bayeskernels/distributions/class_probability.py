r"""Probability that one of several normal numbers is the largest (GKM, section 6.2).

Class j has the predictor :math:`f_j`, the label is the class with the largest :math:`f_j + e_j`,
and the noise is standard normal. Centred noise, which the paper uses, has the same differences.
Given the noise t of the winner the others are independent,

.. math:: P(y) = \int h(t)\, dt, \qquad h(t) = \phi(t) \prod_{j \ne y} \Phi(t + f_y - f_j),

an integral over one number whatever the number of classes c. The second derivative of
:math:`\log h` lies between -c and -1. So h falls at least as fast as a normal density on both sides
of its mode, which tells where to stop, and is no narrower than one of variance 1 / c, which tells
how wide the steps of the trapezoidal rule may be: its error falls exponentially.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT, hazard, log_normal_cdf

__all__ = [
    "class_probabilities",
    "label_log_probabilities",
    "label_mode",
    "label_slope",
    "label_slopes",
    "log_label_density",
]

_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_TAU = 0.5 * math.log(2.0 * math.pi)

#: Width of the steps times sqrt(c): the trapezoidal rule is then wrong by less than 1e-12.
STEP = 0.8

#: Lead with which a predictor wins: c - 1 others catch up with probability (c - 1) 1e-10 at most.
FAR_AHEAD = 9.0

#: Terms smaller than exp(-40) of the largest are left out.
NEGLIGIBLE = 40.0


@numba.njit(**JIT)
def log_label_density(t, f, label):
    """Logarithm of h(t), up to the constant of the normal density of t.

    Parameters
    ----------
    t : float
        Noise of the winner.
    f : array of shape (c,)
        Predictors of the classes.
    label : int
        The winner.
    """
    total = -0.5 * t * t
    for j in range(len(f)):
        if j != label:
            total += log_normal_cdf(t + f[label] - f[j])
    return total


@numba.njit(**JIT)
def label_slope(t, f, label):
    """Derivative of log h at t."""
    total = -t
    for j in range(len(f)):
        if j != label:
            total += hazard(t + f[label] - f[j])
    return total


@numba.njit(**JIT)
def label_mode(f, label):
    """Mode of h, or nearly so: Newton's method from zero, which climbs towards it.

    The derivative of log h falls and is convex, so that the iteration never overshoots.
    """
    t = 0.0
    for _ in range(30):
        slope = -t
        bend = 1.0
        for j in range(len(f)):
            if j != label:
                x = t + f[label] - f[j]
                ratio = hazard(x)
                slope += ratio
                bend += ratio * (ratio + x)
        step = slope / bend
        t += step
        if step < 1e-3:
            break
    return t


@numba.njit(**JIT)
def _label_log_probability(f, label):
    if len(f) == 2:
        return log_normal_cdf((f[label] - f[1 - label]) * _ROOT_HALF)
    mode = label_mode(f, label)
    top = log_label_density(mode, f, label)
    width = STEP / math.sqrt(len(f))
    total = 1.0
    for side in (-1.0, 1.0):
        k = 1
        while True:
            height = log_label_density(mode + side * k * width, f, label) - top
            if height < -NEGLIGIBLE:
                break
            total += math.exp(height)
            k += 1
    return min(top + math.log(total * width) - _LOG_ROOT_TAU, 0.0)


@numba.njit(**JIT)
def label_log_probabilities(f, labels):
    """Log-probabilities of labels, shape (n,), given the predictors f of all classes, shape (n, c).

    Examples
    --------
    >>> label_log_probabilities(np.zeros((1, 4)), np.array([2])).round(6) == np.log(0.25).round(6)
    array([ True])
    """
    values = np.empty(len(f))
    for i in range(len(f)):
        values[i] = _label_log_probability(f[i], labels[i])
    return values


@numba.njit(**JIT)
def label_slopes(f, labels):
    """Gradient of each label's log-probability by its predictors, shape (n, c).

    The derivative by the predictor of another class is minus the mean of its hazard under h.
    """
    n, c = f.shape
    slopes = np.zeros((n, c))
    width = STEP / math.sqrt(c)
    for i in range(n):
        label = labels[i]
        mode = label_mode(f[i], label)
        top = log_label_density(mode, f[i], label)
        total = 0.0
        for side in (-1.0, 1.0):
            k = 0 if side < 0.0 else 1
            while True:
                t = mode + side * k * width
                height = log_label_density(t, f[i], label) - top
                if height < -NEGLIGIBLE:
                    break
                weight = math.exp(height)
                total += weight
                for j in range(c):
                    if j != label:
                        slopes[i, j] -= weight * hazard(t + f[i, label] - f[i, j])
                k += 1
        for j in range(c):
            if j != label:
                slopes[i, j] /= total
                slopes[i, label] -= slopes[i, j]
    return slopes


@numba.njit(**JIT)
def class_probabilities(f):
    """Probabilities of all classes, shape (n, c), averaged over draws of f, shape (n, n_draws, c).

    With x the largest number itself, all classes share the nodes: the density at x that class y has
    it is phi(x - f_y) times the product of the others' Phi(x - f_j). Absolute errors are below
    1e-9, which is what prediction needs; :func:`label_log_probabilities` is right in the tails too.

    Examples
    --------
    >>> class_probabilities(np.zeros((1, 1, 4))).round(9).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    n, n_draws, c = f.shape
    probabilities = np.zeros((n, c))
    below = np.empty(c)
    density = np.empty(c)
    # The largest of c normal numbers has a standard deviation well above that of h's lower bound.
    width = 0.5
    whole = math.sqrt(2.0 * math.pi) / width
    for i in range(n):
        for d in range(n_draws):
            winner = f[i, d].argmax()
            top = f[i, d, winner]
            second = -np.inf
            for j in range(c):
                if j != winner:
                    second = max(second, f[i, d, j])
            if top - second > FAR_AHEAD:
                probabilities[i, winner] += whole
                continue
            for k in range(-11, 15):
                x = top + k * width
                for j in range(c):
                    z = x - f[i, d, j]
                    below[j] = 0.5 * math.erfc(-z * _ROOT_HALF)
                    density[j] = math.exp(-0.5 * z * z)
                for y in range(c):
                    if density[y] < 1e-14:
                        continue
                    product = density[y]
                    for j in range(c):
                        if j != y:
                            product *= below[j]
                    probabilities[i, y] += product
    return probabilities * (width / (math.sqrt(2.0 * math.pi) * n_draws))
