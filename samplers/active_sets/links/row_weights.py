r"""Row weights: how a link with a precision for each point enters the algebra of unit noise.

With working responses :math:`s_i = f_i + \varepsilon_i / d_i` the rows of the model are multiplied
by d: the response, the column of the offset, and the kernel from both sides, :math:`D K D`. Its
factor is :math:`D_\gamma L`, so the whitened columns become :math:`D V` and coefficients
:math:`\beta / d`; jitter, being relative to the diagonal, stays what it was.
"""

import numba
import numpy as np

from bayeskernels.compiled import JIT
from bayeskernels.samplers.compiled import dot

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
        row = state.kernel[state.stored[a]]
        for i in range(n):
            row[i] *= own * ratio[i]
            state.V[a, i] *= ratio[i]
        for e in range(k):
            state.T[e, a] /= own
    state.gram[0, 0] = dot(weights, weights)
    if is_common:
        square = ratio[0] * ratio[0]
        for a in range(k + 1):
            for e in range(k + 1):
                if a > 0 or e > 0:
                    state.gram[a, e] *= square
        return
    V = state.V[:k]
    state.gram[1 : k + 1, 1 : k + 1] = np.dot(V, V.T)
    for a in range(k):
        total = dot(V[a], weights)
        state.gram[0, a + 1] = total
        state.gram[a + 1, 0] = total
