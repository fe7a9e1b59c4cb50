r"""Evidence of a version space: the share of all classifiers that make no training error.

Without label noise the evidence is :math:`P(y_i f_i > 0 \text{ for all } i)` under the prior
:math:`f \sim N(0, G)`, an orthant probability (KGS, section 4: for one training set the margin is a
rough measure of it). Soft boundaries add to the diagonal of G.
"""

import math

import numpy as np

from bayeskernels.evidence.estimators.method import EvidenceMethod
from bayeskernels.evidence.estimators.noise_tempering import direction_of
from bayeskernels.evidence.result import Evidence
from bayeskernels.geometry.orthant_probability import SMALLEST_PIVOT, orthant_of_features
from bayeskernels.samplers.directions.label_noise_target import LabelNoiseTarget

__all__ = ["Orthant"]

#: With fewer draws of equal weight the error is itself a guess.
FEWEST_EFFECTIVE = 100


class Orthant(EvidenceMethod):
    """Minimax exponential tilting of a version space."""

    name = "orthant"
    gives_way = True

    def refusal(self, model, idata):
        """Why a model is not for it."""
        w, reason = direction_of(model)
        if w is None:
            return reason
        others = [rv.name for rv in model.free_RVs if rv is not w]
        if others:
            return (
                f"It is for classifiers without further unknowns; {', '.join(others)} is unknown. "
                "Use 'tempering' where it is the noise level; fix it otherwise."
            )
        target, point = _target(model, w)
        if not np.isinf(target.costs(point)[0]).all():
            return "It is for noise zero, where no error is allowed. Use 'tempering'."
        for geometry in target.geometries(point):
            n_walls, rank = geometry.normals.shape
            if n_walls > rank or _smallest_singular_value(geometry.normals) < SMALLEST_PIVOT:
                return (
                    f"Outputs of {n_walls} points in {rank} dimensions are combinations of each "
                    "other (a linear kernel, or one that is too smooth for its points), and "
                    "tilting needs a density of them all. Use 'tempering', or softness > 0."
                )
        return None

    def run(self, model, idata=None, *, random_seed=None, progressbar=True, n_draws=2**16):
        """Estimate the logarithm of the share of consistent classifiers.

        Parameters
        ----------
        n_draws : int, default 65536
            For each direction, rounded down to a multiple of 16.

        Returns
        -------
        Evidence
            Directions of several classes are independent: their logarithms are added.
        """
        w, _ = direction_of(model)
        target, point = _target(model, w)
        rng = np.random.default_rng(random_seed)
        parts = []
        for geometry, child in zip(target.geometries(point), rng.spawn(_n_rows(w)), strict=True):
            side = np.empty(len(geometry.normals))
            # Points that share a wall agree about its side, or the model could not be built.
            side[geometry.wall_of_point] = geometry.right_side
            parts.append(
                orthant_of_features(geometry.normals * side[:, None], n_draws=n_draws, rng=child)
            )
        effective = min(part.effective_draws for part in parts)
        diagnostics = {
            "effective_draws": effective,
            "upper_bound": sum(part.bound for part in parts),
        }
        if effective < FEWEST_EFFECTIVE:
            diagnostics["warning"] = (
                f"{effective:.0f} effective draws among {n_draws}: the version space is too thin "
                "for tilting. Use method='tempering', or more n_draws."
            )
        return Evidence(
            sum(part.value for part in parts),
            math.sqrt(sum(part.mcse**2 for part in parts)),
            self.name,
            n_evaluations=sum(part.n_draws for part in parts),
            diagnostics=diagnostics,
        )


def _target(model, w):
    return LabelNoiseTarget(model.rvs_to_values[w], model), model.initial_point()


def _n_rows(w):
    return 1 if w.ndim == 1 else int(w.shape[0].eval())


def _smallest_singular_value(normals):
    return np.linalg.svd(normals, compute_uv=False)[-1]
