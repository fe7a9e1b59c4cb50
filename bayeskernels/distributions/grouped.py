r"""Variables of generalized kernel models of several classes or kernels (GKM, section 6).

They have types of their own, because they have to move together and one step method claims them.

Coefficients and offsets of c classes sum to zero over the classes: the paper's
:math:`\tilde B_\gamma H`, whose c columns have the covariance H = I - 1 1' / c. Densities are those
with respect to coordinates in an orthonormal basis of the c - 1 dimensions that are left.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Distribution, SymbolicRandomVariable, _support_point
from pymc.distributions.multivariate import ZeroSumNormalRV
from pymc.logprob.abstract import _logprob
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor.random.basic import GammaRV, NormalRV

from bayeskernels.distributions.active_set import (
    ActiveSet,
    ActiveSetRV,
    active_set_logp,
    active_set_support_point,
)
from bayeskernels.distributions.silverman_g import active_factor
from bayeskernels.distributions.sized import SizedRV

__all__ = [
    "ClassOffsets",
    "ClassOffsetsRV",
    "GroupedActiveSet",
    "GroupedActiveSetRV",
    "GroupedOffset",
    "GroupedOffsetRV",
    "GroupedPrecision",
    "GroupedPrecisionRV",
    "GroupedSilvermanG",
    "GroupedSilvermanGRV",
    "KernelOn",
    "KernelOnRV",
]


class GroupedActiveSetRV(SymbolicRandomVariable):
    """An active set whose points bring several coefficients."""

    name = "GroupedActiveSet"
    extended_signature = ActiveSetRV.extended_signature
    _print_name = ("GroupedActiveSet", "\\operatorname{GroupedActiveSet}")
    rv_op = classmethod(ActiveSetRV.rv_op.__func__)


class GroupedActiveSet(ActiveSet):
    """Like :class:`~bayeskernels.distributions.ActiveSet`, for another step method.

    Examples
    --------
    >>> int(pm.draw(GroupedActiveSet.dist(3, n=10), random_seed=1).sum()) <= 3
    True
    """

    rv_type = GroupedActiveSetRV
    rv_op = GroupedActiveSetRV.rv_op


_support_point.register(GroupedActiveSetRV, active_set_support_point)
_logprob.register(GroupedActiveSetRV, active_set_logp)


class GroupedPrecisionRV(GammaRV):
    """A Gamma variable that the step of grouped models may own."""

    _print_name = ("GroupedPrecision", "\\operatorname{GroupedPrecision}")


class GroupedPrecision(pm.Gamma):
    """Precision, or one for each kernel, with a Gamma distribution.

    Parameters
    ----------
    alpha, beta : float
        Shape and rate, as for ``pm.Gamma``.

    Examples
    --------
    >>> pm.draw(GroupedPrecision.dist(2.0, 0.05, shape=3), random_seed=1).shape
    (3,)
    """

    rv_op = GroupedPrecisionRV()


class GroupedOffsetRV(NormalRV):
    """A normal variable that the step of grouped models may own."""

    _print_name = ("GroupedOffset", "\\operatorname{GroupedOffset}")


class GroupedOffset(pm.Normal):
    """Offset of the predictor of two classes: a normal variable.

    Examples
    --------
    >>> bool(np.isfinite(pm.draw(GroupedOffset.dist(0.0, tau=2.0), random_seed=1)))
    True
    """

    rv_op = GroupedOffsetRV()


class ClassOffsetsRV(ZeroSumNormalRV):
    """Normal offsets that sum to zero."""

    name = "ClassOffsets"
    _print_name = ("ClassOffsets", "\\operatorname{ClassOffsets}")


class ClassOffsets(pm.ZeroSumNormal):
    """Offsets of the classes, which sum to zero.

    Parameters
    ----------
    sigma : float
        Standard deviation of the c - 1 independent coordinates.

    Examples
    --------
    >>> bool(abs(pm.draw(ClassOffsets.dist(2.0, shape=3), random_seed=1).sum()) < 1e-12)
    True
    """

    rv_type = ClassOffsetsRV
    rv_op = ClassOffsetsRV.rv_op


class KernelOnRV(SizedRV):
    """Whether a kernel takes part."""

    name = "KernelOn"
    extended_signature = "[rng],[size],()->[rng],()"
    _print_name = ("KernelOn", "\\operatorname{KernelOn}")

    @classmethod
    def rv_op(cls, p, *, size=None, rng=None):
        """Build the graph of a draw."""
        p = pt.as_tensor(p).astype("float64")
        rng, size = cls.rng_and_size(rng, size, p)
        next_rng, on = pm.Bernoulli.dist(p=p, size=size, rng=rng, return_next_rng=True)
        return cls(inputs=[rng, size, p], outputs=[next_rng, on])(rng, size, p)


class KernelOn(Distribution):
    """Indicator of a kernel that takes part: 1 with the probability p.

    Parameters
    ----------
    p : tensor_like of float
        One minus the paper's rho.

    Examples
    --------
    >>> pm.draw(KernelOn.dist(1.0, shape=2), random_seed=1).tolist()
    [1, 1]
    """

    rv_type = KernelOnRV
    rv_op = KernelOnRV.rv_op

    @classmethod
    def dist(cls, p, **kwargs):
        """Build a variable that belongs to no model."""
        return super().dist([p], **kwargs)


@_support_point.register(KernelOnRV)
def _kernel_on_support_point(op, rv, rng, size, p):
    return pt.ones_like(rv)


@_logprob.register(KernelOnRV)
def _kernel_on_logp(op, values, rng, size, p, **kwargs):
    (value,) = values
    logp = pt.switch(pt.eq(value, 1), pt.log(p), pt.switch(pt.eq(value, 0), pt.log1p(-p), -np.inf))
    return check_parameters(logp, p >= 0, p <= 1, msg="0 <= p <= 1")


class GroupedSilvermanGRV(SymbolicRandomVariable):
    """Coefficients by kernel, point and class, or without the first or the last of these.

    Which dims there are is told by the signature: q kernels, n points, c classes.
    """

    name = "GroupedSilvermanG"
    _print_name = ("GroupedSilvermanG", "\\operatorname{GroupedSilvermanG}")

    @classmethod
    def rv_op(cls, gamma, g, on, n_classes, *grams, by_kernel, by_class, size=None, rng=None):
        """Build the graph of a draw."""
        gamma, g, on = (pt.as_tensor(p, ndim=1) for p in (gamma, g, on))
        n_classes = pt.as_tensor(n_classes, ndim=0).astype("int64")
        grams = [pt.as_tensor(gram, ndim=2) for gram in grams]
        rng = normalize_rng_param(rng)
        active = pt.nonzero(gamma)[0]
        shape = (len(grams), active.shape[0], n_classes)
        next_rng, z = pm.Normal.dist(shape=shape, rng=rng, return_next_rng=True)
        if by_class:
            z = z - z.mean(axis=-1, keepdims=True)
        beta = pt.zeros((len(grams), gamma.shape[0], n_classes), dtype="float64")
        for j, gram in enumerate(grams):
            factor = active_factor(gram)
            values = pt.linalg.solve_triangular(factor, z[j], lower=True, trans=1, b_ndim=2)
            beta = pt.set_subtensor(beta[j, active], values * on[j] / pt.sqrt(g[j]))
        beta = beta if by_class else beta[..., 0]
        beta = beta if by_kernel else beta[0]
        dims = ",".join(d for d, has in (("q", by_kernel), ("n", True), ("c", by_class)) if has)
        inputs = [gamma, g, on, n_classes, *grams]
        matrices = ",".join("(k,k)" for _ in grams)
        return cls(
            inputs=[rng, *inputs],
            outputs=[next_rng, beta],
            extended_signature=f"[rng],(n),(q),(q),(),{matrices}->[rng],({dims})",
        )(rng, *inputs)


class GroupedSilvermanG(Distribution):
    r"""Coefficients of several kernels or classes with Silverman's g-prior at active points.

    Parameters
    ----------
    gamma : tensor_like of int, shape (n,)
        Which points are active.
    g : tensor_like of float, shape (q,)
        Precision for each kernel.
    on : tensor_like of int, shape (q,)
        Which kernels take part; the others have coefficients of zero.
    grams : sequence of tensor_like of shape (k, k)
        Kernel matrices of the active points in ascending order.
    n_classes : int, optional
        More than one makes coefficients by class, which sum to zero.
    by_kernel : bool
        Whether the first dimension is that of kernels; there must be one kernel otherwise.

    Examples
    --------
    >>> beta = GroupedSilvermanG.dist([0, 1, 1], [2.0], [1], [np.eye(2)], n_classes=3)
    >>> draw = pm.draw(beta, random_seed=1)
    >>> draw.shape, bool((abs(draw.sum(axis=1)) < 1e-12).all())
    ((3, 3), True)
    """

    rv_type = GroupedSilvermanGRV
    rv_op = GroupedSilvermanGRV.rv_op

    @classmethod
    def dist(cls, gamma, g, on, grams, *, n_classes=1, by_kernel=False, **kwargs):
        """Build a variable that belongs to no model."""
        if not by_kernel and len(grams) > 1:
            raise ValueError("Coefficients of several kernels need by_kernel=True.")
        options = {"by_kernel": by_kernel, "by_class": n_classes > 1}
        return super().dist([gamma, g, on, n_classes, *grams], **options, **kwargs)


@_support_point.register(GroupedSilvermanGRV)
def _grouped_support_point(op, rv, *inputs):
    return pt.zeros_like(rv)


@_logprob.register(GroupedSilvermanGRV)
def _grouped_logp(op, values, rng, gamma, g, on, n_classes, *grams, **kwargs):
    (beta,) = values
    dims = op.extended_signature.split("->")[1]
    by_class = "c" in dims
    if "q" not in dims:
        beta = beta[None]
    if not by_class:
        beta = beta[..., None]
    active = pt.nonzero(gamma)[0]
    rank = (n_classes - 1 if by_class else n_classes).astype("float64")
    numbers = active.shape[0].astype("float64") * rank
    logp = 0.0
    for j, gram in enumerate(grams):
        factor = active_factor(gram)
        whitened = pt.dot(factor.T, beta[j, active])
        density = (
            0.5 * numbers * (pt.log(g[j]) - np.log(2 * np.pi))
            + rank * pt.sum(pt.log(pt.diagonal(factor)))
            - 0.5 * g[j] * pt.sum(whitened**2)
        )
        nothing = pt.switch(pt.all(pt.eq(beta[j], 0.0)), 0.0, -np.inf)
        logp += pt.switch(pt.eq(on[j], 1), density, nothing)
    is_valid = pt.all(pt.eq(gamma, 1)[:, None] | pt.eq(beta, 0.0))
    if by_class:
        tolerance = 1e-9 * (1.0 + pt.abs(beta).max())
        is_valid = is_valid & (pt.abs(beta.sum(axis=-1)).max() < tolerance)
    return check_parameters(pt.switch(is_valid, logp, -np.inf), pt.all(g > 0), msg="g > 0")
