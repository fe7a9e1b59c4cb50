"""Whether an expression is an affine function of some variables, decided from its graph.

Every operation between an expression and the variables must be one that keeps affine functions
affine: sums, products with what is fixed, elements at fixed indices, changes of shape. A step or a
kink is then seen wherever it lies, which derivatives at a few points cannot do. An operation that
is not in the table counts as not affine.
"""

from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import TypeCastingOp
from pytensor.graph.traversal import io_toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Add, Cast, Identity, Mul, Neg, Second, Sub, Switch, TrueDiv
from pytensor.sparse.math import Dot as SparseDot
from pytensor.sparse.math import StructuredDot, TrueDot
from pytensor.tensor.basic import (
    Alloc,
    ExtractDiag,
    Join,
    MakeVector,
    ScalarFromTensor,
    Split,
    TensorFromScalar,
)
from pytensor.tensor.blas import BatchedDot
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp, Repeat
from pytensor.tensor.linalg.solvers.core import SolveBase
from pytensor.tensor.math import Dot, Sum
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
)

__all__ = ["NotAffine", "depends_affinely"]

#: Operations that are linear in one of their inputs as long as all others are fixed.
_PRODUCTS = (Mul, Dot, BatchedDot, StructuredDot, TrueDot, SparseDot)

#: Operations that are linear in all inputs from the first of two positions up to the second, taken
#: together; the inputs outside (indices, shapes, conditions, denominators) must be fixed.
_LINEAR = {
    (Add, Sub, Neg, Identity, Cast, Sum, Join, MakeVector, DimShuffle, ExtractDiag): (0, None),
    (ScalarFromTensor, TensorFromScalar, TypeCastingOp): (0, None),
    (TrueDiv, Alloc, Repeat, Split, Subtensor, AdvancedSubtensor): (0, 1),
    (Reshape, JoinDims, SplitDims, SpecifyShape, CheckAndRaise): (0, 1),
    (IncSubtensor, AdvancedIncSubtensor): (0, 2),
    (Switch,): (1, 3),
    (SolveBase,): (1, 2),
}

#: Inputs of which an operation takes the shape alone, by position; None stands for all.
_SHAPE_ONLY = {Shape: None, Shape_i: None, Second: 0}


class NotAffine(ValueError):
    """An operation is not known to keep affine functions affine; the text is its name."""


def depends_affinely(expression, variables, fixed=()):
    """Whether an expression depends on some variables, if it does so by affine operations only.

    Parameters
    ----------
    expression : TensorVariable or list of TensorVariable
    variables : iterable of TensorVariable
    fixed : iterable of TensorVariable
        Where the walk through the graph stops, though they have ancestors: observed variables.

    Returns
    -------
    bool
        False where it is a constant.

    Raises
    ------
    NotAffine
        With the name of the first operation that is not affine.

    Examples
    --------
    >>> x, A = pt.vector("x"), pt.matrix("A")
    >>> depends_affinely(A @ x[1:] + 3.0, [x]), depends_affinely(pt.exp(A), [x])
    (True, False)
    >>> depends_affinely(pt.maximum(x, 0.0), [x])
    Traceback (most recent call last):
    bayeskernels.evidence.estimators.affine_graphs.NotAffine: Maximum
    """
    outputs = expression if isinstance(expression, list) else [expression]
    dependent = set(variables)
    for node in io_toposort([*dependent, *fixed], outputs):
        op = node.op
        if isinstance(op, RandomVariable | SymbolicRandomVariable):
            raise NotAffine(type(op).__name__)
        while isinstance(op, Blockwise):
            op = op.core_op
        op = op.scalar_op if isinstance(op, Elemwise) else op
        ignored = _entry(_SHAPE_ONLY, op, default=-1)
        moving = [
            k for k, v in enumerate(node.inputs) if v in dependent and ignored not in (None, k)
        ]
        if not moving:
            continue
        is_real = all(output.dtype.startswith("float") for output in node.outputs)
        if not is_real or not _keeps_affine(op, moving, len(node.inputs)):
            raise NotAffine(type(op).__name__)
        dependent.update(node.outputs)
    return any(output in dependent for output in outputs)


def _keeps_affine(op, moving, n_inputs):
    """Whether an operation is affine in these of its inputs together."""
    if isinstance(op, OpFromGraph):
        depends_affinely(op.inner_outputs, [op.inner_inputs[k] for k in moving])
        return True
    if isinstance(op, _PRODUCTS):
        return len(moving) == 1
    if isinstance(op, CumOp):
        return op.mode == "add"
    if isinstance(op, Second):
        return moving == [1]
    first, last = _entry(_LINEAR, op, default=(0, 0))
    return all(first <= k < (n_inputs if last is None else last) for k in moving)


def _entry(table, op, default):
    return next((value for kind, value in table.items() if isinstance(op, kind)), default)
