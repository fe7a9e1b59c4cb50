"""Regressions that are linear in their weights.

Given its random hyperparameters a regression of the lecture is Gaussian, so that the mean and the
variance of a new target are known in closed form for each draw; prediction averages over draws.
"""

from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from bayeskernels.linear.gaussian import BestPrecisions, SpectralRegression, linear_posterior
from bayeskernels.linear.rbf_units import RBFUnits, lower_factor
from bayeskernels.specification.base import TargetSpecification
from bayeskernels.specification.draws import posterior_draws
from bayeskernels.specification.predictive import target_prediction

__all__ = [
    "GaussianMeanSpecification",
    "LinearSpecification",
    "RBFSpecification",
    "RegressionSpecification",
]


@dataclass(frozen=True, kw_only=True)
class RegressionSpecification(TargetSpecification):
    """What all regressions have that are Gaussian given their hyperparameters."""

    #: Names of the hyperparameters that :meth:`moments` takes.
    hyperparameters = ()

    def moments(self, values, X_new):
        """Mean and variance of the function at new points, and variance of the noise, by draw.

        Parameters
        ----------
        values : dict
            Hyperparameters by name, with the draws as the first axis.
        X_new : array of shape (n_new, p) or None

        Returns
        -------
        mean, variance : arrays of shape (n_new, n_draws)
        noise : array of shape (n_draws,) or (1,)
            Variance that a target has besides.
        """
        raise NotImplementedError

    def features_at(self, X, **hyperparameters):
        """Features at inputs (n, p) that are multiplied by the weights ``w``."""
        raise NotImplementedError

    def moments_by_draw(self, idata, X_new):
        """The :meth:`moments` with the values of the draws; one where nothing is random."""
        return self.moments(self._values(idata), X_new)

    def output_blocks(self, idata, X=None, *, diagonal=None, progressbar=True):
        """The function of each draw; without weights among the draws its mean."""
        X = self.X if X is None else X
        name = f"{self.prefix}w"
        if name not in idata["posterior"]:
            outputs = self.moments_by_draw(idata, X)[0]
        else:
            w = posterior_draws(idata, name)
            w = w.reshape(-1, w.shape[-1])
            by_draw = [self.features_at(X, **at) for at in _each(self._values(idata), len(w))]
            outputs = np.stack([f @ row for f, row in zip(by_draw, w, strict=True)], axis=1)
        yield slice(0, len(X)), outputs, None

    def predictive(self, idata, X_new, *, beyond_span=True, diagonal=None, progressbar=True):
        """Mixture of the Gaussian of each draw, of which mean and standard deviation are exact."""
        mean, variance, noise = self.moments_by_draw(idata, X_new)
        n = len(mean)
        variables = target_prediction([(slice(0, n), mean, variance)], n, noise)
        return xr.Dataset(variables, coords={"obs_new": np.arange(n)})

    def _values(self, idata):
        return {name: self.draws_of(idata, name) for name in self.hyperparameters}


def _each(values, n_draws):
    """Hyperparameters of each draw."""
    for s in range(n_draws):
        yield {name: v[s if len(v) > 1 else 0] for name, v in values.items()}


@dataclass(frozen=True, kw_only=True)
class LinearSpecification(RegressionSpecification):
    """Bayesian linear regression.

    Attributes
    ----------
    basis : Basis
        The basis functions phi.
    evidence_maximum : BestPrecisions or None
        How the precisions were found, where that was by evidence.
    """

    basis: object = field(repr=False)
    evidence_maximum: BestPrecisions | None = None

    hyperparameters = ("alpha", "beta")

    @property
    def feature_map(self):
        """The basis functions."""
        return self.basis

    @property
    def features(self):
        """Features of the inputs as the model has them now, shape (n, M)."""
        return self.basis.at_training if self.is_at_training else self.basis(self.X)

    def features_at(self, X, **hyperparameters):
        """Features at inputs (n, p), which no hyperparameter changes."""
        return self.basis(X)

    def moments(self, values, X_new):
        """Moments with the weights integrated out."""
        regression = SpectralRegression(self.features, self.y)
        alpha, beta = np.broadcast_arrays(values["alpha"], values["beta"])
        return *regression.predict_function(self.basis(X_new), alpha, beta), 1.0 / beta

    def posterior(self, alpha=None, beta=None, *, form="auto"):
        """Posterior of the weights, and evidence, at the precisions of the model or given ones."""
        alpha = self._fixed("alpha", alpha)
        beta = self._fixed("beta", beta)
        return linear_posterior(self.features, self.y, alpha, beta, form=form)

    def _fixed(self, name, value):
        if value is not None:
            return value
        value = self.fixed(name)
        if value is None:
            raise ValueError(f"{name} is random in this model: give a number, {name}=...")
        return float(value)


@dataclass(frozen=True, kw_only=True)
class GaussianMeanSpecification(RegressionSpecification):
    """The mean of a Gaussian.

    Attributes
    ----------
    prior_mean, prior_sd : float
    """

    prior_mean: float
    prior_sd: float

    observed_name = "x"
    hyperparameters = ("sd",)

    def moments(self, values, X_new):
        """Moments of the one mean that there is."""
        variance = values["sd"] ** 2
        precision = self.prior_sd**-2 + len(self.y) / variance
        mean = (self.prior_mean / self.prior_sd**2 + self.y.sum() / variance) / precision
        return mean[None], 1.0 / precision[None], variance


@dataclass(frozen=True, kw_only=True)
class RBFSpecification(RegressionSpecification):
    """A network of Gaussian units.

    Attributes
    ----------
    bias : bool
        Whether the hidden layer has a constant.
    """

    bias: bool

    hyperparameters = ("centers", "log_scale", "shear", "alpha", "beta")

    def features_at(self, X, centers, log_scale, shear, **others):
        """Hidden layer at inputs (n, p)."""
        m, p = centers.shape
        factors = np.broadcast_to(lower_factor(log_scale, shear), (m, p, p))
        outputs = RBFUnits(centers, factors)(X)
        return np.column_stack([np.ones(len(X)), outputs]) if self.bias else outputs

    def moments(self, values, X_new):
        """Moments with the output layer integrated out."""
        n_draws = max(len(v) for v in values.values())
        mean, variance = np.empty((2, len(X_new), n_draws))
        inputs, y = self.X, self.y
        for s, at in enumerate(_each(values, n_draws)):
            hidden = [self.features_at(X, **at) for X in (inputs, X_new)]
            posterior = linear_posterior(hidden[0], y, at["alpha"], at["beta"])
            mean[:, s], variance[:, s] = posterior.predict_function(hidden[1])
        return mean, variance, 1.0 / values["beta"]
