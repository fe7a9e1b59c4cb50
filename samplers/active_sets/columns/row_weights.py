r"""Row weights: how a link with a precision for each point enters the algebra of unit noise.

With working responses :math:`s_i = f_i + \varepsilon_i / d_i` the rows of the model are multiplied
by d: the response, the column of the offset, and the kernel from both sides, :math:`D K D`. Its
factor is :math:`D_\gamma L`, so the whitened columns become :math:`D V` and coefficients
:math:`\beta / d`; jitter, being relative to the diagonal, stays what it was.
"""

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.active_sets.columns.state import refresh_gram, scale_gram

__all__ = ["reweigh"]


@numba.njit(**JIT)
def reweigh(state, weights):
    """Bring a state to other row weights; ``prepare`` has to follow.

    Parameters
    ----------
    state : ActiveColumns
        Its ``constant`` holds the weights at present.
    weights : array of shape (n,)
    """
    k = state.size[0]
    n = len(weights)
    ratio = np.empty(n)
    is_common = True
    for i in range(n):
        ratio[i] = weights[i] / state.constant[i]
        is_common = is_common and ratio[i] == ratio[0]
        state.constant[i] = weights[i]
    for a in range(k):
        own = ratio[state.points[a]]
        for j in range(len(state.V)):
            row = state.kernel[state.stored[a], j]
            for i in range(n):
                row[i] *= own * ratio[i]
                state.V[j, a, i] *= ratio[i]
            for e in range(k):
                state.T[j, e, a] /= own
    if is_common:
        scale_gram(state, ratio[0] * ratio[0])
    else:
        refresh_gram(state)
