"""Conformance test of PyMC step methods: the protocol they keep, and the numbers they give."""

import tempfile
from dataclasses import dataclass, field

import numpy as np
import pymc as pm
from pymc.step_methods.compound import Competence
from pytensor.compile.mode import Mode

from bayeskernels.testing.mean_comparison import MeanComparison
from bayeskernels.testing.other_process import call_elsewhere
from bayeskernels.testing.step_chain import StepChain, expect, first_difference

__all__ = ["SamplerReport", "check_sampler"]


@dataclass
class SamplerReport:
    """What :func:`check_sampler` has found in order.

    Attributes
    ----------
    step_name : str
    passed : list of str
        Names of the checks.
    z_scores : dict of str to float
        Deviation of each functional's mean from the expected one, in its standard errors.
    effective_draws : dict of str to float
        Effective number of draws behind each mean.
    """

    step_name: str
    passed: list[str] = field(default_factory=list)
    z_scores: dict[str, float] = field(default_factory=dict)
    effective_draws: dict[str, float] = field(default_factory=dict)

    def __str__(self):
        lines = [f"{self.step_name}: {len(self.passed)} checks passed"]
        lines += [f"  {name}" for name in self.passed]
        lines += [
            f"  {name}: z = {z:+.2f}, {self.effective_draws[name]:.0f} effective draws"
            for name, z in self.z_scores.items()
        ]
        return "\n".join(lines)


def check_sampler(
    step_factory,
    *,
    model,
    stat_prefix=None,
    n_steps=40,
    start=None,
    move_others=None,
    parallel=True,
    processes=False,
    exact_means=None,
    agreement=None,
    reference=None,
    draws=4000,
    tune=500,
    false_alarm_rate=1e-4,
    random_seed=1,
) -> SamplerReport:
    """Check that a step method keeps PyMC's protocol, replays, and samples the right distribution.

    Always checked: the form of what ``step`` returns; declared statistics are the returned ones,
    scalar, and named after the step; variables of other steps stay untouched; a restored
    ``sampling_state`` replays the same draws exactly, in the same step and in a new one; saving a
    state changes nothing; equal seeds give equal draws and others do not; ``setup_chain`` leaves
    nothing of the chain before; ``pm.sample`` gives the same draws with ``cores=1`` and
    ``cores=2``. Checked on demand: the same draws and replays in other processes (``processes``),
    known means (``exact_means``), and agreement with another step (``reference``).

    Parameters
    ----------
    step_factory : callable
        Makes the step, without arguments and in the context of the model: a step class, or e.g.
        ``lambda: KernelGibbs(sweeps=5)``.
    model : pm.Model
        A model in which the step is at home; small, for speed.
    stat_prefix : str, optional
        What the names of the statistics begin with; the ``name`` of the step by default, the empty
        string for no demand.
    n_steps : int
        Length of the chains that are compared exactly. Make it longer than any internal cycle of
        the step.
    start : dict, optional
        Starting point in PyMC's unconstrained space; the model's initial point by default.
    move_others : callable, optional
        ``move_others(point, k)`` returns the point with other variables moved, before step k: the
        part of the other steps in the exact comparisons.
    parallel : bool
        Whether to run ``pm.sample`` with one and two cores.
    processes : bool or "empty caches"
        Whether to make the chain, and to go on from its saved states, in another process with other
        hashes and another layout of the memory: some seconds. With ``"empty caches"`` that one also
        has to compile everything, and a third one follows: minutes.
    exact_means : dict of str to (callable, float), optional
        Functionals with their exact posterior means. A functional maps the posterior (a Dataset
        with the dimensions ``chain`` and ``draw``) to a DataArray with these two dimensions.
    agreement : dict of str to callable, optional
        Functionals whose means must agree with those of ``reference``.
    reference : callable, optional
        Makes the step to compare with.
    draws, tune : int
        Length of each of the four chains behind the means.
    false_alarm_rate : float
        Probability that a right sampler fails any of the comparisons of means: shared out among
        them by Bonferroni's rule, with normal errors at ArviZ's Monte Carlo standard error.
    random_seed : int

    Raises
    ------
    AssertionError
        Saying what was expected and what came.

    Examples
    --------
    >>> model = bk.models.label_noise_classifier(
    ...     np.eye(2), [0, 1], kernel=lambda X, Z: X @ Z.T, noise=0.1
    ... )
    >>> report = bk.testing.check_sampler(
    ...     bk.samplers.KernelGibbs,
    ...     model=model,
    ...     parallel=False,
    ...     exact_means={"both right": (lambda p: (p.w[..., 0] < 0) & (p.w[..., 1] > 0), 0.81)},
    ...     draws=500,
    ... )
    >>> "exact means" in report.passed
    True
    """
    chain = StepChain(step_factory, model, start, move_others, n_steps)
    step = chain.new_step()
    report = SamplerReport(getattr(step, "name", type(step).__name__))
    checks = {
        "protocol": lambda: _check_protocol(chain, stat_prefix),
        "seeds": lambda: _check_seeds(chain, random_seed),
        "per-chain reset": lambda: _check_reset(chain, random_seed),
        "state replay": lambda: _check_replay(chain, random_seed),
    }
    if processes:
        is_cold = processes == "empty caches"
        checks["processes"] = lambda: _check_processes(chain, random_seed, empty_caches=is_cold)
    if parallel:
        checks["cores"] = lambda: _check_cores(step_factory, model, random_seed)
    if exact_means or agreement:
        n_comparisons = len(exact_means or {}) + len(agreement or {})
        means = MeanComparison(report, false_alarm_rate / n_comparisons)
        run = {"model": model, "draws": draws, "tune": tune, "random_seed": random_seed}
        if exact_means:
            checks["exact means"] = lambda: means.with_exact(
                _long_run(step_factory, **run), exact_means
            )
        if agreement:
            expect(reference is not None, "expected a reference step for the agreement; got none")
            checks["agreement"] = lambda: means.with_reference(
                _long_run(step_factory, **run), _long_run(reference, **run), agreement
            )
    for name, check in checks.items():
        check()
        report.passed.append(name)
    return report


def _check_protocol(chain, stat_prefix):
    step = chain.begin(chain.new_step(), 0)
    own = chain.own(step)
    prefix = stat_prefix
    if prefix is None:
        prefix = getattr(step, "stat_prefix", None) or getattr(step, "name", None)
    expect(prefix is not None, "expected the step to have a name; it has none")
    declared = step.stats_dtypes_shapes
    for name, (dtype, shape) in declared.items():
        expect(
            name.startswith(prefix),
            f"expected statistics named {prefix}...; got {name!r}, which may collide with another "
            "step's",
        )
        # PyMC's trace cannot store vectors, but it does store objects, and those may be arrays.
        expect(
            dtype is object or shape == [],
            f"expected scalar statistics, or dtype object; {name} is declared with shape {shape}",
        )
    for value in step.vars:
        with chain.model:
            level = step.competence(chain.model.values_to_rvs[value], False)
        expect(
            isinstance(level, Competence), f"expected a Competence from competence(); got {level!r}"
        )
    # A few evaluations are not worth compiling for.
    logp = chain.model.compile_logp(mode=Mode(linker="py", optimizer="fast_compile"))
    point = chain.start
    has_moved = dict.fromkeys(own, False)
    for k in range(chain.n_steps):
        point = chain.move_others(point, k)
        before = {name: np.array(value) for name, value in point.items()}
        result = step.step(point)
        expect(
            isinstance(result, tuple) and len(result) == 2,
            f"expected step() to return a point and statistics; got {type(result).__name__}",
        )
        new, statistics = result
        expect(
            isinstance(statistics, list) and len(statistics) == 1,
            f"expected a list of one dict of statistics; got {statistics!r}",
        )
        expect(
            set(statistics[0]) == set(declared),
            f"expected the declared statistics {sorted(declared)}; got {sorted(statistics[0])}",
        )
        for name, value in statistics[0].items():
            if declared[name][0] is object:
                continue
            expect(np.ndim(value) == 0, f"expected a scalar {name}; got {value!r}")
            kind = np.asarray(value).dtype
            expect(
                np.can_cast(kind, np.dtype(declared[name][0]), casting="same_kind"),
                f"expected {name} of type {np.dtype(declared[name][0])}; got {kind}",
            )
        expect(
            set(new) == set(before),
            f"expected a point with the variables {sorted(before)}; got {sorted(new)}",
        )
        for name, value in before.items():
            expect(
                np.array_equal(point[name], value),
                f"expected step() to leave its argument alone; it overwrote {name} in place",
            )
            if name not in own:
                expect(
                    np.array_equal(new[name], value),
                    f"expected other variables to stay; {name} went from {value} to {new[name]}",
                )
                continue
            got = np.asarray(new[name])
            expect(
                got.shape == value.shape and got.dtype.kind == value.dtype.kind,
                f"expected {name} of shape {value.shape}, {value.dtype}; "
                f"got {got.shape}, {got.dtype}",
            )
            has_moved[name] = has_moved[name] or not np.array_equal(got, value)
        density = logp(new)
        expect(np.isfinite(density), f"expected a possible point; got log-density {density}")
        point = new
    still = [name for name, moved in has_moved.items() if not moved]
    expect(not still, f"expected every variable to move; {still} stood still")


def _check_seeds(chain, seed):
    first = chain.run(chain.begin(chain.new_step(), seed))
    again = chain.run(chain.begin(chain.new_step(), seed))
    step = chain.begin(chain.new_step(), seed + 1)
    other = chain.run(step)
    names = chain.own(step)
    difference = first_difference(first, again, names)
    expect(difference is None, f"expected the same draws from the same seed; {difference}")
    expect(
        first_difference(first, other, names) is not None,
        "expected other draws from another seed; all are equal: does the step use self.rng?",
    )


def _check_reset(chain, seed):
    step = chain.begin(chain.new_step(), seed)
    names = chain.own(step)
    expected = chain.run(step)
    # Chains before of two lengths: one of them leaves an internal cycle in the middle.
    for length in (1, chain.n_steps // 2 + 1):
        chain.begin(step, seed + 1)
        chain.run(step, steps=range(length))
        if hasattr(step, "reset_tuning"):
            step.reset_tuning()
        chain.begin(step, seed)
        difference = first_difference(expected, chain.run(step), names)
        expect(
            difference is None,
            f"expected setup_chain to forget the chain before; afterwards {difference}",
        )


def _check_replay(chain, seed):
    step = chain.begin(chain.new_step(), seed)
    names = chain.own(step)
    whole = chain.run(step)
    watched, states = chain.watch(seed)
    difference = first_difference(whole, watched, names)
    expect(difference is None, f"expected reading sampling_state to change nothing; {difference}")
    for where, target in [("the same step", step), ("a new step", None)]:
        _check_rest(whole, chain.resume(whole, states, target), names, where)


def _check_rest(whole, rest, names, where):
    for at, replay in rest.items():
        difference = first_difference(whole[at:], replay, names)
        expect(
            difference is None,
            f"expected {where} with the state before step {at} to replay the draws; after that "
            f"{difference}",
        )


def _check_processes(chain, seed, *, empty_caches):
    """The chain and its continuations in other processes; with empty caches in the first."""
    names = chain.own(chain.new_step())
    whole, states = chain.watch(seed)
    with tempfile.TemporaryDirectory() as folder:
        runs = {"a process with warm caches": {"hash_seed": 2}}
        if empty_caches:
            cold = {"a process with empty caches": {"cache": folder}}
            runs = cold | {"a process that follows it": {"cache": folder, "hash_seed": 2}}
        for where, options in runs.items():
            again, rest = call_elsewhere(_follow, chain, seed, whole, states, **options)
            difference = first_difference(whole, again, names)
            expect(difference is None, f"expected the same draws in {where}; {difference}")
            _check_rest(whole, rest, names, where)


def _follow(chain, seed, record, states):
    # Other functions are compiled, or loaded, first than in a process that begins the chain.
    rest = chain.resume(record, states)
    return chain.run(chain.begin(chain.new_step(), seed)), rest


def _sample(step_factory, *, model, **options):
    with model:
        return pm.sample(
            step=step_factory(),
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
            **options,
        )


def _long_run(step_factory, **options):
    return _sample(step_factory, chains=4, cores=1, **options).posterior


def _check_cores(step_factory, model, seed):
    traces = [
        _sample(
            step_factory, model=model, draws=20, tune=10, chains=2, cores=cores, random_seed=seed
        ).posterior
        for cores in (1, 2)
    ]
    for name in traces[0].data_vars:
        one, two = (trace[name].values for trace in traces)
        expect(
            np.array_equal(one, two),
            f"expected the same draws with cores=1 and cores=2; {name} differs by up to "
            f"{np.abs(one - two).max():.3g}",
        )
        expect(
            not np.array_equal(one[0], one[1]) or np.ptp(one) == 0,
            f"expected different chains; both gave the same {name}",
        )
