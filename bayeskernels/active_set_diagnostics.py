r"""Whether reversible-jump chains over active sets have converged.

An active set is a vector of indicators, and most tools for draws of real numbers say little about
it. Here are its size and the visits to each size (GKM, Figure 2), the inclusion probabilities of
the points by chain with Monte Carlo errors, how far chains agree on both, and the cusum diagnostic
of Brooks (1998) with which the paper reports burn-in lengths (GKM, Table 12).

Reached as ``bk.active_sets``.
"""

from dataclasses import dataclass, field
from itertools import combinations
from numbers import Integral, Real

import arviz as az
import numpy as np
import xarray as xr
from scipy import stats

__all__ = ["Agreement", "agreement", "cusum", "inclusion", "sizes", "visits"]


def sizes(idata, *, var_name="gamma"):
    r"""Number of active points (:math:`n_\gamma`) of each draw.

    Parameters
    ----------
    idata : DataTree
        With posterior draws of indicators.
    var_name : str, default "gamma"
        Name of the indicators, for a model with a prefix.

    Returns
    -------
    xarray.DataArray
        ``n_active``, whole numbers with the dims chain and draw.

    Examples
    --------
    >>> import arviz as az
    >>> import numpy as np
    >>> import bayeskernels as bk
    >>> gamma = np.random.default_rng(1).binomial(1, [0.5, 0.5, 0.0], size=(2, 400, 3))
    >>> idata = az.from_dict({"posterior": {"gamma": gamma}})
    >>> bk.active_sets.sizes(idata).values[0, :6].tolist()
    [2, 1, 0, 1, 1, 2]
    """
    gamma = _indicators(idata, var_name)
    return gamma.sum(gamma.dims[2:], dtype=np.int64).rename("n_active")


def visits(idata, *, var_name="gamma"):
    """How often each chain visits each size of the active set.

    Parameters
    ----------
    idata : DataTree
        With posterior draws of indicators.
    var_name : str, default "gamma"
        Name of the indicators.

    Returns
    -------
    xarray.DataArray
        ``visits``, counts with the dims chain and size; sizes from the smallest to the largest that
        was seen. Divided by its sum over sizes it is the posterior of the size, as each chain has
        it.

    Examples
    --------
    >>> import arviz as az
    >>> import numpy as np
    >>> import bayeskernels as bk
    >>> gamma = np.random.default_rng(1).binomial(1, [0.5, 0.5, 0.0], size=(2, 400, 3))
    >>> idata = az.from_dict({"posterior": {"gamma": gamma}})
    >>> bk.active_sets.visits(idata).to_pandas()
    size     0    1    2
    chain
    0       99  209   92
    1      104  184  112
    """
    n_active = sizes(idata, var_name=var_name)
    smallest, largest = int(n_active.min()), int(n_active.max())
    counts = [
        np.bincount(row - smallest, minlength=largest - smallest + 1) for row in n_active.values
    ]
    return xr.DataArray(
        np.array(counts),
        dims=("chain", "size"),
        coords={"chain": n_active["chain"], "size": np.arange(smallest, largest + 1)},
        name="visits",
    )


def inclusion(idata, *, var_name="gamma"):
    r"""Posterior probability of each point to be active, by chain and over all chains.

    Parameters
    ----------
    idata : DataTree
        With posterior draws of indicators.
    var_name : str, default "gamma"
        Name of the indicators.

    Returns
    -------
    xarray.Dataset
        ``by_chain`` and ``mcse_by_chain`` (dims chain and point), ``probability`` and ``mcse``
        (of all chains together). The dim of the points is that of the indicators, ``obs``.

    Notes
    -----
    Standard errors are from the means of :math:`\sqrt T` batches of consecutive draws, which costs
    one pass whatever the number of points. They are too small where a chain stays put for longer
    than a batch; an indicator that never changes has the error zero, which says nothing.

    Examples
    --------
    >>> import arviz as az
    >>> import numpy as np
    >>> import bayeskernels as bk
    >>> gamma = np.random.default_rng(1).binomial(1, [0.5, 0.5, 0.0], size=(2, 400, 3))
    >>> idata = az.from_dict({"posterior": {"gamma": gamma}})
    >>> bk.active_sets.inclusion(idata)["probability"].values.round(2).tolist()
    [0.49, 0.51, 0.0]
    """
    gamma = _indicators(idata, var_name)
    point_dim = gamma.dims[2]
    means = _batch_means(gamma.values)
    n_batches = means.shape[1]
    variances = np.full(gamma.shape[::2], np.nan)
    if n_batches > 1:
        variances = means.var(axis=1, ddof=1) / n_batches
    by_chain = gamma.mean("draw", dtype=np.float64)
    return xr.Dataset(
        {
            "by_chain": by_chain,
            "mcse_by_chain": (("chain", point_dim), np.sqrt(variances)),
            "probability": by_chain.mean("chain"),
            "mcse": (point_dim, np.sqrt(variances.sum(axis=0)) / gamma.sizes["chain"]),
        }
    )


@dataclass(frozen=True)
class Agreement:
    """How far chains agree on their active sets.

    Attributes
    ----------
    rhat_size : float
        Rank-normalised split R-hat of the number of active points.
    ess_size : float
        Its effective number of draws (bulk), over all chains.
    rhat_inclusion : xarray.DataArray
        Rank-normalised split R-hat of each point's indicator; NaN for one that never changes, and
        infinite for one that changes from chain to chain only.
    difference : xarray.DataArray
        Largest difference of two chains' inclusion probabilities, by point.
    z : xarray.DataArray
        Largest difference in units of its standard error, by point.
    z_limit : float
        What the largest ``z`` of all points and pairs of chains exceeds with a probability of at
        most five percent if all chains agree (Bonferroni, Student's t).
    """

    rhat_size: float
    ess_size: float
    rhat_inclusion: xr.DataArray = field(repr=False)
    difference: xr.DataArray = field(repr=False)
    z: xr.DataArray = field(repr=False)
    z_limit: float

    @property
    def max_rhat_inclusion(self):
        """Largest R-hat of an indicator; minus infinity where none changes."""
        values = self.rhat_inclusion.values
        return float(np.max(values, initial=-np.inf, where=~np.isnan(values)))

    @property
    def max_difference(self):
        """Largest difference of inclusion probabilities."""
        return float(self.difference.max())

    @property
    def max_z(self):
        """Largest difference in standard errors; compare it with ``z_limit``."""
        return float(self.z.max())

    @property
    def n_constant(self):
        """Number of points whose indicator never changes in any chain."""
        return int(np.isnan(self.rhat_inclusion.values).sum())

    def agrees(self, *, rhat=1.05):
        """Whether R-hat of the size is below ``rhat`` and no inclusion differs beyond chance."""
        return bool(self.rhat_size < rhat and self.max_z <= self.z_limit)


def agreement(idata, *, var_name="gamma"):
    """Compare the chains: whether they agree on the size of the active set and on its members.

    Start some chains from few and some from many active points
    (``reversible_jump={"start_active": ...}``), else they may agree on the wrong thing.

    Parameters
    ----------
    idata : DataTree
        With posterior draws of indicators from two chains or more, at least 8 draws each.
    var_name : str, default "gamma"
        Name of the indicators.

    Returns
    -------
    Agreement

    Notes
    -----
    The median of a set of zeros and ones is one of them (or one half), and ranks of two values are
    two values: rank normalisation and folding only shift and scale an indicator, so its
    rank-normalised R-hat is its plain split R-hat, computed here for all points at once.

    Examples
    --------
    >>> import arviz as az
    >>> import numpy as np
    >>> import bayeskernels as bk
    >>> gamma = np.random.default_rng(1).binomial(1, [0.5, 0.5, 0.0], size=(2, 400, 3))
    >>> idata = az.from_dict({"posterior": {"gamma": gamma}})
    >>> result = bk.active_sets.agreement(idata)
    >>> result.agrees(), round(result.rhat_size, 2), result.n_constant
    (True, 1.0, 1)
    """
    gamma = _indicators(idata, var_name)
    n_chains, n_draws = gamma.shape[:2]
    if n_chains < 2 or n_draws < 8:
        raise ValueError(
            f"Agreement is between chains: at least 2 of 8 draws are needed, got {n_chains} of "
            f"{n_draws}. Sample with chains=4."
        )
    n_active = sizes(idata, var_name=var_name).values.astype(float)
    estimates = inclusion(idata, var_name=var_name)
    p, se = estimates["by_chain"].values, estimates["mcse_by_chain"].values
    difference, z = np.zeros(p.shape[1]), np.zeros(p.shape[1])
    for a, b in combinations(range(n_chains), 2):
        gap = np.abs(p[a] - p[b])
        error = np.hypot(se[a], se[b])
        with np.errstate(divide="ignore", invalid="ignore"):
            # Two indicators that never change agree if they are equal, and else never will.
            ratio = np.where(gap > 0, gap / error, 0.0)
        difference, z = np.maximum(difference, gap), np.maximum(z, ratio)
    rhat = _split_rhat(gamma.values)
    n_comparisons = max(1, int((~np.isnan(rhat)).sum())) * n_chains * (n_chains - 1) // 2
    n_batches = _batch_means(gamma.values[..., :1]).shape[1]
    limit = stats.t(2 * (n_batches - 1)).isf(0.025 / n_comparisons)

    def by_point(values, name):
        return estimates["probability"].copy(data=values).rename(name)

    rhat_size = ess_size = float("nan")
    if np.ptp(n_active) > 0:
        # Two sizes may be equally far from their median, whose distances then have no variance.
        with np.errstate(divide="ignore", invalid="ignore"):
            rhat_size, ess_size = float(az.rhat(n_active)), float(az.ess(n_active))
    return Agreement(
        rhat_size=rhat_size,
        ess_size=ess_size,
        rhat_inclusion=by_point(rhat, "rhat"),
        difference=by_point(difference, "difference"),
        z=by_point(z, "z"),
        z_limit=float(limit),
    )


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
        ``tune=0``): such as :func:`sizes` or the log-likelihood.
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
    >>> import numpy as np
    >>> import bayeskernels as bk
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


def _indicators(idata, var_name):
    """Indicators with the dims chain, draw and one more."""
    try:
        gamma = idata["posterior"][var_name]
    except (KeyError, TypeError):
        raise ValueError(
            f"idata has no posterior draws of {var_name!r}. They come from pm.sample on a "
            "generalized_kernel_model with sparse=True; give var_name where the model has a prefix."
        ) from None
    gamma = gamma.transpose("chain", "draw", ...)
    if gamma.ndim != 3:
        raise ValueError(
            f"{var_name!r} must have one dim beside chain and draw, got {gamma.dims}: select the "
            "rest first."
        )
    if not np.isin(gamma.values, (0, 1)).all():
        raise ValueError(f"{var_name!r} must consist of zeros and ones.")
    return gamma


def _batch_means(values):
    """Means of about sqrt(n_draws) batches along axis 1; shape (n_chains, n_batches, ...)."""
    n_chains, n_draws, *shape = values.shape
    n_batches = max(1, int(np.sqrt(n_draws)))
    length = n_draws // n_batches
    batches = values[:, : n_batches * length].reshape(n_chains, n_batches, length, *shape)
    return batches.mean(axis=2, dtype=np.float64)


def _split_rhat(gamma):
    """Split R-hat of indicators, shape (n_chains, n_draws, n): NaN where one never changes."""
    half = gamma.shape[1] // 2
    # As in ArviZ, a draw in the middle is left out of an odd number.
    parts = np.concatenate([gamma[:, :half], gamma[:, -half:]])
    means = parts.mean(axis=1, dtype=np.float64)
    within = (means * (1 - means)).mean(axis=0) * half / (half - 1)
    between = means.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(between / within + (half - 1) / half)


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
