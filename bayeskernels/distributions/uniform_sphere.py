r"""The uniform distribution on the unit sphere of R^r: the prior of every kernel classifier here.

A classifier only uses the direction of its weight vector, so Graepel and Herbrich (KGS, section 2)
put the uniform prior on the sphere. PyMC samples in an unconstrained space; :class:`UnitVector`
opens the sphere to R^r by giving the direction a free length :math:`\rho \sim \chi(r)`. The
unconstrained variable is then exactly standard normal, :math:`z = \rho w \sim N(0, I_r)`: the space
in which the refractive billiard moves, and what generic samplers see.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Distribution, SymbolicRandomVariable, _support_point
from pymc.distributions.shape_utils import get_support_shape_1d, rv_size_is_none
from pymc.distributions.transforms import _default_transform
from pymc.logprob.abstract import _logprob
from pymc.logprob.transforms import Transform
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor.random.utils import normalize_size_param

__all__ = ["UniformSphere", "UniformSphereRV", "UnitVector", "log_sphere_area"]


def log_sphere_area(dimension):
    r"""Logarithm of the surface area :math:`2 \pi^{r/2} / \Gamma(r/2)` of the unit sphere in R^r.

    Parameters
    ----------
    dimension : int or tensor_like
        The dimension r of the surrounding space.

    Examples
    --------
    >>> bool(np.isclose(np.exp(log_sphere_area(3).eval()), 4 * np.pi))
    True
    """
    half = pt.as_tensor(dimension).astype("float64") / 2
    return np.log(2) + half * np.log(np.pi) - pt.gammaln(half)


class UniformSphereRV(SymbolicRandomVariable):
    """A standard normal vector divided by its length."""

    name = "UniformSphere"
    extended_signature = "[rng],[size],()->[rng],(r)"
    _print_name = ("UniformSphere", "\\operatorname{UniformSphere}")

    @classmethod
    def rv_op(cls, dimension, *, size=None, rng=None):
        """Build the graph of a draw."""
        dimension = pt.as_tensor(dimension, dtype="int64", ndim=0)
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        batch = () if rv_size_is_none(size) else tuple(size)
        next_rng, z = pm.Normal.dist(shape=(*batch, dimension), rng=rng, return_next_rng=True)
        w = z / pt.sqrt(pt.sum(z**2, axis=-1, keepdims=True))
        return cls(inputs=[rng, size, dimension], outputs=[next_rng, w])(rng, size, dimension)


class UniformSphere(Distribution):
    r"""Uniform distribution on the unit sphere :math:`\{w \in R^r : \|w\| = 1\}`.

    The density is with respect to the surface area, so it is the constant
    :math:`\Gamma(r/2) / (2 \pi^{r/2})`.

    Parameters
    ----------
    dimension : int, optional
        The dimension r of the surrounding space; taken from ``shape`` or ``dims`` where those
        are given.

    Examples
    --------
    >>> draws = pm.draw(UniformSphere.dist(3), draws=5, random_seed=1)
    >>> bool(np.allclose(np.linalg.norm(draws, axis=-1), 1))
    True
    """

    rv_type = UniformSphereRV
    rv_op = UniformSphereRV.rv_op

    def __new__(cls, name, dimension=None, *, dims=None, **kwargs):
        """Add the variable to the model in context."""
        dimension = get_support_shape_1d(
            support_shape=dimension, shape=None, dims=dims, observed=kwargs.get("observed")
        )
        return super().__new__(cls, name, dimension, dims=dims, **kwargs)

    @classmethod
    def dist(cls, dimension=None, **kwargs):
        """Build a variable that belongs to no model."""
        dimension = get_support_shape_1d(support_shape=dimension, shape=kwargs.get("shape"))
        if dimension is None:
            raise ValueError("UniformSphere needs its dimension: pass dimension, shape or dims.")
        return super().dist([pt.as_tensor(dimension).squeeze()], **kwargs)


class UnitVector(Transform):
    r"""From the sphere to R^r: the direction w keeps, the length becomes :math:`\chi(r)`.

    Together with the constant density of :class:`UniformSphere` the Jacobian term makes the
    unconstrained density exactly :math:`N(z; 0, I_r)`, constant included: sequential Monte Carlo
    sees the right evidence.
    """

    name = "unitvector"
    ndim_supp = 1

    def forward(self, value, *inputs):
        """Return the point with its present length, which :meth:`backward` forgets."""
        return pt.as_tensor(value)

    def backward(self, value, *inputs):
        """Return the direction of ``value``."""
        return value / pt.sqrt(pt.sum(value**2, axis=-1, keepdims=True))

    def log_jac_det(self, value, *inputs):
        """Log-density of ``value`` under N(0, I_r), less the log-density of its direction."""
        dimension = value.shape[-1].astype("float64")
        log_normal = -0.5 * pt.sum(value**2, axis=-1) - 0.5 * dimension * np.log(2 * np.pi)
        return log_normal + log_sphere_area(dimension)


@_default_transform.register(UniformSphereRV)
def _unit_vector_by_default(op, rv):
    return UnitVector()


@_support_point.register(UniformSphereRV)
def _sphere_support_point(op, rv, *inputs):
    # The mean is the origin, which is not on the sphere, and no point is more central than another:
    # a draw serves best, since every chain then starts somewhere else. A model that knows better
    # says so by a tag: PyMC cannot copy models whose variables have an initval.
    start = getattr(rv.tag, "start", None)
    value = None if start is None else start(rv.name)
    return rv if value is None else pt.as_tensor(value)


@_logprob.register(UniformSphereRV)
def _sphere_logp(op, values, rng, size, dimension, **kwargs):
    (value,) = values
    off_sphere = pt.abs(pt.sum(value**2, axis=-1) - 1.0)
    density = pt.zeros_like(off_sphere) - log_sphere_area(dimension)
    return check_parameters(
        pt.switch(pt.lt(off_sphere, 1e-6), density, -np.inf),
        pt.ge(dimension, 1),
        msg="dimension >= 1",
    )
