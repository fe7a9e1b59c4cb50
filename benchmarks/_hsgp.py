"""Gaussian-process regression in the basis of PyMC's ``HSGP``, with everything in closed form.

In a box the Hilbert-space approximation is linear regression: fixed features Phi (n x M, sines) and
independent weights whose variances are the spectral density S of the kernel. So

    t ~ N(0, Phi diag(S) Phi' + noise^2 I),

and Phi'Phi and Phi't, computed once, are all that an evaluation of the evidence needs: O(M^3),
whatever n is.
"""

import time

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.gp.hsgp_approx import calc_eigenvalues

from bayeskernels.gp.hyperparameters.maximisation import REACH, _climb
from bayeskernels.kernels.argument import numpy_function
from bayeskernels.linear.gaussian import linear_posterior


def fit_and_predict(X, y, X_new, *, m, c=1.5, max_evaluations=60):
    """Hyperparameters of an ARD Gaussian kernel by evidence, and the predictive mean.

    ``m`` basis functions along each column, in a box ``c`` times as wide as the data. The start is
    that of ``bk.models.gp_regression``. Targets should have mean zero.
    """
    n, p = X.shape
    theta = pt.vector("theta")
    amplitude, ls, noise = pt.exp(theta[0]), pt.exp(theta[1:-1]), pt.exp(theta[-1])
    process = pm.gp.HSGP(m=[m] * p, c=c, cov_func=amplitude**2 * pm.gp.cov.ExpQuad(p, ls=ls))
    # The box is set by the first points that the process sees.
    process.prior_linearized(X)
    omega = pt.sqrt(calc_eigenvalues(process.L, process._m))
    # Densities that underflow would have roots without a derivative.
    root = pt.sqrt(process.cov_func.power_spectral_density(omega) + 1e-300)
    inputs = pt.matrix("inputs")
    basis = numpy_function([inputs], process.prior_linearized(inputs)[0])
    phi = basis(X)
    gram, moment, power = phi.T @ phi, phi.T @ y, y @ y

    scaled = root[:, None] * gram * root[None, :] / noise**2
    factor = pt.linalg.cholesky(pt.eye(len(moment)) + scaled)
    half = pt.linalg.solve_triangular(factor, root * moment, lower=True) / noise
    log_evidence = -0.5 * (
        (power - half @ half) / noise**2
        + 2 * pt.sum(pt.log(pt.diag(factor)))
        + n * pt.log(2 * np.pi * noise**2)
    )
    evidence = numpy_function([theta], [log_evidence, pt.grad(log_evidence, theta)])
    root = numpy_function([theta], root)

    def evidence_or_wall(theta):
        value, gradient = evidence(theta)
        if np.isfinite(value) and np.isfinite(gradient).all():
            return float(value), gradient
        return -np.inf, np.zeros(len(theta))

    scales = X.std(axis=0) * np.sqrt(p * np.e)
    start = np.log([2 * y.std(), *scales, y.std()])
    began = time.process_time()
    bounds = np.column_stack([start - REACH, start + REACH])
    found = _climb(evidence_or_wall, start, bounds, max_evaluations, 1e-5)
    cpu = time.process_time() - began
    beta = np.exp(-2 * found.x[-1])
    features = phi * root(found.x)
    posterior = linear_posterior(features, y, 1.0, beta)
    if not np.isclose(posterior.log_evidence, -found.fun, rtol=1e-7):
        raise ArithmeticError(f"{posterior.log_evidence} is not {-found.fun}.")
    mean, _ = posterior.predict(basis(X_new) * root(found.x))
    return {
        "mean": mean,
        "log_evidence": float(-found.fun),
        "noise": float(np.exp(found.x[-1])),
        "length_scales": np.exp(found.x[1:-1]).tolist(),
        "evaluations": int(found.nfev),
        "cpu_per_evaluation": cpu / int(found.nfev),
        "converged": bool(found.success),
    }
