"""Compiled code that all samplers share: sums in a fixed order, and the slice move.

Floating-point arithmetic is what the source says (:mod:`bayeskernels.compiled`). Loops without a
sum are vectorised all the same; sums are vectorised by :func:`dot` and :func:`weighted_dot`.
"""

import math
from functools import cache

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils, errors
from numba.extending import intrinsic
from threadpoolctl import ThreadpoolController

from bayeskernels.compiled import JIT

__all__ = ["dot", "one_blas_thread", "slice_logarithm", "step_out", "weighted_dot"]

#: Numbers in a vector register, and partial sums that are under way at the same time.
LANES, CHAINS = 4, 4


def _sum_of_products(context, builder, signature, arguments):
    """Emit the sum over i of the products of all arrays' entries i, in an order set by n alone.

    Lane l of partial sum c gets every entry i with i % 16 = 4 c + l; what does not fill all partial
    sums goes to the first, and what does not fill its lanes to the total.
    """
    arrays = [
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(signature.args, arguments, strict=True)
    ]
    n = builder.extract_value(arrays[0].shape, 0)
    vector = ir.VectorType(ir.DoubleType(), LANES)
    chains = [
        cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        for _ in range(CHAINS)
    ]

    def number(value):
        return ir.Constant(n.type, value)

    def add(to, i, kind):
        product = None
        for array in arrays:
            place = builder.bitcast(builder.gep(array.data, [i]), kind.as_pointer())
            value = builder.load(place, align=8)
            product = value if product is None else builder.fmul(product, value)
        builder.store(builder.fadd(builder.load(to), product), to)

    def loop(start, stop, step):
        return cgutils.for_range_slice(builder, start, stop, number(step), n.type)

    in_chains = builder.and_(n, number(-LANES * CHAINS))
    in_lanes = builder.and_(n, number(-LANES))
    with loop(number(0), in_chains, LANES * CHAINS) as (i, _):
        for c, chain in enumerate(chains):
            add(chain, builder.add(i, number(c * LANES)), vector)
    with loop(in_chains, in_lanes, LANES) as (i, _):
        add(chains[0], i, vector)
    sums = [builder.load(chain) for chain in chains]
    while len(sums) > 1:
        sums = [builder.fadd(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
    lanes = [
        builder.extract_element(sums[0], ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)
    ]
    while len(lanes) > 1:
        lanes = [builder.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
    total = cgutils.alloca_once_value(builder, lanes[0])
    with loop(in_lanes, n, 1) as (i, _):
        add(total, i, ir.DoubleType())
    return builder.load(total)


@intrinsic
def _summed(typingctx, x, y):
    return _signature(x, y), _sum_of_products


@intrinsic
def _weighted(typingctx, weights, x, y):
    return _signature(weights, x, y), _sum_of_products


def _signature(*kinds):
    for kind in kinds:
        is_vector = isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"
        if not (is_vector and kind.dtype == types.float64):
            raise errors.TypingError(
                f"expected vectors of float64 whose entries lie side by side; got {kind}. Copy a "
                "column of a matrix first, e.g. by np.ascontiguousarray."
            )
    return types.float64(*kinds)


@numba.njit(**JIT)
def dot(x, y):
    """Inner product of two vectors of the same length, summed in an order that nothing changes.

    Examples
    --------
    >>> dot(np.arange(20.0), np.ones(20))
    190.0
    """
    return _summed(x, y)


@numba.njit(**JIT)
def weighted_dot(weights, x, y):
    """Sum over i of ``weights[i] * x[i] * y[i]``, as :func:`dot`."""
    return _weighted(weights, x, y)


#: Options of functions that take a function: built into their callers, which numba caches. By
#: themselves they cannot be cached, as a function that is passed has another address next time.
_INLINE = JIT | {"cache": False, "forceinline": True}


@numba.njit(**_INLINE)
def step_out(here, height, log_density, data, rng, max_steps=0):
    """Slice move of one number, by stepping out and shrinking (Neal 2003, figures 3 and 5).

    Parameters
    ----------
    here : float
    height : float
        Log-density there.
    log_density : function
        Called as ``log_density(x, *data)``; a compiled function where this one is called by such.
    data : tuple
    rng : numpy.random.Generator
    max_steps : int
        Most steps of length one to both sides together, shared out at random, where a slice may be
        endless; 0 for no limit.

    Returns
    -------
    float
        The density was last evaluated here, unless that is where the move began: rounding may put
        even that place below the level, where numbers are very large.
    """
    level = height + math.log(1.0 - rng.random())
    left = here - rng.random()
    right = left + 1.0
    to_left = to_right = -1
    if max_steps > 0:
        to_left = int(rng.random() * max_steps)
        to_right = max_steps - 1 - to_left
    while to_left != 0 and log_density(left, *data) > level:
        left -= 1.0
        to_left -= 1
    while to_right != 0 and log_density(right, *data) > level:
        right += 1.0
        to_right -= 1
    while right - left > 1e-10:
        new = left + (right - left) * rng.random()
        if log_density(new, *data) > level:
            return new
        if new < here:
            left = new
        else:
            right = new
    return here


@numba.njit(**_INLINE)
def slice_logarithm(value, log_density, data, rng, max_steps=0):
    """Slice move of a positive number on the scale of its logarithm, as :func:`step_out`."""
    here = math.log(value)
    new = step_out(here, log_density(here, *data), log_density, data, rng, max_steps)
    return value if new == here else math.exp(new)


@cache
def _blas():
    return ThreadpoolController()


def one_blas_thread():
    """Context in which BLAS rounds the same on any number of cores.

    With another number of threads it may round differently; chains are chaotic, so their draws
    would depend on ``cores``. One thread is also right while chains run in parallel.
    """
    return _blas().limit(limits=1, user_api="blas")
