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
direction drawn afresh at a wall is uniform where the flow through a wall is not. However long the
billiard runs, the direction of the centre of mass is missed by 0.0015 to 0.026 sqrt(area), measured
on 12 random polygons of the sphere in R^3 (ten points each) at a million bounces, with a standard
error of 0.0005. :mod:`bayeskernels.samplers.directions.billiards.rolling_ball` has none of this.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.compiled import dot
from bayeskernels.samplers.directions.billiards.rolling_ball import (
    outputs_inside,
    refuse_finite_walls,
)
from bayeskernels.samplers.directions.billiards.wall_dynamics import next_wall, wall_gram
from bayeskernels.samplers.directions.block_sampler import BlockSampler

__all__ = ["ChordBall", "ChordCentre", "add_on_sphere", "chord_billiard"]

#: Outputs are recomputed from position and direction after this many bounces.
REFRESH_EVERY = 1000

#: Output of a ball on a wall: as good as zero, and something to divide by.
ON_THE_WALL = 1e-300

#: So many directions in a row that meet no wall mean that no wall can be met.
MAX_LOST = 10_000

# Places in the array of numbers that the kernel carries along.
PATH, LONGEST, SMALLEST_COSINE, ALONG, CHORD, OFFSET = range(6)
# And in that of integers: the wall that the ball stands on, bounces since the outputs were
# recomputed, directions in a row that met no wall.
LAST, SINCE_REFRESH, LOST = range(3)


class _Ball(NamedTuple):
    """What the next bounce needs, changed in place: see the attributes of :class:`ChordBall`."""

    b: np.ndarray
    v: np.ndarray
    outputs: np.ndarray
    output_velocities: np.ndarray
    before: np.ndarray
    centre: np.ndarray
    numbers: np.ndarray
    integers: np.ndarray


class _Room(NamedTuple):
    """Walls; ``inward`` is +1 or -1, the sign of their outputs in the version space."""

    normals: np.ndarray
    gram: np.ndarray
    inward: np.ndarray


class _Rules(NamedTuple):
    """When to draw a new direction, to record a draw and to stop; ``stops``: by the tolerance."""

    max_flight: float
    tolerance: float
    stops: bool
    path_length: float


@numba.njit(**JIT)
def add_on_sphere(cosine, share):
    r"""Weights of the operation :math:`s \oplus_\mu t` on unit vectors (BPM, appendix A.4).

    ``cosine`` is that of the angle between s and t; the result lies at the fraction ``share`` of
    their chord, seen from t.
    """
    rho_1 = share * math.sqrt((2.0 - share * share * (1.0 - cosine)) / (1.0 + cosine))
    rho_2 = -rho_1 * cosine + 1.0 - share * share * (1.0 - cosine)
    return rho_1, rho_2


@numba.njit(**JIT)
def _has_converged(numbers, tolerance):
    """Whether a further chord as long as the longest would weigh less than the tolerance."""
    if numbers[PATH] == 0.0:
        return False
    share = numbers[PATH] / (numbers[PATH] + numbers[LONGEST])
    return add_on_sphere(numbers[SMALLEST_COSINE], share)[1] <= tolerance


@numba.njit(**JIT)
def _first_wall(d, nu, rates):
    """Index of the wall that a straight flight meets first (-1: none), and the flight time.

    ``rates`` is workspace: the inverse flight times, of which a maximum vectorises.
    """
    if len(d) == 0:
        return -1, np.inf
    for j in range(len(d)):
        rates[j] = -nu[j] / d[j]
    wall = next_wall(rates, rates.view(np.int64))
    if rates[wall] <= 0.0:
        return -1, np.inf
    return wall, 1.0 / rates[wall]


@numba.njit(**JIT)
def _set_off(ball, direction, outputs, inward):
    """Fly on in a random direction, away from the last wall (22)."""
    last = ball.integers[LAST]
    scale = 1.0 / math.sqrt(dot(direction, direction))
    if last >= 0 and outputs[last] * inward[last] < 0.0:
        scale = -scale
    for i in range(len(direction)):
        ball.v[i] = direction[i] * scale
    for j in range(len(outputs)):
        ball.output_velocities[j] = outputs[j] * inward[j] * scale
    ball.numbers[ALONG] = dot(direction, ball.b) * scale


@numba.njit(**JIT)
def _recompute(ball, room):
    """Unit lengths and outputs from scratch, against drift."""
    b, v, d, nu, _, _, numbers, integers = ball
    for vector in (b, v):
        vector /= math.sqrt(dot(vector, vector))
    for j in range(len(d)):
        d[j] = max(dot(room.normals[j], b) * room.inward[j], ON_THE_WALL)
        nu[j] = dot(room.normals[j], v) * room.inward[j]
    d[integers[LAST]] = ON_THE_WALL
    numbers[ALONG] = dot(b, v)


@numba.njit(**JIT)
def _bounce(ball, room, wall, flight, ends):
    """Fly to a wall, pull the ball back onto the sphere, reflect it, and add the chord.

    ``ends`` is workspace: difference and sum of the chord's ends.
    """
    b, v, d, nu, before, centre, numbers, integers = ball
    for i in range(len(b)):
        before[i] = b[i]
        b[i] += flight * v[i]
    along = dot(b, v)
    # Not from |b| = 1 and <b, v> of the bounce before: in the plane such errors grow exponentially.
    length = math.sqrt(dot(b, b))
    for i in range(len(b)):
        b[i] /= length
        ends[0, i] = b[i] - before[i]
        ends[1, i] = b[i] + before[i]
    chord = math.sqrt(dot(ends[0], ends[0]))
    norm = 1.0 / math.sqrt(dot(ends[1], ends[1]))
    numbers[ALONG] = along / length
    kick = -2.0 * nu[wall] * room.inward[wall]
    for j in range(len(d)):
        d[j] = max((d[j] + flight * nu[j]) / length, ON_THE_WALL)
        nu[j] += kick * room.gram[wall, j] * room.inward[j]
    # The normal is orthogonal to b, which is on the wall: the reflection leaves <b, v> alone.
    d[wall] = ON_THE_WALL
    for i in range(len(b)):
        v[i] += kick * room.normals[wall, i]
    rho_1, rho_2 = 0.0, 1.0
    if numbers[PATH] > 0.0:
        cosine = norm * dot(ends[1], centre)
        rho_1, rho_2 = add_on_sphere(cosine, numbers[PATH] / (numbers[PATH] + chord))
        numbers[SMALLEST_COSINE] = min(numbers[SMALLEST_COSINE], cosine)
    for i in range(len(b)):
        centre[i] = rho_1 * centre[i] + rho_2 * norm * ends[1, i]
    integers[LAST] = wall
    numbers[PATH] += chord
    numbers[LONGEST] = max(numbers[LONGEST], chord)
    numbers[CHORD] = chord
    numbers[OFFSET] = 0.0


@numba.njit(**JIT)
def _run(ball, room, rules, directions, outputs, max_bounces, first, left, draws, records):
    """Fly until all ``draws`` from ``first`` on are made, or as far as the directions go.

    A draw is a point inside a chord, ``path_length`` of chords after the draw before; ``left`` of
    that is still to go for the first one. Returns how many draws there are, the length left for the
    next, how many directions were used, and whether another is needed.
    """
    b, before, numbers, integers = ball.b, ball.before, ball.numbers, ball.integers
    d, nu = ball.outputs, ball.output_velocities
    rates = np.empty(len(d))
    ends = np.empty((2, len(b)))
    # In few dimensions rounding errors grow fast, and computing the outputs anew costs nothing.
    refresh_every = 16 if len(b) <= 4 else REFRESH_EVERY
    used = 0
    bounces = 0
    for k in range(first, len(draws)):
        record = records[k]
        while numbers[CHORD] - numbers[OFFSET] < left:
            has_converged = rules.stops and _has_converged(numbers, rules.tolerance)
            if bounces == max_bounces or has_converged:
                return k, left, used, False
            wall, flight = -1, np.inf
            if integers[LOST] == 0:
                wall, flight = _first_wall(d, nu, rates)
            while wall < 0 or flight >= rules.max_flight:
                if used == len(directions) or integers[LOST] > MAX_LOST:
                    integers[LOST] = max(integers[LOST], 1)
                    return k, left, used, True
                _set_off(ball, directions[used], outputs[used], room.inward)
                used += 1
                record[1] += 1
                integers[LOST] += 1
                wall, flight = _first_wall(d, nu, rates)
            integers[LOST] = 0
            left -= numbers[CHORD] - numbers[OFFSET]
            _bounce(ball, room, wall, flight, ends)
            bounces += 1
            record[0] += 1
            integers[SINCE_REFRESH] += 1
            if integers[SINCE_REFRESH] >= refresh_every:
                integers[SINCE_REFRESH] = 0
                _recompute(ball, room)
        numbers[OFFSET] += left
        left = rules.path_length
        share = numbers[OFFSET] / numbers[CHORD]
        for i in range(len(b)):
            draws[k, i] = before[i] + share * (b[i] - before[i])
        draws[k] /= math.sqrt(dot(draws[k], draws[k]))
        record[2] = _has_converged(numbers, rules.tolerance)
        record[3:] = ball.centre
    return len(draws), left, used, False


class ChordBall(BlockSampler):
    """The ball of Algorithm 2, with the paper's running centre of mass.

    Attributes
    ----------
    walls, block
        See :class:`BlockSampler`; directions are used where a flight would be too long.
    w : array of shape (r,)
        The last draw: a point of the present chord.
    b, v : arrays of shape (r,)
        End of the present chord, on a wall, and the direction in which it will go on.
    outputs, output_velocities : arrays of shape (n_walls,)
        Outputs of b and v, counted from the walls inwards.
    before, centre : arrays of shape (r,)
        Start of the present chord; the estimate of the centre of mass, a unit vector.
    numbers, integers : arrays
        The rest of what the next bounce needs.
    """

    carried = ("w", *_Ball._fields)

    def __init__(self, walls, w, *, path_length=1.5, tolerance=1e-4, max_flight=10.0, gram=None):
        super().__init__(walls, sweeps=1)
        self.path_length = path_length
        self.tolerance = tolerance
        self.max_flight = max_flight
        self.centre = np.zeros(walls.dimension)
        self.numbers = np.zeros(6)
        self.numbers[SMALLEST_COSINE] = 1.0
        self._set_walls(walls, gram)
        self.place(w)

    def _set_walls(self, walls, gram):
        refuse_finite_walls(walls)
        # Columns are needed at every bounce, so this one is stored whatever its size.
        gram = wall_gram(walls.normals) if gram is None else gram
        self.gram = gram if gram.size else wall_gram(walls.normals, np.inf)
        self.walls = walls

    def place(self, w):
        """Go on from another direction; the centre of mass is that of both paths."""
        self.w = np.array(w, dtype=np.float64)
        self.w /= np.linalg.norm(self.w)
        self._refresh()

    def change_normals(self, walls, gram=None):
        """Go on from the last draw among walls in other places."""
        self._set_walls(walls, gram)
        super().change_normals(walls)

    def _refresh(self):
        self.b, self.before = self.w.copy(), self.w.copy()
        self.v = np.zeros_like(self.w)
        self.outputs = np.abs(outputs_inside(self.w, self.walls))
        self.output_velocities = np.zeros_like(self.outputs)
        self.numbers[[ALONG, CHORD, OFFSET]] = 0.0
        # One direction counts as lost: there is none yet.
        self.integers = np.array([-1, 0, 1])

    def move(self, rng, n_draws=1):
        """Fly on; the position is recorded after every ``path_length`` of chords.

        Returns
        -------
        draws : array of shape (n_draws, r)
            Unit vectors.
        records : array of shape (n_draws, 3 + r)
            Bounces, new directions, whether the tolerance is met; then the centre of mass.
        """
        draws = np.empty((n_draws, self.walls.dimension))
        records = np.zeros((n_draws, 3 + self.walls.dimension))
        self._fly(rng, draws, records, self.path_length, np.iinfo(np.int64).max, stops=False)
        self.w = draws[-1].copy()
        return draws, records

    def _fly(self, rng, draws, records, path_length, max_bounces, *, stops):
        """Make all draws, or stop before that by the rules; returns whether a rule has stopped."""
        ball = _Ball(*(getattr(self, name) for name in _Ball._fields))
        room = _Room(self.walls.normals, self.gram, np.sign(self.walls.jumps))
        rules = _Rules(self.max_flight, self.tolerance, stops, path_length)
        done, left = 0, path_length
        while done < len(draws):
            if self.needs_block:
                self.new_block(rng)
            start = self.block.used
            ahead = self.block.directions[start:], self.block.outputs[start:]
            bounces_before = records[:, 0].sum()
            done, left, used, needs_direction = _run(
                ball, room, rules, *ahead, max_bounces, done, left, draws, records
            )
            self.block.take(used)
            max_bounces -= int(records[:, 0].sum() - bounces_before)
            if not needs_direction:
                return
            if self.integers[LOST] > MAX_LOST:
                raise ValueError(
                    f"{MAX_LOST} directions in a row meet none of the {self.walls.n_walls} walls: "
                    "straight flights need a version space with more walls. Use "
                    'variant="geodesic".'
                )


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
) -> ChordCentre:
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

    Examples
    --------
    >>> geometry = bk.samplers.WallGeometry.from_features(np.eye(3), np.ones(3, dtype=bool))
    >>> walls = geometry.with_costs(np.full(3, np.inf))
    >>> result = chord_billiard(walls, [1.0, 2.0, 3.0], rng=np.random.default_rng(1))
    >>> bool(np.abs(result.centre - 1 / np.sqrt(3)).max() < 0.05)
    True
    """
    ball = ChordBall(walls, w, tolerance=tolerance, max_flight=max_flight, gram=gram)
    # One draw that is never reached: the rules stop the flight.
    draws, records = np.empty((1, walls.dimension)), np.zeros((1, 3 + walls.dimension))
    ball._fly(rng, draws, records, np.inf, max_bounces, stops=True)
    n_bounces = int(records[0, 0])
    return ChordCentre(ball.centre, n_bounces, n_bounces < max_bounces)
