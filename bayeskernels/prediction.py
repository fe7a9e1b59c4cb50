r"""Prediction from the draws of a classifier (KGS, section 4).

*Bayesian transduction* lets the drawn classifiers vote on a new point (KGS, equation (4)); the
share of the majority says how sure they are. The *Bayes point* (5) is the mean direction: one
classifier that approximates the vote. The posterior predictive probability also accounts for the
label noise of the new label itself.
"""

from dataclasses import dataclass

import numba
import numpy as np
import xarray as xr

from bayeskernels.inputs import as_new_inputs
from bayeskernels.outputs import directions_by_chain, flip_rates, output_blocks
from bayeskernels.specification import ClassifierSpecification, specification_of

__all__ = ["BayesPoint", "bayes_point", "binary_entropy", "predict"]


def predict(model, idata, X_new, *, progressbar=True):
    """Predict the classes of new points by Bayesian model averaging.

    Parameters
    ----------
    model : pm.Model
        Made by a builder of :mod:`bayeskernels.models`.
    idata : DataTree
        Its posterior draws, from ``pm.sample``.
    X_new : array_like of shape (n, p)
        New inputs. For a precomputed kernel: kernel values with all m training points, (n, m).
    progressbar : bool
        Whether to show progress; only kernels with random hyperparameters take long.

    Returns
    -------
    xarray.Dataset
        With the dims ``obs_new`` and ``class``: ``label`` (the class with most votes), ``vote``
        (share of the draws that vote for a class), ``probability`` (that the label reads so, flips
        included), ``latent`` (mean output of the unit-length classifiers) and ``entropy`` (of the
        votes, in bits; KGS prints it without its minus sign).

    Examples
    --------
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> with model:
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1)
    >>> bk.predict(model, idata, [[0.0, 1.0], [1.0, -0.5]]).label.values.tolist()
    [-1, 1]
    """
    specification = specification_of(model)
    X_new = _new_inputs(X_new, specification, _column_names(model))
    q_negative, q_positive = flip_rates(specification, idata)
    n = len(X_new)
    votes, gains, latent = np.empty(n), np.empty(n), np.empty(n)
    # P(label 1) is q- where f < 0 and 1 - q+ where f > 0: q- plus the gain of a positive vote.
    gain = np.asarray(1.0 - q_positive - q_negative)
    for part, outputs in output_blocks(specification, idata, X_new, progressbar=progressbar):
        weights = np.broadcast_to(gain, outputs.shape[1:])
        votes[part], gains[part], latent[part] = _tally(outputs, np.ascontiguousarray(weights))
    positive = np.mean(q_negative) + gains
    return xr.Dataset(
        {
            "label": ("obs_new", specification.class_names[(votes > 0.5).astype(int)]),
            "probability": (("obs_new", "class"), np.stack([1 - positive, positive], axis=1)),
            "vote": (("obs_new", "class"), np.stack([1 - votes, votes], axis=1)),
            "latent": ("obs_new", latent),
            "entropy": ("obs_new", binary_entropy(votes)),
        },
        coords={"obs_new": np.arange(n), "class": specification.class_names},
    )


def _column_names(model):
    """Names of the columns with which a model was trained, None where they are only numbered."""
    names = model.coords.get("feature")
    if names is None or list(names) == [str(k) for k in range(len(names))]:
        return None
    return tuple(names)


def _new_inputs(X_new, specification, columns):
    """New inputs; a DataFrame must have the columns of training in the same order."""
    values = as_new_inputs(X_new, specification.X.shape[1])
    if columns is not None and hasattr(X_new, "columns"):
        given = tuple(str(c) for c in X_new.columns)
        if given != columns:
            remedy = "Reorder" if set(columns) <= set(given) else "Rename"
            raise ValueError(
                f"The columns of X_new are {list(given)}, the model was trained with "
                f"{list(columns)}. {remedy} them."
            )
    return values


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _tally(outputs, weights):
    """Share of positive outputs, mean of the weights where positive, and mean output, by row.

    An output of exactly zero is half a vote.
    """
    n, n_draws = outputs.shape
    votes = np.zeros(n)
    gains = np.zeros(n)
    means = np.zeros(n)
    for i in range(n):
        vote = 0.0
        gain = 0.0
        total = 0.0
        for s in range(n_draws):
            f = outputs[i, s]
            side = 0.5 * (f > 0.0) + 0.5 * (f >= 0.0)
            vote += side
            gain += side * weights[s]
            total += f
        votes[i] = vote / n_draws
        gains[i] = gain / n_draws
        means[i] = total / n_draws
    return votes, gains, means


def binary_entropy(p):
    """Entropy of a coin that shows heads with probability p, in bits.

    Examples
    --------
    >>> binary_entropy([0.5, 1.0]).tolist()
    [1.0, 0.0]
    """
    p = np.clip(np.asarray(p, dtype=float), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.stack([p * np.log2(p), (1 - p) * np.log2(1 - p)])
    return np.abs(np.nansum(terms, axis=0))


@dataclass(frozen=True)
class BayesPoint:
    """The centre of mass of the posterior as one classifier.

    Attributes
    ----------
    w : array of shape (r,)
        Mean direction, not normalised: the shorter, the more the draws disagree.
    mcse : array of shape (r,)
        Monte Carlo standard error of ``w``.
    """

    w: np.ndarray
    mcse: np.ndarray
    _specification: ClassifierSpecification
    _columns: tuple[str, ...] | None = None

    def decision_function(self, X):
        """Output at the rows of X; positive for the second class."""
        X = _new_inputs(X, self._specification, self._columns)
        return self._specification.feature_map(X) @ self.w

    def predict(self, X):
        """Class of each row of X."""
        positive = self.decision_function(X) > 0
        return self._specification.class_names[positive.astype(int)]


def bayes_point(model, idata):
    """Bayes point of a classifier: the mean of its posterior directions (KGS, equation (5)).

    Parameters
    ----------
    model : pm.Model
        With a kernel whose hyperparameters are fixed.
    idata : DataTree

    Returns
    -------
    BayesPoint

    Examples
    --------
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> with model:
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1)
    >>> bk.bayes_point(model, idata).predict([[0.0, 1.0], [1.0, -0.5]]).tolist()
    [-1, 1]
    """
    specification = specification_of(model)
    if specification.feature_map is None:
        raise TypeError(
            "Every draw has a kernel of its own, so no single classifier is the mean of them. "
            "Use bayeskernels.predict(...).latent, the mean output."
        )
    chains = directions_by_chain(specification, idata)
    mean = chains.mean(axis=(0, 1))
    return BayesPoint(mean, _mean_mcse(chains), specification, _column_names(model))


def _mean_mcse(chains):
    """Monte Carlo standard error of the mean by batch means, for all coordinates at once."""
    n_chains, n_draws, _ = chains.shape
    n_batches = max(1, int(np.sqrt(n_draws)))
    length = n_draws // n_batches
    batches = chains[:, : n_batches * length].reshape(n_chains * n_batches, length, -1).mean(axis=1)
    if len(batches) < 2:
        return np.full(chains.shape[-1], np.nan)
    return batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
