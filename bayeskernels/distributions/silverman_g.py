r"""Prior of the coefficients of a generalized kernel model (GKM, sections 2.2 and 2.3).

Coefficients of active points have Silverman's g-prior :math:`N(0, (g K_{\gamma\gamma})^{-1})`: the
function they make has the kernel's own norm as its energy. All others are zero. A kernel matrix may
be singular; the prior is then concentrated on a subspace, and a small multiple of the diagonal is
added, as everywhere in this package where such a matrix is factored.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Distribution, SymbolicRandomVariable, _support_point
from pymc.logprob.abstract import _logprob
from pymc.pytensorf import normalize_rng_param

__all__ = ["ACTIVE_JITTER", "SilvermanG", "SilvermanGRV", "active_factor"]

#: Added to the kernel value of each active point with itself, relative to it. Larger values bias
#: the evidence visibly (0.16 nats at 1e-6 in the plane), smaller ones leave nothing to factor.
ACTIVE_JITTER = 1e-8


def active_factor(active_gram):
    """Cholesky factor of the kernel matrix of the active points."""
    jitter = pt.diag(ACTIVE_JITTER * pt.diagonal(active_gram))
    return pt.linalg.cholesky(active_gram + jitter)


class SilvermanGRV(SymbolicRandomVariable):
    """Whitened standard normal coefficients at the active points, zeros elsewhere."""

    name = "SilvermanG"
    extended_signature = "[rng],(n),(),(k,k)->[rng],(n)"
    _print_name = ("SilvermanG", "\\operatorname{SilvermanG}")

    @classmethod
    def rv_op(cls, gamma, g, active_gram, *, size=None, rng=None):
        """Build the graph of a draw."""
        gamma = pt.as_tensor(gamma, ndim=1)
        g = pt.as_tensor(g, ndim=0).astype("float64")
        active_gram = pt.as_tensor(active_gram, ndim=2)
        rng = normalize_rng_param(rng)
        next_rng, z = pm.Normal.dist(shape=(active_gram.shape[0],), rng=rng, return_next_rng=True)
        factor = active_factor(active_gram)
        active = pt.linalg.solve_triangular(factor, z, lower=True, trans=1) / pt.sqrt(g)
        beta = pt.set_subtensor(
            pt.zeros((gamma.shape[0],), dtype="float64")[pt.nonzero(gamma)[0]], active
        )
        parameters = [gamma, g, active_gram]
        return cls(inputs=[rng, *parameters], outputs=[next_rng, beta])(rng, *parameters)


class SilvermanG(Distribution):
    r"""Coefficients of a kernel expansion: Silverman's g-prior at active points, zero elsewhere.

    Parameters
    ----------
    gamma : tensor_like of int, shape (n,)
        Which points are active.
    g : tensor_like of float
        Precision.
    gram : tensor_like of shape (n, n), optional
        Kernel matrix of all points.
    active_gram : tensor_like of shape (k, k), optional
        Kernel matrix of the active points in ascending order, in its place.

    Examples
    --------
    >>> beta = SilvermanG.dist(np.array([0, 1, 1]), 2.0, gram=np.eye(3))
    >>> pm.draw(beta, random_seed=1).round(1).tolist()[0]
    0.0
    """

    rv_type = SilvermanGRV
    rv_op = SilvermanGRV.rv_op

    @classmethod
    def dist(cls, gamma, g, *, gram=None, active_gram=None, **kwargs):
        """Build a variable that belongs to no model."""
        if (gram is None) == (active_gram is None):
            raise ValueError("SilvermanG needs either gram or active_gram.")
        gamma = pt.as_tensor(gamma)
        if active_gram is None:
            active = pt.nonzero(gamma)[0]
            active_gram = pt.as_tensor(gram)[active][:, active]
        return super().dist([gamma, g, active_gram], **kwargs)


@_support_point.register(SilvermanGRV)
def _silverman_g_support_point(op, rv, rng, gamma, g, active_gram):
    return pt.zeros_like(rv)


@_logprob.register(SilvermanGRV)
def _silverman_g_logp(op, values, rng, gamma, g, active_gram, **kwargs):
    (beta,) = values
    active = pt.nonzero(gamma)[0]
    coefficients = beta[active]
    factor = active_factor(active_gram)
    whitened = pt.dot(factor.T, coefficients)
    k = active.shape[0].astype("float64")
    logp = (
        0.5 * k * (pt.log(g) - np.log(2 * np.pi))
        + pt.sum(pt.log(pt.diagonal(factor)))
        - 0.5 * g * pt.sum(whitened**2)
    )
    is_sparse = pt.all(pt.eq(gamma, 1) | pt.eq(beta, 0.0))
    return check_parameters(pt.switch(is_sparse, logp, -np.inf), g > 0, msg="g > 0")
