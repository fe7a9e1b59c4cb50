r"""Kernels switched on and off, each together with its precision (GKM, section 6.1).

Given the response S and the other weights, the density of S as a function of the weight w of one
kernel is known at all w from one eigenvalue decomposition. Whether the kernel is on and which
precision :math:`g = 1 / w^2` it has are therefore proposed together, from a piecewise constant
approximation of their joint conditional distribution, and nearly all proposals are accepted. The
paper would update the weight from a Gamma distribution; but there the weight is a scale, to which
no Gamma prior is conjugate.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns.state import (
    column_factors,
    compact_gram,
    compact_inverse,
    compact_response,
)
from bayeskernels.samplers.active_sets.windows import draw_index

__all__ = ["SwitchPrior", "log_gain_of_kernel", "move_switch", "weight_spectrum"]

#: Cells of the grid of log g, and the range it covers below and above the prior's log of the mean.
N_CELLS = 60
LOWEST, HIGHEST = -15.0, 3.0


class SwitchPrior(NamedTuple):
    """Prior of a kernel's switch and precision.

    Attributes
    ----------
    log_odds_off : float
        Log-odds of the kernel being off; minus infinity where it is always on.
    shape, rate : float
        Of the precision's Gamma prior; a negative shape where it is not to be moved.
    """

    log_odds_off: float
    shape: float
    rate: float


@numba.njit(**JIT)
def weight_spectrum(state, S, kernel):
    """How p(S) depends on the weight of a kernel, the other weights given.

    Parameters
    ----------
    state : ActiveColumns
        Up to date.
    S : array of shape (r, n)
    kernel : int

    Returns
    -------
    array of shape (k,)
        Eigenvalues, for :func:`log_gain_of_kernel`.
    array of shape (k,)
        Squared lengths of the responses along the eigenvectors, added up over responses.
    """
    k = state.size[0]
    r = len(S)
    factors = column_factors(state)
    is_own = np.zeros(len(factors), dtype=np.bool_)
    is_own[1 + kernel * k : 1 + (kernel + 1) * k] = True
    own, others = np.flatnonzero(is_own), np.flatnonzero(~is_own)
    inverse = compact_inverse(state)
    gram = compact_gram(state)
    block = inverse[own][:, own].copy()
    side = inverse[others][:, own].copy()
    reduced = inverse[others][:, others].copy() - np.dot(
        side, np.linalg.solve(block, side.T.copy())
    )
    E = gram[others][:, own].copy()
    for a in range(len(others)):
        E[a] *= factors[others[a]]
    solved = np.dot(reduced, E).T.copy()
    left = gram[own][:, own].copy() - np.dot(solved, E)
    # Those of a kernel that is off are not kept.
    rest = np.dot(state.V[kernel, :k], S.T)
    rest -= np.dot(solved, compact_response(state)[:, others].T.copy())
    values, vectors = np.linalg.eigh(0.5 * (left + left.T))
    along = np.dot(vectors.T.copy(), rest)
    squares = np.zeros(k)
    for a in range(k):
        values[a] = max(values[a], 0.0)
        for d in range(r):
            squares[a] += along[a, d] ** 2
    return values, squares


@numba.njit(**JIT)
def log_gain_of_kernel(values, squares, r, weight):
    """Log-ratio of p(S) with a kernel of the given weight and without it."""
    x = weight * weight
    total = 0.0
    for a in range(len(values)):
        grown = 1.0 + x * values[a]
        total += 0.5 * x * squares[a] / grown - 0.5 * r * math.log(grown)
    return total


@numba.njit(**JIT)
def _log_target(log_g, values, squares, r, shape, rate):
    """Log-density of log g for a kernel that is on, without the constant of the prior."""
    gain = log_gain_of_kernel(values, squares, r, math.exp(-0.5 * log_g))
    return gain + shape * log_g - rate * math.exp(log_g)


@numba.njit(**JIT)
def move_switch(state, S, kernel, g, is_on, prior, rng):
    """Draw whether a kernel is on, and its precision g.

    Parameters
    ----------
    state : ActiveColumns
        Up to date for S; has to be prepared again afterwards.
    S : array of shape (r, n)
    kernel : int
    g : float
    is_on : bool
    prior : SwitchPrior
    rng : numpy.random.Generator

    Returns
    -------
    bool, float, bool
        Whether the kernel is on now, its precision (from the prior where it is off), and whether
        the proposal was accepted.
    """
    log_odds_off, shape, rate = prior
    values, squares = weight_spectrum(state, S, kernel)
    r = len(S)
    accepted = True
    if shape < 0.0:
        gain = log_gain_of_kernel(values, squares, r, 1.0 / math.sqrt(g))
        if math.isfinite(log_odds_off):
            is_on = rng.random() < 1.0 / (1.0 + math.exp(min(log_odds_off - gain, 700.0)))
    else:
        low = math.log(shape / rate) + LOWEST
        width = (HIGHEST - LOWEST) / N_CELLS
        log_weights = np.empty(N_CELLS + 1)
        for j in range(N_CELLS):
            log_g = low + (j + 0.5) * width
            log_weights[j] = _log_target(log_g, values, squares, r, shape, rate) + math.log(width)
        constant = shape * math.log(rate) - math.lgamma(shape)
        log_weights[N_CELLS] = log_odds_off - constant
        here = N_CELLS
        if is_on:
            here = math.floor((math.log(g) - low) / width)
        # Outside of the grid, which holds all but nothing of the prior, the other moves have to do.
        accepted = not is_on or 0 <= here < N_CELLS
        if accepted:
            new = draw_index(log_weights, rng)
            log_g = low + (new + rng.random()) * width
            log_ratio = 0.0
            if new < N_CELLS:
                log_ratio += _log_target(log_g, values, squares, r, shape, rate)
                log_ratio -= log_weights[new] - math.log(width)
            if is_on:
                log_ratio -= _log_target(math.log(g), values, squares, r, shape, rate)
                log_ratio += log_weights[here] - math.log(width)
            accepted = math.log(1.0 - rng.random()) < log_ratio
            if accepted:
                is_on = new < N_CELLS
                g = math.exp(log_g)
        if not is_on:
            g = rng.gamma(shape, 1.0 / rate)
    return is_on, g, accepted
