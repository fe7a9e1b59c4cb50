r"""Exact posteriors of all active sets of a few points, and their evidence.

Given set and precisions the working response of a probit model is Gaussian, so the probability of
the labels is that of an orthant; the precisions are integrated out by quadrature. Under a power of
the likelihood there is no response, and the coefficients are integrated out by quadrature too.
"""

import itertools

import numpy as np
from scipy.special import gammaincinv, log_ndtr, roots_genlaguerre
from scipy.stats import multivariate_normal

from bayeskernels.distributions.active_set import log_size_weights

__all__ = ["active_set_masses", "powered_active_set_masses"]


def _all_sets(gram, max_active):
    """Active sets, the logarithms of their prior probabilities, and V of shape (n, k)."""
    n = len(gram)
    log_weights = log_size_weights(n, max_active, 1.0, 1.0)
    for k in range(max_active + 1):
        for points in itertools.combinations(range(n), k):
            chosen = list(points)
            factor = np.linalg.cholesky(gram[np.ix_(chosen, chosen)]) if k else np.zeros((0, 0))
            yield points, log_weights[k], np.linalg.solve(factor, gram[chosen]).T


def _nodes(prior, size):
    """Nodes and weights for a Gamma prior (shape and rate), or one for a fixed value."""
    if not isinstance(prior, tuple):
        return [(float(prior), 1.0)]
    shape, rate = prior
    if shape < 1.0:
        # The probability of mixed labels goes with the root of a small precision, which no
        # polynomial follows; in terms of the prior's distribution function it is smooth.
        x, weights = np.polynomial.legendre.leggauss(size)
        return list(zip(gammaincinv(shape, 0.5 * (x + 1.0)) / rate, 0.5 * weights, strict=True))
    x, weights = roots_genlaguerre(size, shape - 1.0)
    return list(zip(x / rate, weights / weights.sum(), strict=True))


def active_set_masses(gram, positive, max_active, *, g, eta, size=8):
    """Prior probability of every active set times the probability of the labels given it.

    Their sum is the evidence. The Beta prior of the share of active points is uniform.

    Parameters
    ----------
    gram : array of shape (n, n)
    positive : array of bool, shape (n,)
    max_active : int
    g, eta : float or tuple of float
        Fixed precisions, or shape and rate of their Gamma priors.
    size : int
        Nodes of the quadrature over each.

    Returns
    -------
    dict
        From tuples of points to masses.

    Examples
    --------
    >>> masses = active_set_masses(np.eye(1), np.array([True]), 1, g=1.0, eta=1.0)
    >>> {points: round(float(mass), 6) for points, mass in masses.items()}
    {(): 0.25, (0,): 0.25}
    """
    n = len(positive)
    signs = np.where(positive, 1.0, -1.0)
    masses = {}
    for points, log_weight, V in _all_sets(gram, max_active):
        total = 0.0
        for (one_g, weight_g), (one_eta, weight_eta) in itertools.product(
            _nodes(g, size), _nodes(eta, size)
        ):
            Q = np.eye(n) + 1.0 / one_eta + V @ V.T / one_g
            orthant = multivariate_normal(np.zeros(n), Q * np.outer(signs, signs))
            total += weight_g * weight_eta * orthant.cdf(np.zeros(n), rng=1)
        masses[points] = np.exp(log_weight) * total
    return masses


def powered_active_set_masses(gram, positive, max_active, *, g, eta, power, size=30):
    """The same under a power of the likelihood, for two or three points; and the mean of log g.

    Here eta is a number, and the quadrature is also over each coefficient.

    Examples
    --------
    >>> labels = np.array([True, False])
    >>> masses, _ = powered_active_set_masses(np.eye(2), labels, 1, g=1.0, eta=1.0, power=0.0)
    >>> round(float(sum(masses.values())), 6)
    1.0
    """
    x, weights = np.polynomial.hermite_e.hermegauss(size)
    log_weights = np.log(weights / weights.sum())
    signs = np.where(positive, 1.0, -1.0)
    masses, moment = {}, 0.0
    for points, log_weight, V in _all_sets(gram, max_active):
        grid = np.array(list(itertools.product(range(size), repeat=V.shape[1] + 1)))
        w, log_grid = x[grid], log_weights[grid].sum(axis=1)
        mass = 0.0
        for one_g, weight in _nodes(g, size):
            f = w[:, :1] / np.sqrt(eta) + w[:, 1:] @ V.T / np.sqrt(one_g)
            mean = np.exp(log_grid + power * log_ndtr(signs * f).sum(axis=1)).sum()
            mass += weight * mean
            moment += np.exp(log_weight) * weight * mean * np.log(one_g)
        masses[points] = np.exp(log_weight) * mass
    return masses, float(moment / sum(masses.values()))
