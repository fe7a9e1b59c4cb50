r"""A network of Gaussian units with a Bayesian output layer (LEC, part 1)."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayeskernels.inputs import as_inputs, as_targets
from bayeskernels.linear.rbf_fitting import check_adaptation
from bayeskernels.linear.rbf_units import as_units
from bayeskernels.models.parts.hyperparameter import Hyperparameter, as_number
from bayeskernels.models.parts.linear_model import add_linear_targets
from bayeskernels.models.parts.open_model import open_model, specify
from bayeskernels.specification.linear import RBFSpecification

__all__ = ["rbf_network"]


def rbf_network(
    X,
    y,
    *,
    centers=10,
    width=None,
    adapt="none",
    shared=False,
    center_sd=None,
    metric_sd=0.5,
    alpha=None,
    beta=None,
    bias=True,
    marginal=False,
):
    r"""Regression by Gaussian units :math:`\exp(-\frac12 (x - c_k)^T D_k (x - c_k))`.

    The output layer is Bayesian linear regression on the units. Centres and metrics are fixed, or
    random around where they start; a metric is :math:`D = L L^T` with a triangular L, so that it is
    positive definite whatever its parameters are.

    Parameters
    ----------
    X : array_like or DataFrame of shape (n, p)
    y : array_like of shape (n,)
        Targets.
    centers : int, array of shape (M, p), or RBFUnits
        Where the units are, or are expected; a number stands for so many centres by k-means. The
        ``units`` of a fit by :func:`bayeskernels.fit_rbf_network` will do.
    width : float, optional
        Standard deviation of a unit; by default the mean distance of a centre to its nearest
        neighbour.
    adapt : {"none", "centers", "metric", "all"}
        What is random.
    shared : bool, default False
        Whether all units have one metric.
    center_sd : float, optional
        Prior standard deviation of the centres around their start; ``width`` by default.
    metric_sd : float, default 0.5
        Prior standard deviation of the logarithms of L's diagonal, and of what lies below it in
        units of 1 / width.
    alpha, beta : float or prior, optional
        Precisions of the output weights and of the noise; Gamma(1, 0.1) by default. Fixed numbers
        make the output layer that of ridge regression with lambda = alpha / beta.
    bias : bool, default True
        Whether the hidden layer has a constant.
    marginal : bool, default False
        Integrate the output weights out of the model, with the consequences named for
        :func:`bayeskernels.models.bayesian_linear_regression`.

    Returns
    -------
    pm.Model
        With ``w`` (dim ``basis``; not if marginal), ``centers`` (dims ``unit``, ``feature``),
        ``log_scale`` (the same; logarithms of L's diagonal) and ``shear`` (dims ``unit``, ``pair``;
        what lies below), each random or data, ``alpha``, ``beta``, the targets ``y`` and the inputs
        ``X`` as data.

    Notes
    -----
    Units may trade places without any change of the output, so the posterior has up to M! equal
    modes; priors around different starts hold them apart only as far as ``center_sd`` is small
    against their distances. Look at predictions (R-hat of outputs), not at the centres of numbered
    units, and expect chains to disagree about the latter. Units of opposite weights in nearly one
    place, which least squares likes, are ruled out by alpha.

    ``bk.predict`` integrates the output weights in closed form for each draw of the rest.

    Examples
    --------
    >>> x = np.linspace(-2, 2, 40)[:, None]
    >>> y = np.sin(3 * x[:, 0])
    >>> centers = np.linspace(-2, 2, 9)[:, None]
    >>> model = bk.models.rbf_network(x, y, centers=centers, alpha=0.1, beta=1e4)
    >>> prediction = bk.predict(model, None, [[0.5]])
    >>> bool(abs(prediction["mean"][0] - np.sin(1.5)) < 0.01)
    True
    """
    X, columns = as_inputs(X)
    y = as_targets(y, len(X))
    check_adaptation(adapt)
    alpha = Hyperparameter("alpha", alpha, words=(None,))
    beta = Hyperparameter("beta", beta, words=(None,))
    units = as_units(X, centers, width)
    start_scale, start_shear = _parameters(units, shared)
    if center_sd is None:
        center_sd = float(np.exp(-start_scale.mean()))
    center_sd, metric_sd = as_number("center_sd", center_sd), as_number("metric_sd", metric_sd)
    m, p = units.centers.shape
    model = open_model()
    of_metric = () if shared else ("unit",)
    with model:
        inputs = pm.Data("X", X, dims=("obs", "feature"), coords={"feature": columns})
        model.add_coord("unit", np.arange(m))
        pairs = [f"{columns[i]},{columns[j]}" for i, j in zip(*np.tril_indices(p, -1), strict=True)]
        model.add_coord("pair", pairs)
        names = (["1"] if bias else []) + [f"unit {k}" for k in range(m)]
        model.add_coord("basis", names)
        centers = _unknown(
            "centers", units.centers, center_sd, adapt in ("centers", "all"), ("unit", "feature")
        )
        moves = adapt in ("metric", "all")
        log_scale = _unknown("log_scale", start_scale, metric_sd, moves, (*of_metric, "feature"))
        shear_sd = metric_sd * float(np.exp(start_scale.mean()))
        # One column has no shear: nothing there to be random.
        shear = _unknown("shear", start_shear, shear_sd, moves and p > 1, (*of_metric, "pair"))
        features = _hidden(inputs, centers, log_scale, shear, p, bias)
        add_linear_targets(features, y, alpha, beta, marginal=marginal)
        specify(
            RBFSpecification,
            kind="rbf_network",
            training=X,
            bias=bool(bias),
        )
    return model


def _parameters(units, shared):
    """Logarithms of the diagonals of the Cholesky factors, and what lies below."""
    factors = units.factors
    if shared:
        if np.ptp(factors, axis=0).any():
            raise ValueError("The units have different metrics at the start: shared must be False.")
        factors = factors[0]
    rows, columns = np.tril_indices(factors.shape[-1], -1)
    return np.log(np.diagonal(factors, axis1=-2, axis2=-1)), factors[..., rows, columns]


def _unknown(name, start, sd, is_random, dims):
    """A variable around its start, or data."""
    if not is_random:
        return pm.Data(name, start, dims=dims)
    # Chains start at the mean, as PyMC has it.
    return pm.Normal(name, start, sd, dims=dims)


def _hidden(inputs, centers, log_scale, shear, p, bias):
    """Hidden layer as a graph, shape (n, M) or (n, M + 1)."""
    differences = inputs[:, None, :] - centers[None]
    factors = _lower_factors(log_scale, shear, p)
    if factors.ndim == 2:
        along = pt.dot(differences, factors)
    else:
        along = pt.matmul(differences.transpose(1, 0, 2), factors).transpose(1, 0, 2)
    outputs = pt.exp(-0.5 * pt.sum(along**2, axis=2))
    return pt.concatenate([pt.ones((inputs.shape[0], 1)), outputs], axis=1) if bias else outputs


def _lower_factors(log_scale, shear, p):
    """Cholesky factors L as a graph, shape (p, p) or (M, p, p): one lookup, however large p is."""
    rows, columns = np.tril_indices(p, -1)
    place = np.zeros((p, p), dtype=np.int64)  # of a zero, where nothing else stands
    place[np.arange(p), np.arange(p)] = 1 + np.arange(p)
    place[rows, columns] = 1 + p + np.arange(len(rows))
    entries = [pt.zeros_like(log_scale[..., :1]), pt.exp(log_scale), shear]
    flat = pt.take(pt.concatenate(entries, axis=-1), place.ravel(), axis=-1)
    return flat.reshape((p, p) if flat.ndim == 1 else (flat.shape[0], p, p))
