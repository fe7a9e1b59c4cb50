import numpy as np
import pymc as pm
import pytest

from bayeskernels.testing import check_kernel

X = np.random.default_rng(0).standard_normal((15, 3))


def test_good_kernels():
    assert check_kernel(pm.gp.cov.ExpQuad(3, ls=1.0), X).rank == 15
    assert check_kernel(lambda A, B: A @ B.T, X).rank == 3
    report = check_kernel(X @ X.T)
    assert (report.n_points, report.rank) == (15, 3)
    assert report.smallest_eigenvalue > -1e-10
    assert np.isclose(report.largest_eigenvalue, np.linalg.norm(X, 2) ** 2)


def overwrites(A, B):
    values = A @ B.T
    A += 1.0
    return values


BAD = {
    "shape": (lambda A, B: A @ A.T, "shape"),
    "vector": (lambda A, B: A[:, 0], "shape"),
    "asymmetric": (lambda A, B: A @ B.T + A[:, :1], "differ by up to"),
    "indefinite": (lambda A, B: np.tanh(A @ B.T - 1), "positive semidefinite"),
    "NaN": (lambda A, B: np.full((len(A), len(B)), np.nan), "finite"),
    "depends on the other points": (
        lambda A, B: (A - A.mean(0)) @ (B - B.mean(0)).T,
        "part of k",
    ),
    "overwrites": (overwrites, "leave its inputs alone"),
    "indefinite matrix": (np.array([[1.0, 2.0], [2.0, 1.0]]), "eigenvalue -1"),
    "not square": (np.ones((2, 3)), "square"),
}


@pytest.mark.parametrize("name", BAD)
def test_fault_is_named(name):
    kernel, message = BAD[name]
    with pytest.raises(AssertionError, match=message):
        check_kernel(kernel, X.copy())


@pytest.mark.parametrize(
    "kernel",
    [
        pm.gp.cov.ExpQuad(2, ls=0.7),
        pm.gp.cov.Matern12(2, ls=0.7),
        pm.gp.cov.Exponential(2, ls=0.3),
        pm.gp.cov.Linear(2, c=0.0),
        pm.gp.cov.Polynomial(2, c=0.0, d=2, offset=0.0),
        pm.gp.cov.Polynomial(2, c=0.0, d=3, offset=1.0),
        1.5 * pm.gp.cov.ExpQuad(2, ls=[0.5, 2.0]) + 0.3 + 0.2 * pm.gp.cov.Linear(2, c=0.0),
    ],
)
def test_kernels_of_the_lecture_conform(kernel):
    X = np.random.default_rng(7).normal(size=(30, 2))
    assert check_kernel(kernel, X).smallest_eigenvalue > -1e-10


def test_a_diagonal_that_does_not_belong_is_found():
    class Wrong(pm.gp.cov.ExpQuad):
        def diag(self, X):
            return 1.001 * super().diag(X)

    with pytest.raises(AssertionError, match="the diagonal to be a part"):
        check_kernel(Wrong(1, ls=1.0), np.linspace(0, 1, 5)[:, None])


def test_only_rough_kernels_of_pymc_may_differ_on_the_diagonal():
    points = np.random.default_rng(1).normal(size=(80, 1))
    check_kernel(pm.gp.cov.Matern12(1, ls=1.0), points)

    def blurred(X, Z):
        values = np.exp(-np.abs(X - Z.T))
        # The diagonal is taken from blocks of 64 rows: only its last block is blurred.
        return values if len(X) >= 40 else values * (1 + 3e-6)

    with pytest.raises(AssertionError, match="to be a part of"):
        check_kernel(blurred, points)
