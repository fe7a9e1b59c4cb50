"""Random directions and their outputs at the walls, drawn in blocks.

A direction p costs a product with the wall normals. Drawn one at a time this is a matrix-vector
product, bound by memory; a block of them is one matrix product at full BLAS speed.
"""

import numpy as np

from bayeskernels.samplers.compiled import one_blas_thread

__all__ = ["DirectionBlock", "fresh_outputs", "outputs_at"]

#: Directions per block: past this the matrix product is no longer bound by memory.
BLOCK_SIZE = 128

#: Output that stands for one of exactly zero: as small as the rounding errors of the others.
OFF_THE_WALL = 1e-13

#: A point behind an impassable wall by less than this was put there by rounding errors.
BEHIND_BY_ROUNDING = 1e-9


def outputs_at(points, normals):
    """Inner products of points (rows) with wall normals (rows), the same on any number of cores."""
    with one_blas_thread():
        return points @ normals.T


class DirectionBlock:
    """Standard normal vectors with their outputs, handed out one after the other.

    Attributes
    ----------
    directions : array of shape (size, r)
    outputs : array of shape (size, n_walls)
    used : int
        How many have been handed out.
    """

    def __init__(self, directions, outputs, used=0):
        self.directions = directions
        self.outputs = outputs
        self.used = used

    @classmethod
    def draw(cls, rng, normals, multiple_of=1):
        """Draw a block of about :data:`BLOCK_SIZE` directions, a multiple of ``multiple_of``."""
        size = multiple_of * -(-BLOCK_SIZE // multiple_of)
        directions = rng.standard_normal((size, normals.shape[1]))
        return cls(directions, outputs_at(directions, normals))

    @property
    def left(self):
        """How many have not been used yet."""
        return len(self.directions) - self.used

    def take(self, n):
        """Hand out the next ``n`` directions and outputs (at most :attr:`left`)."""
        part = slice(self.used, self.used + n)
        self.used += n
        return self.directions[part], self.outputs[part]

    @property
    def state(self):
        """All that is needed to go on from here."""
        return {"directions": self.directions, "outputs": self.outputs, "used": self.used}

    def reproject(self, normals):
        """Recompute the outputs for other walls; the directions stay."""
        self.outputs = outputs_at(self.directions, normals)


def fresh_outputs(z, walls):
    """Outputs of one point at ``walls``, recomputed from scratch against drift.

    A point exactly on a wall (a start on a coordinate axis, say) has no side, which every sampler
    needs; it is taken to stand just beside the wall, on the side of the higher density. So is a
    point that rounding errors put behind a wall which nothing can pass.
    """
    outputs = outputs_at(np.atleast_2d(z), walls.normals)[0]
    behind = np.isinf(walls.jumps) & (outputs * np.sign(walls.jumps) < 0.0)
    beside = (outputs == 0.0) | (behind & (np.abs(outputs) < BEHIND_BY_ROUNDING))
    return np.where(beside, np.copysign(OFF_THE_WALL, walls.jumps), outputs)
