"""Random variables of this package whose draws have a size: what their graphs begin with."""

from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.distributions.shape_utils import implicit_size_from_params, rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor.random.utils import normalize_size_param

__all__ = ["SizedRV"]


class SizedRV(SymbolicRandomVariable):
    """A variable with the inputs ``[rng],[size]`` and its parameters, one draw for each of them."""

    @classmethod
    def rng_and_size(cls, rng, size, *parameters):
        """Generator and size as PyTensor has them; by default the size that parameters imply."""
        size = normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(*parameters, ndims_params=cls.ndims_params)
        return normalize_rng_param(rng), size
