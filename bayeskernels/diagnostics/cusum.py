"""Brooks' cusum diagnostic: whether the path of a chain's partial sums is as hairy as it should be.

Reached as ``bk.active_sets.cusum``; the paper on generalized kernel models reports burn-in lengths
by it (GKM, Table 12).
"""

from numbers import Integral, Real

import arviz as az
import numpy as np
import xarray as xr
from scipy import stats

__all__ = ["cusum"]


def cusum(series, *, centre="mean", confidence=0.9, thin=1, symmetric=False):
    r"""Brooks' cusum path of a chain, its hairiness, and the burn-in length that it suggests.

    The path :math:`S_t = \sum_{i \le t} (x_i - \bar x)` of a chain that mixes well is hairy: it
    turns at every other draw. Let :math:`d_i` be one where it turns,
    :math:`S_{i-1} > S_i < S_{i+1}` or the reverse, and zero elsewhere. The hairiness :math:`D_t` is
    the mean of the :math:`d_i` up to t. For independent draws from a distribution that is symmetric
    about its mean it is 1/2 on average, with the variance 1/4 divided by the number of terms. The
    chain counts as converged from the first t on after which D stays within the limits of that
    normal distribution.

    Parameters
    ----------
    series : array_like of shape (n_draws,) or (n_chains, n_draws), or DataArray
        A number for each draw, from the very first one on (``discard_tuned_samples=False``, or
        ``tune=0``): such as the size of the active set or the log-likelihood.
    centre : {"mean", "late"} or float, default "mean"
        What to subtract: the mean of each chain as in Brooks, the mean of its second half, which a
        start far away does not spoil, or a number.
    confidence : float, default 0.9
        Probability within the limits, at any one t; the paper has 0.9.
    thin : int or "auto", default 1
        Take every ``thin``-th draw only. With ``auto``, twice the autocorrelation time (draws
        per effective draw) of the chains' second halves: what is left is nearly independent.
    symmetric : bool, default False
        True takes Brooks' limits around 1/2. False puts them where independent draws would have
        them that lie above the centre as often as these do, see the notes.

    Returns
    -------
    xarray.Dataset
        With the dims chain and draw: ``path``, ``hairiness`` (NaN until there are two draws
        off the centre), ``lower`` and ``upper`` limits; by chain: ``burn_in`` (number of draws to
        discard; NaN where D is outside at the end: not converged), ``converged``, ``thin``. With
        thinning the coordinate ``draw`` counts the original draws.

    Notes
    -----
    *Ties.* Whole numbers such as :math:`n_\gamma` may hit the centre exactly; the path is then
    flat. By the inequalities as printed a flat piece hides a turn, so that even independent draws
    would have too few. Here draws at the centre are left out of D, as in a runs test: whether the
    path turns is decided between the draw before the flat piece and the one after it, and D is
    divided by the number of such decisions.

    *Asymmetry.* The path turns between two draws on different sides of the centre. Where a share p
    of independent draws lies above it, this has the probability :math:`\pi = 2 p (1 - p)`, below
    1/2 if few different values are visited or the distribution is skewed, and successive turns are
    correlated: the mean of m of them has the variance
    :math:`[\pi (1 - \pi) + 2 (1 - 1/m) (p (1 - p) - \pi^2)] / m`. These are the limits with
    ``symmetric=False``; p = 1/2 gives Brooks' limits, with which :math:`n_\gamma` on two or three
    sizes would never pass.

    *What to expect.* The limits are for independent draws. A chain with autocorrelation turns less
    often however long it has converged, and leaves them for good: thin it. And they are for one t
    at a time, so independent draws too are outside at the end in up to ten percent of all cases. D
    remembers the start: b draws without a turn are forgotten after some :math:`(b / 1.645)^2` more,
    so the burn-in length is an upper bound rather than an estimate.

    References
    ----------
    .. [1] S. P. Brooks, "Quantitative convergence diagnosis for MCMC via CUSUMS", Statistics and
       Computing 8:267-274, 1998.
    .. [2] B. Yu and P. Mykland, "Looking at Markov samplers through cusum path plots: a simple
       diagnostic idea", Statistics and Computing 8:275-286, 1998.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> independent, walk = rng.standard_normal(1000), rng.standard_normal(1000).cumsum()
    >>> bk.active_sets.cusum([independent, walk])["converged"].values.tolist()
    [True, False]
    """
    values, chains, draws = _as_chains(series)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
    thin = _thinning(values, thin)
    values, draws = values[:, ::thin], draws[::thin]
    n_chains, n = values.shape
    if n < 4:
        raise ValueError(
            f"A cusum path of {n} draws tells nothing. Give more draws, or thin less than {thin}."
        )
    # Where the centre, and with it the share of draws above it, is taken from.
    source = slice(n // 2, None) if isinstance(centre, str) and centre == "late" else slice(None)
    steps = values - _centre(values[:, source], centre)
    path = np.cumsum(steps, axis=1)
    turns = _turns(steps)
    # Number of decisions so far, 0 where there was none yet.
    m = np.maximum(np.cumsum(steps != 0, axis=1) - 1, 0)
    m = np.where(m > 0, m, np.nan)
    hairiness = np.cumsum(turns, axis=1) / m
    p = np.full((n_chains, 1), 0.5)
    if not symmetric:
        above, below = (steps[:, source] > 0).sum(axis=1), (steps[:, source] < 0).sum(axis=1)
        p[:, 0] = above / np.maximum(above + below, 1)
    rate = 2 * p * (1 - p)
    variance = (rate * (1 - rate) + 2 * (1 - 1 / m) * (p * (1 - p) - rate**2)) / m
    half_width = stats.norm.isf((1 - confidence) / 2) * np.sqrt(variance)
    lower, upper = rate - half_width, rate + half_width
    # A chain that never moves has the rate zero and is within limits of the width zero.
    moves = (np.ptp(values, axis=1) > 0)[:, None]
    inside = (hairiness >= lower) & (hairiness <= upper) & moves
    burn_in = [_stays_from(row, draws) for row in inside]
    by_draw = ("chain", "draw")
    return xr.Dataset(
        {
            "path": (by_draw, path),
            "hairiness": (by_draw, hairiness),
            "lower": (by_draw, lower),
            "upper": (by_draw, upper),
            "burn_in": ("chain", np.array(burn_in)),
            "converged": ("chain", inside[:, -1]),
            "thin": thin,
        },
        coords={"chain": chains, "draw": draws},
        attrs={"confidence": confidence, "symmetric": str(symmetric)},
    )


def _as_chains(series):
    """Values of shape (n_chains, n_draws), and the coordinates of both dims."""
    chains = draws = None
    if isinstance(series, xr.DataArray):
        if "draw" not in series.dims or not set(series.dims) <= {"chain", "draw"}:
            raise ValueError(
                f"A series has the dims chain and draw, or draw alone; got {series.dims}. Select "
                "from the others."
            )
        series = series.transpose(..., "draw")
        chains = series["chain"].values if "chain" in series.dims else None
        draws = series["draw"].values
    values = np.atleast_2d(np.asarray(series, dtype=float))
    if values.ndim != 2:
        raise ValueError(
            f"A series has the shape (n_draws,) or (n_chains, n_draws), got {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError("The series has NaN or infinite values.")
    n_chains, n_draws = values.shape
    chains = np.arange(n_chains) if chains is None else chains
    return values, chains, np.arange(n_draws) if draws is None else draws


def _thinning(values, thin):
    if isinstance(thin, str) and thin == "auto":
        # The second half: a start far away would look like a long memory.
        halves = values[:, values.shape[1] // 2 :]
        n_draws = halves.shape[1]
        moving = [row for row in halves if np.ptp(row) > 0]
        if n_draws < 4 or not moving:
            return 1
        # Their average: the effective number of draws of a single chain is a noisy estimate.
        effective = np.mean([float(az.ess(row[None], method="mean")) for row in moving])
        return int(np.ceil(2 * n_draws / effective)) if effective < n_draws else 1
    if isinstance(thin, bool) or not isinstance(thin, Integral) or thin < 1:
        raise ValueError(f'thin must be a whole number of at least 1 or "auto", got {thin!r}.')
    return int(thin)


def _centre(values, centre):
    if isinstance(centre, str) and centre in ("mean", "late"):
        return values.mean(axis=1, keepdims=True)
    if isinstance(centre, bool) or not isinstance(centre, Real) or not np.isfinite(centre):
        raise ValueError(f'centre must be "mean", "late" or a number, got {centre!r}.')
    return float(centre)


def _turns(steps):
    """Whether the path turns at the beginning of each step; a step of zero never does.

    Each step is compared with the last one before it that is not zero.
    """
    direction = np.sign(steps)
    last = np.where(direction != 0, np.arange(steps.shape[1]), 0)
    last = np.maximum.accumulate(last, axis=1)
    before = np.take_along_axis(direction, last, axis=1)[:, :-1]
    turns = np.zeros(steps.shape, dtype=bool)
    turns[:, 1:] = direction[:, 1:] * before < 0
    return turns


def _stays_from(inside, draws):
    """Number of the draw from which on all are inside, NaN if the last one is not."""
    if not inside[-1]:
        return np.nan
    outside = np.flatnonzero(~inside)
    # Draw 0 has no hairiness yet, so it never is inside.
    return float(draws[outside[-1] + 1] - draws[0])
