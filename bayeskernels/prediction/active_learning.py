"""Active learning: ask for the label that tells most (KGS, section 4).

When labels are expensive, the next one to ask for is that of the point on which the posterior is
most divided: the entropy of the votes of the drawn classifiers is largest (query by committee). As
in the paper these are classifiers in the span of the labelled points; that they know little of
points far from all of these does not count.
"""

from numbers import Integral

import numpy as np
import pandas as pd
from rich.progress import Progress

from bayeskernels.inputs import as_count, as_inputs, as_known_labels, as_new_inputs, as_two_classes
from bayeskernels.prediction.predict import predict
from bayeskernels.samplers import sample_directions

__all__ = ["learn_actively", "next_query"]


def next_query(prediction, asked=(), *, rng=None) -> int:
    """Point with the largest entropy of votes among those that were not asked for yet.

    Parameters
    ----------
    prediction : xarray.Dataset
        From :func:`bayeskernels.predict` on the pool.
    asked : sequence of int
        Points whose labels are known.
    rng : numpy.random.Generator, optional
        Breaks ties; the first point is taken without it.

    Examples
    --------
    >>> prediction = xr.Dataset({"entropy": ("obs_new", [0.2, 0.9, 1.0])})
    >>> next_query(prediction, asked=[2])
    1
    """
    if "entropy" not in getattr(prediction, "data_vars", ()):
        raise TypeError("prediction must be that of a classifier, with the entropy of its votes.")
    entropy = prediction["entropy"].values.copy()
    if np.isnan(entropy).any():
        point = int(np.flatnonzero(np.isnan(entropy))[0])
        raise ValueError(f"prediction has NaN as the entropy of point {point}.")
    asked = np.asarray(asked)
    is_point = asked.dtype.kind in "iu" and ((asked >= 0) & (asked < len(entropy))).all()
    if asked.size and not is_point:
        raise ValueError(
            f"asked must be numbers of points from 0 to {len(entropy) - 1}, got {asked.tolist()}."
        )
    entropy[asked.astype(np.int64)] = -np.inf
    if entropy.max(initial=-np.inf) == -np.inf:
        raise ValueError(f"All {len(entropy)} points were asked for: there is none left to query.")
    best = np.flatnonzero(entropy == entropy.max())
    return int(best[0] if rng is None else rng.choice(best))


def learn_actively(
    X,
    y,
    *,
    build,
    X_test,
    y_test,
    n_queries,
    n_start=4,
    strategy="entropy",
    draws=200,
    random_seed=None,
    progressbar=True,
):
    """Learn from a pool of points whose labels are asked for one at a time.

    Parameters
    ----------
    X : array_like of shape (n, p)
        The pool.
    y : array_like of shape (n,)
        Its labels, which the learner sees only where it asks.
    build : callable
        ``build(X, y)`` returns a model with fixed kernel and noise, e.g. a call of
        :func:`bayeskernels.models.label_noise_classifier`.
    X_test, y_test : array_like
        Points for measuring the error after each query, with labels in the coding of ``y``.
    n_queries : int
        How many labels to ask for after the start.
    n_start : int, default 4
        Labels known at the start, drawn at random with both classes among them.
    strategy : {"entropy", "random"}
        Which label to ask for next.
    draws : int
        Posterior draws after each query.
    random_seed : int, optional
    progressbar : bool

    Returns
    -------
    pandas.DataFrame
        One row per state of knowledge: ``n_labels``, ``query`` (row of X asked for to get there, -1
        for the start) and ``error`` (on the test points).

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> X_test, y_test = bk.data.make_two_moons(200, random_seed=2)
    >>> curve = bk.active_learning.learn_actively(
    ...     X, y, build=lambda X, y: bk.models.label_noise_classifier(X, y, noise=0.05),
    ...     X_test=X_test, y_test=y_test, n_queries=5, draws=50, random_seed=1, progressbar=False,
    ... )
    >>> curve.n_labels.tolist()
    [4, 5, 6, 7, 8, 9]
    """
    if strategy not in ("entropy", "random"):
        raise ValueError(f'strategy must be "entropy" or "random", got {strategy!r}.')
    if not callable(build):
        raise TypeError(f"build must be a function of X and y, got {type(build).__name__}.")
    X, _ = as_inputs(X)
    classes = as_two_classes(y, len(X))
    codes, y = classes.codes, classes.names[classes.codes]
    X_test = as_new_inputs(X_test, X.shape[1], name="X_test")
    y_test = as_known_labels(y_test, classes.names, len(X_test), name="y_test", inputs="X_test")
    draws = as_count(draws, "draws")
    if not isinstance(n_queries, Integral) or n_queries < 0:
        raise ValueError(f"n_queries must not be negative, and whole; got {n_queries!r}.")
    if not 2 <= as_count(n_start, "n_start") <= len(X) - n_queries:
        raise ValueError(
            f"n_start must be at least 2 and leave n_queries = {n_queries} of {len(X)} points, "
            f"got {n_start}."
        )
    rng = np.random.default_rng(random_seed)
    asked = _start(codes, n_start, rng)
    rows = []
    with Progress(disable=not progressbar, transient=True) as progress:
        for query in progress.track(range(n_queries + 1), description=f"Queries by {strategy}"):
            model = build(X[asked], y[asked])
            idata = sample_directions(model, draws=draws, chains=1, random_seed=rng)
            labels = predict(model, idata, X_test).label.values
            rows.append((len(asked), asked[-1] if query else -1, np.mean(labels != y_test)))
            if query == n_queries:
                break
            if strategy == "entropy":
                asked.append(next_query(predict(model, idata, X), asked, rng=rng))
            else:
                asked.append(int(rng.choice(np.setdiff1d(np.arange(len(X)), asked))))
    return pd.DataFrame(rows, columns=["n_labels", "query", "error"])


def _start(codes, n_start, rng):
    """Random points, one of each class first."""
    first = [int(rng.choice(np.flatnonzero(codes == c))) for c in (0, 1)]
    rest = rng.permutation(np.setdiff1d(np.arange(len(codes)), first))[: n_start - 2]
    return first + rest.tolist()
