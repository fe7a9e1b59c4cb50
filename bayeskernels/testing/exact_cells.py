r"""Exact posterior of a label-noise classifier with few dimensions, as a reference for samplers.

Feature vectors cut the sphere of directions into cells on which all outputs keep their signs. Where
the features span at most three dimensions the share of each cell is known in closed form: two half
spheres, arcs of a circle, or spherical polygons, whose area is the excess of their angles. No
simulation is involved.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["CellPosterior", "SignCells", "label_noise_cells", "sign_cells"]

#: Vectors closer than this (unit length, up to sign) are one.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class SignCells:
    """The cells into which feature vectors cut the sphere of directions.

    Attributes
    ----------
    signs : array of int8, shape (n_cells, m)
        Sign of the output of each feature vector in each cell; 0 for a zero vector.
    probabilities : array of shape (n_cells,)
        Share of the sphere that each cell covers.
    features : array of shape (m, r)
    """

    signs: np.ndarray
    probabilities: np.ndarray
    features: np.ndarray

    def locate(self, directions):
        """Number of the cell of each direction, shape (n, r) and of any length.

        It is -1 where the signs fit no cell, which happens to directions on a border only.
        """
        number = {row.tobytes(): k for k, row in enumerate(self.signs)}
        outputs = np.asarray(directions) @ self.features.T
        signs = np.sign(outputs).astype(np.int8) * np.abs(self.signs[0])
        return np.array([number.get(row.tobytes(), -1) for row in signs])


@dataclass(frozen=True)
class CellPosterior(SignCells):
    """Cells with their posterior probabilities; those of probability zero are left out.

    Attributes
    ----------
    errors : array of int, shape (n_cells,)
        Training errors in each cell.
    log_evidence : float
        Logarithm of the probability of all labels.
    """

    errors: np.ndarray
    log_evidence: float


def sign_cells(features) -> SignCells:
    r"""Cut the sphere of directions by feature vectors.

    Parameters
    ----------
    features : array of shape (m, r)
        Of rank three at most. Zero rows, repeated rows and rows of opposite direction may occur.

    Notes
    -----
    A uniform direction in R^r has, in the span of the features, a uniform direction again, so all
    is done there. On the sphere every corner of a cell is the cut of two great circles; the circles
    through a corner share the full angle around it among the cells that meet there. With angles
    :math:`\alpha_k` a cell of n corners has the area :math:`\sum_k \alpha_k - (n - 2) \pi`
    (Girard), which needs no order of the corners: each adds :math:`\alpha_k - \pi` to its cells.

    Examples
    --------
    >>> cells = bk.testing.sign_cells(np.eye(3))
    >>> len(cells.signs), cells.probabilities.round(3).tolist()
    (8, [0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125])
    """
    features = np.asarray(features, dtype=np.float64)
    is_wall = (features != 0.0).any(axis=1)
    if not is_wall.any():
        return SignCells(np.zeros((1, len(features)), np.int8), np.ones(1), features)
    # Twice, as squares of very small or large numbers are zero or infinite.
    units = features[is_wall] / np.abs(features[is_wall]).max(axis=1, keepdims=True)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    _, singular, axes = np.linalg.svd(units, full_matrices=False)
    rank = int(np.sum(singular > TOLERANCE * singular[0]))
    if rank > 3:
        raise ValueError(f"Exact cells need features of rank 3 at most, these have rank {rank}.")
    units = units @ axes[:rank].T
    distinct, group, side = _merge(units)
    cut = {1: _cut_pair, 2: _cut_circle, 3: _cut_sphere}[rank]
    cell_signs, probabilities = cut(units[distinct])
    signs = np.zeros((len(probabilities), len(features)), dtype=np.int8)
    signs[:, is_wall] = cell_signs[:, group] * side
    return SignCells(signs, probabilities, features)


def label_noise_cells(
    features, is_positive, flip_negative, flip_positive=None, *, probes=None
) -> CellPosterior:
    """Exact posterior of a label-noise classifier, cell by cell.

    Parameters
    ----------
    features : array of shape (m, r)
        Coordinates of the training points, of rank three at most.
    is_positive : array of bool, shape (m,)
    flip_negative, flip_positive : float
        Flip rates of the two classes; the same for both by default.
    probes : array of shape (n, r), optional
        Further feature vectors without a label. They cut the cells into finer ones: at flip rate
        zero there would be one cell only. Their signs follow those of the points.

    Examples
    --------
    >>> posterior = bk.testing.label_noise_cells(np.eye(2), np.array([True, True]), 0.1)
    >>> sorted(zip(posterior.errors.tolist(), posterior.probabilities.round(2).tolist()))
    [(0, 0.81), (1, 0.09), (1, 0.09), (2, 0.01)]
    """
    if flip_positive is None:
        flip_positive = flip_negative
    cells = sign_cells(features if probes is None else np.concatenate([features, probes]))
    is_positive = np.asarray(is_positive, dtype=bool)
    wanted = np.where(is_positive, 1, -1)
    is_error = cells.signs[:, : len(wanted)] != wanted
    if_right = np.where(is_positive, 1 - flip_positive, 1 - flip_negative)
    if_wrong = np.where(is_positive, flip_negative, flip_positive)
    with np.errstate(divide="ignore"):
        log_likelihood = np.log(np.where(is_error, if_wrong, if_right)).sum(axis=1)
    possible = np.isfinite(log_likelihood)
    if not possible.any():
        raise ValueError("No cell explains the labels at these flip rates.")
    log_joint = log_likelihood[possible] + np.log(cells.probabilities[possible])
    log_evidence = float(np.logaddexp.reduce(log_joint))
    return CellPosterior(
        cells.signs[possible],
        np.exp(log_joint - log_evidence),
        cells.features,
        is_error[possible].sum(axis=1),
        log_evidence,
    )


def _merge(units):
    """Representatives of vectors that are equal up to sign, group and sign of each vector."""
    cosines = units @ units.T
    signs = np.where(cosines >= 0, 1, -1)
    distance = np.abs(units[:, None] - signs[:, :, None] * units[None]).max(axis=2)
    first = np.argmax(distance < TOLERANCE, axis=1)
    distinct, group = np.unique(first, return_inverse=True)
    return distinct, group, signs[np.arange(len(units)), first].astype(np.int8)


def _cut_pair(units):
    """Signs and shares of the two points that are the sphere of a line."""
    signs = np.sign(units[:, 0]).astype(np.int8)
    return np.stack([signs, -signs]), np.array([0.5, 0.5])


def _arcs(units):
    """Start and length of the arcs between the crossings of lines with the circle."""
    crossings = np.arctan2(units[:, 1], units[:, 0]) + np.pi / 2
    crossings = np.sort(np.concatenate([crossings, crossings + np.pi]) % (2 * np.pi))
    return crossings, np.diff(crossings, append=crossings[0] + 2 * np.pi)


def _cut_circle(units):
    """Signs and shares of the arcs of the circle."""
    starts, lengths = _arcs(units)
    middle = starts + lengths / 2
    signs = np.sign(np.stack([np.cos(middle), np.sin(middle)], axis=1) @ units.T)
    return signs.astype(np.int8), lengths / (2 * np.pi)


def _cut_sphere(units):
    """Signs and shares of the polygons between great circles that do not all meet in one point."""
    i, j = np.triu_indices(len(units), k=1)
    corners = np.cross(units[i], units[j])
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    corners = corners[_merge(corners)[0]]
    excess = {}
    for corner in np.concatenate([corners, -corners]):
        outputs = units @ corner
        through = np.abs(outputs) < 1e-7
        for angle, middle in _sectors(units[through], corner):
            signs = np.sign(np.where(through, units @ middle, outputs)).astype(np.int8)
            excess[signs.tobytes()] = excess.get(signs.tobytes(), 2 * np.pi) + angle - np.pi
    signs = np.array([np.frombuffer(key, dtype=np.int8) for key in excess])
    return signs, np.array(list(excess.values())) / (4 * np.pi)


def _sectors(normals, corner):
    """Angles between neighbouring circles around a corner, with the directions halfway."""
    first = normals[0]
    second = np.cross(corner, first)
    starts, angles = _arcs(np.stack([normals @ first, normals @ second], axis=1))
    for angle, middle in zip(angles, starts + angles / 2, strict=True):
        yield angle, np.cos(middle) * first + np.sin(middle) * second
