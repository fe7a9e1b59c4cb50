r"""The part of a function that the training points do not determine.

In the span of the training points a function has r coordinates z, under the prior independent
standard normal numbers. At a point x it is

.. math:: f(x) = \langle z, \phi(x) \rangle + \sqrt{\rho(x)}\, e, \qquad
    \rho(x) = k(x, x) - \|\phi(x)\|^2,

where :math:`\phi(x)` are the coordinates of x and e is a standard normal number on which no
training label depends. The rest :math:`\rho` vanishes at the training points and approaches
k(x, x) far from them.

A label-noise classifier knows only the direction :math:`w = z / \|z\|`. The length is independent
of it and has the distribution :math:`\chi_r`, under the posterior as well, since no label depends
on it. So f(x) is positive with the probability

.. math:: P(f(x) > 0 \mid w) = T_r\Bigl(\sqrt{r / \rho(x)}\, \langle w, \phi(x) \rangle\Bigr),

:math:`T_r` the distribution function of Student's t with r degrees of freedom. As a function of the
angle :math:`\theta = \arctan(\langle w, \phi(x) \rangle / \sqrt{\rho(x)})` its derivative is
:math:`\cos^{r-1} \theta` up to a constant, as one of :math:`\sin \theta` it is
:math:`\cos^{r-2} \theta`. The one is smooth for every r, the other only for larger r, but a sine
needs no call of a function: a short table of one of the two takes the place of :math:`T_r`.
"""

import math
from functools import lru_cache

import numba
import numpy as np
import scipy

from bayeskernels.compiled import JIT
from bayeskernels.distributions.class_probability import class_probabilities
from bayeskernels.distributions.hinge import complete_hinge_logit

__all__ = [
    "hinge_probabilities",
    "largest_probabilities",
    "largest_shares",
    "rest_variances",
    "tally",
]

#: A rest smaller than this share of k(x, x) is a rounding error.
NEGLIGIBLE = 1e-12

#: Nodes of the table for each 1 / sqrt(r) of angle or sine: the cubic is then wrong by 2e-9.
NODES = 32

#: Largest angle or sine in the table times sqrt(r): beyond it the probability is one to 1e-16.
RANGE = 9.0

#: Fewest degrees of freedom for a table by the sine.
SMOOTH = 10

#: Nodes of the Gauss-Hermite rule for the hinge, whose kinks limit what more of them would gain.
HERMITE_NODES = 40


def rest_variances(diagonal, features):
    """Variances that coordinates (n, r) leave unexplained, k(x, x) - |phi(x)|^2, shape (n,).

    They are zero where nothing but rounding errors is left. ``diagonal`` has the k(x, x).
    """
    rest = diagonal - np.einsum("ij,ij->i", features, features)
    return np.where(rest > NEGLIGIBLE * diagonal, rest, 0.0)


def tally(outputs, weights, rest, rank):
    """Count the drawn classifiers at some points, within the span and beyond it.

    Parameters
    ----------
    outputs : array of shape (n, n_draws)
        Those of unit-length classifiers in the span.
    weights : array of shape (n_draws,)
    rest : array of shape (n, 1) or (n, n_draws), or None
        Variances that the span leaves; None stands for zero.
    rank : int
        Number r of coordinates in the span.

    Returns
    -------
    votes : array of shape (n,)
        Share of the classifiers with a positive output; one of exactly zero is half a vote.
    positive : array of shape (n,)
        Probability of a positive function, the rest included.
    gains : array of shape (n,)
        Mean over draws of that probability times the weight.
    means : array of shape (n,)
        Mean outputs.
    """
    roots = np.zeros((len(outputs), 1)) if rest is None else np.sqrt(rest)
    return _tally(outputs, np.ascontiguousarray(weights), roots, *_table(rank))


@lru_cache(maxsize=64)
def _table(rank):
    """T_r(sqrt(r) tan(theta)) - 1/2 on a regular grid of angles or sines.

    Values and slopes (by steps of the grid), one over the step, and whether it is one of angles.
    """
    root = math.sqrt(rank)
    by_angle = rank < SMOOTH
    end = 0.5 * math.pi if by_angle else 1.0
    top = min(end, RANGE / root)
    n_steps = math.ceil(NODES * root * top)
    step = top / n_steps
    grid = step * np.arange(n_steps + 1)
    angles = grid if by_angle else np.arcsin(np.minimum(grid, 1.0))
    values = scipy.special.stdtr(rank, root * np.tan(angles)) - 0.5
    if top == end:
        values[-1] = 0.5
    log_scale = math.lgamma(0.5 * (rank + 1)) - math.lgamma(0.5 * rank) - 0.5 * math.log(math.pi)
    cosines = np.maximum(np.cos(angles), 0.0)
    slopes = step * math.exp(log_scale) * cosines ** (rank - (1 if by_angle else 2))
    # One more node: at the end of the grid, and beyond it, its last value is looked up.
    return np.append(values, 0.5), np.append(slopes, 0.0), 1.0 / step, by_angle


@numba.njit(**JIT)
def _tally(outputs, weights, roots, values, slopes, per_step, by_angle):
    n, n_draws = outputs.shape
    votes, positive, gains, means = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    last = len(values) - 2
    shares = np.empty(n_draws)
    for i in range(n):
        vote = 0.0
        total = 0.0
        for s in range(n_draws):
            f = outputs[i, s]
            side = 0.5 * (f > 0.0) + 0.5 * (f >= 0.0)
            shares[s] = side
            vote += side
            total += f
        if roots.shape[1] > 1 or roots[i, 0] > 0.0:
            for s in range(n_draws):
                f = outputs[i, s]
                root = roots[i, s if roots.shape[1] > 1 else 0]
                if root == 0.0:
                    continue
                tangent = min(abs(f) / root, 1e100)
                if by_angle:
                    at = math.atan(tangent) * per_step
                else:
                    at = tangent / math.sqrt(1.0 + tangent * tangent) * per_step
                at = min(at, 1.0 * last)
                k = int(at)
                t = at - k
                # The cubic that has the values and slopes of both ends.
                rise = values[k + 1] - values[k]
                bend = (slopes[k] - rise) * (1.0 - t) + (rise - slopes[k + 1]) * t
                excess = values[k] + t * (rise + (1.0 - t) * bend)
                shares[s] = 0.5 + math.copysign(excess, f)
        share = 0.0
        gain = 0.0
        for s in range(n_draws):
            share += shares[s]
            gain += shares[s] * weights[s]
        votes[i] = vote / n_draws
        positive[i] = share / n_draws
        gains[i] = gain / n_draws
        means[i] = total / n_draws
    return votes, positive, gains, means


def largest_shares(outputs):
    """Share of the draws in which each class has the largest output, shape (n, n_classes).

    Classes that are equal, as all are where a kernel has died out, have equal parts of a vote.
    """
    is_largest = outputs == outputs.max(axis=2, keepdims=True)
    return (is_largest / is_largest.sum(axis=2, keepdims=True)).mean(axis=1)


def largest_probabilities(outputs, rest, rank):
    r"""Probability of each class to have the largest function, averaged over draws.

    Functions of different classes are compared, so that their lengths matter: within the span they
    are independent draws of :math:`\chi_r`, taken from a fixed Latin hypercube; what is beyond the
    span is integrated out. Where the span leaves no rest, it is the whole feature space, in which
    the classifiers have unit length. Outputs have the shape (n, n_draws, n_classes), the result
    (n, n_classes); ``rest`` and ``rank`` are those of :func:`tally`.
    """
    shares = largest_shares(outputs)
    if rest is None:
        return shares
    beyond = np.flatnonzero((rest > 0.0).all(axis=1))
    if len(beyond):
        lengths = _lengths(*outputs.shape[1:], rank)
        scaled = outputs[beyond] * lengths / np.sqrt(rest[beyond])[..., None]
        shares[beyond] = class_probabilities(scaled)
    return shares


def _lengths(n_draws, n_classes, rank):
    """Draws of chi_r, evenly spread over the distribution in each class."""
    rng = np.random.default_rng(0)
    order = np.stack([rng.permutation(n_draws) for _ in range(n_classes)], axis=1)
    return np.sqrt(2.0 * scipy.special.gammaincinv(0.5 * rank, (order + 0.5) / n_draws))


def hinge_probabilities(outputs, variances=0.0):
    """Probability of the positive label under the complete hinge likelihood.

    ``outputs`` (n, n_draws) are means of the function, ``variances`` those around them.
    """
    if not np.any(variances):
        return scipy.special.expit(complete_hinge_logit(outputs))
    nodes, weights = scipy.special.roots_hermitenorm(HERMITE_NODES)
    deviations = np.sqrt(variances)
    total = np.zeros(outputs.shape)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        if weight > NEGLIGIBLE:
            total += weight * scipy.special.expit(complete_hinge_logit(outputs + node * deviations))
    return total
