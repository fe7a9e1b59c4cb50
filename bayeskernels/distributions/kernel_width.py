r"""Hyperparameters of a kernel that the reversible-jump step learns (GKM, sections 3.1 and 5.3).

By default they are uniform between two bounds, as in the paper. PyMC asks a step about one variable
at a time and by its type, so a width that the step is to have must be recognised; a subclass of any
distribution's own type will do.
"""

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import _support_point
from pytensor.tensor.random.basic import UniformRV
from pytensor.tensor.random.op import RandomVariable

__all__ = ["KernelWidth", "OwnedWidth", "own_width"]


class OwnedWidth:
    """Marks the type of a variable that the step moves with the coefficients integrated out."""


class KernelWidthRV(OwnedWidth, UniformRV):
    """A uniform variable that a block step may own."""

    _print_name = ("KernelWidth", "\\operatorname{KernelWidth}")


class KernelWidth(pm.Uniform):
    """Width of a kernel, uniform between two positive bounds; chains start at their geometric mean.

    Parameters
    ----------
    lower, upper : float or array
        Bounds, as for ``pm.Uniform``.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(30, random_seed=1)
    >>> with pm.Model():
    ...     ell = bk.distributions.KernelWidth("ell", 0.1, 10.0)
    ...     model = bk.models.generalized_kernel_model(X, y, kernel=pm.gp.cov.Matern52(2, ls=ell))
    ...     idata = pm.sample(20, tune=20, chains=1, quiet=True, random_seed=1)
    >>> bool((idata.posterior["ell"] > 0.1).all())
    True
    """

    rv_op = KernelWidthRV()


@_support_point.register(KernelWidthRV)
def _kernel_width_support_point(op, rv, rng, size, lower, upper):
    return pt.zeros_like(rv) + pt.sqrt(lower * upper)


def own_width(prior):
    """The same unnamed prior as a variable that the reversible-jump step owns.

    Parameters
    ----------
    prior : TensorVariable
        From the ``dist`` method of a distribution, such as ``pm.LogNormal.dist(0, 1)``.

    Returns
    -------
    TensorVariable
    """
    node = prior.owner
    if node is None or not isinstance(node.op, RandomVariable):
        raise TypeError(
            "A prior of a kernel's width must be a plain distribution such as "
            "pm.LogNormal.dist(0, 1)."
        )
    if isinstance(node.op, OwnedWidth):
        return prior
    kind = type(node.op)
    owned = type(f"Kernel{kind.__name__}", (OwnedWidth, kind), {})
    op = owned.__new__(owned)
    op.__dict__.update(vars(node.op))
    return op.make_node(*node.inputs).outputs[1]
