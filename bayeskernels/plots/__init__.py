"""Plots of classifiers and of what is made of their draws.

Maps take the model and its draws (:func:`vote_map`, :func:`class_map`, :func:`decision_boundaries`,
:func:`log_posterior_sphere`, :func:`version_space`) or a single classifier
(:func:`decision_function`); :func:`regression_band` takes a prediction;
curves take what a function of the package has computed
(:func:`rejection`, :func:`flip_ranking`, :func:`active_learning`, :func:`generalisation`,
:func:`evidence`); two take
any numbers (:func:`quantiles`, :func:`image_grid`). Plots of reversible-jump chains are in
:mod:`bayeskernels.plots.active_sets`. All take ``ax=``, the matplotlib Axes to draw into (of a new
figure by default), and return them. Nothing here changes matplotlib's settings, so that they look
at home in a notebook with a style of its own, ArviZ's say.
"""

from bayeskernels.plots import active_sets as active_sets
from bayeskernels.plots.bands import regression_band
from bayeskernels.plots.classifiers.boundaries import decision_boundaries
from bayeskernels.plots.classifiers.class_maps import class_map
from bayeskernels.plots.classifiers.decision_functions import decision_function
from bayeskernels.plots.classifiers.flip_order import flip_ranking
from bayeskernels.plots.classifiers.sphere import log_posterior_sphere
from bayeskernels.plots.classifiers.version_spaces import version_space
from bayeskernels.plots.classifiers.votes import vote_map
from bayeskernels.plots.error_bars import generalisation
from bayeskernels.plots.evidence_curves import noise_posterior
from bayeskernels.plots.evidence_plot import evidence
from bayeskernels.plots.images import image_grid
from bayeskernels.plots.quantiles import quantiles
from bayeskernels.plots.query_curves import active_learning
from bayeskernels.plots.rejection_curves import rejection

__all__ = [
    "active_learning",
    "class_map",
    "decision_boundaries",
    "decision_function",
    "evidence",
    "flip_ranking",
    "generalisation",
    "image_grid",
    "log_posterior_sphere",
    "noise_posterior",
    "quantiles",
    "regression_band",
    "rejection",
    "version_space",
    "vote_map",
]
