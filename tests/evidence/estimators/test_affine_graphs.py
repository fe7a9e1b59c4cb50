"""Expressions that are affine in a vector, and those that are not, read from their graphs."""

import numpy as np
import pymc as pm
import pytensor.sparse as ps
import pytensor.tensor as pt
import pytest
import scipy.sparse
from pytensor.raise_op import Assert

from bayeskernels.evidence.estimators.affine_graphs import NotAffine, depends_affinely

A = np.random.default_rng(1).normal(size=(5, 3))
GROUP = np.array([0, 1, 2, 2, 1])
MASK = np.array([True, False, True])
SPARSE = scipy.sparse.csr_matrix(A)

AFFINE = {
    "dot": lambda w: A @ w,
    "pm.math.dot": lambda w: pm.math.dot(A, w),
    "matmul": lambda w: pt.matmul(np.ones((2, 5, 3)), w),
    "einsum": lambda w: pt.einsum("ij,j->i", A, w),
    "tensordot": lambda w: pt.tensordot(A, w, axes=[[1], [0]]),
    "outer": lambda w: pt.outer(w, pt.ones(2)),
    "kron": lambda w: pt.linalg.kron(w[None, :], A),
    "sparse": lambda w: ps.structured_dot(ps.as_sparse_variable(SPARSE), w[:, None]),
    "solve": lambda w: pt.linalg.solve(2.0 * np.eye(3), w),
    "triangular": lambda w: pt.linalg.solve_triangular(np.eye(3), w, lower=True),
    "batch of solves": lambda w: pt.linalg.solve(np.stack([np.eye(3)] * 2), w[:, None]),
    "groups": lambda w: w[GROUP],
    "slices": lambda w: w[0] + 2.0 * w[1:] - 3.0,
    "mean": lambda w: w - w.mean(),
    "sum": lambda w: (A * w).sum(axis=1),
    "cumsum": lambda w: w.cumsum(),
    "diff": lambda w: pt.diff(w),
    "stack": lambda w: pt.stack([w[0], w[1]]),
    "concatenate": lambda w: pt.concatenate([w, w[::-1]]),
    "chosen by data": lambda w: pm.math.switch(MASK, w, -w),
    "set": lambda w: pt.set_subtensor(pt.zeros(5)[1:4], w),
    "increment": lambda w: pt.inc_subtensor(pt.zeros(5)[[1, 2, 3]], w),
    "reshape": lambda w: w.reshape((3, 1)),
    "squeeze": lambda w: pt.squeeze(w[:, None], axis=1),
    "diagonal": lambda w: pt.diag(pt.diag(w)),
    "repeat": lambda w: pt.repeat(w, 2),
    "tile": lambda w: pt.tile(w, 2),
    "roll": lambda w: pt.roll(w, 1),
    "pad": lambda w: pt.pad(w, 1),
    "full": lambda w: pt.full((4,), w[0]),
    "split": lambda w: pt.split(w, [1, 2], n_splits=2)[1],
    "like": lambda w: pt.ones_like(w) * w + pt.zeros_like(w),
    "shape": lambda w: w * w.shape[0],
    "cast": lambda w: w.astype("float32"),
    "division": lambda w: w / np.linalg.norm(A),
    "polynomial of data": lambda w: sum(w[k] * A[:, 0] ** k for k in range(3)),
    "check": lambda w: Assert("large")(w, pt.all(pt.as_tensor(A) < 10.0)),
}

CURVED = {
    "switch": (lambda w: pm.math.switch(w > 0, w, -w), "GT"),
    "relu": (lambda w: pt.maximum(w, 0.0), "Maximum"),
    "gate": (lambda w: w * (w > 0), "GT"),
    "abs": (lambda w: abs(w), "Abs"),
    "clip": (lambda w: pt.clip(w, -1.0, 1.0), "Clip"),
    "floor": (lambda w: pt.floor(w), "Floor"),
    "round": (lambda w: pt.round(w), "Round"),
    "whole numbers": (lambda w: w.astype("int64").astype("float64"), "Cast"),
    "where": (lambda w: pt.where(w[0] > 0, w, 0.0), "GT"),
    "tanh": (lambda w: pt.tanh(w), "Tanh"),
    "exp": (lambda w: pt.exp(w), "Exp"),
    "square": (lambda w: w**2, "Pow|Sqr"),
    "product": (lambda w: w[0] * w[1], "Mul"),
    "products": (lambda w: pt.dot(w, w), "Dot"),
    "einsum": (lambda w: pt.einsum("i,i->", w, w), "Dot"),
    "kron": (lambda w: pt.linalg.kron(w[None], w[None]), "Mul"),
    "reciprocal": (lambda w: 1.0 / w, "TrueDiv"),
    "largest": (lambda w: w.max(), "Max"),
    "sorted": (lambda w: pt.sort(w), "Sort"),
    "cumulative product": (lambda w: pt.cumprod(w), "CumOp"),
    "remainder": (lambda w: w % 1.0, "Mod"),
    "index": (lambda w: pt.as_tensor(A)[pt.argmax(w)], "Argmax"),
    "softmax": (lambda w: pt.special.softmax(w), "Max"),
    "inverse": (lambda w: pt.linalg.solve(pt.diag(w), np.ones(3)), "Solve"),
    "random": (lambda w: w + pm.Normal.dist(), "NormalRV"),
}


@pytest.mark.parametrize("name", AFFINE)
def test_affine_expressions(name):
    w = pt.vector("w", shape=(3,))
    assert depends_affinely(AFFINE[name](w), [w])


@pytest.mark.parametrize("name", CURVED)
def test_other_expressions(name):
    w = pt.vector("w", shape=(3,))
    expression, operation = CURVED[name]
    with pytest.raises(NotAffine, match=f"{operation}"):
        depends_affinely(expression(w), [w])


def test_constants_may_be_anything():
    w, z = pt.vector("w"), pt.vector("z")
    assert not depends_affinely(pt.exp(z), [w])
    assert not depends_affinely(pt.ones_like(w) * pt.exp(z), [w])
    assert not depends_affinely(pt.exp(w), [z], fixed=[w])
