r"""What the sampler of a generalized kernel model asks of a link (GKM, section 2.1).

A link says how an observation depends on its predictor. Each has a file of its own with a tuple of
its data and the four functions below for it: :mod:`~bayeskernels.samplers.active_sets.links.probit`
(whose data are an array of bool, the labels),
:mod:`~bayeskernels.samplers.active_sets.links.logistic` and
:mod:`~bayeskernels.samplers.active_sets.links.identity`. Compiled code picks a function by the type
of the data when it is compiled, so a link costs nothing at run time.

Given the auxiliary variables of a link its likelihood is Gaussian in the predictor, with a working
response and a precision :math:`d_i^2` for each point. The linear algebra is that of unit noise: the
roots d of the precisions are *row weights*, by which response, offset column and kernel are
multiplied (:mod:`~bayeskernels.samplers.active_sets.links.row_weights`).
"""

import math

import numba

from bayeskernels.compiled import JIT
from bayeskernels.samplers.compiled import slice_logarithm

__all__ = ["impute_response", "label_terms", "log_label", "renew_response", "slice_precision"]


def log_label(response, i, f):
    """Log-probability (or density) of observation i where its predictor is f."""
    raise NotImplementedError("Only compiled code can call this.")


def label_terms(f, response, slope, bend):
    """Log-likelihood; slope becomes its gradient by f, bend its curvature with the sign changed.

    f is in units of the row weights: the predictor times d.
    """
    raise NotImplementedError("Only compiled code can call this.")


def impute_response(state, s, response, rng):
    """Draw auxiliary variables with offset and coefficients integrated out, where that is easy."""
    raise NotImplementedError("Only compiled code can call this.")


def renew_response(f, response, s, weights, rng):
    """Draw auxiliary variables, and parameters of the link, given the predictor f.

    s becomes the working response times the row weights, ``weights`` the latter.
    """
    raise NotImplementedError("Only compiled code can call this.")


@numba.njit(**JIT)
def _log_scale_density(log_g, part, offset, response, shape, rate):
    """Log-density of log g given whitened coefficients, auxiliary variables integrated out."""
    total = shape * log_g - rate * math.exp(log_g)
    scale = math.exp(-0.5 * log_g)
    for i in range(len(part)):
        total += log_label(response, i, offset + part[i] * scale)
    return total


@numba.njit(**JIT)
def slice_precision(part, offset, g, response, shape, rate, rng):
    """Slice move of g that keeps the whitened coefficients z: f = u + V z / sqrt(g) moves along.

    Auxiliary variables are integrated out, so they have to be drawn anew afterwards. ``part`` is
    V z; the prior of g is Gamma(shape, rate).
    """
    return slice_logarithm(g, _log_scale_density, (part, offset, response, shape, rate), rng)
