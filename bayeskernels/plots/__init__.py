"""Plots of classifiers and of what is made of their draws; each returns the matplotlib Axes.

Maps take the model and its draws (:func:`vote_map`, :func:`decision_boundaries`,
:func:`log_posterior_sphere`); curves take what a function of the package has computed
(:func:`rejection`, :func:`flip_ranking`, :func:`active_learning`, :func:`generalisation`). All take
``ax=`` to draw into an existing figure. Nothing here changes matplotlib's settings, so that they
look at home in a notebook with a style of its own, ArviZ's say.
"""

from bayeskernels.plots.boundaries import decision_boundaries
from bayeskernels.plots.error_bars import generalisation
from bayeskernels.plots.flip_order import flip_ranking
from bayeskernels.plots.query_curves import active_learning
from bayeskernels.plots.rejection_curves import rejection
from bayeskernels.plots.sphere import log_posterior_sphere
from bayeskernels.plots.votes import vote_map

__all__ = [
    "active_learning",
    "decision_boundaries",
    "flip_ranking",
    "generalisation",
    "log_posterior_sphere",
    "rejection",
    "vote_map",
]
