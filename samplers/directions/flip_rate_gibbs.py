r"""Exact Gibbs step for an unknown flip rate.

Given the outputs of the classifier it is known which labels were flipped, and the likelihood of a
class's flip rate is :math:`q^{flips} (1-q)^{others}`. Under a Beta prior cut off at one half the
posterior is again such a Beta, from which one can draw exactly by inverting its distribution
function.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from pytensor.graph.traversal import ancestors
from pytensor.tensor.subtensor import Subtensor, get_constant_idx

from bayeskernels.distributions import FlipRateRV, LabelNoiseRV
from bayeskernels.samplers.block_step import BlockStep, GraphReader
from bayeskernels.samplers.directions.label_noise_target import label_noise_terms

__all__ = ["FlipRateGibbs", "RateOfDirection", "draw_flip_rate"]


def draw_flip_rate(alpha, beta, rng):
    """Draw from Beta(alpha, beta) restricted to (0, 1/2).

    Parameters
    ----------
    alpha, beta : float or array
        Parameters; arrays of one shape give as many draws.
    rng : numpy.random.Generator

    Examples
    --------
    >>> q = draw_flip_rate(np.full(1000, 3.0), 30.0, np.random.default_rng(1))
    >>> bool(abs(q.mean() - 3 / 33) < 0.01)
    True
    """
    alpha, beta = np.broadcast_arrays(np.asarray(alpha, float), np.asarray(beta, float))
    level = rng.random(alpha.shape)
    rate = scipy.special.betaincinv(alpha, beta, level * scipy.special.betainc(alpha, beta, 0.5))
    return np.clip(rate, np.finfo(float).tiny, np.nextafter(0.5, 0.0))


class FlipRateGibbs(BlockStep):
    """Step method that draws flip rates given everything else; PyMC's choice for ``FlipRate``.

    A scalar may be the rate of one class or of both; entries of a vector may be those of classes.

    Parameters
    ----------
    vars : list, optional
        The rates; all :class:`~bayeskernels.distributions.FlipRate` variables of the model by
        default. Given everything else they are independent.
    model : pm.Model, optional
        The model in context by default.

    Notes
    -----
    Sampler statistic: ``flip_rate_flips``, the number of labels that the present classifier
    contradicts.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(20, random_seed=1)
    >>> with bk.models.label_noise_classifier(X, y, noise="infer"):
    ...     idata = pm.sample(20, chains=1, quiet=True, step=bk.samplers.FlipRateGibbs())
    >>> "flip_rate_flips" in idata.sample_stats
    True
    """

    name = "flip_rate_gibbs"
    stat_prefix = "flip_rate"
    default_tune_steps = 0
    stats_dtypes_shapes = {"flip_rate_flips": (int, [])}
    owned = (FlipRateRV,)

    def __init__(self, vars=None, **kwargs):
        super().__init__(vars, **kwargs)
        values_to_rvs = self.read.model.values_to_rvs
        self._rates = [_RateInModel(self.read, values_to_rvs[value]) for value in self.vars]

    def step(self, point):
        """Draw the rates afresh."""
        point = dict(point)
        total = 0
        for rate in self._rates:
            alpha, beta, flips, stays = rate.counts(point)
            new = draw_flip_rate(alpha + flips, beta + stays, self.rng)
            point[rate.value.name] = rate.value.of(new)
            total += int(flips.sum())
        return point, [{"flip_rate_flips": total}]


class _RateInModel:
    """One rate: where it stands in the likelihood, and the labels that speak of it."""

    def __init__(self, read, rate):
        model = read.model
        terms = [rv for rv in model.observed_RVs if isinstance(rv.owner.op, LabelNoiseRV)]
        mine = [rv for rv in terms if rate in ancestors(rv.owner.inputs[3:5])]
        others = [i for rv in model.basic_RVs if rv not in mine for i in rv.owner.inputs]
        outputs = [rv.owner.inputs[2] for rv in mine]
        if not mine or rate in ancestors([*others, *outputs, *model.potentials]):
            raise TypeError(
                f"{rate.name} must be the flip rate of LabelNoise likelihoods and of nothing else "
                "for FlipRateGibbs. Use a general step such as pm.Slice for it."
            )
        self.value = _RateValue(model, rate)
        self.shape = tuple(int(n) for n in rate.shape.eval())
        # For each likelihood term the entry of the rate that is the rate of class 0, of class 1.
        self.entries = [[_entry(rate, q) for q in rv.owner.inputs[3:5]] for rv in mine]
        self._prior = [read(parameter) for parameter in rate.owner.inputs[2:4]]
        self._pairs = [(read(rv.owner.inputs[2]), read(model.rvs_to_values[rv])) for rv in mine]

    def counts(self, point):
        """Prior parameters, labels that were flipped at this rate, and labels that were not."""
        alpha, beta = (read(point) for read in self._prior)
        flips, stays = np.zeros(self.shape), np.zeros(self.shape)
        for entries, (outputs, labels) in zip(self.entries, self._pairs, strict=True):
            f, y = outputs(point), labels(point)
            # An output of exactly zero counts as an error: the true class is the other one.
            error = np.where(y == 1, f <= 0, f >= 0)
            true_class = np.where(error, 1 - y, y)
            for label, entry in enumerate(entries):
                if entry is not None:
                    flips[entry] += np.count_nonzero(error & (true_class == label))
                    stays[entry] += np.count_nonzero(~error & (true_class == label))
        return alpha, beta, flips, stays


class _RateValue:
    """The value variable of a rate, which PyMC samples as log(q / (1/2 - q)) unless told not to."""

    def __init__(self, model, rate):
        self.name = model.rvs_to_values[rate].name
        self.is_transformed = model.rvs_to_transforms[rate] is not None

    def of(self, rate):
        """Value in the space in which PyMC samples."""
        return np.asarray(np.log(rate) - np.log(0.5 - rate) if self.is_transformed else rate)

    def rate(self, value):
        """Rate that a value stands for."""
        return 0.5 * scipy.special.expit(value) if self.is_transformed else np.asarray(value)


@dataclass(frozen=True)
class RateOfDirection:
    """A flip rate that can be drawn along with the direction whose labels it speaks of.

    Attributes
    ----------
    variable : TensorVariable
        The rate in the model.
    value : _RateValue
    is_shared : bool
        Whether it is one number for both classes, not one for each.
    alpha, beta : arrays of shape (2,)
        Parameters of its prior.
    """

    variable: object
    value: _RateValue
    is_shared: bool
    alpha: np.ndarray
    beta: np.ndarray

    @classmethod
    def find(cls, model, w):
        """The rate of a direction w, or None where there is none that depends on w's errors alone.

        The rate must be a free :class:`~bayeskernels.distributions.FlipRate` with fixed parameters,
        both classes must be flipped at it (or at its two entries), and nothing else may depend on
        it. The kernel must be fixed, so that walls keep their places.
        """
        terms = label_noise_terms(model, w)
        if len(terms) != 1 or w.ndim != 1:
            return None
        [term] = terms
        _, _, outputs, *rates = term.owner.inputs[:5]
        used = set(ancestors(rates)) & set(model.free_RVs)
        if len(used) != 1 or set(ancestors([outputs])) & set(model.free_RVs) != {w}:
            return None
        [rate] = used
        others = [i for rv in model.basic_RVs if rv is not term for i in rv.owner.inputs]
        prior = rate.owner.inputs[2:4] if isinstance(rate.owner.op, FlipRateRV) else None
        if prior is None or rate in ancestors([*others, *model.potentials]):
            return None
        if set(ancestors(prior)) & set(model.basic_RVs):
            return None
        try:
            entries = [_entry(rate, q) for q in rates]
        except TypeError:
            return None
        if entries not in ([(), ()], [(0,), (1,)]):
            return None
        read = GraphReader(model)
        alpha, beta = (np.broadcast_to(np.asarray(read.now(p), float), 2).copy() for p in prior)
        return cls(rate, _RateValue(model, rate), rate.ndim == 0, alpha, beta)

    @property
    def high(self):
        """Rates below which nine tenths of the prior lie, (2,)."""
        return scipy.special.betaincinv(
            self.alpha, self.beta, 0.9 * scipy.special.betainc(self.alpha, self.beta, 0.5)
        )


def _entry(rate, q):
    """Index of the entry of ``rate`` that ``q`` is: () for a scalar, None for another variable."""
    if rate not in ancestors([q]):
        return None
    if q is rate and rate.ndim == 0:
        return ()
    if (
        q.owner is not None
        and isinstance(q.owner.op, Subtensor)
        and q.owner.inputs[0] is rate
        and rate.ndim == 1
    ):
        [index] = get_constant_idx(q.owner.op.idx_list, q.owner.inputs, allow_partial=True)
        if isinstance(index, int | np.integer):
            return (int(index),)
    raise TypeError(
        f"FlipRateGibbs needs {rate.name} itself or an entry of it as the flip rate of a class, "
        "not a function of it. Use a general step such as pm.Slice for it."
    )
