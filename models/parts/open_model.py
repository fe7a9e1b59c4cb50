"""How every builder opens the model to which it adds its variables, and says what it built."""

import pymc as pm

from bayeskernels.specification.base import attach_specification, refuse_second_specification

__all__ = ["open_model", "specify"]


def open_model() -> pm.Model:
    """The model in context, or a new one where there is none.

    A model that holds one of the zoo is refused: prediction would not know which of them is meant.
    """
    model = pm.Model.get_context(error_if_none=False) or pm.Model()
    refuse_second_specification(model)
    return model


def specify(specification, **fields):
    """Attach a specification of the given type, with these fields, to the model in context."""
    model = pm.modelcontext(None)
    # The prefix of a named or nested model is what its names begin with.
    attached = specification(model=model, prefix=model.name_for(""), **fields)
    attach_specification(attached)
    return attached
