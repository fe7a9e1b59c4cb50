r"""Moves of a kernel's hyperparameters given the working response (GKM, sections 3.2 and 5.3).

Offset and coefficients are integrated out, so the density of theta is
:math:`p(S \mid \gamma, \eta, g, \theta) \, p(\theta)`. By default each coordinate is moved by a
slice on its logarithm, which needs no scale; the paper's random walk moves all at once. The paper's
acceptance probability forgets the prior, so that its walk leaves the bounds. Only the kernel
columns of active points are computed, O(n k^2) for each evaluation.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg

from bayeskernels.distributions.silverman_g import ACTIVE_JITTER
from bayeskernels.samplers.active_sets.columns.state import (
    column_factors,
    compact_gram,
    compact_response,
    install_kernel,
    prepare,
)
from bayeskernels.samplers.active_sets.moves import KERNEL
from bayeskernels.samplers.compiled import step_out

__all__ = ["KERNEL_MOVES", "PAPER_SCALE", "KernelMove"]

#: Standard deviation of the paper's random walk, whose variance is 0.2.
PAPER_SCALE = math.sqrt(0.2)

#: Names of the moves.
KERNEL_MOVES = ("slice", "random_walk")


class _Candidate(NamedTuple):
    """Whitened columns under another kernel."""

    log_density: float
    theta: np.ndarray
    rows: np.ndarray
    V: np.ndarray
    T: np.ndarray
    gram: np.ndarray


class KernelMove:
    """How to move the hyperparameters theta of a kernel.

    Parameters
    ----------
    log_prior : callable
        Log-density of theta, minus infinity where it is impossible.
    coordinates : array of int, optional
        Which numbers of theta to move; all by default.
    kind : {"slice", "random_walk"}
    moves : int, default 4
        Slices move so many coordinates in each sweep, drawn at random.
    scale : float, default sqrt(0.2)
        Standard deviation of the random walk; the paper has the variance 0.2.
    """

    def __init__(self, log_prior, coordinates=None, *, kind="slice", moves=4, scale=PAPER_SCALE):
        if kind not in KERNEL_MOVES:
            raise ValueError(f"kernel_move must be 'slice' or 'random_walk', got {kind!r}.")
        if moves < 1:
            raise ValueError(f"kernel_moves must be at least 1, got {moves}.")
        if not scale > 0:
            raise ValueError(f"kernel_scale must be positive, got {scale}.")
        self.log_prior = log_prior
        self.coordinates = coordinates
        self.kind, self.moves, self.scale = kind, moves, scale

    def __call__(self, sampler, rng):
        """Move theta of a sampler whose state is up to date for its response."""
        coordinates = self.coordinates
        if coordinates is None:
            coordinates = np.arange(len(sampler.theta))
        if self.kind == "random_walk":
            self._walk(sampler, coordinates, rng)
            return
        if len(coordinates) > self.moves:
            coordinates = rng.choice(coordinates, self.moves, replace=False)
        for j in coordinates:
            self._slice(sampler, j, rng)

    def _walk(self, sampler, coordinates, rng):
        theta = sampler.theta.copy()
        theta[coordinates] += self.scale * rng.standard_normal(len(coordinates))
        level = self._present(sampler) + self.log_prior(sampler.theta)
        level += math.log(1.0 - rng.random())
        candidate = self._candidate(sampler, theta)
        sampler.counts[KERNEL, 0] += 1
        if candidate is not None and candidate.log_density + self.log_prior(theta) > level:
            self._install(sampler, candidate)
            sampler.counts[KERNEL, 1] += 1

    def _slice(self, sampler, j, rng):
        """Slice move of the logarithm of one coordinate."""
        here = math.log(sampler.theta[j])
        candidate = None

        def log_density(log_value):
            nonlocal candidate
            theta = sampler.theta.copy()
            theta[j] = math.exp(log_value)
            candidate = self._candidate(sampler, theta)
            sampler.counts[KERNEL, 0] += 1
            if candidate is None:
                return -math.inf
            return candidate.log_density + self.log_prior(theta) + log_value

        height = self._present(sampler) + self.log_prior(sampler.theta) + here
        # The function behind the compiled one, as the density is none that could be compiled.
        if step_out.py_func(here, height, log_density, (), rng) != here:
            self._install(sampler, candidate)
            sampler.counts[KERNEL, 1] += 1

    def _present(self, sampler):
        """Log-density of the response as things are."""
        state = sampler.active
        return _log_density(compact_gram(state), compact_response(state), column_factors(state))

    def _candidate(self, sampler, theta):
        """Whitened columns and log-density at another theta; None where it is impossible."""
        if self.log_prior(theta) == -math.inf:
            return None
        constant, points = sampler.active.constant, sampler.points
        k, q = len(points), sampler.n_kernels
        rows = sampler.columns(points, theta)
        V, T = np.empty((q, k, sampler.n)), np.empty((q, k, k))
        for j in range(q):
            own = rows[:, j, points]
            factor = linalg.cholesky(
                own + np.diag(ACTIVE_JITTER * np.diag(own)), lower=True, check_finite=False
            )
            V[j] = linalg.solve_triangular(factor, rows[:, j], lower=True, check_finite=False)
            T[j] = linalg.solve_triangular(factor, np.eye(k), lower=True)
        columns = V.reshape(q * k, sampler.n)
        gram = np.empty((q * k + 1, q * k + 1))
        gram[0, 0] = constant @ constant
        gram[1:, 0] = gram[0, 1:] = columns @ constant
        gram[1:, 1:] = columns @ columns.T
        factors = column_factors(sampler.active)
        response = np.stack([np.append(constant @ s, columns @ s) for s in sampler.S]) * factors
        return _Candidate(_log_density(gram, response, factors), theta, rows, V, T, gram)

    def _install(self, sampler, candidate):
        _, sampler.theta, *columns = candidate
        install_kernel(sampler.active, *columns)
        prepare(sampler.active, sampler.S, sampler.kernel_weights, sampler.eta)


def _log_density(gram, response, factors):
    """Log-density of the responses (GKM, equation (8)) up to a constant, from inner products.

    ``gram`` has those of (1, V) with each other, ``response``, (r, m), those with the responses,
    which are multiplied by the factors of these columns in W.
    """
    M = gram * factors * factors[:, None]
    M[np.diag_indices_from(M)] += 1.0
    factor = linalg.cholesky(M, lower=True, check_finite=False)
    half = linalg.solve_triangular(factor, response.T, lower=True, check_finite=False)
    return 0.5 * (half * half).sum() - len(response) * np.log(np.diag(factor)).sum()
