"""The prior of every distribution and transform integrates to one, or has no evidence."""

import inspect

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pymc.distributions import transforms
from scipy.special import logsumexp
from scipy.stats import qmc
from scipy.stats import t as student

import bayeskernels as bk
from bayeskernels import distributions as own
from bayeskernels.graphs.prior_mass import UnknownMass, log_missing_constant
from bayeskernels.graphs.unconstrained import UnconstrainedDensity

pytestmark = [
    # Of points far out in the tails, and of PyMC's own code.
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.* is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Support point not defined:UserWarning"),
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning"),
    pytest.mark.filterwarnings("ignore:No safe default transform found"),
]

COVARIANCE = np.array([[1.0, 0.3], [0.3, 0.7]])
ADJACENCY = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
HALF = pm.HalfNormal.dist


def away_from_zero():
    return pm.LogNormal.dist(0.0, 0.4)


def drift(x, rate):
    return -rate * x, 0.7


def exponential_of_a_normal(sigma, size):
    return pt.exp(pm.Normal.dist(0.0, sigma, size=size))


#: From the name of a distribution to priors of that kind.
PROPER = {
    "AR": [lambda: pm.AR("x", [0.5, 0.3], 0.8, constant=True, init_dist=HALF(), steps=1)],
    "AsymmetricLaplace": [lambda: pm.AsymmetricLaplace("x", kappa=1.5, mu=0.3, b=2.0)],
    "Beta": [lambda: pm.Beta("x", 1.3, 2.2)],
    "CAR": [
        lambda: pm.CAR("x", mu=[0.1, 0.2, 0.3], W=ADJACENCY, alpha=0.6, tau=2.0),
        lambda: pm.CAR("x", mu=[0.1, 0.2], W=ADJACENCY[:2, :2], alpha=0.6, tau=2.0, shape=(2, 2)),
    ],
    "Cauchy": [lambda: pm.Cauchy("x", 0.3, 1.2)],
    "ChiSquared": [lambda: pm.ChiSquared("x", 3.3)],
    "CustomDist": [lambda: pm.CustomDist("x", 0.8, dist=exponential_of_a_normal)],
    "Dirichlet": [lambda: pm.Dirichlet("x", [1.2, 0.8, 2.0])],
    "EulerMaruyama": [
        lambda: pm.EulerMaruyama("x", 0.5, drift, (0.4,), init_dist=pm.Normal.dist(), steps=1)
    ],
    "ExGaussian": [lambda: pm.ExGaussian("x", mu=0.2, sigma=0.8, nu=1.1)],
    "Exponential": [lambda: pm.Exponential("x", 1.3)],
    "GARCH11": [
        lambda: pm.GARCH11("x", omega=0.5, alpha_1=0.3, beta_1=0.2, initial_vol=0.7, shape=2)
    ],
    "Gamma": [lambda: pm.Gamma("x", 2.2, 1.4)],
    "GaussianRandomWalk": [
        lambda: pm.GaussianRandomWalk("x", 0.1, 0.8, init_dist=pm.Normal.dist(0.0, 2.0), steps=1)
    ],
    "Gumbel": [lambda: pm.Gumbel("x", 0.3, 1.2)],
    "HalfCauchy": [lambda: pm.HalfCauchy("x", 1.2)],
    "HalfNormal": [lambda: pm.HalfNormal("x", 1.2)],
    "HalfStudentT": [lambda: pm.HalfStudentT("x", nu=3.3, sigma=1.2)],
    "Interpolated": [
        lambda: pm.Interpolated("x", np.linspace(-1.0, 2.0, 5), np.array([0.1, 0.5, 2.0, 0.3, 0.2]))
    ],
    "InverseGamma": [lambda: pm.InverseGamma("x", 2.2, 1.4)],
    "KroneckerNormal": [
        lambda: pm.KroneckerNormal("x", mu=[0.1, 0.2], covs=[COVARIANCE, [[1.3]]], sigma=0.3)
    ],
    "Kumaraswamy": [lambda: pm.Kumaraswamy("x", 1.3, 2.2)],
    "LKJCholeskyCov": [
        lambda: pm.LKJCholeskyCov("x", eta=2.3, n=2, sd_dist=away_from_zero(), compute_corr=False),
        lambda: pm.LKJCholeskyCov("x", eta=1.0, n=3, sd_dist=away_from_zero(), compute_corr=False),
    ],
    "LKJCorr": [lambda: pm.LKJCorr("x", n=2, eta=2.3), lambda: pm.LKJCorr("x", n=2, eta=1.0)],
    "Laplace": [lambda: pm.Laplace("x", 0.3, 1.2)],
    "LogNormal": [lambda: pm.LogNormal("x", 0.3, 1.2)],
    "Logistic": [lambda: pm.Logistic("x", 0.3, 1.2)],
    "LogitNormal": [lambda: pm.LogitNormal("x", 0.3, 1.2)],
    "MatrixNormal": [
        lambda: pm.MatrixNormal("x", mu=np.zeros((2, 1)), rowcov=COVARIANCE, colcov=[[1.5]])
    ],
    "Mixture": [
        lambda: pm.Mixture("x", [0.3, 0.7], [pm.Normal.dist(-1, 0.5), pm.Logistic.dist(1, 1)]),
        lambda: pm.Mixture("x", [0.3, 0.7], [HALF(), pm.Gamma.dist(2.0, 1.0)]),
    ],
    "Moyal": [lambda: pm.Moyal("x", 0.3, 1.2)],
    "MvGaussianRandomWalk": [
        lambda: pm.MvGaussianRandomWalk(
            "x", mu=[0.1], cov=[[0.7]], init_dist=pm.MvNormal.dist([0.0], [[2.0]]), steps=1
        )
    ],
    "MvNormal": [
        lambda: pm.MvNormal("x", [0.1, 0.2], COVARIANCE),
        lambda: pm.MvNormal("x", [0.1, 0.2], tau=COVARIANCE),
    ],
    "MvStudentT": [lambda: pm.MvStudentT("x", nu=4.5, mu=[0.1, 0.2], scale=COVARIANCE)],
    "MvStudentTRandomWalk": [
        lambda: pm.MvStudentTRandomWalk(
            "x",
            nu=5.0,
            mu=[0.1],
            scale=[[0.7]],
            init_dist=pm.MvNormal.dist([0.0], [[2.0]]),
            steps=1,
        )
    ],
    "Normal": [lambda: pm.Normal("x", 0.3, 1.2)],
    "NormalMixture": [lambda: pm.NormalMixture("x", [0.3, 0.7], mu=[-1, 1], sigma=[0.5, 1.0])],
    "Pareto": [lambda: pm.Pareto("x", 2.2, 1.4)],
    "RandomWalk": [
        lambda: pm.RandomWalk(
            "x", innovation_dist=pm.Logistic.dist(0, 1), init_dist=pm.Normal.dist(), steps=1
        )
    ],
    "Rice": [lambda: pm.Rice("x", nu=1.2, sigma=0.8)],
    "SkewNormal": [lambda: pm.SkewNormal("x", mu=0.3, sigma=1.2, alpha=2.0)],
    "SkewStudentT": [lambda: pm.SkewStudentT("x", a=2.0, b=3.0, mu=0.3, sigma=1.2)],
    "StickBreakingWeights": [lambda: pm.StickBreakingWeights("x", alpha=1.3, K=2)],
    "StudentT": [lambda: pm.StudentT("x", nu=3.3, mu=0.3, sigma=1.2)],
    "Triangular": [lambda: pm.Triangular("x", lower=-1, c=0.3, upper=2)],
    "Truncated": [
        lambda: pm.Truncated("x", pm.Normal.dist(0.3, 1.2), lower=-0.5, upper=2),
        lambda: pm.Truncated("x", pm.Gamma.dist(2.2, 1.4), upper=2.0),
    ],
    "TruncatedNormal": [lambda: pm.TruncatedNormal("x", 0.3, 1.2, lower=0.0)],
    "Uniform": [lambda: pm.Uniform("x", -1, 3)],
    "VonMises": [lambda: pm.VonMises("x", 0.5, 1.7), lambda: pm.VonMises("x", 3.1, 30.0)],
    "Wald": [
        lambda: pm.Wald("x", mu=1.2, lam=2.1),
        lambda: pm.Wald("x", mu=1.2, lam=2.1, alpha=0.5),
    ],
    "Weibull": [lambda: pm.Weibull("x", 2.2, 1.4)],
    "Wishart": [lambda: pm.Wishart("x", nu=4, V=[[0.7]])],
    "ZeroSumNormal": [
        lambda: pm.ZeroSumNormal("x", sigma=1.2, shape=3),
        lambda: pm.ZeroSumNormal("x", sigma=1.2, shape=(2, 3), n_zerosum_axes=2),
    ],
}

#: Distributions whose prior has no evidence, by what the refusal says.
REFUSED = {
    "Censored": (lambda: pm.Censored("x", pm.Normal.dist(), -1.0, 1.0), "single values"),
    "CustomDist": (lambda: pm.CustomDist("x", logp=lambda x: -(x**2)), "declare_normalised"),
    "DiracDelta": (lambda: pm.DiracDelta("x", 1.5), "single values"),
    "Flat": (lambda: pm.Flat("x"), "improper"),
    "HalfFlat": (lambda: pm.HalfFlat("x"), "improper"),
    "HurdleGamma": (lambda: pm.HurdleGamma("x", psi=0.7, alpha=2.0, beta=1.0), "single values"),
    "HurdleLogNormal": (
        lambda: pm.HurdleLogNormal("x", psi=0.7, mu=0.3, sigma=1.2),
        "single values",
    ),
    "ICAR": (lambda: pm.ICAR("x", W=ADJACENCY), "improper"),
    "LKJCorr": (lambda: pm.LKJCorr("x", n=3, eta=2.3), "Use LKJCholeskyCov"),
    "LKJCholeskyCov": (
        lambda: pm.LKJCholeskyCov(
            "x", eta=2.0, n=2, sd_dist=pm.Normal.dist(1.0, 1.0), compute_corr=False
        ),
        "may be negative",
    ),
    "Mixture": (
        lambda: pm.Mixture("x", [0.3, 0.7], [pm.Normal.dist(), pm.Flat.dist()]),
        "improper",
    ),
    "RandomWalk": (
        lambda: pm.RandomWalk(
            "x", innovation_dist=pm.Normal.dist(), init_dist=pm.Flat.dist(), steps=2
        ),
        "improper",
    ),
}

#: Probabilities of whole numbers: methods for densities refuse them, others sum.
DISCRETE = {
    "Bernoulli": lambda: pm.Bernoulli("x", 0.3),
    "BetaBinomial": lambda: pm.BetaBinomial("x", alpha=1.0, beta=2.0, n=3),
    "Binomial": lambda: pm.Binomial("x", 3, 0.3),
    "Categorical": lambda: pm.Categorical("x", [0.3, 0.7]),
    "DirichletMultinomial": lambda: pm.DirichletMultinomial("x", n=3, a=[1.0, 2.0]),
    "DiscreteUniform": lambda: pm.DiscreteUniform("x", 0, 3),
    "DiscreteWeibull": lambda: pm.DiscreteWeibull("x", 0.5, 1.2),
    "Geometric": lambda: pm.Geometric("x", 0.3),
    "HurdleNegativeBinomial": lambda: pm.HurdleNegativeBinomial("x", psi=0.7, mu=2.0, alpha=1.0),
    "HurdlePoisson": lambda: pm.HurdlePoisson("x", psi=0.7, mu=2.0),
    "HyperGeometric": lambda: pm.HyperGeometric("x", N=9, k=4, n=3),
    "Multinomial": lambda: pm.Multinomial("x", 3, [0.3, 0.7]),
    "NegativeBinomial": lambda: pm.NegativeBinomial("x", 2.0, 1.0),
    "OrderedLogistic": lambda: pm.OrderedLogistic("x", 0.3, [-1.0, 1.0], compute_p=False),
    "OrderedMultinomial": lambda: pm.OrderedMultinomial("x", 0.3, [-1.0, 1.0], 3, compute_p=False),
    "OrderedProbit": lambda: pm.OrderedProbit("x", 0.3, [-1.0, 1.0], compute_p=False),
    "Poisson": lambda: pm.Poisson("x", 2.0),
    "ZeroInflatedBinomial": lambda: pm.ZeroInflatedBinomial("x", 0.7, 3, 0.3),
    "ZeroInflatedNegativeBinomial": lambda: pm.ZeroInflatedNegativeBinomial("x", 0.7, 2.0, 1.0),
    "ZeroInflatedPoisson": lambda: pm.ZeroInflatedPoisson("x", 0.7, 2.0),
}

#: Names that are no distributions of their own, or cannot be tried.
OTHERS = {
    "Continuous": "a base class",
    "DensityDist": "another name of CustomDist",
    "Discrete": "a base class",
    "Distribution": "a base class",
    "Lognormal": "another name of LogNormal",
    "PolyaGamma": "needs the package polyagamma",
    "Simulator": "has no density; refused by its type",
    "SymbolicRandomVariable": "a base class",
    "WishartBartlett": "deprecated; made of Normal and ChiSquared variables",
}

#: Transforms that are not only the default of some distribution above.
TRANSFORMS = {
    "Chain": [
        lambda: pm.HalfNormal("x", 1.2, shape=2, transform=transforms.ordered),
        lambda: pm.Beta("x", 1.2, 2.0, shape=(1, 2), transform=transforms.ordered),
    ],
    "CholeskyCorrTransform": [],  # of LKJCorr
    "CholeskyCovPacked": [],  # of LKJCholeskyCov
    "CholeskyCovTransform": [],  # of Wishart
    "Interval": [
        lambda: pm.Beta("x", 1.3, 2.2, default_transform=transforms.Interval(0.0, 1.0)),
        lambda: pm.Gamma("x", 2.2, 1.4, default_transform=transforms.Interval(-1.0, None)),
    ],
    "Transform": [lambda: pm.Gamma("x", 2.2, 1.4, default_transform=None)],
    "ZeroSumTransform": [],  # of ZeroSumNormal
    "circular": [
        lambda: pm.Uniform("x", -np.pi, np.pi, default_transform=transforms.circular),
        lambda: pm.Triangular("x", -1, 2, c=0.3, default_transform=transforms.circular),
    ],
    "log": [lambda: pm.Pareto("x", 2.2, 1.4, default_transform=transforms.log)],
    "log_exp_m1": [lambda: pm.Gamma("x", 2.2, 1.4, default_transform=transforms.log_exp_m1)],
    "logodds": [lambda: pm.Uniform("x", 0.0, 1.0, default_transform=transforms.logodds)],
    "ordered": [
        lambda: pm.Normal("x", 0.3, 1.2, shape=3, transform=transforms.ordered),
        lambda: pm.StudentT("x", nu=5, mu=np.zeros(2), shape=2, transform=transforms.ordered),
        lambda: pm.Gamma(
            "x", 2.2, 1.4, shape=2, default_transform=transforms.Ordered(positive=True)
        ),
        lambda: pm.Normal("x", shape=2, transform=transforms.Ordered(ascending=False)),
    ],
    "simplex": [],  # of Dirichlet
    "sum_to_1": [lambda: pm.Dirichlet("x", [1.8, 2.0], default_transform=transforms.SumTo1())],
}

CUT = {
    "circular order": lambda: pm.VonMises("x", 0.0, 1.0, shape=2, transform=transforms.ordered),
    "interval": lambda: pm.Normal("x", transform=transforms.Interval(-1.0, 1.0)),
    "log": lambda: pm.Normal("x", transform=transforms.log),
    "narrow": lambda: pm.Uniform("x", -1, 2, default_transform=transforms.Interval(-1.0, 1.0)),
    "circular": lambda: pm.Normal("x", transform=transforms.circular),
    "circular logit": lambda: pm.Uniform("x", -np.pi, np.pi, transform=transforms.circular),
    "positive order": lambda: pm.Normal("x", shape=2, transform=transforms.Ordered(positive=True)),
}

#: Priors of this package.
OWN = {
    "FlipRate": [lambda: own.FlipRate("x")],
    "KernelWidth": [lambda: own.KernelWidth("x", 0.1, 3.0)],
    "NoiseScale": [lambda: own.NoiseScale("x", 1.3)],
    "Offset": [lambda: own.Offset("x", 1.3)],
    "Precision": [lambda: own.Precision("x", 2.0, 1.5)],
    "UniformSphere": [lambda: own.UniformSphere("x", 3)],
}


def density_of(make):
    with pm.Model() as model:
        make()
    # Any period will do.
    centres = {
        name: np.asarray(model.initial_point()[name]) + 1.0
        for name in UnconstrainedDensity.angles(model)
    }
    return UnconstrainedDensity(model, what="test", centres=centres)


def log_integral(density):
    """Over all of unconstrained space, to 0.002 in one dimension and 0.02 in others."""
    if density.dimension == 1:
        t, step = np.linspace(-3.3, 3.3, 4001, retstep=True)
        slope = 0.5 * np.pi * np.cosh(t) * np.cosh(0.5 * np.pi * np.sinh(t))
        values = density.values(np.sinh(0.5 * np.pi * np.sinh(t))[:, None])
        return logsumexp(values + np.log(slope * step))
    return _by_importance(density)


def _by_importance(density, n=2**10, rounds=5, df=4.0):
    """Student's t with independent components, fitted to its own weighted draws."""
    d = density.dimension
    # Equal numbers have no finite order to start from.
    mean, factor = np.nan_to_num(density.join({}), neginf=0.0), np.eye(d)
    for k in range(rounds):
        uniform = qmc.Sobol(d, seed=k).random(8 * n if k == rounds - 1 else n)
        noise = student(df).ppf(np.clip(uniform, 1e-12, 1.0 - 1e-12))
        points = mean + noise @ factor.T
        log_proposal = student(df).logpdf(noise).sum(axis=1) - np.log(np.diag(factor)).sum()
        log_weights = density.values(points) - log_proposal
        total = logsumexp(log_weights)
        weights = np.exp(log_weights - total)
        mean = weights @ points
        centred = points - mean
        factor = np.linalg.cholesky((weights * centred.T) @ centred / (df / (df - 2.0)))
    # Sobol's points make the error much smaller than that of so many independent draws.
    assert 1.0 / (weights**2).sum() > 500.0
    return total - np.log(len(points))


def _cases(table):
    return [
        pytest.param(make, id=f"{name}-{k}")
        for name, makes in table.items()
        for k, make in enumerate(makes)
    ]


@pytest.mark.parametrize("make", _cases(PROPER) + _cases(TRANSFORMS) + _cases(OWN))
def test_priors_integrate_to_one(make):
    density = density_of(make)
    assert density.unknown_mass == ""
    assert abs(log_integral(density)) < (0.002 if density.dimension == 1 else 0.02)


@pytest.mark.parametrize("name", REFUSED)
def test_priors_without_a_known_integral(name):
    make, message = REFUSED[name]
    with pm.Model() as model:
        x = make()
        pm.Normal("y", pt.sum(x), 1.0, observed=1.0)
    for method in ("auto", "bridge", "smc", "laplace", "quadrature"):
        with pytest.raises(ValueError, match=message):
            bk.evidence.estimate(model, method=method)
    assert all(bk.evidence.suitable_methods(model).values())


@pytest.mark.parametrize("name", CUT)
def test_transforms_that_leave_a_part_of_the_prior(name):
    with pm.Model() as model:
        CUT[name]()
    with pytest.raises(UnknownMass, match="may leave a part of the prior"):
        log_missing_constant(model)


def test_orders_of_different_elements():
    with pm.Model() as model:
        pm.Normal("x", [-1.0, 1.0], 1.0, shape=2, transform=transforms.ordered)
    with pytest.raises(UnknownMass, match="same prior only"):
        log_missing_constant(model)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_priors(name):
    with pm.Model() as model:
        x = DISCRETE[name]()
        pm.Normal("y", pt.sum(x), 1.0, observed=1.0)
    assert log_missing_constant(model) == 0.0
    for method in ("bridge", "smc", "laplace", "quadrature"):
        with pytest.raises(TypeError, match="x is discrete"):
            bk.evidence.estimate(model, method=method)


def test_all_distributions_and_transforms_are_here():
    """A new version of PyMC may bring some; each must be tried, or listed with a reason."""
    here = set(PROPER) | set(REFUSED) | set(DISCRETE) | set(OTHERS)
    assert set(pm.distributions.__all__) == here
    assert set(transforms.__all__) == set(TRANSFORMS)
    own_priors = {
        name
        for name in own.__all__
        if inspect.isclass(getattr(own, name))
        and issubclass(getattr(own, name), pm.Distribution)
        and not name.endswith("RV")
        and name not in OWN
    }
    # Labels, which are observed, discrete sets, and parts of models that no density method takes.
    assert own_priors == {
        "ActiveSet",
        "ClassOffsets",
        "CompleteHingeLabel",
        "GroupedActiveSet",
        "GroupedOffset",
        "GroupedPrecision",
        "GroupedSilvermanG",
        "HingeLabel",
        "KernelOn",
        "LabelNoise",
        "LogisticLabel",
        "ProbitClass",
        "ProbitLabel",
        "SilvermanG",
    }


@pytest.mark.slow
def test_covariance_matrices_integrate_to_one():
    density = density_of(lambda: pm.Wishart("x", nu=4, V=COVARIANCE))
    assert abs(log_integral(density)) < 0.02
