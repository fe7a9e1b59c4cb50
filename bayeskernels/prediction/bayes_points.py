r"""The Bayes point: the centre of mass of the posterior as one classifier.

KGS, equation (5), and BPM, section 2.3: the mean direction comes closest to the vote of all drawn
classifiers. From draws it is their mean; a billiard in version space knows it better, since the
integral of its position over the whole path counts; expectation propagation approximates it without
any draw.
"""

from dataclasses import dataclass

import numpy as np

from bayeskernels.diagnostics.batch_means import batch_means
from bayeskernels.prediction.predict import column_names, new_inputs
from bayeskernels.specification.base import specification_of
from bayeskernels.specification.directions import DirectionSpecification
from bayeskernels.specification.draws import read_draws
from bayeskernels.specification.outputs import BLOCK_BYTES

__all__ = ["BayesPoint", "bayes_point"]


@dataclass(frozen=True)
class BayesPoint:
    """The centre of mass of the posterior as one classifier.

    Attributes
    ----------
    w : array of shape (r,) or (n_classes, r)
        Mean direction, not normalised: the shorter, the more the draws disagree. (The paper's chord
        billiard only knows its direction: there it is a unit vector.)
    mcse : array of the same shape
        Monte Carlo standard error of ``w``; NaN where it is unknown.
    """

    w: np.ndarray
    mcse: np.ndarray
    _specification: DirectionSpecification
    _feature_map: object
    _columns: tuple[str, ...] | None = None

    def decision_function(self, X):
        """Output at the rows of X; positive for the second class, or one column for each class."""
        X = new_inputs(X, self._specification, self._columns)
        n_rows = max(1, BLOCK_BYTES // (8 * self.w.shape[-1]))
        parts = [X[start : start + n_rows] for start in range(0, len(X), n_rows)]
        return np.concatenate([self._feature_map(part) @ self.w.T for part in parts])

    def predict(self, X):
        """Class of each row of X."""
        outputs = self.decision_function(X)
        winner = (outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)
        return self._specification.class_names[winner]


def bayes_point(model, posterior) -> BayesPoint:
    """Bayes point of a classifier: the mean of its posterior directions.

    Parameters
    ----------
    model : pm.Model or PermutationPerceptron
        With a kernel whose hyperparameters are fixed.
    posterior : DataTree or GaussianDirections
        Draws, or the result of :class:`bayeskernels.samplers.ExpectationPropagation`. Where the
        draws come from :class:`bayeskernels.samplers.Billiard`, the mean is taken over the whole
        path of the ball.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> idata = bk.samplers.sample_directions(model, draws=100, random_seed=1)
    >>> bk.bayes_point(model, idata).predict([[0.0, 1.0], [1.0, -0.5]]).tolist()
    [-1, 1]
    """
    specification = specification_of(model)
    specification.require_directions(
        "bayes_point",
        remedy="There is no mean direction: use bayeskernels.predict(...).latent, the mean output.",
    )
    if hasattr(posterior, "bayes_point"):
        w, feature_map = posterior.bayes_point, specification.feature_map
        error = np.full_like(w, np.nan)
        if feature_map is not None and w.shape[-1] != feature_map.rank:
            raise ValueError(
                f"The approximation has {w.shape[-1]} coordinates, the model {feature_map.rank}: "
                "they do not belong together."
            )
    else:
        posterior = read_draws(model, posterior)
        chains, feature_map = specification.drawn_functions(posterior)
        w, error = _mean_and_error(chains, posterior)
    if feature_map is None:
        raise TypeError(
            "Every draw has a kernel of its own, so no single classifier is the mean of them. "
            "Use bayeskernels.predict(...).latent, the mean output."
        )
    return BayesPoint(w, error, specification, feature_map, column_names(model))


def _mean_and_error(chains, idata):
    """Mean direction and its Monte Carlo standard error."""
    stats = idata["sample_stats"] if "sample_stats" in idata else {}
    # Where a part of the path was given up, the rest of it would be biased; the draws are not.
    if "billiard_centre" not in stats or np.any(stats.get("billiard_capped", 0)):
        return chains.mean(axis=(0, 1)), _mean_mcse(chains)
    centres = stats["billiard_centre"].transpose("chain", "draw", ...).values
    if centres.shape != chains.shape:
        raise ValueError("The centres of mass in idata do not belong to its draws.")
    if "billiard_converged" in stats:
        # Algorithm 2 carries one running centre along: the last one is its answer.
        last = centres[:, -1]
        n_chains = len(last)
        spread = last.std(axis=0, ddof=1) if n_chains > 1 else np.full_like(last[0], np.nan)
        return last.mean(axis=0), spread / np.sqrt(n_chains)
    return centres.mean(axis=(0, 1)), _mean_mcse(centres)


def _mean_mcse(chains):
    """Monte Carlo standard error of the mean by batch means, for all coordinates at once."""
    batches = np.concatenate(batch_means(chains))
    if len(batches) < 2:
        return np.full(batches.shape[1:], np.nan)
    return batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
