r"""The label-noise classifier of the Kernel Gibbs Sampler paper (KGS, section 2).

A classifier is a direction w in the feature space of a kernel; its prior is uniform. It labels a
point x by the sign of :math:`f(x) = \langle w, \phi(x) \rangle`, and every label is flipped with
probability q.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.graph.basic import Variable
from pytensor.graph.utils import MissingInputError
from pytensor.tensor.random.op import RandomVariable

from bayeskernels.distributions import FlipRate
from bayeskernels.inputs import as_two_classes
from bayeskernels.kernels.argument import read_inputs
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
    >>> import pymc as pm
    >>> import bayeskernels as bk
    >>> X, y = bk.data.make_two_moons(40, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.5))
    >>> with model:
    ...     idata = pm.sample(100, chains=1, quiet=True, random_seed=1)
    >>> sorted(idata.posterior.data_vars)
    ['noise', 'w']
    """
    X, columns, kernel = read_inputs(X, kernel, bias)

    def add_rates():
        rates, fixed = _flip_rates(noise)
        return rates, fixed, None

    return build_kernel_classifier(
        "label_noise_classifier",
        X,
        columns,
        as_two_classes(y, len(X)),
        kernel,
        add_rates=add_rates,
        rank=rank,
        factorization=factorization,
        remedy="noise = 0 allows no error. Use noise > 0.",
    )


def _flip_rates(noise):
    """Flip rates of the two classes as tensors, and as numbers where both are fixed."""
    if isinstance(noise, tuple | list) or (isinstance(noise, np.ndarray) and noise.ndim == 1):
        if len(noise) != 2:
            raise ValueError(
                f"A noise pair holds the rates of the two classes, got {len(noise)} entries."
            )
        if all(isinstance(q, str) and q == "infer" for q in noise):
            pair = FlipRate("noise", dims="class")
            return (pair[0], pair[1]), None
        rates = [_flip_rate(q, f"noise_{k}") for k, q in enumerate(noise)]
        if all(isinstance(q, float) for q in rates):
            pair = pm.Data("noise", rates, dims="class")
            return (pair[0], pair[1]), tuple(rates)
        pm.Deterministic("noise", pt.stack([pt.as_tensor(q) for q in rates]), dims="class")
        return tuple(rates), None
    rate = _flip_rate(noise, "noise")
    if isinstance(rate, float):
        q = pm.Data("noise", rate)
        return (q, q), (rate, rate)
    if rate.name != pm.modelcontext(None).name_for("noise"):
        pm.Deterministic("noise", rate)
    return (rate, rate), None


def _flip_rate(noise, name):
    """One flip rate: a float, or a random variable of the model in context."""
    if isinstance(noise, str):
        if noise != "infer":
            raise ValueError(f'noise must be a number, "infer" or a prior, got {noise!r}.')
        return FlipRate(name)
    if isinstance(noise, Variable):
        if noise.ndim != 0:
            raise ValueError(
                f"A prior of the flip rate must be a scalar, this one has {noise.ndim} dimensions. "
                "For rates by class give a pair of priors."
            )
        model = pm.modelcontext(None)
        is_prior = noise.owner is not None and isinstance(
            noise.owner.op, RandomVariable | SymbolicRandomVariable
        )
        if is_prior:
            _check_support(noise)
        if noise in model.named_vars.values() or not is_prior:
            return noise
        if noise.name is not None:
            raise ValueError(
                f"The prior {noise.name!r} belongs to another model. Build the classifier inside "
                "`with model:`, or give an unnamed prior such as FlipRate.dist(1, 9)."
            )
        return model.register_rv(noise, name)
    try:
        rate = float(noise)
    except (TypeError, ValueError):
        raise TypeError(
            f'noise must be a number, a pair, "infer" or a prior, got {type(noise).__name__}.'
        ) from None
    if not 0 <= rate < 0.5:
        raise ValueError(
            f"noise must be in [0, 1/2), got {rate}: at one half labels say nothing, and beyond "
            "it they say the opposite."
        )
    return rate


def _check_support(prior):
    """Refuse priors with mass outside of (0, 1/2), where PyMC can tell."""
    try:
        below_zero, below_half = np.exp(pm.logcdf(prior, [0.0, 0.5]).eval())
    except (NotImplementedError, ValueError, MissingInputError):
        return
    outside = 1 - below_half + below_zero
    if outside > 1e-9:
        raise ValueError(
            f"A prior of the flip rate must lie within (0, 1/2), this one has {outside:.2g} of its "
            "mass outside. Use bayeskernels.distributions.FlipRate.dist(alpha, beta), a Beta "
            "distribution cut off at 1/2, or pm.Truncated.dist(prior, lower=0, upper=0.5)."
        )
