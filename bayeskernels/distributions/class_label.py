"""Labels of several classes with a probit likelihood (GKM, section 6.2)."""

import numba
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.distribution import Distribution, _support_point
from pymc.logprob.abstract import _logprob
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import numba_funcify

from bayeskernels.distributions.class_probability import label_log_probabilities, label_slopes
from bayeskernels.distributions.sized import SizedRV

__all__ = ["ProbitClass", "ProbitClassRV"]


class _LabelLogProbabilities(Op):
    """Log-probabilities of n labels from their predictors, (n, c): an integral each."""

    __props__ = ()

    def make_node(self, f, labels):
        f = pt.as_tensor(f).astype("float64")
        labels = pt.as_tensor(labels).astype("int64")
        return Apply(self, [f, labels], [pt.vector(dtype="float64")])

    def perform(self, node, inputs, outputs):
        f, labels = inputs
        outputs[0][0] = label_log_probabilities(np.ascontiguousarray(f), labels)

    def infer_shape(self, node, shapes):
        return [(shapes[1][0],)]

    def pullback(self, inputs, outputs, cotangents):
        f, labels = inputs
        slopes = _LabelSlopes()(f, labels)
        return [cotangents[0][:, None] * slopes, disconnected_type()]

    def connection_pattern(self, node):
        return [[True], [False]]


class _LabelSlopes(Op):
    """Their gradients by the predictors."""

    __props__ = ()

    def make_node(self, f, labels):
        return Apply(self, [f, labels], [pt.matrix(dtype="float64")])

    def perform(self, node, inputs, outputs):
        f, labels = inputs
        outputs[0][0] = label_slopes(np.ascontiguousarray(f), labels)

    def infer_shape(self, node, shapes):
        return [shapes[0]]


@numba_funcify.register(_LabelLogProbabilities)
def _log_probabilities_in_numba(op, **kwargs):
    @numba.njit
    def log_probabilities(f, labels):
        return label_log_probabilities(np.ascontiguousarray(f), labels)

    return log_probabilities


@numba_funcify.register(_LabelSlopes)
def _slopes_in_numba(op, **kwargs):
    @numba.njit
    def slopes(f, labels):
        return label_slopes(np.ascontiguousarray(f), labels)

    return slopes


class ProbitClassRV(SizedRV):
    """The class whose predictor is the largest after standard normal noise."""

    name = "ProbitClass"
    extended_signature = "[rng],[size],(c)->[rng],()"
    _print_name = ("ProbitClass", "\\operatorname{ProbitClass}")

    @classmethod
    def rv_op(cls, f, *, size=None, rng=None):
        """Build the graph of a draw."""
        f = pt.as_tensor(f).astype("float64")
        rng, size = cls.rng_and_size(rng, size, f)
        shape = (*tuple(size), f.shape[-1])
        next_rng, noise = pm.Normal.dist(shape=shape, rng=rng, return_next_rng=True)
        label = pt.argmax(f + noise, axis=-1)
        return cls(inputs=[rng, size, f], outputs=[next_rng, label])(rng, size, f)


class ProbitClass(Distribution):
    """Number of a class: that with the largest predictor after standard normal noise.

    Only differences of the predictors count, and with them the noise may be centred, as the paper
    has it. Of two classes the second has the probability Phi((f_2 - f_1) / sqrt(2)).

    Parameters
    ----------
    f : tensor_like of float, shape (..., n_classes)
        Predictors.

    Examples
    --------
    >>> pm.logp(ProbitClass.dist([[0.0, 0.0, 0.0], [0.0, 0.0, 60.0]]), 0).eval().round(3).tolist()
    [-1.099, -904.667]
    """

    rv_type = ProbitClassRV
    rv_op = ProbitClassRV.rv_op

    @classmethod
    def dist(cls, f, **kwargs):
        """Build a variable that belongs to no model."""
        return super().dist([f], **kwargs)


@_support_point.register(ProbitClassRV)
def _class_support_point(op, rv, rng, size, f):
    return pt.argmax(f, axis=-1) + pt.zeros_like(rv)


@_logprob.register(ProbitClassRV)
def _class_logp(op, values, rng, size, f, **kwargs):
    (value,) = values
    value = pt.as_tensor(value)
    n_classes = f.shape[-1]
    labels = value + pt.zeros_like(f[..., 0], dtype=value.dtype)
    rows = f + pt.zeros_like(labels, dtype="float64")[..., None]
    is_class = pt.ge(labels, 0) & pt.lt(labels, n_classes)
    logp = _LabelLogProbabilities()(
        rows.reshape((-1, n_classes)), pt.clip(labels, 0, n_classes - 1).ravel()
    )
    return pt.switch(is_class, logp.reshape(labels.shape, ndim=labels.ndim), -np.inf)
