"""Which training labels are wrong.

Given a classifier, a label was flipped where it contradicts the sign of the output. Averaged over
the posterior this is, for every training point, the probability that its label is wrong.
"""

import numpy as np
import xarray as xr

from bayeskernels.specification.base import specification_of
from bayeskernels.specification.draws import read_draws

__all__ = ["flip_probability"]


def flip_probability(model, idata, *, progressbar=True):
    """Posterior probability, by training point, that its label was flipped.

    Parameters
    ----------
    model : pm.Model
        A label-noise classifier.
    idata, progressbar
        As for :func:`bayeskernels.predict`.

    Returns
    -------
    xarray.DataArray
        With the dim ``obs`` and the coordinates ``label`` (as given) and ``rank`` (1 is the most
        suspicious point; ties in the order of the data). A point with a zero feature vector, on
        which no classifier has an opinion, has one half.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(100, random_seed=1)
    >>> noisy, flipped = bk.data.flip_labels(y, 0.05, random_seed=2)
    >>> model = bk.models.label_noise_classifier(X, noisy, noise=0.05)
    >>> with model:
    ...     idata = pm.sample(200, chains=1, quiet=True, random_seed=1)
    >>> p = bk.flip_probability(model, idata)
    >>> bool(p.values[flipped].mean() > p.values[~flipped].mean())
    True
    """
    specification = specification_of(model)
    specification.require_directions("flip_probability", n_classes=2)
    specification.require_paired_data()
    idata = read_draws(model, idata)
    codes = specification.codes
    share = np.empty(len(codes))
    for part, outputs, _ in specification.output_blocks(idata, progressbar=progressbar):
        sign = np.where(codes[part] == 1, 1.0, -1.0)[:, None]
        contradicted = np.count_nonzero(outputs * sign < 0, axis=1)
        undecided = np.count_nonzero(outputs == 0, axis=1)
        share[part] = (contradicted + 0.5 * undecided) / outputs.shape[1]
    rank = np.empty(len(codes), dtype=int)
    rank[np.argsort(-share, kind="stable")] = np.arange(1, len(codes) + 1)
    return xr.DataArray(
        share,
        dims="obs",
        coords={
            "obs": np.arange(len(codes)),
            "label": ("obs", specification.class_names[codes]),
            "rank": ("obs", rank),
        },
        name="flip_probability",
    )
