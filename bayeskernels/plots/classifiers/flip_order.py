"""Training points in the order of the doubt about their labels."""

import numpy as np
from matplotlib.axes import Axes
from sklearn.metrics import roc_auc_score

from bayeskernels.plots.plane import planted_mask
from bayeskernels.plots.style import INK, PLANTED, QUIET, as_axes

__all__ = ["flip_ranking"]


def flip_ranking(probability, *, planted=None, threshold=0.5, max_points=None, ax=None) -> Axes:
    """Posterior probability that each label was flipped, the most suspicious first.

    Parameters
    ----------
    probability : DataArray
        From :func:`bayeskernels.flip_probability`.
    planted : array of bool, shape (m,), optional
        Labels that are known to be wrong. They are highlighted, and the title has the area under
        the ROC curve of the ranking.
    threshold : float
        Where to draw the line between trust and doubt.
    max_points : int, optional
        Show the first so many points only; all by default.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> y, flipped = bk.data.flip_labels(y, 0.1, random_seed=2)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.1)
    >>> idata = bk.samplers.sample_directions(model, draws=100, chains=1, random_seed=1)
    >>> ax = bk.plots.flip_ranking(bk.flip_probability(model, idata), planted=flipped)
    """
    values = np.asarray(probability, dtype=float)
    planted = planted_mask(planted, len(values))
    order = np.argsort(-values, kind="stable")[:max_points]
    rank = np.arange(1, len(order) + 1)
    ax = as_axes(ax, figsize=(6.4, 3.6))
    is_planted = np.zeros(len(order), bool) if planted is None else planted[order]
    name = "labels" if planted is None else "labels left as they were"
    x, height = rank[~is_planted], values[order][~is_planted]
    ax.vlines(x, 0, height, color=QUIET, linewidth=1.5)
    ax.plot(x, height, "o", markersize=3.5, color=QUIET, label=name)
    if planted is not None:
        x, height = rank[is_planted], values[order][is_planted]
        ax.vlines(x, 0, height, color=PLANTED, linewidth=2)
        edge = {"markeredgecolor": INK, "markeredgewidth": 0.6}
        ax.plot(x, height, "D", markersize=5.5, color=PLANTED, **edge, label="planted flips")
        if 0 < planted.sum() < len(planted):
            # Rounded down: only a ranking without a mistake has 1.000.
            area = np.floor(1000 * roc_auc_score(planted, values) + 1e-9) / 1000
            ax.set_title(f"ROC AUC {area:.3f}", fontsize="medium")
    ax.axhline(threshold, color=INK, linewidth=1, linestyle="--")
    ax.set(
        xlabel="training points, the most suspicious first",
        ylabel="P(label was flipped)",
        ylim=(0, 1.04),
        xlim=(0, len(order) + 1),
    )
    ax.grid(False)
    ax.legend(frameon=False, fontsize="small")
    return ax
