r"""The bridge between a posterior and a proposal (Meng and Wong 1996), and its error.

With draws of both, the optimal bridge estimates the ratio r of their normalising constants by the
root of

.. math:: \frac1{N_2} \sum_j \frac{e^{u_j}}{s_1 e^{u_j} + s_2}
    = \frac1{N_1} \sum_i \frac1{s_1 e^{u_i} + s_2}, \qquad u = \log p - \log q - \log r,

where i runs over posterior draws, j over those of the proposal, and :math:`s_1, s_2` are their
shares. The left side falls with r and the right side rises, so there is one root; the usual
iteration has the same fixed point but may take thousands of steps, or not arrive.

An error of either mean moves the root by itself over the slope (the delta method). Proposal draws
are independent; the mean over posterior draws has as many effective ones as their autocorrelation
and the disagreement of the chains leave. That is the standard error of Micaletto and Vehtari (2025)
with the dependence of both sums on r included. Chains that hardly enter a narrow tail, as of a
funnel, know little of its mass, however often they cross the rest: effective draws are no more than
those of the tails of any unknown. Whether it can be trusted shows in the tails of the
two sums: terms are bounded, but where posterior and proposal overlap little, few of them decide.
"""

from dataclasses import dataclass

import numpy as np
from arviz_stats.base import array_stats
from scipy.optimize import brentq
from scipy.special import expit

__all__ = ["Bridge", "r_hat", "solve_bridge", "tail_effective"]


@dataclass(frozen=True)
class Bridge:
    """Log-ratio of two normalising constants.

    Attributes
    ----------
    log_ratio, mcse : float
    overlap : float
        Between 0, nothing in common, and 1, posterior and proposal are the same.
    pareto_k_posterior, pareto_k_proposal : float
        Of the terms of the two sums; above 0.7 a few terms decide and the error is unreliable.
    ess : float
        Effective draws behind the sum over the posterior.
    r_hat : float
        Of the log-ratio of the densities, by chain.
    tail_ess : float
        Effective draws for the 5% and 95% quantiles of the unknown that has the fewest.
    """

    log_ratio: float
    mcse: float
    overlap: float
    pareto_k_posterior: float
    pareto_k_proposal: float
    ess: float
    r_hat: float
    tail_ess: float = np.inf


def solve_bridge(at_posterior, at_proposal, *, most=np.inf) -> Bridge:
    """Log-ratio of the normalising constants of two densities.

    Parameters
    ----------
    at_posterior : array of shape (n_chains, n_draws)
        log p - log q at draws of p, which may be autocorrelated.
    at_proposal : array of shape (n,)
        The same at independent draws of q; -inf where p has no density.
    most : float, optional
        As how many effective draws of p those may count at most.

    Examples
    --------
    N(0, 2) without its constant, against N(0, 1): the ratio is sqrt(4 pi).

    >>> rng = np.random.default_rng(1)
    >>> log_ratio = lambda x: -0.25 * x**2 - (-0.5 * x**2 - 0.5 * np.log(2 * np.pi))
    >>> bridge = solve_bridge(
    ...     log_ratio(np.sqrt(2) * rng.standard_normal((4, 2500))),
    ...     log_ratio(rng.standard_normal(10_000)),
    ... )
    >>> bool(abs(bridge.log_ratio - 0.5 * np.log(4 * np.pi)) < 3 * bridge.mcse)
    True
    """
    at_posterior = np.asarray(at_posterior, dtype=np.float64)
    at_proposal = np.asarray(at_proposal, dtype=np.float64)
    if not np.isfinite(at_posterior).all():
        raise ValueError(
            "The posterior has no density at some of its own draws: they are not of this model."
        )
    # A NaN is no density; one of plus infinity would be an infinite evidence.
    at_proposal = np.where(np.isnan(at_proposal), -np.inf, at_proposal)
    if np.isneginf(at_proposal).all():
        raise ValueError(
            "The posterior has no density at any draw of the proposal: they have nothing in common."
        )
    n_1 = min(_effective(at_posterior), most)
    share = n_1 / (n_1 + len(at_proposal))
    log_odds = np.log(share) - np.log1p(-share)

    def terms(log_ratio):
        # e^u / (s1 e^u + s2) and 1 / (s1 e^u + s2) by the logistic function, which cannot overflow.
        proposal = expit(at_proposal - log_ratio + log_odds) / share
        posterior = expit(log_ratio - at_posterior - log_odds) / (1.0 - share)
        return posterior, proposal

    def imbalance(log_ratio):
        posterior, proposal = terms(log_ratio)
        return proposal.mean() - posterior.mean()

    finite = at_proposal[np.isfinite(at_proposal)]
    low = min(at_posterior.min(), finite.min()) - 50.0
    high = max(at_posterior.max(), finite.max()) + 50.0
    log_ratio = brentq(imbalance, low, high, xtol=1e-12, maxiter=1000)
    posterior, proposal = terms(log_ratio)
    # Derivative by log r: of the logistic function, p (1 - p).
    a, b = share * proposal, (1.0 - share) * posterior
    slope = (a * (1.0 - a)).mean() / share + (b * (1.0 - b)).mean() / (1.0 - share)
    ess = min(_effective(posterior), most)
    variance = posterior.var(ddof=1) / ess + proposal.var(ddof=1) / proposal.size
    return Bridge(
        log_ratio=float(log_ratio),
        mcse=float(np.sqrt(variance) / slope) if slope > 0 else np.inf,
        overlap=float(proposal.mean()),
        pareto_k_posterior=_pareto_k(posterior),
        pareto_k_proposal=_pareto_k(proposal[None]),
        ess=ess,
        r_hat=r_hat(at_posterior),
    )


def tail_effective(points):
    """Fewest effective draws for the 5% and 95% quantiles of any coordinate of (chain, draw, d)."""
    how = {"method": "tail", "prob": (0.05, 0.95)}
    return min(_effective(points[..., j], **how) for j in range(points.shape[-1]))


def _effective(values, **how):
    """Effective number of draws, for a mean by default; all of them where nothing varies."""
    if np.ptp(values) == 0.0:
        return float(values.size)
    how = how or {"method": "mean"}
    found = float(array_stats.ess(values, chain_axis=0, draw_axis=1, **how))
    # Antithetic chains may claim more than there are, which makes errors too small by chance.
    return min(found, float(values.size)) if np.isfinite(found) else 1.0


def _pareto_k(values):
    try:
        return float(array_stats.pareto_khat(values, chain_axis=0, draw_axis=1, tail="right"))
    except ValueError:
        # The largest terms are all the same: there is no tail.
        return float("-inf")


def r_hat(values):
    """Rank-normalised R-hat of values of shape (n_chains, n_draws); 1 where nothing varies."""
    if np.ptp(values) == 0.0:
        return 1.0
    return float(array_stats.rhat(values, chain_axis=0, draw_axis=1))
