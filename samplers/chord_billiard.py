r"""The kernel billiard of the Bayes point machine paper (BPM, section 3.1 and Algorithm 2).

A ball flies in straight lines of the feature space, is pulled back onto the sphere where it meets a
wall, and is reflected there. The centre of mass is updated after every bounce by an operation that
adds chords on the sphere, until the weight of a new chord falls below a tolerance.

It is here because it is in the paper, with its misprints mended:

* :math:`\rho_1 = \mu \sqrt{(2 - \mu^2 (1 - c)) / (1 + c)}` with :math:`c = \langle s, t \rangle`
  (the square root is lost in print), and :math:`\rho_2 = -\rho_1 c + 1 - \mu^2 (1 - c)`.
* Outputs of position and direction are carried along: O(m) per bounce, where recomputing them costs
  O(m^2).

**It is biased.** After the pull-back the direction is not tangent to the sphere any more, and a
direction drawn afresh at a wall is uniform where the flow through a wall is not; the centre of mass
is missed by about one percent of the size of the version space however long the billiard runs.
:mod:`bayeskernels.samplers.billiard` has none of this.
"""

import math
from dataclasses import dataclass

import numba
import numpy as np

from bayeskernels.samplers.block_draws import fresh_outputs
from bayeskernels.samplers.wall_dynamics import wall_gram

__all__ = ["ChordCentre", "add_on_sphere", "chord_billiard"]

_JIT = {"cache": True, "nogil": True, "error_model": "numpy"}


@numba.njit(**_JIT)
def add_on_sphere(cosine, share):
    r"""Weights of the operation :math:`s \oplus_\mu t` on unit vectors (BPM, appendix A.4).

    ``cosine`` is that of the angle between s and t; the result lies at the fraction ``share`` of
    their chord, seen from t.
    """
    rho_1 = share * math.sqrt((2.0 - share * share * (1.0 - cosine)) / (1.0 + cosine))
    rho_2 = -rho_1 * cosine + 1.0 - share * share * (1.0 - cosine)
    return rho_1, rho_2


@numba.njit(**_JIT)
def _bounces(
    b, v, d, nu, along, last, centre, state, normals, gram, tolerance, max_bounces, max_flight
):
    """Fly until the tolerance is met, ``max_bounces`` are done, or a new direction is needed.

    ``state`` holds the path length, the longest chord and the smallest cosine so far. Returns the
    bounces, the last wall, the cosine between b and v, and whether a direction is needed.
    """
    r = len(b)
    before = np.empty(r)
    middle = np.empty(r)
    for bounce in range(max_bounces):
        _, weight = add_on_sphere(state[2], state[0] / (state[0] + state[1] + 1e-300))
        if state[0] > 0.0 and weight <= tolerance:
            return bounce, last, along, False
        flight = np.inf
        wall = -1
        for j in range(len(d)):
            if j != last and nu[j] < 0.0:
                time = -d[j] / nu[j]
                if time < flight:
                    flight = time
                    wall = j
        if wall < 0 or flight >= max_flight:
            return bounce, last, along, True
        length = math.sqrt(1.0 + 2.0 * flight * along + flight * flight)
        chord = 0.0
        norm = 0.0
        for i in range(r):
            before[i] = b[i]
            b[i] = (b[i] + flight * v[i]) / length
            chord += (b[i] - before[i]) ** 2
            middle[i] = b[i] + before[i]
            norm += middle[i] * middle[i]
        along = (along + flight) / length
        chord = math.sqrt(chord)
        kick = -2.0 * nu[wall]
        for j in range(len(d)):
            d[j] = (d[j] + flight * nu[j]) / length
            nu[j] += kick * gram[wall, j]
        d[wall] = 0.0
        for i in range(r):
            v[i] += kick * normals[wall, i]
        last = wall
        cosine = 0.0
        norm = 1.0 / math.sqrt(norm)
        for i in range(r):
            middle[i] *= norm
            cosine += middle[i] * centre[i]
        if state[0] == 0.0:
            centre[:] = middle
        else:
            rho_1, rho_2 = add_on_sphere(cosine, state[0] / (state[0] + chord))
            for i in range(r):
                centre[i] = rho_1 * centre[i] + rho_2 * middle[i]
            state[2] = min(state[2], cosine)
        state[0] += chord
        state[1] = max(state[1], chord)
    return max_bounces, last, along, False


@dataclass(frozen=True)
class ChordCentre:
    """Result of Algorithm 2.

    Attributes
    ----------
    centre : array of shape (r,)
        Unit vector: the paper's estimate of the direction of the Bayes point.
    n_bounces : int
    converged : bool
        Whether the tolerance was met before ``max_bounces``.
    """

    centre: np.ndarray
    n_bounces: int
    converged: bool


def chord_billiard(
    walls, w, *, rng, tolerance=1e-4, max_bounces=1_000_000, max_flight=10.0, gram=None
):
    """Estimate the centre of mass of a version space by the paper's Algorithm 2; it is biased.

    Parameters
    ----------
    walls : Walls
        All infinitely high.
    w : array of shape (r,)
        Start inside the version space.
    rng : numpy.random.Generator
    tolerance : float
        TOL of the paper: stop when the weight of a new chord is below it.
    max_bounces : int
        Stop at the latest after this many bounces.
    max_flight : float
        tau_max of the paper: a flight this long would leave the sphere's neighbourhood, so a new
        direction is drawn that points away from the last wall (equation (22)).
    gram : array of shape (n_walls, n_walls), optional

    Returns
    -------
    ChordCentre

    Examples
    --------
    >>> import numpy as np
    >>> from bayeskernels.samplers.walls import WallGeometry, label_costs
    >>> points, positive = np.eye(3), np.array([True, True, True])
    >>> geometry = WallGeometry.from_features(points, positive)
    >>> walls = geometry.with_costs(label_costs(positive, 0.0, 0.0))
    >>> result = chord_billiard(walls, [1.0, 2.0, 3.0], rng=np.random.default_rng(1))
    >>> bool(np.abs(result.centre - 1 / np.sqrt(3)).max() < 0.05)
    True
    """
    if not np.isinf(walls.jumps).all():
        raise ValueError("Algorithm 2 needs walls that nothing passes: noise = 0.")
    inward = np.sign(walls.jumps)
    normals = walls.normals * inward[:, None]
    gram = wall_gram(walls.normals, np.inf) if gram is None else gram
    gram = gram * np.outer(inward, inward)
    b = np.array(w, dtype=np.float64)
    b /= np.linalg.norm(b)
    d = fresh_outputs(b, walls) * inward
    centre, state = np.zeros_like(b), np.array([0.0, 0.0, 1.0])
    last, done, needs_direction = -1, 0, True
    while done < max_bounces:
        if needs_direction:
            v = rng.standard_normal(len(b))
            v /= np.linalg.norm(v)
            nu = normals @ v
            if last >= 0 and nu[last] < 0:
                v, nu = -v, -nu
        n, last, _, needs_direction = _bounces(
            b,
            v,
            d,
            nu,
            float(b @ v),
            last,
            centre,
            state,
            normals,
            gram,
            tolerance,
            min(1000, max_bounces - done),
            max_flight,
        )
        done += n
        if not needs_direction and n < 1000 and done < max_bounces:
            break
        # Against drift: outputs from position and direction, which are of unit length.
        b /= np.linalg.norm(b)
        d = normals @ b
        if last >= 0:
            d[last] = 0.0
        v /= np.linalg.norm(v)
        nu = normals @ v
    return ChordCentre(centre, int(done), done < max_bounces)
