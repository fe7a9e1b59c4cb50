"""How every builder opens the model to which it adds its variables."""

import pymc as pm

from bayeskernels.specification.base import refuse_second_specification

__all__ = ["open_model"]


def open_model():
    """The model in context, or a new one where there is none.

    A model that holds one of the zoo is refused: prediction would not know which of them is meant.

    Returns
    -------
    pm.Model
    """
    model = pm.Model.get_context(error_if_none=False) or pm.Model()
    refuse_second_specification(model)
    return model
