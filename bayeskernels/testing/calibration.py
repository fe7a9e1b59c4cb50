r"""Simulation-based calibration of posterior draws, by the ranks of true values among them.

Where parameters are drawn from the prior and data given these parameters, the parameters are one
more draw from the posterior given the data: among L independent posterior draws of any quantity the
true value has each rank from 0 to L with the same probability (Talts et al. 2018). Wrong priors,
likelihoods and samplers, and draws from the posterior of other data, show as ranks that are not
uniform. Quantities of the parameters alone miss some errors, of which data that are ignored are the
plainest; the log-likelihood does not (Modrák et al. 2023) and always takes part.

References
----------
.. [1] S. Talts, M. Betancourt, D. Simpson, A. Vehtari and A. Gelman, "Validating Bayesian inference
   algorithms with simulation-based calibration", arXiv:1804.06788, 2018.
.. [2] M. Modrák, A. H. Moon, S. Kim, P. Bürkner, N. Huurre, K. Faltejsková, A. Gelman and A.
   Vehtari, "Simulation-based calibration checking for Bayesian computation: the choice of test
   quantities shapes sensitivity", Bayesian Analysis 20:461-488, 2025.
"""

import copy
from dataclasses import dataclass

import numpy as np
import pymc as pm
from arviz_base import dict_to_dataset
from pymc.initial_point import make_initial_point_fn
from pymc.sampling.mcmc import assign_step_methods, instantiate_steppers
from pymc.step_methods.compound import BlockedStep, CompoundStep
from pymc.util import get_random_generator

from bayeskernels.kernels.argument import numpy_function
from bayeskernels.testing.model_quantities import ModelQuantities
from bayeskernels.testing.uniformity import uniformity_p_value

__all__ = ["CalibrationReport", "check_calibration", "simulate_calibration"]

#: So many draws of the prior without acceptable data mean that there are none.
MAX_REJECTED = 5000


@dataclass(frozen=True)
class CalibrationReport:
    """Ranks of true values among posterior draws.

    Attributes
    ----------
    ranks : dict of str to array of int, shape (replications,)
        By quantity, from 0 to ``kept``.
    kept : int
        Posterior draws behind each rank.
    autocorrelations : dict of str to float
        Correlation of neighbouring draws among those kept, on average over the replications. Where
        it is far from zero the draws are not independent, and right ones fail too: thin more.
    """

    ranks: dict[str, np.ndarray]
    kept: int
    autocorrelations: dict[str, float]

    @property
    def p_values(self):
        """Of the test for uniformity, by quantity."""
        return {name: uniformity_p_value(ranks, self.kept) for name, ranks in self.ranks.items()}

    @property
    def p_value(self):
        """Smallest p-value, times the number of quantities."""
        return min(1.0, len(self.ranks) * min(self.p_values.values()))

    def __str__(self):
        n = len(next(iter(self.ranks.values())))
        lines = [f"{n} replications, ranks from 0 to {self.kept}: p = {self.p_value:.2g}"]
        for name, p in self.p_values.items():
            share = self.ranks[name].mean() / self.kept
            lines.append(
                f"  {name}: p = {p:.2g}, mean rank {share:.2f}, "
                f"autocorrelation {self.autocorrelations[name]:.2f}"
            )
        return "\n".join(lines)


def check_calibration(model, *, false_alarm_rate=1e-3, **options) -> CalibrationReport:
    """Check by simulation that posterior draws of a model are calibrated.

    Parameters
    ----------
    model : pm.Model
    false_alarm_rate : float
        Probability that right draws fail: shared out among the quantities by Bonferroni's rule.
    **options
        Of :func:`simulate_calibration`.

    Raises
    ------
    AssertionError
        With the p-values of all quantities.

    Examples
    --------
    >>> model = bk.models.gaussian_mean([3.0])
    >>> options = {"replications": 20, "draws": 100, "tune": 100, "reuse_steps": True}
    >>> report = bk.testing.check_calibration(model, random_seed=1, **options)
    >>> sorted(report.ranks)
    ['log likelihood', 'mu', 'output 0 of x']
    """
    report = simulate_calibration(model, **options)
    if report.p_value < false_alarm_rate:
        raise AssertionError(
            f"expected uniform ranks, which have a p-value below {false_alarm_rate:g} with that "
            f"probability only; got {report}"
        )
    return report


def simulate_calibration(
    model,
    *,
    quantities=None,
    replications=100,
    draws=400,
    tune=200,
    kept=19,
    build=None,
    simulate=None,
    accept=None,
    sample=None,
    reuse_steps=False,
    random_seed=None,
) -> CalibrationReport:
    """Rank true values among posterior draws, for data simulated from the model itself.

    Parameters
    ----------
    model : pm.Model
        With a proper prior, and observations that are ``pm.Data``: new ones are set by
        ``pm.set_data``, and the old ones at the end.
    quantities : dict of str to TensorVariable, optional
        See :class:`~bayeskernels.testing.model_quantities.ModelQuantities`. Ties are broken at
        random.
    replications : int
    draws, tune : int
        Of the one chain of ``pm.sample`` in each replication.
    kept : int
        How many of the draws are kept, evenly spaced; so few that they are nearly independent.
    build : callable, optional
        ``build(data)`` returns the model to be sampled, for observations by the name of their
        variable. For models that cannot be given new data.
    simulate : callable, optional
        ``simulate(truth, rng)`` returns observations by the name of their variable or of their
        ``pm.Data``, for a draw of the free variables; by default they are drawn from the model. For
        likelihoods that are potentials.
    accept : callable, optional
        ``accept(data)`` says whether to use such observations at all. Calibration holds for any
        part of them, for example those of two classes.
    sample : callable, optional
        ``sample(model, seed)`` returns posterior draws as a DataTree; ``pm.sample`` by default.
    reuse_steps : bool, default False
        Make the steps that ``pm.sample`` would choose once, and run its loop with them: up to ten
        times faster, with the same draws (NUTS starts without jitter), and a test that steps read
        their data anew. Not with ``build``.
    random_seed : int, optional
    """
    if not 1 <= kept <= draws:
        raise ValueError(f"kept must be between 1 and draws = {draws}, got {kept}.")
    if reuse_steps and build is not None:
        raise ValueError("build makes a new model each time; steps cannot be reused then.")
    rng = np.random.default_rng(random_seed)
    watched = ModelQuantities(model, quantities)
    joint = _JointDraws(watched, simulate, accept, rng)
    if sample is None:
        sample = ReusedSteps(model, draws, tune) if reuse_steps else PlainSample(draws, tune)
    names, before = watched.observed_data, {}
    ranks, neighbours = [], []
    try:
        for _ in range(replications):
            truth, data = joint.draw()
            new = {names.get(name, name): value for name, value in data.items()}
            before = before or {name: model[name].get_value() for name in new}
            with model:
                pm.set_data(new)
            posed = model if build is None else build(data)
            posterior = sample(posed, int(rng.integers(2**31)))["posterior"]
            n = posterior.sizes["chain"] * posterior.sizes["draw"]
            values = watched(posterior, np.arange(1, kept + 1) * (n // kept) - 1)
            ranks.append(_ranks(watched(truth)[0], values, rng))
            neighbours.append(_neighbour_correlations(values, rng))
    finally:
        with model:
            pm.set_data(before)
    ranks, neighbours = np.array(ranks), np.mean(neighbours, axis=0)
    return CalibrationReport(
        dict(zip(watched.names, ranks.T, strict=True)),
        kept,
        dict(zip(watched.names, neighbours.tolist(), strict=True)),
    )


class _JointDraws:
    """Parameters and observations, one pair at a time."""

    def __init__(self, watched, simulate, accept, rng):
        self.watched, self.simulate, self.accept, self.rng = watched, simulate, accept, rng
        self.waiting = []

    def draw(self):
        """Parameters with an axis of one draw, and observations, both by name."""
        for _ in range(MAX_REJECTED):
            truth, data = self._next()
            if self.accept is None or self.accept(data):
                return truth, data
        raise ValueError(f"accept refused {MAX_REJECTED} simulated data sets in a row.")

    def _next(self):
        if not self.waiting:
            drawn = self.watched.draw_prior(100, self.rng, observed=self.simulate is None)
            self.waiting = [{k: v[[i]] for k, v in drawn.items()} for i in range(100)]
        values = self.waiting.pop()
        free = [rv.name for rv in self.watched.model.free_RVs]
        truth = {name: values[name] for name in free}
        if self.simulate is not None:
            return truth, self.simulate({k: v[0] for k, v in truth.items()}, self.rng)
        return truth, {name: v[0] for name, v in values.items() if name not in truth}


class PlainSample:
    """``pm.sample`` as it is, chain after chain in this process."""

    def __init__(self, draws, tune, chains=1):
        self.options = {
            "draws": draws,
            "tune": tune,
            "chains": chains,
            "cores": 1,
            "progressbar": False,
            "quiet": True,
            "compute_convergence_checks": False,
            "nuts_sampler": "pymc",
        }

    def __call__(self, model, seed):
        with model:
            return pm.sample(**self.options, random_seed=seed)


class ReusedSteps:
    """The loop of ``pm.sample`` with the steps that it would choose, all of it compiled once."""

    def __init__(self, model, draws, tune):
        self.draws, self.tune = draws, tune
        with model:
            steps = instantiate_steppers(model, *assign_step_methods(model))
        self.step = steps if isinstance(steps, BlockedStep) else CompoundStep(steps)
        self.state = copy.deepcopy(self.step.sampling_state)
        self.start = make_initial_point_fn(model=model)
        self.names = [v.name for v in model.value_vars]
        self.free = [rv.name for rv in model.free_RVs]
        graphs = model.replace_rvs_by_values(model.free_RVs)
        self.constrain = numpy_function(model.value_vars, graphs)

    def __call__(self, model, seed):
        # Random numbers are those of pm.sample with this seed.
        [rng] = get_random_generator(seed).spawn(1)
        point = self.start(rng.integers(2**30))
        # Nothing that was tuned for other data is left.
        self.step.sampling_state = copy.deepcopy(self.state)
        self.step.setup_chain(rng, self.tune, self.draws)
        self.step.tune = self.tune > 0
        if hasattr(self.step, "reset_tuning"):
            self.step.reset_tuning()
        drawn = []
        for k in range(self.tune + self.draws):
            if k == self.tune:
                self.step.stop_tuning()
            point, _ = self.step.step(point)
            if k >= self.tune:
                drawn.append(point)
        values = [self.constrain(*(point[name] for name in self.names)) for point in drawn]
        columns = zip(self.free, zip(*values, strict=True), strict=True)
        return {"posterior": dict_to_dataset({k: np.array(v)[None] for k, v in columns})}


def _ranks(truth, values, rng):
    """Rank of each true value among draws (rows), ties broken at random."""
    below, equal = (values < truth).sum(axis=0), (values == truth).sum(axis=0)
    return below + rng.integers(equal + 1)


def _neighbour_correlations(values, rng):
    """Correlation of the ranks of neighbouring draws, without the bias from the unknown mean."""
    n = len(values)
    order = np.lexsort((rng.random(values.shape), values), axis=0)
    ranks = np.argsort(order, axis=0) - (n - 1) / 2
    correlation = (ranks[1:] * ranks[:-1]).mean(axis=0) / (n**2 - 1) * 12
    return correlation + 1 / n
