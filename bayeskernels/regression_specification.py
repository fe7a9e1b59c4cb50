"""What the tools need to know of a regression beyond its PyMC graph.

Given its random hyperparameters a regression of the lecture is Gaussian, so that the mean and the
variance of a new target are known in closed form for each draw; prediction averages over draws.
"""

from dataclasses import dataclass, field

import numpy as np

from bayeskernels.linear_gaussian import BestPrecisions, SpectralRegression, linear_posterior
from bayeskernels.rbf_units import RBFUnits, lower_factor
from bayeskernels.specification import no_classes

__all__ = [
    "GaussianMeanSpecification",
    "LinearSpecification",
    "RBFSpecification",
    "RegressionSpecification",
    "as_found_later",
]


def as_found_later(variable):
    """Where a tool finds the value of a variable: data as they are, of all else the name."""
    return variable if hasattr(variable, "get_value") else variable.name


@dataclass(frozen=True, kw_only=True)
class RegressionSpecification:
    """What all regressions have.

    Attributes
    ----------
    kind : str
        Name of the builder.
    X : array of shape (n, p) or None
        Training inputs, None where the model has none.
    y : array of shape (n,)
        Targets.
    prefix : str
        What precedes the names of variables where the model is a named or nested one.
    """

    kind: str
    X: np.ndarray | None = field(repr=False)
    y: np.ndarray = field(repr=False)
    prefix: str = ""

    @property
    def n_classes(self):
        """A regression has no classes: tools for classifiers end here."""
        raise TypeError(
            f"This tool is for classifiers; a {self.kind} is a regression. bk.predict gives the "
            "mean and the standard deviation of new targets."
        )

    def require_classes(self, what, n_classes=None):
        """Refuse, for a tool of classifiers that is called ``what``."""
        raise no_classes(what, self.kind)

    def require_two_classes(self, what):
        """Refuse, for a tool of classifiers that is called ``what``."""
        raise TypeError(f"{what} is for classifiers; a {self.kind} is a regression.")

    @property
    def needed(self):
        """Values that :meth:`moments` takes, by name: data, or names of posterior draws."""
        raise NotImplementedError

    def moments(self, values, X_new):
        """Mean and variance of the function at new points, and variance of the noise, by draw.

        Parameters
        ----------
        values : dict
            Those of :attr:`needed`, with the draws as the first axis.
        X_new : array of shape (n_new, p) or None

        Returns
        -------
        mean, variance : arrays of shape (n_new, n_draws)
        noise : array of shape (n_draws,) or (1,)
            Variance that a target has besides.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class LinearSpecification(RegressionSpecification):
    """Bayesian linear regression.

    Attributes
    ----------
    basis : Basis
        The basis functions phi.
    alpha, beta : SharedVariable or str
        Precisions of weights and noise: the model's data, or the name of its posterior draws.
    evidence_maximum : BestPrecisions or None
        How the precisions were found, where that was by evidence.
    """

    basis: object = field(repr=False)
    alpha: object = field(repr=False)
    beta: object = field(repr=False)
    evidence_maximum: BestPrecisions | None = None

    @property
    def needed(self):
        """The two precisions."""
        return {"alpha": self.alpha, "beta": self.beta}

    def moments(self, values, X_new):
        """Moments with the weights integrated out."""
        regression = SpectralRegression(self.basis.factor.features, self.y)
        alpha, beta = np.broadcast_arrays(values["alpha"], values["beta"])
        return *regression.predict_function(self.basis(X_new), alpha, beta), 1.0 / beta

    def posterior(self, alpha=None, beta=None, *, form="auto"):
        """Posterior of the weights and evidence at given precisions, those of the model by default.

        Returns
        -------
        LinearPosterior
        """
        alpha = self._fixed("alpha", alpha)
        beta = self._fixed("beta", beta)
        return linear_posterior(self.basis.factor.features, self.y, alpha, beta, form=form)

    def _fixed(self, name, value):
        if value is not None:
            return value
        source = getattr(self, name)
        if not hasattr(source, "get_value"):
            raise ValueError(f"{name} is random in this model: give a number, {name}=...")
        return float(source.get_value())


@dataclass(frozen=True, kw_only=True)
class GaussianMeanSpecification(RegressionSpecification):
    """The mean of a Gaussian.

    Attributes
    ----------
    prior_mean, prior_sd : float
    sd : SharedVariable or str
        Of an observation: the model's data, or the name of its posterior draws.
    """

    prior_mean: float
    prior_sd: float
    sd: object = field(repr=False)

    @property
    def needed(self):
        """The standard deviation of an observation."""
        return {"sd": self.sd}

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
    centers, log_scale, shear, alpha, beta : SharedVariable or str
        Centres, logarithms of the diagonals of the Cholesky factors and what lies below them,
        precisions of weights and noise: the model's data, or the names of its posterior draws.
    """

    bias: bool
    centers: object = field(repr=False)
    log_scale: object = field(repr=False)
    shear: object = field(repr=False)
    alpha: object = field(repr=False)
    beta: object = field(repr=False)

    @property
    def needed(self):
        """All that the output layer depends on."""
        names = ("centers", "log_scale", "shear", "alpha", "beta")
        return {name: getattr(self, name) for name in names}

    def features(self, centers, log_scale, shear, X):
        """Hidden layer at inputs (n, p)."""
        m, p = centers.shape
        factors = np.broadcast_to(lower_factor(log_scale, shear), (m, p, p))
        outputs = RBFUnits(centers, factors)(X)
        return np.column_stack([np.ones(len(X)), outputs]) if self.bias else outputs

    def moments(self, values, X_new):
        """Moments with the output layer integrated out."""
        n_draws = max(len(v) for v in values.values())
        mean, variance = np.empty((2, len(X_new), n_draws))
        for s in range(n_draws):
            at = {name: v[s if len(v) > 1 else 0] for name, v in values.items()}
            hidden = [
                self.features(at["centers"], at["log_scale"], at["shear"], X)
                for X in (self.X, X_new)
            ]
            posterior = linear_posterior(hidden[0], self.y, at["alpha"], at["beta"])
            mean[:, s], variance[:, s] = posterior.predict_function(hidden[1])
        return mean, variance, 1.0 / values["beta"]
