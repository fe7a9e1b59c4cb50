"""Batch means: Monte Carlo errors of many means at once, without autocorrelations of each."""

import numpy as np

__all__ = ["batch_means"]


def batch_means(values):
    """Means of about sqrt(n_draws) batches of each chain, for values (n_chains, n_draws, ...).

    They have the shape (n_chains, n_batches, ...).

    Examples
    --------
    >>> batch_means(np.array([[1.0, 3.0, 5.0, 7.0]])).tolist()
    [[2.0, 6.0]]
    """
    n_chains, n_draws, *shape = values.shape
    n_batches = max(1, int(np.sqrt(n_draws)))
    length = n_draws // n_batches
    batches = values[:, : n_batches * length].reshape(n_chains, n_batches, length, *shape)
    return batches.mean(axis=2, dtype=np.float64)
