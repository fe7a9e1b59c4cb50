"""What the samplers among walls share, without PyMC: blocks of directions, state, long runs."""

from copy import deepcopy

import numpy as np

from bayeskernels.samplers.directions.block_draws import DirectionBlock

__all__ = ["BlockSampler"]


class BlockSampler:
    """A sampler that uses up blocks of directions and carries outputs along.

    A subclass names the attributes that change from step to step in ``carried``, recomputes the
    outputs in ``_refresh`` and moves in ``move(rng, n_draws)``, which returns at most ``n_draws``
    draws and as many records, as far as the block goes.

    Attributes
    ----------
    walls : Walls
    sweeps : int
        Moves per draw.
    block : DirectionBlock or None
        Directions drawn but not yet used.
    """

    carried: tuple[str, ...] = ()

    def __init__(self, walls, sweeps):
        self.walls = walls
        self.sweeps = sweeps
        self.block = None

    @property
    def directions_per_draw(self):
        """How many directions a draw uses up."""
        return self.sweeps

    @property
    def needs_block(self):
        """Whether the block has too few directions left for one draw."""
        return self.block is None or self.block.left < self.directions_per_draw

    def new_block(self, rng):
        """Draw the next block; a whole number of draws fits into it."""
        self.block = DirectionBlock.draw(
            rng, self.walls.normals, multiple_of=self.directions_per_draw
        )

    def change_normals(self, walls, gram=None):
        """Go on among walls in other places; ``gram`` is the Gram matrix of their normals."""
        self.walls = walls
        self._refresh()
        if self.block is not None:
            self.block.reproject(walls.normals)

    @property
    def state(self):
        """All that changes, as a dict of arrays and numbers."""
        state = {name: getattr(self, name) for name in self.carried}
        return state | {"block": None if self.block is None else self.block.state}

    @state.setter
    def state(self, state):
        state = deepcopy(state)
        block = state.pop("block")
        self.block = None if block is None else DirectionBlock(**block)
        for name, value in state.items():
            setattr(self, name, value)

    def run(self, rng, n_draws):
        """Like ``move``, for as many blocks of directions as it takes."""
        parts = []
        while n_draws > 0:
            parts.append(self.move(rng, n_draws))
            n_draws -= len(parts[-1][0])
        draws, records = zip(*parts, strict=True)
        return np.concatenate(draws), np.concatenate(records)
