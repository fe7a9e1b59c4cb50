r"""The label-noise classifier of the Kernel Gibbs Sampler paper (KGS, section 2).

A classifier is a direction w in the feature space of a kernel; its prior is uniform. It labels a
point x by the sign of :math:`f(x) = \langle w, \phi(x) \rangle`, and every label is flipped with
probability q.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayeskernels.distributions import FlipRate
from bayeskernels.inputs import as_two_classes
from bayeskernels.kernels.argument import read_inputs
from bayeskernels.models.parts.hyperparameter import FLIP_RATE, Hyperparameter
from bayeskernels.models.parts.kernel_classifier import build_kernel_classifier

__all__ = ["label_noise_classifier"]


def label_noise_classifier(
    X, y, *, kernel=None, noise="infer", bias=0.0, rank=None, factorization="cholesky"
):
    r"""Bayesian kernel classifier under label noise.

    Parameters
    ----------
    X : array_like or DataFrame of shape (m, p)
        Training inputs; None where ``kernel`` is a Gram matrix.
    y : array_like of shape (m,)
        Labels of two classes, of any type. In sorted order the second is the positive class.
    kernel : pm.gp.cov.Covariance, callable or array of shape (m, m), optional
        A covariance function, a function ``k(X, Z)`` of two arrays, or a precomputed Gram matrix.
        Hyperparameters of a covariance function may be random variables of the model in context;
        they are then sampled too. By default a Gaussian kernel whose width is the median distance
        between the inputs.
    noise : float, pair, "infer" or prior, default "infer"
        Probability q that a label is flipped, in [0, 1/2). Zero allows no error: the version space.
        "infer" gives it a uniform prior on (0, 1/2); any PyMC prior on that interval may be given,
        as ``FlipRate.dist(1, 9)`` or as a variable of the model in context. A pair holds the rates
        of the negative and the positive class, each in one of these forms.
    bias : float, default 0
        Constant added to the kernel, which gives the classifier an offset. The papers have none.
    rank : int, optional
        Use this many coordinates instead of the numerical rank of the Gram matrix: a draw costs
        O(m rank) then. The share of the trace that is left out is logged, and is the
        ``discarded_trace`` of :func:`bayeskernels.specification_of`.
    factorization : {"cholesky", "eigen"}
        How the coordinates are chosen: pivot points, or leading eigenvectors.

    Returns
    -------
    pm.Model
        With the direction ``w`` (dim ``basis``), ``noise`` where it is not fixed, the observed
        labels ``y`` (dim ``obs``; 0 and 1 stand for the two entries of the coordinate ``class``),
        and the inputs ``X`` as data, so that ``pm.set_data`` works.

    Notes
    -----
    The direction is learnt within the span of the training points. ``pm.set_data`` with
    ``pm.sample_posterior_predictive`` draws labels of such classifiers, flips included. The
    ``probability`` of :func:`bayeskernels.predict` also accounts for the part of a direction
    outside the span, which decides far from all data; ``beyond_span=False`` leaves it out.

    References
    ----------
    .. [1] T. Graepel and R. Herbrich, "The Kernel Gibbs Sampler", NIPS 13, 2001.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(40, random_seed=1)
    >>> with bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.5)):
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['noise', 'w']
    """
    X, columns, kernel = read_inputs(X, kernel, bias)
    rates = _read_rates(noise)
    return build_kernel_classifier(
        "label_noise_classifier",
        X,
        columns,
        as_two_classes(y, len(X)),
        kernel,
        add_rates=lambda: (*_add_rates(rates), None),
        rank=rank,
        factorization=factorization,
        remedy="noise = 0 allows no error. Use noise > 0.",
    )


def _read_rates(noise):
    """The flip rate, or those of the two classes."""
    if not (isinstance(noise, tuple | list) or (isinstance(noise, np.ndarray) and noise.ndim)):
        return [Hyperparameter("noise", noise, FLIP_RATE, words=("infer",))]
    if len(noise) != 2:
        raise ValueError(
            f"A noise pair holds the rates of the two classes, got {len(noise)} entries."
        )
    return [
        Hyperparameter(f"noise[{k}]", rate, FLIP_RATE, words=("infer",))
        for k, rate in enumerate(noise)
    ]


def _add_rates(rates):
    """Flip rates of the two classes as tensors, and as numbers where both are fixed."""
    numbers = [rate.number for rate in rates]
    if len(rates) == 1:
        [rate] = rates
        q = rate.variable("noise") if rate.is_variable else rate.add(FlipRate)
        if q.name != pm.modelcontext(None).name_for("noise"):
            # Not in its place: steps look for the rate itself in the likelihood.
            pm.Deterministic("noise", q)
        return (q, q), None if rate.number is None else (rate.number, rate.number)
    if None not in numbers:
        pair = pm.Data("noise", numbers, dims="class")
        return (pair[0], pair[1]), tuple(numbers)
    if all(rate.is_word for rate in rates):
        pair = FlipRate("noise", dims="class")
        return (pair[0], pair[1]), None
    pair = []
    for k, rate in enumerate(rates):
        variable = FlipRate if rate.is_word else rate.variable
        pair.append(variable(f"noise_{k}") if rate.number is None else rate.number)
    pm.Deterministic("noise", pt.stack([pt.as_tensor(q) for q in pair]), dims="class")
    return tuple(pair), None
