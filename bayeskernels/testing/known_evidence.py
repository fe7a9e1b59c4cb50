"""Models whose evidence is known, with independent draws of their posteriors.

For tests of estimators: integrals over one hyperparameter are taken on a fine grid, everything else
is Gaussian or conjugate given it. Constants are float64 throughout, because PyTensor evaluates
functions of Python's numbers in single precision where these are exact, at a cost of 1e-8.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import halfcauchy, multivariate_normal, norm

__all__ = [
    "KnownEvidence",
    "known_coin",
    "known_correlated_gaussian",
    "known_counts",
    "known_eight_schools",
    "known_funnel",
    "known_normal",
]


@dataclass(frozen=True)
class KnownEvidence:
    """A model with its evidence.

    Attributes
    ----------
    model : pm.Model
    log_evidence : float
        To at least eight digits.
    draw : callable
        From a ``numpy.random.Generator`` and a number n to n independent draws of the posterior, a
        dict of arrays by name.

    Examples
    --------
    >>> known = bk.testing.known_coin()
    >>> dict(known.idata(random_seed=1, chains=2, draws=50).posterior.sizes)
    {'chain': 2, 'draw': 50}
    """

    model: pm.Model = field(repr=False)
    log_evidence: float
    draw: Callable = field(repr=False)

    def idata(self, random_seed, chains=4, draws=1000):
        """Independent draws in the form of ``pm.sample``."""
        values = self.draw(np.random.default_rng(random_seed), chains * draws)
        variables = {
            name: (
                ("chain", "draw", *(f"{name}_dim_{k}" for k in range(value.ndim - 1))),
                value.reshape(chains, draws, *value.shape[1:]),
            )
            for name, value in values.items()
        }
        coords = {"chain": np.arange(chains), "draw": np.arange(draws)}
        return xr.DataTree.from_dict({"posterior": xr.Dataset(variables, coords)})


def known_correlated_gaussian(d=50):
    """A Gaussian prior with strong correlations, observed with noise."""
    rng = np.random.default_rng(3)
    root = rng.standard_normal((d, d))
    covariance = root @ root.T / d + 0.01 * np.eye(d)
    y = rng.standard_normal(d)
    with pm.Model() as model:
        x = pm.MvNormal("x", np.zeros(d), cov=covariance, shape=d)
        pm.Normal("y", x, 1.0, observed=y)
    posterior = np.linalg.inv(np.linalg.inv(covariance) + np.eye(d))
    factor = np.linalg.cholesky(posterior)
    mean = posterior @ y
    exact = multivariate_normal(np.zeros(d), covariance + np.eye(d)).logpdf(y)
    return KnownEvidence(
        model, float(exact), lambda rng, n: {"x": mean + rng.standard_normal((n, d)) @ factor.T}
    )


def known_coin():
    """Seven heads in ten throws, with a Beta prior."""
    with pm.Model() as model:
        p = pm.Beta("p", np.float64(2.0), np.float64(3.0))
        pm.Binomial("heads", n=np.int64(10), p=p, observed=np.int64(7))
    log_choose = gammaln(11) - gammaln(8) - gammaln(4)
    exact = log_choose + betaln(9.0, 6.0) - betaln(2.0, 3.0)
    return KnownEvidence(model, float(exact), lambda rng, n: {"p": rng.beta(9.0, 6.0, n)})


def known_counts():
    """Poisson counts with a Gamma rate."""
    y = np.array([3, 0, 2, 5, 1])
    with pm.Model() as model:
        rate = pm.Gamma("rate", np.float64(2.0), np.float64(0.5))
        pm.Poisson("y", rate, observed=y)
    exact = (
        gammaln(2.0 + y.sum())
        - gammaln(2.0)
        + 2.0 * np.log(0.5)
        - (2.0 + y.sum()) * np.log(0.5 + len(y))
        - gammaln(y + 1.0).sum()
    )
    return KnownEvidence(
        model,
        float(exact),
        lambda rng, n: {"rate": rng.gamma(2.0 + y.sum(), 1.0 / (0.5 + len(y)), n)},
    )


def known_normal():
    """Mean and precision of a Gaussian with the conjugate prior."""
    y = np.array([0.3, -1.2, 2.1, 0.7, 1.9, -0.4])
    m, k, a, b = np.float64([0.5, 0.5, 2.0, 1.5])
    with pm.Model() as model:
        tau = pm.Gamma("tau", a, b)
        mu = pm.Normal("mu", m, tau=k * tau)
        pm.Normal("y", mu, tau=tau, observed=y)
    n = len(y)
    new_k, new_a = k + n, a + n / 2
    new_m = (k * m + y.sum()) / new_k
    new_b = b + 0.5 * ((y - y.mean()) ** 2).sum() + k * n * (y.mean() - m) ** 2 / (2 * new_k)
    exact = (
        (gammaln(new_a) - gammaln(a) + a * np.log(b) - new_a * np.log(new_b))
        + 0.5 * np.log(k / new_k)
        - 0.5 * n * np.log(2 * np.pi)
    )

    def draw(rng, size):
        tau = rng.gamma(new_a, 1.0 / new_b, size)
        return {"tau": tau, "mu": new_m + rng.standard_normal(size) / np.sqrt(new_k * tau)}

    return KnownEvidence(model, float(exact), draw)


def _grid_draws(rng, size, grid, log_weights):
    """Draws of a variable on a fine grid, smeared within its cells."""
    weights = np.exp(log_weights - logsumexp(log_weights))
    cells = rng.choice(len(grid), size, p=weights)
    return grid[cells] + (grid[1] - grid[0]) * (rng.random(size) - 0.5)


def known_eight_schools():
    """The eight schools, centred: effects theta with mean mu and standard deviation tau."""
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.HalfCauchy("tau", 5.0)
        theta = pm.Normal("theta", mu, tau, shape=8)
        pm.Normal("y", theta, sigma, observed=y)
    log_tau = np.linspace(-16.0, 16.0, 20_001)
    t = np.exp(log_tau)
    precision = 1.0 / (t[:, None] ** 2 + sigma**2)
    total = precision.sum(axis=1) + 1.0 / 25.0
    centre = (precision * y).sum(axis=1) / total
    log_y = (
        0.5 * np.log(precision / (2 * np.pi)).sum(axis=1)
        - 0.5 * (precision * y**2).sum(axis=1)
        + 0.5 * total * centre**2
        - 0.5 * np.log(25.0 * total)
    )
    log_weights = log_y + halfcauchy(scale=5.0).logpdf(t) + log_tau
    exact = logsumexp(log_weights) + np.log(log_tau[1] - log_tau[0])

    def draw(rng, size):
        tau = np.exp(_grid_draws(rng, size, log_tau, log_weights))
        precision = 1.0 / (tau[:, None] ** 2 + sigma**2)
        total = precision.sum(axis=1) + 1.0 / 25.0
        mu = (precision * y).sum(axis=1) / total + rng.standard_normal(size) / np.sqrt(total)
        own = 1.0 / sigma**2 + 1.0 / tau[:, None] ** 2
        mean = (y / sigma**2 + mu[:, None] / tau[:, None] ** 2) / own
        theta = mean + rng.standard_normal((size, 8)) / np.sqrt(own)
        return {"mu": mu, "tau": tau, "theta": theta}

    return KnownEvidence(model, float(exact), draw)


def known_funnel(d=6):
    """A funnel with data: effects x whose log-variance v is wide open, observed with much noise."""
    rng = np.random.default_rng(5)
    y = 1.5 * rng.standard_normal(d)
    with pm.Model() as model:
        v = pm.Normal("v", 0.0, 1.5)
        x = pm.Normal("x", 0.0, pm.math.exp(0.5 * v), shape=d)
        pm.Normal("y", x, 1.0, observed=y)
    grid = np.linspace(-15.0, 15.0, 20_001)
    spread = np.exp(grid) + 1.0
    log_weights = norm(0.0, 1.5).logpdf(grid) + norm(0.0, np.sqrt(spread)[:, None]).logpdf(y).sum(
        axis=1
    )
    exact = logsumexp(log_weights) + np.log(grid[1] - grid[0])

    def draw(rng, size):
        v = _grid_draws(rng, size, grid, log_weights)
        shrink = (np.exp(v) / (1.0 + np.exp(v)))[:, None]
        return {"v": v, "x": shrink * y + np.sqrt(shrink) * rng.standard_normal((size, d))}

    return KnownEvidence(model, float(exact), draw)
