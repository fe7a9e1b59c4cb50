"""Gaussian-process regressions: the process itself is integrated out of the model."""

from dataclasses import dataclass, field

import numpy as np
import pytensor.tensor as pt
import scipy
import xarray as xr
from scipy.linalg import lapack

from bayeskernels.specification.base import TargetSpecification, specification_of
from bayeskernels.specification.posterior_process import each_posterior

__all__ = ["GaussianProcessSpecification", "process_of", "targets_of"]


@dataclass(frozen=True, kw_only=True)
class GaussianProcessSpecification(TargetSpecification):
    """A Gaussian-process regression.

    Attributes
    ----------
    fixed_mean : float or None
        Prior mean of the process; None where the model has a variable ``mean``.
    approximation : {None, "VFE", "FITC"}
        None for the exact process.
    inducing : array of shape (m, p) or None
        Inducing inputs of VFE and FITC.
    jitter : float
        What is added to the diagonal of their kernel matrix.
    """

    fixed_mean: float | None
    approximation: str | None = None
    inducing: np.ndarray | None = field(default=None, repr=False)
    jitter: float = 0.0

    is_process = True

    @property
    def noise(self):
        """Standard deviation of the noise: data or a random variable of the model."""
        return self.variable(f"{self.prefix}noise")

    @property
    def mean(self):
        """Prior mean of the process, a scalar graph."""
        if self.fixed_mean is not None:
            return pt.as_tensor(np.float64(self.fixed_mean))
        return self.variable(f"{self.prefix}mean")

    def output_blocks(self, idata, X=None, *, diagonal=None, progressbar=True):
        """Mean of the posterior process under the hyperparameters of each draw."""
        X = self.X if X is None else X
        processes = each_posterior(self, idata, progressbar=progressbar)
        yield slice(0, len(X)), np.stack([process(X)[0] for process in processes], axis=1), None

    def predictive(self, idata, X_new, *, beyond_span=True, diagonal=None, progressbar=True):
        """Mean and standard deviations at new points, by the law of total variance over draws."""
        n_draws, total, noise = 0, 0.0, 0.0
        mean, scatter = np.zeros(len(X_new)), np.zeros(len(X_new))
        for process in each_posterior(self, idata, progressbar=progressbar):
            n_draws += 1
            m, variance = process(X_new)
            total = total + variance
            noise += process.noise**2
            # Welford's update: the variance of the means without a difference of large numbers.
            step = m - mean
            mean += step / n_draws
            scatter += step * (m - mean)
        latent = (total + scatter) / n_draws
        variables = {"mean": ("obs_new", mean)}
        if not np.isnan(latent).any():
            variables["sd"] = ("obs_new", np.sqrt(latent + noise / n_draws))
            variables["latent_sd"] = ("obs_new", np.sqrt(latent))
        return xr.Dataset(variables, coords={"obs_new": np.arange(len(X_new))})

    def held_out_densities(self, idata, *, progressbar=True):
        """Log density of each target given all others, by draw of the hyperparameters.

        The residual and the precision of a target are in the inverse of the covariance matrix of
        all (Rasmussen and Williams, 2006, equations 5.10 to 5.12).
        """
        if self.approximation is not None:
            raise ValueError(
                "Leave-one-out densities are those of the exact process; this model has an "
                f"approximation ({self.approximation}), in which a target is tied to the others by "
                "the inducing points only. Use bk.gp.log_predictive_density on points that were "
                "held out, or bk.gp.log_evidence."
            )
        values = []
        for process in each_posterior(self, idata, progressbar=progressbar):
            inverse = lapack.dpotri(process.posterior.factor, lower=1)[0]
            precision = np.diagonal(inverse)
            # The residual t_i - mean is a_i / precision.
            residual = process.posterior.dual / precision
            values.append(scipy.stats.norm.logpdf(residual, scale=1.0 / np.sqrt(precision)))
        yield slice(0, len(self.y)), np.stack(values, axis=1)

    def evidence_refusal(self, method):
        """No exact evidence where there is a bound of it only."""
        if method == "exact" and self.approximation == "VFE":
            return (
                "The evidence of a VFE approximation is a lower bound, by an unknown amount. "
                "bk.gp.log_evidence(model) gives the bound."
            )
        return None


def process_of(model):
    """The specification of a Gaussian-process regression; other models are refused."""
    specification = specification_of(model)
    if not specification.is_process:
        raise specification.refusal("bk.gp", "models made by bk.models.gp_regression")
    return specification


def targets_of(model):
    """The term of a process in the log density of its model: observed variable or potential."""
    prefix = process_of(model).prefix
    # PyMC's sparse processes put a prefix of their own before the name of the targets.
    names = {f"{prefix}{before}y" for before in ("", "marginalapprox_loglik_")}
    [targets] = [v for v in (*model.observed_RVs, *model.potentials) if v.name in names]
    return targets
