"""Observations of a generalized kernel model by its link: two classes, or targets of a regression.

See :mod:`bayeskernels.samplers.active_sets.links.link` for what the sampler makes of a link.
"""

import numpy as np
import pymc as pm

from bayeskernels.distributions import LogisticLabel, NoiseScale, ProbitLabel
from bayeskernels.inputs import as_targets, as_two_classes
from bayeskernels.models.parts.hyperparameter import ETA_PRIOR, G_PRIOR, Hyperparameter

__all__ = ["LINKS", "Labels", "Targets", "read_observations"]

LINKS = ("probit", "logistic", "identity")


def read_observations(y, n, link, noise) -> "Labels | Targets":
    """Check n observations y and what belongs to the link, before a model is touched."""
    if link not in LINKS:
        raise ValueError(f"link must be one of {', '.join(map(repr, LINKS))}; got {link!r}.")
    if link == "identity":
        return Targets(y, n, noise)
    if noise is not None:
        raise ValueError(
            f"noise is the standard deviation of a regression; the link {link!r} has none. "
            "Use link='identity', or leave noise out."
        )
    return Labels(y, n, link)


class Labels:
    """Labels of two classes, with a probit or logistic link."""

    g_prior, eta_prior = G_PRIOR, ETA_PRIOR

    def __init__(self, y, n, link):
        self.link = link
        self.classes = as_two_classes(y, n)

    def add(self, f):
        """Add the observed labels to the model in context."""
        distribution = ProbitLabel if self.link == "probit" else LogisticLabel
        observed = pm.Data("y_data", self.classes.codes)
        distribution("y", f, observed=observed, dims="obs")

    def add_coords(self, model):
        """Add the classes to a model."""
        model.add_coord("class", self.classes.names)

    @property
    def specification(self):
        """What the specification of the model has to know."""
        return {"class_names": self.classes.names, "link": self.link}


class Targets:
    """Targets of a regression.

    Default priors are in their units: function and offset may be as large as the targets, and so
    may the noise.
    """

    link = "identity"

    def __init__(self, y, n, noise):
        self.values = as_targets(y, n)
        self.noise = Hyperparameter("noise", noise, words=(None,))
        spread = self.values.std()
        self.spread = float(spread) if spread > 0 else 1.0
        size = float(np.mean(self.values**2)) or 1.0
        self.g_prior = (1.0, self.spread**2)
        self.eta_prior = (0.5, 0.5 * size)

    def add_coords(self, model):
        """Add nothing: there are no classes."""

    def add(self, f):
        """Add noise and observed targets to the model in context."""
        noise = self.noise.add(NoiseScale, self.spread)
        observed = pm.Data("y_data", self.values)
        pm.Normal("y", f, noise, observed=observed, dims="obs")

    @property
    def specification(self):
        """What the specification of the model has to know."""
        return {"class_names": np.array([]), "link": self.link}
