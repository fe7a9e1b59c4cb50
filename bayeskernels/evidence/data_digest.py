"""A fingerprint of the data that a model explains.

Two log evidences can be compared if they are log-probabilities of the same observations. The names
of variables do not matter, nor does what a model makes of its inputs: a regression on two columns
may be compared with one on three. That the inputs differ is worth knowing all the same, so the
fingerprint has a second part for them where the model is one of this package.
"""

import hashlib

import numpy as np

from bayeskernels.samplers.block_step import GraphReader
from bayeskernels.specification.base import specification_or_none

__all__ = ["data_digest", "digest_of_observations", "observed_values", "same_inputs"]

_SEPARATOR = "-"
_LENGTH = 16


def data_digest(model):
    """Fingerprint of observations and inputs; empty where a model has no observations.

    Examples
    --------
    >>> one = bk.models.gaussian_mean([1.0, 3.0])
    >>> other = bk.models.gaussian_mean([1.0, 3.0], prior_sd=5.0)
    >>> data_digest(one) == data_digest(other)
    True
    >>> data_digest(one) == data_digest(bk.models.gaussian_mean([1.0, 3.5]))
    False
    """
    values = list(observed_values(model).values())
    specification = specification_or_none(model)
    if not values and specification is not None:
        # Sparse processes are potentials: the targets are not observed variables of the graph.
        values = [np.asarray(specification.observed, dtype=np.float64)]
    if not values:
        return ""
    # By content, so that neither names nor the order of variables count.
    parts = sorted(_digest(value) for value in values)
    digest = hashlib.sha256("".join(parts).encode()).hexdigest()[:_LENGTH]
    X = None if specification is None else specification.X
    return digest if X is None else f"{digest}{_SEPARATOR}{_digest(np.asarray(X))[:_LENGTH]}"


def digest_of_observations(digest):
    """The part that has to be the same in a comparison."""
    return digest.split(_SEPARATOR)[0]


def same_inputs(digests):
    """Whether no two of the digests are known to belong to different inputs."""
    inputs = {d.split(_SEPARATOR)[1] for d in digests if _SEPARATOR in d}
    return len(inputs) <= 1


def observed_values(model):
    """Observed values by name, as the model's data are now."""
    read = GraphReader(model)
    return {rv.name: np.asarray(read.now(model.rvs_to_values[rv])) for rv in model.observed_RVs}


def _digest(values):
    """Of shape and content; densities of numbers and probabilities of counts are kept apart."""
    is_real = values.dtype.kind == "f"
    # Zeros of either sign are equal.
    canonical = np.ascontiguousarray(values, dtype=np.float64) + 0.0
    label = f"{'density' if is_real else 'mass'}{values.shape}"
    return hashlib.sha256(label.encode() + canonical.tobytes()).hexdigest()
