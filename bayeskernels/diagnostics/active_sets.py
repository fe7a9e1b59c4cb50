r"""Whether reversible-jump chains over active sets have converged.

An active set is a vector of indicators, and most tools for draws of real numbers say little about
it. Here are its size and the visits to each size (GKM, Figure 2), the inclusion probabilities of
the points by chain with Monte Carlo errors, how far chains agree on both, and the cusum diagnostic
of Brooks (1998) with which the paper reports burn-in lengths (GKM, Table 12).

Reached as ``bk.active_sets``.
"""

from dataclasses import dataclass, field
from itertools import combinations

import arviz as az
import numpy as np
import xarray as xr
from scipy import stats

from bayeskernels.diagnostics.batch_means import batch_means
from bayeskernels.diagnostics.cusum import cusum
from bayeskernels.specification.draws import read_posterior

__all__ = ["Agreement", "agreement", "cusum", "inclusion", "sizes", "visits"]


def sizes(idata, *, var_name="gamma"):
    r"""Number of active points (:math:`n_\gamma`) of each draw.

    Parameters
    ----------
    idata : DataTree
        With posterior draws of the indicators ``var_name``.
    var_name : str, default "gamma"
        Another one for a model with a prefix.

    Returns
    -------
    xarray.DataArray
        ``n_active``, whole numbers with the dims chain and draw.

    Examples
    --------
    >>> gamma = np.array([[[0, 1, 1], [0, 0, 1]]])
    >>> idata = az.from_dict({"posterior": {"gamma": gamma}})
    >>> bk.active_sets.sizes(idata).values.tolist()
    [[2, 1]]
    """
    gamma = _indicators(idata, var_name)
    return gamma.sum(gamma.dims[2:], dtype=np.int64).rename("n_active")


def visits(idata, *, var_name="gamma"):
    """How often each chain visits each size of the active set; takes what :func:`sizes` takes.

    Returns
    -------
    xarray.DataArray
        ``visits``, counts with the dims chain and size; sizes from the smallest to the largest that
        was seen. Divided by its sum over sizes it is the posterior of the size, as each chain has
        it.

    Examples
    --------
    >>> gamma = np.array([[[0, 1, 1], [0, 0, 1]]])
    >>> idata = az.from_dict({"posterior": {"gamma": gamma}})
    >>> bk.active_sets.visits(idata).to_pandas()
    size   1  2
    chain
    0      1  1
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

    It takes what :func:`sizes` takes.

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
    >>> gamma = np.array([[[0, 1, 1], [0, 0, 1]]])
    >>> idata = az.from_dict({"posterior": {"gamma": gamma}})
    >>> bk.active_sets.inclusion(idata)["probability"].values.tolist()
    [0.0, 0.5, 1.0]
    """
    gamma = _indicators(idata, var_name)
    point_dim = gamma.dims[2]
    means = batch_means(gamma.values)
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


def agreement(idata, *, var_name="gamma") -> Agreement:
    """Compare the chains: whether they agree on the size of the active set and on its members.

    Start some chains from few and some from many active points
    (``reversible_jump={"start_active": ...}``), else they may agree on the wrong thing.

    Parameters
    ----------
    idata : DataTree
        With draws of the indicators ``var_name`` from two chains or more, at least 8 draws each.
    var_name : str, default "gamma"

    Notes
    -----
    The median of a set of zeros and ones is one of them (or one half), and ranks of two values are
    two values: rank normalisation and folding only shift and scale an indicator, so its
    rank-normalised R-hat is its plain split R-hat, computed here for all points at once.

    Examples
    --------
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
    n_batches = batch_means(gamma.values[..., :1]).shape[1]
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


def _indicators(idata, var_name):
    """Indicators with the dims chain, draw and one more."""
    posterior = read_posterior(idata)["posterior"]
    if var_name not in posterior.data_vars:
        raise ValueError(
            f"idata has no posterior draws of {var_name!r}. They come from pm.sample on a "
            "generalized_kernel_model with sparse=True; give var_name where the model has a prefix."
        )
    gamma = posterior[var_name]
    gamma = gamma.transpose("chain", "draw", ...)
    if gamma.ndim != 3:
        raise ValueError(
            f"{var_name!r} must have one dim beside chain and draw, got {gamma.dims}: select the "
            "rest first."
        )
    if not np.isin(gamma.values, (0, 1)).all():
        raise ValueError(f"{var_name!r} must consist of zeros and ones.")
    return gamma


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
