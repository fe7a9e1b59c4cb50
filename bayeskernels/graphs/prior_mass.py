"""What PyMC's densities integrate to: one, a number that is known, or nobody knows.

Samplers do not miss a constant factor of a density; the evidence is off by it. This is the one
place that knows of such factors. `tests/test_prior_mass.py` integrates the density of every
distribution and transform of PyMC, and fails for one that is in none of these tables.
"""

import math

import numpy as np
from pymc.distributions.censored import CensoredRV
from pymc.distributions.continuous import FlatRV, HalfFlatRV
from pymc.distributions.custom import CustomDistRV, CustomSymbolicDistRV
from pymc.distributions.distribution import DiracDeltaRV, PartialObservedRV, SymbolicRandomVariable
from pymc.distributions.multivariate import CARRV, ICARRV, LKJCorrRV, _LKJCholeskyCovRV
from pymc.distributions.simulator import SimulatorRV
from pymc.distributions.transforms import LogExpM1, Ordered, SimplexTransform, SumTo1
from pymc.distributions.transforms import _default_transform as default_transform
from pymc.distributions.truncated import TruncatedRV
from pymc.logprob.transforms import (
    ChainedTransform,
    CircularTransform,
    IntervalTransform,
    LogOddsTransform,
    LogTransform,
)
from pymc.variational.minibatch_rv import MinibatchRandomVariable
from pytensor.graph.basic import equal_computations
from pytensor.graph.traversal import ancestors
from pytensor.sparse import SparseTensorType, dense_from_sparse
from pytensor.tensor import as_tensor
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from scipy.special import gammaln

from bayeskernels.graphs.numpy_graphs import fixed_value, numpy_function

__all__ = [
    "UnknownMass",
    "declare_normalised",
    "is_angle",
    "is_known_density",
    "log_missing_constant",
    "log_missing_of_data",
    "support_of",
    "unlike_draws",
]

#: Whose densities are integrated by the tests, or declared to be normalised; others are not known.
_KNOWN_MODULES = ("pymc.distributions.", "pytensor.tensor.random.", "bayeskernels.distributions.")
_declared = set()

_IMPROPER = (FlatRV, HalfFlatRV, ICARRV)
_POINT_MASSES = (DiracDeltaRV, CensoredRV)
_BOUNDS = {LogTransform: (0.0, None), LogExpM1: (0.0, None), LogOddsTransform: (0.0, 1.0)}


class UnknownMass(ValueError):
    """The integral of a density is infinite or not known."""


def declare_normalised(rv):
    """Declare that the density of a distribution integrates to one, as the evidence needs it.

    For distributions that are not PyMC's own: a ``pm.CustomDist`` with ``logp=``, those of other
    packages. Without it their evidence is refused, since a constant may be missing.

    Parameters
    ----------
    rv : TensorVariable
        A variable of that distribution, in a model or made by ``.dist``.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     a = pm.CustomDist("a", logp=lambda a: -0.5 * a**2 - 0.5 * np.log(2 * np.pi))
    ...     y = pm.Normal("y", a, 1.0, observed=2.0)
    >>> bk.evidence.declare_normalised(a)
    >>> round(bk.evidence.estimate(model, method="quadrature").log_evidence, 6)
    -2.265512
    """
    _declared.add(type(rv.owner.op))


def log_missing_constant(model):
    """Logarithm of what a model's density must be multiplied by, so that prior and data are.

    Zero for nearly all models. The evidence is the integral of ``model.logp()`` plus this; of
    angles over one period (:func:`is_angle`).

    Raises
    ------
    UnknownMass
        If a prior is improper, or the integral of a density is not known.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", shape=3, transform=pm.distributions.transforms.ordered)
    >>> round(log_missing_constant(model), 6)  # log 3!
    1.791759
    """
    registered = set(model.basic_RVs)
    total = log_missing_of_data(model)
    for rv in model.free_RVs:
        if not rv.dtype.startswith("float"):
            continue  # probabilities of whole numbers add up to one
        total += _of_distribution(rv, registered)
        total += _of_transform(rv, model.rvs_to_transforms.get(rv))
    return total


def log_missing_of_data(model):
    """As :func:`log_missing_constant`, of the likelihood alone."""
    total = 0.0
    for rv in model.observed_RVs:
        op = rv.owner.op
        if isinstance(op, MinibatchRandomVariable):
            raise UnknownMass(
                f"The likelihood of {rv.name} is scaled by total_size: it is that of data which "
                "the model does not have. Give all data at once, without total_size."
            )
        if isinstance(op, (*_IMPROPER, SimulatorRV)):
            raise UnknownMass(
                f"The likelihood of {rv.name} has no density that could be integrated."
            )
        constant = _constant_of(rv)
        total += 0.0 if constant is None else constant
    return total


def is_angle(transform):
    """Whether a transform repeats a density with the period 2 pi over all numbers."""
    return isinstance(transform, CircularTransform)


def support_of(rv):
    """Lower and upper end of the values of a scalar variable, as far as its distribution tells.

    Examples
    --------
    >>> support_of(pm.Uniform.dist(0.1, 0.3)), support_of(pm.Normal.dist())
    ((0.1, 0.3), (-inf, inf))
    """
    bounds = _bounds(default_transform(rv.owner.op, rv), rv.owner.inputs) or (None, None)
    known = [None if bound is None else fixed_value(bound) for bound in bounds]
    return tuple(
        end if value is None else float(value)
        for value, end in zip(known, (-math.inf, math.inf), strict=True)
    )


def unlike_draws(model):
    """Names of free variables whose forward draws are not draws of their transformed density."""
    return [
        rv.name
        for rv in model.free_RVs
        if any(
            isinstance(part, Ordered | CircularTransform)
            for part in _parts(model.rvs_to_transforms.get(rv))
        )
    ]


def _of_distribution(rv, registered):
    """What the density of a free variable lacks without its transform."""
    op = rv.owner.op
    _refuse_unknown(rv.name, op)
    constant = _constant_of(rv)
    if constant is not None:
        return constant
    for nested in _nested(rv, registered):
        _refuse_unknown(rv.name, nested.owner.op)
        if _constant_of(nested):
            raise UnknownMass(
                f"The prior of {rv.name} is made of a {type(nested.owner.op).__name__}, whose "
                "density PyMC does not normalise. Use another distribution."
            )
    return 0.0


def _refuse_unknown(name, op):
    kind = type(op)
    if isinstance(op, _IMPROPER):
        raise UnknownMass(
            f"The prior of {name} is improper (Flat, HalfFlat or ICAR): it has no integral, so the "
            "evidence is not defined. Give it a proper prior; how wide it is matters for the "
            "evidence."
        )
    if isinstance(op, _POINT_MASSES):
        raise UnknownMass(
            f"The prior of {name} has single values of positive probability (DiracDelta, Censored, "
            "Hurdle), which an integral over densities does not see. Sum over them in the model."
        )
    if isinstance(op, SimulatorRV):
        raise UnknownMass(f"{name} is a simulator, which has no density.")
    if not is_known_density(op):
        raise UnknownMass(
            f"Nobody knows whether the density of {name} ({kind.__name__}) integrates to one. If "
            f"it does, say so with bk.evidence.declare_normalised({name}); a CustomDist made with "
            "dist= instead of logp= needs no such word."
        )


def is_known_density(op):
    """Whether a distribution is PyMC's or ours, derived from its graph, or declared normalised."""
    kind = type(op)
    if kind in _declared:
        return True
    if isinstance(op, CustomDistRV | CustomSymbolicDistRV):
        return bool(getattr(op, "inline_logprob", False))
    return kind.__module__.startswith(_KNOWN_MODULES)


def _nested(rv, registered):
    """Random variables that a distribution is made of: its components, and its inner graph's."""
    op = rv.owner.op
    inputs = ancestors(list(rv.owner.inputs), blockers=registered)
    found = [v for v in inputs if v not in registered]
    # Of these PyMC derives the density from the inner graph; others have one of their own.
    if isinstance(op, PartialObservedRV | TruncatedRV) or getattr(op, "inline_logprob", False):
        found += list(ancestors(op.inner_outputs))
    return [v for v in found if _is_random(v) and not isinstance(v.type, RandomType)]


def _is_random(variable):
    node = variable.owner
    return node is not None and isinstance(node.op, RandomVariable | SymbolicRandomVariable)


def _constant_of(rv):
    """Logarithm of a constant that PyMC's own density lacks; None where it has all."""
    op = rv.owner.op
    if isinstance(op, CARRV):
        return _of_car(rv)
    if isinstance(op, LKJCorrRV):
        return _of_lkj_correlation(rv)
    if isinstance(op, _LKJCholeskyCovRV):
        return _of_lkj_covariance(rv)
    return None


def _of_car(rv):
    """(2 pi)^(-k/2) |D|^(1/2) for each field of k values: the precision is tau (D - alpha W)."""
    *_, W, _, _, _ = rv.owner.inputs
    W = dense_from_sparse(W) if isinstance(W.type, SparseTensorType) else W
    degrees = np.atleast_1d(np.squeeze(_value(W, rv, "adjacency matrix").sum(axis=-1)))
    n_fields = math.prod(_shape(rv)[:-1])
    each = 0.5 * np.log(degrees).sum() - 0.5 * len(degrees) * math.log(2.0 * math.pi)
    return float(n_fields * each)


def _of_lkj_correlation(rv):
    """PyMC adds the logarithm of LKJ's integral where it should subtract it."""
    _, _, n, eta = rv.owner.inputs
    n, eta = int(_value(n, rv, "size")), float(_value(eta, rv, "eta"))
    if n > 2:
        raise UnknownMass(
            f"PyMC's density of LKJCorr in {n} dimensions ({rv.name}) is not that of an LKJ "
            "distribution (a Jacobian term is missing), so that its draws and its density differ. "
            "Use LKJCholeskyCov."
        )
    return -2.0 * math.prod(_shape(rv)[:-2]) * _lkj_integral(n, eta)


def _of_lkj_covariance(rv):
    """As for correlations; standard deviations must have a proper prior of positive numbers."""
    _, n, eta, deviations = rv.owner.inputs
    n, eta = int(_value(n, rv, "size")), float(_value(eta, rv, "eta"))
    _refuse_unknown(f"the standard deviations of {rv.name}", deviations.owner.op)
    transform = default_transform(deviations.owner.op, deviations)
    if not _covers((0.0, None), _bounds(transform, deviations.owner.inputs)):
        raise UnknownMass(
            f"The prior of the standard deviations of {rv.name} may be negative: only a part of it "
            "counts. Use a distribution of positive numbers."
        )
    return -2.0 * _lkj_integral(n, eta)


def _lkj_integral(n, eta):
    """Logarithm of the integral of |R|^(eta - 1) over correlation matrices R.

    Row i of the Cholesky factor lies in a ball of i dimensions, with the density
    (1 - |u|^2)^(eta - 1 + (n - 1 - i) / 2).
    """
    i = np.arange(1, n)
    rows = 0.5 * i * math.log(math.pi) + gammaln(eta + 0.5 * (n - 1 - i))
    return float(rows.sum() - (n - 1) * gammaln(eta + 0.5 * (n - 1)))


def _of_transform(rv, transform):
    """What a density lacks because its transform reaches a part of the support only."""
    if transform is None:
        return 0.0
    first, *others = _parts(transform)
    node = rv.owner
    default = default_transform(node.op, rv)
    support, region = _bounds(default, node.inputs), _bounds(first, node.inputs)
    if isinstance(first, CircularTransform):
        is_whole = transform is first and (
            isinstance(default, CircularTransform) or _covers((-np.pi, np.pi), support)
        )
    elif isinstance(first, Ordered):
        is_whole = not first.positive or _covers((0.0, None), support)
        others = [first, *others]
    elif region is not None:
        is_whole = _covers(region, support)
    else:
        same = (SimplexTransform, SumTo1) if isinstance(first, SumTo1) else type(first)
        is_whole = isinstance(default, same)
    # What comes after the first transform of a chain begins with all numbers.
    is_whole = is_whole and all(
        isinstance(part, Ordered) and (part is first or not part.positive) for part in others
    )
    if not is_whole or len(others) > 1:
        raise UnknownMass(
            f"The transform {transform.name!r} of {rv.name} is not the one of its distribution: it "
            "may leave a part of the prior without rescaling it. Use pm.Truncated for bounds, or "
            "the default transform."
        )
    return _of_order(rv) if others else 0.0


def _of_order(rv):
    """An order leaves one of k! parts of a prior, all alike if the k elements are exchangeable."""
    op = rv.owner.op
    if op.ndim_supp != 0 or not all(_is_level(p) for p in _parameters(rv)):
        raise UnknownMass(
            f"The order of {rv.name} is enforced by a transform, which leaves a part of its prior "
            "without rescaling it. How large that part is, is known for independent elements with "
            "the same prior only."
        )
    *batch, k = _shape(rv)
    return float(math.prod(batch) * gammaln(k + 1.0))


def _parameters(rv):
    op, inputs = rv.owner.op, rv.owner.inputs
    if isinstance(op, RandomVariable):
        return op.dist_params(rv.owner)
    if op.extended_signature is None:
        return inputs
    (_, _, chosen), _ = op.get_input_output_type_idxs(op.extended_signature)
    return [inputs[k] for k in chosen]


def _is_level(parameter):
    """Whether a parameter is the same for all elements along the last axis."""
    if isinstance(parameter.type, RandomType):
        return True
    if parameter.ndim == 0 or parameter.type.shape[-1] == 1:
        return True
    value = fixed_value(parameter)
    return value is not None and bool(np.all(value == value[..., :1]))


def _parts(transform):
    """Transforms in a chain, the one next to the variable first."""
    if isinstance(transform, ChainedTransform):
        return [part for inner in transform.transform_list for part in _parts(inner)]
    return [transform]


def _bounds(transform, inputs):
    """Lower and upper bound of the numbers that a transform reaches; None if it has no such."""
    if transform is None:
        return None, None
    if isinstance(transform, IntervalTransform):
        return tuple(transform.args_fn(*inputs))
    return next((b for kind, b in _BOUNDS.items() if isinstance(transform, kind)), None)


def _covers(region, support):
    """Whether an interval holds a support; both are pairs of bounds, None for infinity."""
    if region is None or support is None:
        return False
    return _reaches(region[0], support[0], -1.0) and _reaches(region[1], support[1], 1.0)


def _reaches(bound, end, side):
    if bound is None:
        return True
    bound, end = as_tensor(bound), as_tensor(side * np.inf if end is None else end)
    if equal_computations([bound], [end]):
        return True
    bound, end = fixed_value(bound), fixed_value(end)
    if bound is None or end is None:
        return False
    return bool(np.all(side * (bound - end) >= -1e-12 * np.abs(bound)))


def _value(variable, rv, what):
    """Value of a parameter that the constant of a density depends on."""
    value = fixed_value(variable)
    if value is None:
        raise UnknownMass(
            f"The {what} of {rv.name} is random, and the constant of its density depends on it. "
            "Fix it."
        )
    return value


def _shape(rv):
    if None not in rv.type.shape:
        return rv.type.shape
    return tuple(int(n) for n in numpy_function([], rv.shape)())
