r"""Sizes of the active set drawn anew within a window, for points that bring a group of columns.

The same move as :func:`bayeskernels.samplers.active_sets.moves.move_window`, with the response
integrated out: the labels themselves judge a path of predictors from the smallest set of the window
to the largest. A new point's coefficients, one for each kernel and contrast of classes, come from
independent normal distributions that one step of Newton's method finds.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT, hazard, log_normal_cdf
from bayeskernels.distributions.class_probability import (
    NEGLIGIBLE,
    STEP,
    label_mode,
    log_label_density,
)
from bayeskernels.samplers.active_sets.groups.columns import (
    append_group,
    death_directions,
    group_directions,
    group_products,
    mirrors,
    reflect_rows,
    remove_group,
)
from bayeskernels.samplers.active_sets.moves import draw_index, log_size_weight

__all__ = ["class_terms", "move_group_window"]

_ROOT_HALF = math.sqrt(0.5)
_INVERSE_ROOT_TAU = 1.0 / math.sqrt(2.0 * math.pi)


@numba.njit(**JIT)
def class_terms(f, labels, contrasts, slope, bend):
    """Log-probability of the labels, with its derivatives by the predictors.

    Parameters
    ----------
    f : array of shape (n, c - 1)
    labels : array of int, shape (n,)
    contrasts : array of shape (c, c - 1)
    slope, bend : arrays of shape (n, c - 1)
        Become the gradient and minus the second derivatives by each entry of f.

    Returns
    -------
    float
    """
    n, r = f.shape
    c = r + 1
    total = 0.0
    if c == 2:
        for i in range(n):
            sign = 1.0 if labels[i] == 1 else -1.0
            ratio = hazard(sign * f[i, 0])
            slope[i, 0] = sign * ratio
            bend[i, 0] = ratio * (ratio + sign * f[i, 0])
            total += log_normal_cdf(sign * f[i, 0])
        return total
    by_class = np.dot(f, contrasts.T)
    width = STEP / math.sqrt(c)
    first = np.empty(r)
    second = np.empty(r)
    along = np.empty(r)
    across = np.empty(r)
    for i in range(n):
        label = labels[i]
        row = by_class[i]
        mode = label_mode(row, label)
        top = log_label_density(mode, row, label)
        mass = 0.0
        first[:] = 0.0
        second[:] = 0.0
        for side in (-1.0, 1.0):
            k = 0 if side < 0.0 else 1
            while True:
                t = mode + side * k * width
                # One erfc and one exp for each class, one logarithm for all: this loop is most of
                # the time of a window.
                product = 1.0
                height = -0.5 * t * t - top
                along[:] = 0.0
                across[:] = 0.0
                for j in range(c):
                    if j == label:
                        continue
                    x = t + row[label] - row[j]
                    if x > -20.0:
                        cdf = 0.5 * math.erfc(-x * _ROOT_HALF)
                        ratio = _INVERSE_ROOT_TAU * math.exp(-0.5 * x * x) / cdf
                        product *= cdf
                        if product < 1e-200:
                            height += math.log(product)
                            product = 1.0
                    else:
                        ratio = hazard(x)
                        height += log_normal_cdf(x)
                    falling = ratio * (ratio + x)
                    for d in range(r):
                        difference = contrasts[label, d] - contrasts[j, d]
                        along[d] += ratio * difference
                        across[d] += falling * difference * difference
                height += math.log(product)
                if height < -NEGLIGIBLE:
                    break
                weight = math.exp(height)
                mass += weight
                for d in range(r):
                    first[d] += weight * along[d]
                    second[d] += weight * (along[d] * along[d] - across[d])
                k += 1
        for d in range(r):
            slope[i, d] = first[d] / mass
            bend[i, d] = max(slope[i, d] * slope[i, d] - second[d] / mass, 0.0)
        total += top + math.log(mass * width) - 0.5 * math.log(2.0 * math.pi)
    return total


@numba.njit(**JIT)
def _newton_steps(v, weights, slope, bend, mean, precision):
    """Means and precisions, (q, r), of a group's coefficients, by one step of Newton's method."""
    q, n = v.shape
    for j in range(q):
        for d in range(slope.shape[1]):
            gradient = 0.0
            curvature = 0.0
            for i in range(n):
                gradient += v[j, i] * slope[i, d]
                curvature += v[j, i] * v[j, i] * bend[i, d]
            precision[j, d] = 1.0 + weights[j] * weights[j] * curvature
            mean[j, d] = weights[j] * gradient / precision[j, d]


@numba.njit(**JIT)
def _log_prior_over_proposal(z, mean, precision):
    """Log-ratio of the standard normal density of coefficients to that of their proposal."""
    total = 0.0
    for j in range(z.shape[0]):
        for d in range(z.shape[1]):
            off = z[j, d] - mean[j, d]
            total += 0.5 * precision[j, d] * off * off - 0.5 * z[j, d] * z[j, d]
            total -= 0.5 * math.log(precision[j, d])
    return total


@numba.njit(**JIT)
def _add_group(f, v, weights, z, sign, out):
    """Predictors with a group added (sign 1) or taken away (-1)."""
    out[:] = f
    for j in range(v.shape[0]):
        for d in range(f.shape[1]):
            factor = sign * weights[j] * z[j, d]
            for i in range(f.shape[0]):
                out[i, d] += factor * v[j, i]


@numba.njit(**JIT)
def _dying_directions(state, slots):
    """Orthonormal bases, (q, size, k): the first ones span what only the first slots need of V."""
    k = state.size[0]
    q = len(state.T)
    D = np.empty((q, len(slots), k))
    for j in range(q):
        for e in range(len(slots)):
            for a in range(k):
                D[j, e, a] = state.T[j, a, slots[e]]
            # Gram-Schmidt, twice for the sake of rounding errors.
            for _ in range(2):
                for b in range(e):
                    D[j, e] -= np.dot(D[j, b], D[j, e]) * D[j, b]
            D[j, e] /= math.sqrt(np.dot(D[j, e], D[j, e]))
    return D


@numba.njit(**JIT)
def move_group_window(
    state, S, f, z, labels, contrasts, born, columns, diagonal, n_deaths, log_prior, rng
):
    """Draw the size of the active set from a window.

    Parameters
    ----------
    state : GroupedColumns
        With up-to-date scales; the inverse has to be computed anew afterwards.
    S : array of shape (n, r)
        Has to be drawn anew afterwards.
    f : array of shape (n, r)
        Predictors, updated in place.
    z : array of shape (1 + k_max q, r)
        Whitened coefficients from row 1 on, updated in place.
    labels : array of int, shape (n,)
    contrasts : array of shape (r + 1, r)
    born : array of int
        Inactive points in the order in which they might become active.
    columns : array of shape (len(born), q, n)
        Their kernel columns.
    diagonal : array of shape (q, n)
    n_deaths : int
        How many sizes of the window lie below the present one.
    log_prior : array of shape (k_max + 1,)
    rng : numpy.random.Generator

    Returns
    -------
    bool
        Whether the size changed.
    """
    n, r = f.shape
    k = state.size[0]
    k_max, q = state.V.shape[:2]
    weights = state.scales[1:]
    n_births = len(born)
    path = np.empty((n_deaths + n_births + 1, n, r))
    log_weights = np.empty(n_deaths + n_births + 1)
    slope = np.empty((n, r))
    bend = np.empty((n, r))
    mean = np.empty((q, r))
    precision = np.empty((q, r))
    slots = np.arange(k)
    for a in range(n_deaths):
        e = a + int(rng.random() * (k - a))
        slots[a], slots[e] = slots[e], slots[a]
    path[n_deaths] = f
    log_share = 0.0
    D = _dying_directions(state, slots[:n_deaths])
    v = np.empty((q, n))
    group = np.empty((q, r))
    for a in range(n_deaths):
        for j in range(q):
            v[j] = 0.0
            group[j] = 0.0
            for e in range(k):
                weight = D[j, a, e]
                for i in range(n):
                    v[j, i] += weight * state.V[e, j, i]
                for d in range(r):
                    group[j, d] += weight * z[1 + e * q + j, d]
        below = n_deaths - a - 1
        _add_group(path[below + 1], v, weights, group, -1.0, path[below])
        log_weights[below] = class_terms(path[below], labels, contrasts, slope, bend)
        _newton_steps(v, weights, slope, bend, mean, precision)
        log_share -= _log_prior_over_proposal(group, mean, precision)
        log_weights[below] += log_share + log_size_weight(log_prior, n, k - a - 1)
    log_weights[n_deaths] = class_terms(f, labels, contrasts, slope, bend)
    log_weights[n_deaths] += log_size_weight(log_prior, n, k)
    coordinates = np.empty((n_births, q, k_max))
    pivots = np.empty((n_births, q))
    nothing = np.empty((0, 0))
    log_share = 0.0
    for a in range(n_births):
        group_directions(
            state, born[a], columns[a], diagonal, nothing, v, coordinates[a], pivots[a]
        )
        _newton_steps(v, weights, slope, bend, mean, precision)
        for j in range(q):
            for d in range(r):
                group[j, d] = mean[j, d] + rng.standard_normal() / math.sqrt(precision[j, d])
                z[1 + (k + a) * q + j, d] = group[j, d]
        above = n_deaths + a + 1
        _add_group(path[above - 1], v, weights, group, 1.0, path[above])
        log_share += _log_prior_over_proposal(group, mean, precision)
        log_weights[above] = class_terms(path[above], labels, contrasts, slope, bend)
        log_weights[above] += log_share + log_size_weight(log_prior, n, k + a + 1)
        # Counted for the time being: the next columns have to be orthogonal to these.
        state.V[k + a] = v
        state.size[0] += 1
    state.size[0] = k
    index = draw_index(log_weights, rng)
    f[:] = path[index]
    new_size = k - n_deaths + index
    for a in range(new_size - k):
        v[:] = state.V[k + a]
        own, with_columns, with_s = group_products(state, v, S)
        append_group(
            state, born[a], columns[a], v, coordinates[a], pivots[a], own, with_columns, with_s
        )
    dying = np.sort(slots[: max(k - new_size, 0)])
    for a in range(len(dying) - 1, -1, -1):
        reflect_rows(z, mirrors(death_directions(state, dying[a])))
        remove_group(state, dying[a])
    return new_size != k
