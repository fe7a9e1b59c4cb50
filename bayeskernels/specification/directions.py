"""Classifiers by directions, whose labels are flipped at some rate."""

from dataclasses import dataclass, field

import numpy as np

from bayeskernels.kernels.features import FeatureMap, KernelExpansion
from bayeskernels.specification.base import LabelSpecification
from bayeskernels.specification.draws import posterior_draws, read_posterior
from bayeskernels.specification.outputs import GraphFunctions
from bayeskernels.specification.predictive import direction_prediction, one_vs_rest_prediction

__all__ = ["DirectionSpecification"]


@dataclass(frozen=True, kw_only=True)
class DirectionSpecification(GraphFunctions, LabelSpecification):
    """A classifier that is linear in the direction ``w``, or in one direction for each class.

    More than two classes are told apart one against the rest.

    Attributes
    ----------
    feature_map : FeatureMap or None
        None where the kernel has random hyperparameters.
    flip_rate : float or None
        The flip rate where it cannot be set; None where the model has a variable ``noise``.
    softness : float or None
        The lambda of soft boundaries; None where it is random.
    """

    feature_map: FeatureMap | None = field(repr=False)
    flip_rate: float | None = None
    softness: float | None = 0.0

    has_directions = True

    @property
    def noise(self):
        """Flip rates of the two classes as they are set now; None where the posterior has them."""
        value = self.fixed("noise") if self.flip_rate is None else self.flip_rate
        if value is None:
            return None
        rates = np.broadcast_to(value, 2)
        return float(rates[0]), float(rates[1])

    @property
    def makes_errors(self):
        """Whether a draw may contradict labels: not in a version space."""
        return self.noise is None or max(self.noise) > 0.0

    @property
    def discarded_trace(self):
        """Share of the Gram matrix's trace that a low rank leaves out."""
        return 0.0 if self.feature_map is None else self.feature_map.factor.discarded

    def flip_rates(self, idata):
        """Flip rates of the negative and the positive class, each a number or an array by draw."""
        if self.noise is not None:
            return self.noise
        noise = posterior_draws(idata, f"{self.prefix}noise")
        if noise.ndim == 2:
            return noise.ravel(), noise.ravel()
        return noise[..., 0].ravel(), noise[..., 1].ravel()

    def directions(self, idata):
        """Drawn directions, shape (n_draws, r), all chains one after the other."""
        w, _ = self.drawn_functions(idata)
        return w.reshape(-1, *w.shape[2:])

    def drawn_functions(self, idata):
        """Directions ``w``, or coefficients ``alpha`` of training points (dim ``support``).

        Ensembles for large data have the latter.
        """
        posterior = {} if idata is None else read_posterior(idata)["posterior"]
        if "alpha" not in posterior or "support" not in posterior["alpha"].dims:
            return super().drawn_functions(idata)
        alpha = posterior_draws(idata, "alpha")
        support = posterior["support"].values
        self.check_coordinates(alpha, len(support))
        points = support if self.kernel.is_precomputed else self.training[support]
        return alpha, KernelExpansion(self.kernel, points)

    def summary(self, idata, blocks, n):
        """Variables of the prediction at n points, from blocks of outputs."""
        if self.n_classes > 2:
            return one_vs_rest_prediction(blocks, n, self.class_names, self.rank)
        rates = self.flip_rates(idata)
        return direction_prediction(blocks, n, self.class_names, rates, self.rank)

    def contradictions(self, outputs, part):
        """Which labels of a block of points any direction of a draw contradicts."""
        positive = self.is_positive[part, None]
        wrong = np.where(positive, outputs <= 0, outputs >= 0)
        return wrong if wrong.ndim == 2 else wrong.any(axis=2)

    def held_out_densities(self, idata, *, progressbar=True):
        """Log probabilities of labels given a draw; those of several classes are refused."""
        self.require_directions("loo", n_classes=2)
        rates = [np.asarray(q, dtype=float) for q in self.flip_rates(idata)]
        if min(q.min() for q in rates) == 0.0:
            raise ValueError(
                "With noise = 0 a point that was left out may be impossible under every draw: "
                "there is no leave-one-out estimate from these draws. Use noise > 0, or k-fold "
                "cross-validation."
            )
        positive = (self.codes == 1)[:, None]
        for part, outputs, _ in self.output_blocks(idata, progressbar=progressbar):
            right = np.where(positive[part], outputs > 0, outputs < 0)
            if_right = np.where(positive[part], 1 - rates[1], 1 - rates[0])
            if_wrong = np.where(positive[part], rates[0], rates[1])
            yield part, np.log(np.where(right, if_right, if_wrong))
