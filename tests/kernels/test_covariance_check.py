"""Covariance functions of PyMC that cannot be right are refused by all who take a kernel."""

import numpy as np
import pymc as pm
import pytest
from pymc.gp.cov import (
    Constant,
    Cosine,
    ExpQuad,
    Linear,
    Matern32,
    Periodic,
    Polynomial,
    RatQuad,
    ScaledCov,
    WarpedInput,
    WhiteNoise,
    WrappedPeriodic,
)

from bayeskernels.kernels.argument import as_kernel
from bayeskernels.kernels.check import refuse_indefinite_kernel
from bayeskernels.kernels.covariance_check import check_covariance

X = np.random.default_rng(0).standard_normal((30, 2))

BAD = {
    "length scale zero": (lambda: ExpQuad(2, ls=0.0), "length scale .* positive"),
    "NaN": (lambda: Matern32(2, ls=np.nan), "length scale .* positive"),
    "negative": (lambda: ExpQuad(2, ls=-1.0), "length scale .* positive"),
    "one of several": (lambda: ExpQuad(2, ls=[1.0, 0.0]), r"got \[1.0, 0.0\]"),
    "shared": (lambda: ExpQuad(2, ls=pm.Data("ell", 0.0)), "length scale .* positive"),
    "computed": (lambda: ExpQuad(2, ls=1.0 - pm.math.exp(0.0)), "length scale .* positive"),
    "in a sum": (lambda: 2.0 * ExpQuad(2, ls=1.0) + Matern32(2, ls=0.0), "kernel Matern32"),
    "in a power": (lambda: ExpQuad(2, ls=0.0) ** 2, "length scale .* positive"),
    "scaled": (lambda: ScaledCov(2, ExpQuad(2, ls=0.0), lambda x, a: x[:, 0]), "length scale"),
    "wrapped": (lambda: WrappedPeriodic(ExpQuad(2, ls=1.0), period=0.0), "period"),
    "period": (lambda: Periodic(2, period=np.inf, ls=1.0), "period"),
    "alpha": (lambda: RatQuad(2, alpha=-1.0, ls=1.0), "alpha"),
    "offset": (lambda: Polynomial(2, c=0.0, d=2, offset=np.nan), "offset"),
    "constant": (lambda: Constant(np.inf) + Linear(2, c=0.0), "c of the kernel Constant"),
    "white noise": (lambda: WhiteNoise(np.nan) + Linear(2, c=0.0), "sigma"),
    "factor": (lambda: np.nan * ExpQuad(2, ls=1.0), "factor or term"),
    "too many scales": (lambda: ExpQuad(2, ls=[1.0, 1.0, 1.0]), "3 length scales .* 2 columns"),
    "for one column": (lambda: ExpQuad(2, ls=[1.0, 1.0], active_dims=[0]), "for 1 columns"),
    "random scales": (lambda: ExpQuad(2, ls=pm.HalfNormal("ell", shape=3)), "3 length scales"),
    "scales by dims": (lambda: ExpQuad(2, ls=pm.HalfNormal("ell", dims="far")), "3 length scales"),
    "matrix of scales": (lambda: ExpQuad(2, ls=np.eye(2)), "2 dimensions"),
    "more columns": (lambda: ExpQuad(3, ls=1.0), "3 input columns, X has 2"),
    "fewer columns": (lambda: ExpQuad(1, ls=1.0), "1 input columns, X has 2"),
    "active column": (lambda: ExpQuad(2, ls=1.0, active_dims=[2]), "active_dims"),
    "in a product": (
        lambda: ExpQuad(2, ls=1.0) * Linear(2, c=0.0, active_dims=[-3]),
        "active_dims",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_hyperparameters_and_columns(name):
    make, message = BAD[name]
    with pm.Model(coords={"far": range(3)}), pytest.raises(ValueError, match=message):
        as_kernel(make(), X)


def test_good_covariances():
    with pm.Model(coords={"near": range(2)}):
        for covariance in (
            ExpQuad(2, ls=pm.HalfNormal("by_dims", dims="near")),
            ExpQuad(2, ls=[1.0]),
            ExpQuad(2, ls=2, active_dims=[-1]),
            pm.HalfNormal("a") * ExpQuad(2, ls=[1.0, pm.HalfNormal("b")]) + WhiteNoise(0.1),
            Constant(2.0),
            Constant(-0.5) + Linear(2, c=0.0),  # a matter of the points
            WarpedInput(2, ExpQuad(3, ls=[1.0, 2.0, 3.0]), lambda x, a: x[:, [0, 1, 1]]),
        ):
            check_covariance(covariance, 2)


def test_a_class_is_no_kernel():
    with pytest.raises(TypeError, match=r"class ExpQuad: give an object"):
        as_kernel(ExpQuad, X)


@pytest.mark.parametrize("is_random", [False, True])
@pytest.mark.parametrize("name", ["negative", "difference", "constant", "cosine"])
def test_indefinite_covariances(name, is_random):
    with pm.Model():
        scale = pm.HalfNormal("scale", initval=1.0) if is_random else 1.0
        covariance = {
            "negative": lambda: -1.0 * ExpQuad(2, ls=scale),
            "difference": lambda: ExpQuad(2, ls=scale) + (-0.5) * ExpQuad(2, ls=0.3),
            "constant": lambda: ExpQuad(2, ls=scale) + Constant(-0.9),
            "cosine": lambda: Cosine(2, ls=scale),  # a kernel of one column only
        }[name]()
        where = "where the chains start" if is_random else "on the training points"
        with pytest.raises(ValueError, match=f"not positive semidefinite {where}"):
            refuse_indefinite_kernel(as_kernel(covariance, X), X)


def test_definite_covariances_far_from_zero():
    """PyMC's squared distances lose digits there: a good kernel must pass all the same."""
    far = X + 1e4
    with pm.Model():
        for covariance in (ExpQuad(2, ls=1.0), Matern32(2, ls=pm.HalfNormal("ell"))):
            refuse_indefinite_kernel(as_kernel(covariance, far), far)
