"""A chain that can be saved."""

from copy import deepcopy

__all__ = ["Resumable"]


class Resumable:
    """A chain that can be saved, and go on from there."""

    #: Names of everything that changes from sweep to sweep.
    carried: tuple[str, ...]

    @property
    def state(self):
        """All that changes from sweep to sweep."""
        return deepcopy({name: getattr(self, name) for name in self.carried})

    @state.setter
    def state(self, state):
        for name, value in deepcopy(state).items():
            setattr(self, name, value)
