"""Linear algebra of a generalized kernel model as the paper has it, in plain NumPy.

Two ways to the marginal density of the working response: the covariance matrix itself (naive,
equation (8)), and the paper's formula (11). Both compute everything anew for each proposal.
"""

import math

import numpy as np

from bayeskernels.samplers.active_sets.links.link import slice_precision
from bayeskernels.samplers.active_sets.links.probit import draw_response, truncated_normal

__all__ = ["FormulaEleven", "Naive", "PlainSampler"]

JITTER = 1e-8


class FormulaEleven:
    """Inverse and determinant of Q through the matrix Upsilon of the active points."""

    def __init__(self, gram, points, g, eta):
        self.columns = np.column_stack([np.ones(len(gram)), gram[:, points]])
        inner = gram[np.ix_(points, points)] + JITTER * np.eye(len(points))
        sigma = np.zeros((len(points) + 1,) * 2)
        sigma[0, 0] = eta
        sigma[1:, 1:] = g * inner
        upsilon = sigma + self.columns.T @ self.columns
        self.covariance = np.linalg.inv(upsilon)
        self.log_determinant = np.linalg.slogdet(upsilon)[1] - np.linalg.slogdet(sigma)[1]

    def log_density(self, s):
        """Log-density of the response, up to a constant."""
        b = self.columns.T @ s
        return -0.5 * self.log_determinant - 0.5 * (s @ s - b @ self.covariance @ b)

    def leverages(self):
        """Upsilon^-1 K' and the diagonal of K Upsilon^-1 K'."""
        A = self.covariance @ self.columns.T
        return A, np.einsum("ij,ji->i", self.columns, A)


class Naive:
    """Everything through the covariance matrix of all n points."""

    def __init__(self, gram, points, g, eta):
        n = len(gram)
        self.columns = np.column_stack([np.ones(n), gram[:, points]])
        inner = gram[np.ix_(points, points)] + JITTER * np.eye(len(points))
        self.prior = np.zeros((len(points) + 1,) * 2)
        self.prior[0, 0] = 1 / eta
        self.prior[1:, 1:] = np.linalg.inv(inner) / g
        Q = np.eye(n) + self.columns @ self.prior @ self.columns.T
        self.precision = np.linalg.inv(Q)
        self.log_determinant = np.linalg.slogdet(Q)[1]

    def log_density(self, s):
        """Log-density of the response, up to a constant."""
        return -0.5 * self.log_determinant - 0.5 * s @ self.precision @ s

    @property
    def covariance(self):
        """Covariance of offset and coefficients given the response."""
        cross = self.prior @ self.columns.T
        return self.prior - cross @ self.precision @ cross.T

    def leverages(self):
        """As of :class:`FormulaEleven`."""
        A = self.prior @ self.columns.T @ self.precision
        return A, 1.0 - np.diag(self.precision)


class PlainSampler:
    """The sweep of ``ActiveSetSampler`` with births, deaths and swaps only, from scratch each time.

    Parameters
    ----------
    algebra : type
        :class:`FormulaEleven` or :class:`Naive`.
    peer : ActiveSetSampler
        Placed; options and state are taken from it.
    gram : array of shape (n, n)
    """

    def __init__(self, algebra, peer, gram):
        self.algebra, self.peer, self.gram = algebra, peer, gram
        self.active = peer.points.tolist()
        self.s, self.f = peer.S[0].copy(), peer.f[0].copy()
        self.g, self.eta = float(peer.g[0]), peer.eta
        self.pool, self.used = peer.pool.points.copy(), peer.used

    def sweep(self, rng, whitening=None):
        """Make a sweep.

        ``whitening``, a function without arguments, gives the matrix T of the peer after its moves:
        with the same random numbers, coefficients are the same only in the same coordinates.
        """
        here = self.move(rng)
        T = None if whitening is None else whitening()
        self.update(here, T, rng)

    def move(self, rng):
        """Births, deaths and swaps."""
        peer = self.peer
        n = len(self.s)
        log_prior, birth, death = peer.prior
        here = self.algebra(self.gram, self.active, self.g, self.eta)
        left = peer.proposals
        while left:
            k = len(self.active)
            candidate = self.used
            while candidate < len(self.pool) and self.pool[candidate] in self.active:
                candidate += 1
            if candidate == len(self.pool) and k < n:
                size = int(min(np.ceil(64 * n / max(n - k, 1)), 20 * n + 64))
                self.pool, self.used = rng.integers(n, size=size), 0
                continue
            left -= 1
            level = rng.random()
            new = list(self.active)
            log_ratio = 0.0
            if level < birth[k]:
                new.append(int(self.pool[candidate]))
                self.used = candidate + 1
                log_ratio += math.log(death[k + 1] * (n - k) / (birth[k] * (k + 1)))
            elif level < birth[k] + death[k]:
                del new[int(rng.random() * k)]
                log_ratio += math.log(birth[k - 1] * k / (death[k] * (n - k + 1)))
            elif k in (0, n):
                continue
            else:
                del new[int(rng.random() * k)]
                new.append(int(self.pool[candidate]))
                self.used = candidate + 1
            log_ratio += log_prior[len(new)] - log_prior[k]
            there = self.algebra(self.gram, new, self.g, self.eta)
            log_ratio += there.log_density(self.s) - here.log_density(self.s)
            if math.log(1.0 - rng.random()) < log_ratio:
                self.active, here = new, there
        return here

    def update(self, here, T, rng):
        """Response, coefficients and precisions (Algorithm 1, in the right order)."""
        n, k = len(self.s), len(self.active)
        positive = self.peer.response
        A, leverage = here.leverages()
        b = A @ self.s
        for i in range(n):
            ratio = leverage[i] / (1.0 - leverage[i])
            fit = here.columns[i] @ b
            mean = fit + ratio * (fit - self.s[i])
            new = truncated_normal(mean, math.sqrt(1.0 + ratio), positive[i], rng)
            b += (new - self.s[i]) * A[:, i]
            self.s[i] = new
        noise = np.array([rng.standard_normal() for _ in range(k + 1)])
        if T is None:
            inner = self.gram[np.ix_(self.active, self.active)] + JITTER * np.eye(k)
            T = np.linalg.inv(np.linalg.cholesky(inner))
        unwhiten = np.zeros((k + 1, k + 1))
        unwhiten[0, 0] = 1.0 / math.sqrt(self.eta)
        unwhiten[1:, 1:] = T.T / math.sqrt(self.g)
        whiten = np.linalg.inv(unwhiten)
        inverse = whiten @ here.covariance @ whiten.T
        factor = np.linalg.cholesky(0.5 * (inverse + inverse.T))
        coefficients = b + unwhiten @ (factor @ noise)
        z = (whiten @ coefficients)[1:]
        u = coefficients[0]
        part = here.columns[:, 1:] @ coefficients[1:] * math.sqrt(self.g)
        shape_g, rate_g, shape_eta, rate_eta = self.peer.hyper
        self.eta = rng.gamma(shape_eta + 0.5, 1.0 / (rate_eta + 0.5 * u * u))
        new = rng.gamma(shape_g + 0.5 * k, 1.0 / (rate_g + 0.5 * z @ z / self.g))
        part *= math.sqrt(new / self.g)
        self.g = slice_precision(
            part[None], np.full((1, n), u), new, positive, shape_g, rate_g, rng
        )
        self.f = u + part / math.sqrt(self.g)
        draw_response(self.f, positive, self.s, rng)
