r"""Prior of the active vectors of a generalized kernel model (GKM, section 3.1).

Each of n points is active with the same unknown probability, which has a Beta prior and is
integrated out (equation (10)). Sets of more than ``max_active`` points have no mass, and the rest
is normalised: the probability of a set depends on its size k only,

.. math:: p(\gamma) \propto B(k + a, n - k + b), \qquad k \le k_{\max}.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import scipy
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Distribution, SymbolicRandomVariable, _support_point
from pymc.distributions.shape_utils import get_support_shape_1d, rv_size_is_none
from pymc.logprob.abstract import _logprob
from pymc.pytensorf import constant_fold, normalize_rng_param
from pytensor.tensor.random.utils import normalize_size_param
from pytensor.tensor.special import betaln

__all__ = ["ActiveSet", "ActiveSetRV", "log_size_weights"]


def log_size_weights(n, max_active, alpha, beta):
    """Log-probability of any one set of k of n points, for k from 0 to ``max_active``.

    Parameters
    ----------
    n, max_active : int
    alpha, beta : float
        Parameters of the Beta prior of the share of active points.

    Returns
    -------
    array of shape (max_active + 1,)

    Examples
    --------
    >>> weights = np.exp(log_size_weights(2, 2, 1.0, 1.0))  # one empty set, two of one, one of two
    >>> weights.round(4).tolist()
    [0.3333, 0.1667, 0.3333]
    """
    k = np.arange(max_active + 1)
    log_weights = scipy.special.betaln(k + alpha, n - k + beta)
    log_choices = (
        scipy.special.gammaln(n + 1)
        - scipy.special.gammaln(k + 1)
        - scipy.special.gammaln(n - k + 1)
    )
    return log_weights - scipy.special.logsumexp(log_weights + log_choices)


class ActiveSetRV(SymbolicRandomVariable):
    """A size by its probability, then any set of that size."""

    name = "ActiveSet"
    extended_signature = "[rng],[size],(),(),(),()->[rng],(n)"
    _print_name = ("ActiveSet", "\\operatorname{ActiveSet}")

    @classmethod
    def rv_op(cls, n, max_active, alpha, beta, *, size=None, rng=None):
        """Build the graph of a draw."""
        n, max_active = (pt.as_tensor(p, ndim=0).astype("int64") for p in (n, max_active))
        alpha, beta = (pt.as_tensor(p, ndim=0).astype("float64") for p in (alpha, beta))
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        batch = () if rv_size_is_none(size) else tuple(size)
        log_weights, log_choices = _log_weights_and_choices(n, max_active, alpha, beta)
        bounds = pt.cumsum(pt.exp(log_weights + log_choices))
        next_rng, level = pm.Uniform.dist(shape=batch, rng=rng, return_next_rng=True)
        next_rng, order = pm.Uniform.dist(shape=(*batch, n), rng=next_rng, return_next_rng=True)
        k = pt.sum(bounds < level[..., None], axis=-1, keepdims=True)
        # The k points whose random numbers are smallest.
        rank = pt.argsort(pt.argsort(order, axis=-1), axis=-1)
        gamma = pt.cast(rank < k, "int64")
        parameters = [n, max_active, alpha, beta]
        return cls(inputs=[rng, size, *parameters], outputs=[next_rng, gamma])(
            rng, size, *parameters
        )


def _log_weights_and_choices(n, max_active, alpha, beta):
    """Log-probabilities of single sets by their size, and logarithms of the numbers of sets."""
    k = pt.arange(max_active + 1)
    log_weights = betaln(k + alpha, n - k + beta)
    log_choices = pt.gammaln(n + 1) - pt.gammaln(k + 1) - pt.gammaln(n - k + 1)
    return log_weights - pt.logsumexp(log_weights + log_choices), log_choices


class ActiveSet(Distribution):
    r"""Indicators of the active points, at most ``max_active`` of them.

    Parameters
    ----------
    max_active : int
        Largest number of active points.
    alpha, beta : float, default 1
        Parameters of the Beta prior of the share of active points.
    n : int, optional
        Number of points; taken from ``shape`` or ``dims`` where those are given.

    Examples
    --------
    >>> gamma = pm.draw(ActiveSet.dist(3, n=10), draws=100, random_seed=1)
    >>> gamma.shape, int(gamma.sum(axis=1).max())
    ((100, 10), 3)
    """

    rv_type = ActiveSetRV
    rv_op = ActiveSetRV.rv_op

    def __new__(cls, name, max_active, alpha=1.0, beta=1.0, n=None, *, dims=None, **kwargs):
        """Add the variable to the model in context."""
        n = get_support_shape_1d(
            support_shape=n, shape=kwargs.get("shape"), dims=dims, observed=kwargs.get("observed")
        )
        return super().__new__(cls, name, max_active, alpha, beta, n, dims=dims, **kwargs)

    @classmethod
    def dist(cls, max_active, alpha=1.0, beta=1.0, n=None, **kwargs):
        """Build a variable that belongs to no model."""
        n = get_support_shape_1d(support_shape=n, shape=kwargs.get("shape"))
        if n is None:
            raise ValueError("ActiveSet needs the number of points: pass n, shape or dims.")
        n = pt.as_tensor(n).squeeze()
        _refuse_impossible(n, max_active, alpha, beta)
        return super().dist([n, max_active, alpha, beta], **kwargs)


def _refuse_impossible(n, max_active, alpha, beta):
    """Refuse what can be seen to be wrong before anything is evaluated: parameters are constants.

    A draw would not complain, nor would a step method that starts from the empty set.
    """
    names = ("n", "max_active", "alpha", "beta")
    folded = constant_fold(
        [pt.as_tensor(p) for p in (n, max_active, alpha, beta)], raise_not_constant=False
    )
    known = {
        name: value.item()
        for name, value in zip(names, folded, strict=True)
        if isinstance(value, np.ndarray) and value.size == 1
    }
    limit = known.get("max_active")
    if limit is not None and not 1 <= limit <= known.get("n", np.inf):
        raise ValueError(
            f"max_active must be at least 1 and at most the number of points, got {limit} of "
            f"{known.get('n', 'unknown')}."
        )
    for name in ("alpha", "beta"):
        if name in known and not 0 < known[name] < np.inf:
            raise ValueError(f"{name} must be a positive number, got {known[name]}.")


@_support_point.register(ActiveSetRV)
def active_set_support_point(op, rv, rng, size, n, max_active, alpha, beta):
    # No point is active: allowed for every max_active.
    return pt.zeros_like(rv)


@_logprob.register(ActiveSetRV)
def active_set_logp(op, values, rng, size, n, max_active, alpha, beta, **kwargs):
    (gamma,) = values
    k = pt.sum(gamma, axis=-1)
    log_weights, _ = _log_weights_and_choices(n, max_active, alpha, beta)
    is_set = pt.all(pt.eq(gamma, 0) | pt.eq(gamma, 1), axis=-1) & (k <= max_active)
    logp = log_weights[pt.clip(k, 0, max_active)]
    return check_parameters(
        pt.switch(is_set, logp, -np.inf),
        max_active >= 1,
        max_active <= n,
        alpha > 0,
        beta > 0,
        msg="1 <= max_active <= n, alpha > 0, beta > 0",
    )
