r"""The walls of a label-noise posterior: where its density jumps, and by how much.

Every training point i is a hyperplane :math:`\langle a_i, z \rangle = 0` in the space of weight
vectors; its label is wrong on one side, which costs :math:`\Delta_i = \log((1-q)/q)` in log-density
(KGS, equation (3)). Points whose feature vectors are equal up to scale share one hyperplane. They
must be merged into one wall with the net jump: two walls in the same place would be hit at the
same instant, and rounding would decide the order.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from bayeskernels.geometry.unit_rows import unit_rows

__all__ = ["WallGeometry", "Walls", "label_costs"]

#: Two unit normals closer than this (up to sign) are one wall. The last pivots of a Gram factor are
#: about sqrt(m eps), so the rows of equal points differ by 1e-8 or so under a smooth kernel; a
#: wedge as thin as this holds no mass that a sampler could see.
COINCIDENCE_TOLERANCE = 1e-7


def label_costs(is_positive, flip_negative, flip_positive):
    r"""Log-density that a point loses when the classifier contradicts its label.

    A point labelled positive has likelihood :math:`1 - q_+` where it is right and :math:`q_-` where
    it is wrong (its true class is then the negative one), and the other way round.

    Parameters
    ----------
    is_positive : array of bool, shape (m,)
    flip_negative, flip_positive : float or array of shape (m,)
        Flip rates of the two classes, in [0, 1/2).

    Returns
    -------
    array of shape (m,)
        The costs, infinite where an error is impossible.

    Examples
    --------
    >>> label_costs(np.array([True, False]), 0.2, 0.2).round(4).tolist()
    [1.3863, 1.3863]
    """
    right = np.where(is_positive, flip_positive, flip_negative)
    wrong = np.where(is_positive, flip_negative, flip_positive)
    with np.errstate(divide="ignore"):
        return np.log1p(-right) - np.log(wrong)


@dataclass(frozen=True)
class WallGeometry:
    """Distinct hyperplanes of a labelled set of feature vectors, whatever the flip rates.

    Attributes
    ----------
    normals : array of shape (n_walls, r)
        Unit normals.
    wall_of_point : array of int, shape (m,)
        The wall of each point; -1 for a zero feature vector, which is an error everywhere.
    right_side : array of float, shape (m,)
        +1 or -1: the sign of the output of the wall on which the point's label is right.
    orientation : array of float, shape (m,)
        +1 or -1: whether the wall's normal points to the point or away from it.
    """

    normals: np.ndarray
    wall_of_point: np.ndarray
    right_side: np.ndarray
    orientation: np.ndarray
    _kept: dict = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_features(cls, features, is_positive):
        """Find the distinct walls of feature vectors (rows of ``features``) and their labels.

        A wall is a direction: lengths do not matter, and only a row of zeros is no wall.
        """
        units, lengths = unit_rows(features)
        is_wall = lengths > 0.0
        units = units if is_wall.all() else units[is_wall]
        keep, group, sign = _coincident_groups(units)
        wall_of_point = np.full(len(lengths), -1)
        wall_of_point[is_wall] = group
        orientation = np.ones(len(lengths))
        orientation[is_wall] = sign
        right_side = np.where(is_positive, orientation, -orientation)
        normals = units if len(keep) == len(units) else units[keep]
        return cls(np.ascontiguousarray(normals), wall_of_point, right_side, orientation)

    def relabelled(self, is_positive):
        """Return the same hyperplanes, not computed again, for other labels of the points."""
        right_side = np.where(is_positive, self.orientation, -self.orientation)
        return replace(self, right_side=right_side)

    def with_costs(self, costs) -> "Walls":
        """Put heights on the walls: what an error at each point costs, see :func:`label_costs`."""
        n_walls = len(self.normals)
        on_wall = self.wall_of_point >= 0
        wall = self.wall_of_point[on_wall]
        side = self.right_side[on_wall]
        with np.errstate(invalid="ignore"):
            jumps = np.bincount(wall, side * np.asarray(costs)[on_wall], minlength=n_walls)
        if np.isnan(jumps).any():
            raise ValueError(
                "Points with equal features and opposite labels cannot both be right, and a flip "
                "rate of zero allows no error: the posterior is empty. Use noise > 0."
            )
        above = np.bincount(wall, side < 0, minlength=n_walls)
        below = np.bincount(wall, side > 0, minlength=n_walls)
        errors = np.array([above, below], dtype=np.int64)
        # Opposite labels at one place cancel: such a wall changes nothing and costs events.
        matters = (jumps != 0) | (above != below)
        constant = int(np.count_nonzero(~on_wall)) + int(above[~matters].sum())
        # Selected by an index they would lie in columns, and compiled code exist in two forms.
        kept = np.compress(matters, errors, axis=1)
        return Walls(self._kept_normals(matters), jumps[matters], kept, constant)

    def by_label(self, *, is_shared):
        """Tell the errors above and below each wall by label, for heights that follow flip rates.

        Parameters
        ----------
        is_shared : bool
            Whether both classes have the same rate: then opposite labels at one place cancel, and
            make no wall.

        Returns
        -------
        walls : Walls
            All of height one for each net label.
        errors : array of shape (2, 2, n_walls)
            Labels that are wrong: ``errors[side, label, wall]``, side 0 is above.
        always, totals : arrays of shape (2,)
            Labels that are wrong on both sides, and all labels, negative and positive ones. Of
            labels that cancel only the sum counts.
        """
        n_walls = len(self.normals)
        label = (self.right_side == self.orientation).astype(np.int64)
        on_wall = self.wall_of_point >= 0
        errors = np.zeros((2, 2, n_walls))
        wrong_side = np.where(self.right_side < 0, 0, 1)
        np.add.at(errors, (wrong_side[on_wall], label[on_wall], self.wall_of_point[on_wall]), 1.0)
        changes = errors[1] - errors[0]
        matters = changes.sum(axis=0) != 0 if is_shared else (changes != 0).any(axis=0)
        always = np.bincount(label[~on_wall], minlength=2) + errors[0][:, ~matters].sum(axis=1)
        counts = errors.sum(axis=1).astype(np.int64)
        walls = Walls(
            self._kept_normals(matters),
            changes.sum(axis=0)[matters],
            np.compress(matters, counts, axis=1),
            int(always.sum()),
        )
        totals = np.bincount(label, minlength=2).astype(float)
        return walls, np.ascontiguousarray(errors[:, :, matters]), always, totals

    def _kept_normals(self, matters):
        """Normals of some walls; the same array each time, so that holders see that it is."""
        if matters.all():
            return self.normals
        key = matters.tobytes()
        if key not in self._kept:
            self._kept[key] = np.ascontiguousarray(self.normals[matters])
        return self._kept[key]


@dataclass(frozen=True)
class Walls:
    """Hyperplanes with heights: a piecewise constant density on directions.

    Attributes
    ----------
    normals : array of shape (n_walls, r)
        Unit normals; the output of a wall at z is its inner product with z.
    jumps : array of shape (n_walls,)
        Energy (minus log-density) below the wall (output < 0) less the energy above it; may have
        either sign, and is infinite where one side is forbidden.
    errors : array of int, shape (2, n_walls)
        Training errors that the points on each wall make above and below it.
    constant_errors : int
        Errors made everywhere.
    """

    normals: np.ndarray
    jumps: np.ndarray
    errors: np.ndarray
    constant_errors: int

    @property
    def n_walls(self):
        """Number of walls."""
        return len(self.jumps)

    @property
    def dimension(self):
        """Dimension r of the space."""
        return self.normals.shape[1]

    def count_errors(self, outputs):
        """Training errors at the outputs of the walls (last axis)."""
        made = np.where(outputs > 0, self.errors[0], self.errors[1])
        return made.sum(axis=-1) + self.constant_errors

    def energy(self, outputs):
        """Energy up to a constant; infinite where a forbidden side is entered."""
        below = outputs < 0
        with np.errstate(invalid="ignore"):
            soft = np.where(np.isfinite(self.jumps), self.jumps, 0.0)
            forbidden = (below & (self.jumps == np.inf)) | (~below & (self.jumps == -np.inf))
        return np.where(forbidden.any(axis=-1), np.inf, (below * soft).sum(axis=-1))


def _coincident_groups(units):
    """Group unit vectors that are equal up to sign.

    Returns the first member of each group, the group of each vector, and the sign that turns each
    vector into the first member of its group. A random projection is equal up to sign for equal
    vectors, so only neighbours in its order have to be compared: O(m r + m log m).
    """
    m, r = units.shape
    group = np.full(m, -1)
    orientation = np.ones(m)
    probe = np.random.default_rng(0).standard_normal(r)
    projection = np.abs(units @ probe)
    window = COINCIDENCE_TOLERANCE * np.linalg.norm(probe)
    n_groups = 0
    nearby = []  # (vector, its group): the first members of groups whose projection is in reach
    for i in np.argsort(projection, kind="stable"):
        nearby = [(j, number) for j, number in nearby if projection[i] - projection[j] <= window]
        for j, number in nearby:
            sign = 1.0 if units[i] @ units[j] >= 0 else -1.0
            if np.linalg.norm(units[i] - sign * units[j]) < COINCIDENCE_TOLERANCE:
                group[i], orientation[i] = number, sign
                break
        else:
            group[i] = n_groups
            nearby.append((i, n_groups))
            n_groups += 1
    # Number the groups by their first member in the data, so that walls keep the points' order.
    first = np.full(n_groups, m)
    np.minimum.at(first, group, np.arange(m))
    rank = np.argsort(np.argsort(first))
    orientation *= orientation[first][group]
    return np.sort(first), rank[group], orientation
