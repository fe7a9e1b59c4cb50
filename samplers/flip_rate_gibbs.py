r"""Exact Gibbs step for an unknown flip rate.

Given the outputs of the classifier it is known which labels were flipped, and the likelihood of a
class's flip rate is :math:`q^{flips} (1-q)^{others}`. Under a Beta prior cut off at one half the
posterior is again such a Beta, from which one can draw exactly by inverting its distribution
function.
"""

import numpy as np
import pymc as pm
from pymc.pytensorf import compile as compile_graph
from pymc.step_methods.compound import BlockedStep, Competence, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.traversal import ancestors
from scipy.special import betainc, betaincinv

from bayeskernels.distributions import FlipRateRV, LabelNoiseRV
from bayeskernels.samplers.progress import ProgressColumns

__all__ = ["FlipRateGibbs", "draw_flip_rate"]


def draw_flip_rate(alpha, beta, rng):
    """Draw from Beta(alpha, beta) restricted to (0, 1/2).

    Parameters
    ----------
    alpha, beta : float or array
        Parameters; arrays of one shape give as many draws.
    rng : numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> q = draw_flip_rate(np.full(1000, 3.0), 30.0, np.random.default_rng(1))
    >>> bool(abs(q.mean() - 3 / 33) < 0.01)
    True
    """
    alpha, beta = np.broadcast_arrays(np.asarray(alpha, float), np.asarray(beta, float))
    level = rng.random(alpha.shape)
    rate = betaincinv(alpha, beta, level * betainc(alpha, beta, 0.5))
    return np.clip(rate, np.finfo(float).tiny, np.nextafter(0.5, 0.0))


@dataclass_state
class FlipRateGibbsState(StepMethodState):
    """Everything that the next step needs: nothing but the generator."""


class FlipRateGibbs(ProgressColumns, BlockedStep):
    """Step method that draws flip rates given everything else; PyMC's choice for ``FlipRate``.

    A scalar rate serves both classes; a pair is that of the negative and the positive class.

    Notes
    -----
    Sampler statistic: ``flip_rate_flips``, the number of labels that the present classifier
    contradicts.
    """

    name = "flip_rate_gibbs"
    default_tune_steps = 0
    default_blocked = False
    stats_dtypes_shapes = {"flip_rate_flips": (int, [])}
    _state_class = FlipRateGibbsState

    def __init__(
        self,
        vars=None,
        *,
        model=None,
        rng=None,
        initial_point=None,
        compile_kwargs=None,
        blocked=False,
    ):
        model = pm.modelcontext(model)
        if vars is None:
            vars = [rv for rv in model.free_RVs if isinstance(rv.owner.op, FlipRateRV)]
        self.vars = get_value_vars_from_user_vars(vars, model)
        [value] = self.vars
        self.blocked = blocked
        self.rng = get_random_generator(rng)
        rate = model.values_to_rvs[value]
        self._shape = tuple(rate.shape.eval())
        self._value_name = value.name
        self._counts = self._compile_counts(model, rate, compile_kwargs or {})
        # The model's transform is Interval(0, 1/2): the value is log(q / (1/2 - q)).
        self._is_transformed = model.rvs_to_transforms[rate] is not None

    @staticmethod
    def _compile_counts(model, rate, compile_kwargs):
        """Compile the function that gives prior parameters and counts of flips and non-flips."""
        terms = [rv for rv in model.observed_RVs if isinstance(rv.owner.op, LabelNoiseRV)]
        mine = [rv for rv in terms if rate in ancestors(rv.owner.inputs[3:5])]
        others = [i for rv in model.basic_RVs if rv not in mine for i in rv.owner.inputs]
        if not mine or rate in ancestors([*others, *model.potentials]):
            raise TypeError(
                f"{rate.name} must be the flip rate of LabelNoise likelihoods and of nothing else "
                "for FlipRateGibbs. Use a general step such as pm.Slice for it."
            )
        outputs = list(rate.owner.inputs[2:4])
        for rv in mine:
            f, negative, positive = rv.owner.inputs[2:5]
            _check_use(rate, negative, positive)
            y = model.rvs_to_values[rv]
            outputs += [f, y]
        outputs = model.replace_rvs_by_values(outputs)
        used = set(ancestors(outputs))
        inputs = [v for v in model.value_vars if v in used]
        function = compile_graph(inputs, outputs, **compile_kwargs)
        names = [v.name for v in inputs]

        def counts(point):
            alpha, beta, *pairs = function(*(point[name] for name in names))
            flips, stays = np.zeros(2), np.zeros(2)
            for f, y in zip(pairs[::2], pairs[1::2], strict=True):
                # An output of exactly zero counts as an error: the true class is the other one.
                error = np.where(y == 1, f <= 0, f >= 0)
                true_class = np.where(error, 1 - y, y)
                flips += np.bincount(true_class[error], minlength=2)
                stays += np.bincount(true_class[~error], minlength=2)
            return alpha, beta, flips, stays

        return counts

    def step(self, point):
        """Draw the rate afresh."""
        alpha, beta, flips, stays = self._counts(point)
        if self._shape == ():
            rate = draw_flip_rate(alpha + flips.sum(), beta + stays.sum(), self.rng)
        else:
            rate = draw_flip_rate(alpha + flips, beta + stays, self.rng)
        value = np.log(rate) - np.log(0.5 - rate) if self._is_transformed else rate
        new = {**point, self._value_name: np.asarray(value)}
        return new, [{"flip_rate_flips": int(flips.sum())}]

    @staticmethod
    def competence(var, has_grad):
        """Flip rates with their own prior only."""
        if isinstance(getattr(var.owner, "op", None), FlipRateRV):
            return Competence.IDEAL
        return Competence.INCOMPATIBLE


def _check_use(rate, negative, positive):
    """The rate must be used as it is: both classes alike, or one entry for each class."""
    if negative is rate and positive is rate:
        return
    if rate.ndim == 1:
        parents = [q.owner.inputs[0] if q.owner is not None else None for q in (negative, positive)]
        if all(parent is rate for parent in parents):
            return
    raise TypeError(
        f"FlipRateGibbs needs {rate.name} itself as the flip rate, not a function of it. "
        "Use a general step such as pm.Slice for it."
    )
