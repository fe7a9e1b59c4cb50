r"""One great circle: a draw from a density that is piecewise constant on it (KGS, section 3).

On the circle :math:`f \cos t + g \sin t` every wall is crossed twice, half a turn apart, and half a
turn turns every output round: the angles in [0, pi) are enough, the energies on the other half are
the total less these. Crossings are sorted and their jumps cumulated, so a draw costs O(m log m)
however many walls lie between here and there.
"""

import math

import numba
import numpy as np

from bayeskernels.compiled import JIT

__all__ = ["draw_angle"]


#: An interval this far above the lowest energy has less mass than the rounding error of the sum.
NEGLIGIBLE_COST = 45.0


@numba.njit(**JIT)
def draw_angle(f, g, jumps, uniform, angles):
    """Draw an angle from the piecewise constant density on the circle f cos t + g sin t.

    Infinite jumps are counted apart from the finite energy, so that no infinity is ever subtracted
    from another; only intervals with the fewest forbidden sides (none, from a valid start) count.
    ``angles`` is workspace.
    """
    n_walls = f.shape[0]
    half = n_walls + 1
    energy = 0.0
    total_energy = 0.0
    forbidden = 0
    total_forbidden = 0
    for j in range(n_walls):
        angle = math.atan2(f[j], -g[j])
        if angle < 0.0:
            angle += math.pi
        angles[j] = angle
        if math.isinf(jumps[j]):
            total_forbidden += 1
            forbidden += (f[j] > 0.0) != (jumps[j] > 0.0)
        else:
            total_energy += jumps[j]
            if f[j] <= 0.0:
                energy += jumps[j]
    order = np.argsort(angles)
    fewest = min(forbidden, total_forbidden - forbidden)
    if total_forbidden > 0:
        now = forbidden
        for k in range(n_walls):
            j = order[k]
            if math.isinf(jumps[j]):
                now += 1 if (f[j] > 0.0) == (jumps[j] > 0.0) else -1
                fewest = min(fewest, min(now, total_forbidden - now))
    # Intervals of the first half-turn, then those of the second: energies, later masses.
    masses = np.empty(2 * half)
    lowest = np.inf
    for k in range(half):
        if k > 0:
            j = order[k - 1]
            if total_forbidden > 0 and math.isinf(jumps[j]):
                forbidden += 1 if (f[j] > 0.0) == (jumps[j] > 0.0) else -1
            else:
                energy += jumps[j] if f[j] > 0.0 else -jumps[j]
        masses[k] = energy if forbidden == fewest else np.inf
        masses[half + k] = (
            total_energy - energy if total_forbidden - forbidden == fewest else np.inf
        )
        lowest = min(lowest, min(masses[k], masses[half + k]))
    # From energies to the cumulative mass of the intervals.
    mass = 0.0
    for turn in range(2):
        start = 0.0
        for k in range(half):
            end = angles[order[k]] if k < n_walls else math.pi
            cost = masses[turn * half + k] - lowest
            if cost < NEGLIGIBLE_COST:
                mass += (end - start) * math.exp(-cost)
            masses[turn * half + k] = mass
            start = end
    target = uniform * mass
    k = min(np.searchsorted(masses, target, side="right"), 2 * half - 1)
    below = masses[k - 1] if k > 0 else 0.0
    share = (target - below) / (masses[k] - below)
    piece = k if k < half else k - half
    start = angles[order[piece - 1]] if piece > 0 else 0.0
    end = angles[order[piece]] if piece < n_walls else math.pi
    return start + share * (end - start) + (math.pi if k >= half else 0.0)
