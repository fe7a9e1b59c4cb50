"""Repeated random splits into a training and a test part."""

import numpy as np

__all__ = ["random_splits"]


def random_splits(
    n: int, train_fraction: float, n_splits: int, random_seed=None, *, stratify=None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw repeated random splits of `n` rows, each into a training and a test part.

    Every split is drawn afresh (BPM Table 1 uses 100 splits of 60:40). The result can be passed as
    ``cv=`` to scikit-learn.

    Parameters
    ----------
    n : int
        Number of rows.
    train_fraction : float
        Share of the rows in the training part, in (0, 1); ``round(n * train_fraction)`` rows.
    n_splits : int
        Number of splits.
    random_seed : int, numpy.random.SeedSequence, numpy.random.Generator or None
        Seed of the splits.
    stratify : array_like, shape (n,), optional
        Labels whose shares are kept equal in both parts.

    Returns
    -------
    list of (train_idx, test_idx)
        Integer arrays; together each pair holds every row once.

    Examples
    --------
    >>> splits = random_splits(10, 0.6, 3, random_seed=1)
    >>> [(len(train), len(test)) for train, test in splits]
    [(6, 4), (6, 4), (6, 4)]
    """
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    if n < 2:
        raise ValueError(f"n must be at least 2 to be split, got {n}.")
    if n_splits < 1:
        raise ValueError(f"n_splits must be at least 1, got {n_splits}.")
    if not 0 < train_fraction < 1:
        raise ValueError(f"train_fraction must lie strictly between 0 and 1, got {train_fraction}.")
    n_train = round(n * train_fraction)
    if not 0 < n_train < n:
        raise ValueError(
            f"train_fraction={train_fraction} of n={n} rows leaves one part empty "
            f"({n_train} training, {n - n_train} test)."
        )
    # scikit-learn takes no Generator, so one integer drawn from ours seeds it.
    seed = int(np.random.default_rng(random_seed).integers(2**32))
    sizes = {"train_size": n_train, "test_size": n - n_train, "random_state": seed}
    rows = np.zeros((n, 1))
    if stratify is None:
        return list(ShuffleSplit(n_splits, **sizes).split(rows))
    stratify = np.asarray(stratify)
    if stratify.shape != (n,):
        raise ValueError(f"stratify must have shape ({n},), got {stratify.shape}.")
    return list(StratifiedShuffleSplit(n_splits, **sizes).split(rows, stratify))
