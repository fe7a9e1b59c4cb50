r"""Exact test of ranks for uniformity, by their cumulative counts (Säilynoja et al. 2022).

Of N ranks from 0 to L, the number below j is binomial with the probability :math:`j / (L + 1)`. The
statistic is the smallest two-sided tail probability of all L counts; its distribution under
uniformity follows from the counts being a Markov chain in j. Small shifts and wrong spreads, which
add up over neighbouring ranks, show better than by a chi-square test.

References
----------
.. [1] T. Säilynoja, P.-C. Bürkner and A. Vehtari, "Graphical test for discrete uniformity and its
   applications in goodness-of-fit evaluation and multiple sample comparison", Statistics and
   Computing 32:32, 2022.
"""

import numpy as np
from scipy.stats import binom

__all__ = ["uniformity_p_value"]


def uniformity_p_value(ranks, largest) -> float:
    """Probability that uniform ranks have cumulative counts as unlikely as these, or more so.

    Parameters
    ----------
    ranks : array of int, shape (N,)
        From 0 to ``largest``.
    largest : int

    Examples
    --------
    >>> round(uniformity_p_value([0, 1, 2, 3, 4, 5, 6, 7], 7), 3)
    1.0
    >>> uniformity_p_value([0, 0, 0, 1, 0, 0, 2, 0], 7) < 1e-3
    True
    """
    ranks = np.asarray(ranks)
    n, values = len(ranks), largest + 1
    if n == 0 or ranks.min() < 0 or ranks.max() > largest:
        raise ValueError(f"Ranks must lie between 0 and {largest}, and there must be some.")
    shares = np.arange(1, values) / values
    counts = np.arange(n + 1)
    # tails[j, r]: two-sided tail probability of r ranks below j + 1.
    lower, upper = binom.cdf(counts, n, shares[:, None]), binom.sf(counts - 1, n, shares[:, None])
    tails = 2 * np.minimum(lower, upper)
    below = np.cumsum(np.bincount(ranks, minlength=values))[:-1]
    smallest = tails[np.arange(largest), below].min()
    # A little tolerance, so that equally unlikely counts count as equal.
    is_inside = tails > smallest * (1 + 1e-9)
    # probability[r]: of all counts so far having been inside, and r ranks below.
    probability = np.zeros(n + 1)
    probability[0] = 1.0
    before = 0.0
    for share, inside in zip(shares, is_inside, strict=True):
        step = binom.pmf(
            counts[None] - counts[:, None], n - counts[:, None], (share - before) / (1 - before)
        )
        probability = np.where(inside, probability @ step, 0.0)
        before = share
    return float(np.clip(1.0 - probability.sum(), 0.0, 1.0))
