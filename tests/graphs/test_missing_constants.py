"""Constants that PyMC's densities lack, and densities without any: of single models."""

import numpy as np
import pymc as pm
import pytest
import scipy.sparse

import bayeskernels as bk
from bayeskernels.graphs.prior_mass import UnknownMass, log_missing_constant

ADJACENCY = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def test_scaled_likelihoods():
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.Normal("y", mu, 1.0, observed=[1.0, 2.0], total_size=20)
    with pytest.raises(ValueError, match="scaled by total_size"):
        bk.evidence.estimate(model)


def test_random_parameters_of_a_constant():
    with pm.Model() as model:
        pm.LKJCorr("x", n=2, eta=pm.HalfNormal("eta"))
    with pytest.raises(UnknownMass, match="eta of x is random"):
        log_missing_constant(model)


def test_fields_that_are_observed():
    """PyMC's likelihood of a CAR field lacks a constant as well."""
    with pm.Model() as model:
        mu = pm.Normal("mu")
        pm.CAR("y", mu * np.ones(3), ADJACENCY, alpha=0.6, tau=2.0, observed=[0.1, 0.5, -0.2])
    degrees = ADJACENCY.sum(axis=0)
    precision = 2.0 * (np.diag(degrees) - 0.6 * ADJACENCY)
    with pm.Model() as same:
        mu = pm.Normal("mu")
        pm.MvNormal("y", mu * np.ones(3), tau=precision, observed=[0.1, 0.5, -0.2])
    expected = bk.evidence.estimate(same, method="quadrature").log_evidence
    assert bk.evidence.estimate(model, method="quadrature").log_evidence == pytest.approx(expected)


def test_fields_with_a_sparse_adjacency():
    constants = []
    for W in (ADJACENCY, scipy.sparse.csr_matrix(ADJACENCY)):
        with pm.Model() as model:
            pm.CAR("x", mu=np.zeros(3), W=W, alpha=0.6, tau=2.0)
        constants.append(log_missing_constant(model))
    assert constants[0] == pytest.approx(constants[1])


@pytest.mark.parametrize("make", [pm.Flat, pm.HalfFlat])
def test_likelihoods_without_a_density(make):
    with pm.Model() as model:
        pm.Normal("mu")
        make("y", observed=1.0)
    with pytest.raises(ValueError, match="likelihood of y has no density"):
        bk.evidence.estimate(model)


def test_declared_densities():
    def log_density(x):
        return -0.5 * x**2 - 0.5 * np.log(2.0 * np.pi)

    with pm.Model() as model:
        x = pm.CustomDist("x", logp=log_density)
        pm.Normal("y", x, 1.0, observed=2.0)
    with pytest.raises(ValueError, match=r"declare_normalised\(x\)"):
        bk.evidence.estimate(model, method="quadrature")
    bk.evidence.declare_normalised(x)
    assert log_missing_constant(model) == 0.0


@pytest.mark.parametrize("prior", [pm.HalfNormal.dist(), pm.Uniform.dist(0.0, 3.0)])
def test_constants_of_lkj(prior):
    """Volume of the correlation matrices of three variables: pi^2 / 2."""
    with pm.Model() as model:
        pm.LKJCholeskyCov("x", eta=1.0, n=3, sd_dist=prior, compute_corr=False)
    assert log_missing_constant(model) == pytest.approx(-2.0 * np.log(np.pi**2 / 2.0))
