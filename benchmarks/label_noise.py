"""Samplers of the label-noise classifier, side by side.

Run ``python benchmarks/label_noise.py --help``; how to read the result is in README.md here.
"""

from pathlib import Path

import numpy as np
import pymc as pm
from _bench import bare_billiard, parts_of, run_parts
from _contest import Contender, Stretch, clock
from _peers import metropolis, paper_kernel_gibbs

from bayeskernels.samplers import RefractiveBilliard, simulate_kernel_gibbs
from bayeskernels.samplers.directions.billiards.wall_dynamics import wall_gram

#: Problem and training points of the contests; sonar has 208 points, 20 of them are for testing.
SMALL = [("checkerboard", 100), ("heart", 100), ("sonar", 100)]
MEDIUM = [("checkerboard", 300), ("heart", 250), ("sonar", 188)]
NOISE = (0.05, 0.1)


def bare_gibbs(problem, *, seconds, sweeps=20):
    """KernelGibbs without PyMC; thinned, since neighbouring draws are nearly equal."""

    def run(start, n_draws, rng):
        began = clock()
        path = simulate_kernel_gibbs(problem.walls, start, n_draws, rng=rng, sweeps=sweeps)
        took = clock() - began
        return Stretch(problem.outputs(path.draws), path.errors, took, n_draws * sweeps)

    return Contender("KernelGibbs", run, seconds)


def billiard_through_pymc(problem, *, seconds, sweeps, name="pm.sample", noise=None):
    """RefractiveBilliard as ``pm.sample`` runs it.

    The clock runs from the last tuning step to the last draw, so it leaves out what PyMC
    compiles before and what it computes after sampling.
    """
    model = problem.model(noise)

    def run(start, n_draws, rng):
        times = []

        def tick(trace, draw):
            if draw.draw_idx == 0 or draw.draw_idx == n_draws:
                times.append(clock())

        with model:
            idata = pm.sample(
                n_draws,
                tune=1,
                chains=1,
                cores=1,
                initvals={"w": start},
                refractive_billiard={"sweeps": sweeps},
                callback=tick,
                random_seed=int(rng.integers(2**31)),
                progressbar=False,
                quiet=True,
                compute_convergence_checks=False,
            )
        draws = idata.posterior["w"].values[0]
        stats = idata.sample_stats
        return Stretch(
            problem.outputs(draws),
            stats["refractive_errors"].values[0],
            times[1] - times[0],
            n_draws * sweeps,
            int(stats["refractive_events"].values.sum()),
        )

    return Contender(name, run, seconds, min_draws=500)


def measure_gibbs(bench):
    """RefractiveBilliard against KernelGibbs, both bare."""
    for sizes, output_target in [(SMALL, 200), (MEDIUM, 400)]:
        for problem in bench.problems(sizes, NOISE):
            scores = bench.contest(
                "gibbs",
                problem,
                [
                    bare_billiard(problem, seconds=bench.scaled(1.0)),
                    bare_gibbs(problem, seconds=bench.scaled(8.0)),
                ],
            )
            ours, theirs = scores["RefractiveBilliard"], scores["KernelGibbs"]
            details = {name: score.as_dict() for name, score in scores.items()}
            bench.add(
                "gibbs",
                problem,
                "outputs ESS/s, ratio",
                ours.output_rate / theirs.output_rate,
                output_target,
                is_bound=not theirs.output_is_trusted,
                note=f"{ours.output_rate:,.0f}/s against {theirs.output_rate:,.3g}/s "
                f"(ESS {theirs.typical_ess:,.0f})",
                details=details,
            )
            bench.add(
                "gibbs",
                problem,
                "error count ESS/s, ratio",
                ours.error_rate / theirs.error_rate,
                40,
                is_bound=not theirs.error_is_trusted,
                note=f"{ours.error_rate:,.0f}/s against {theirs.error_rate:,.3g}/s "
                f"(ESS {theirs.error_ess:,.0f})",
            )


def measure_pymc(bench):
    """What PyMC's loop costs: the same sweeps per draw through pm.sample and bare."""
    cases = [("checkerboard", 100, 0.4), ("heart", 100, 0.4), ("checkerboard", 1000, 0.8)]
    cases += [("waveform", 1000, 0.8)]
    for name, m, target in cases:
        for problem in bench.problems([(name, m)], [0.1]):
            sweeps = default_sweeps(problem)
            scores = bench.contest(
                "pymc",
                problem,
                [
                    bare_billiard(problem, seconds=bench.scaled(4.0), sweeps=sweeps, name="bare"),
                    billiard_through_pymc(problem, seconds=bench.scaled(4.0), sweeps=sweeps),
                    bare_billiard(problem, seconds=bench.scaled(2.0), name="bare, every one"),
                    billiard_through_pymc(
                        problem,
                        seconds=bench.scaled(4.0),
                        sweeps=sweeps,
                        name="unknown noise",
                        noise="infer",
                    ),
                ],
            )
            names = ("bare", "pm.sample", "bare, every one", "unknown noise")
            bare, ours, every, unknown = (scores[name] for name in names)
            bench.add(
                "pymc",
                problem,
                "trajectories/s, share of bare",
                ours.step_rate / bare.step_rate,
                target,
                note=f"{ours.step_rate:,.0f}/s of {bare.step_rate:,.0f}/s, {sweeps} per draw",
                details={name: score.as_dict() for name, score in scores.items()},
            )
            bench.add(
                "pymc",
                problem,
                "microseconds per draw that are PyMC's and the step's",
                1e6 * (ours.seconds / ours.draws - sweeps * bare.seconds / bare.steps),
                note=f"of {1e6 * ours.seconds / ours.draws:,.0f}",
            )
            bench.add(
                "pymc",
                problem,
                "outputs ESS/s, share of bare",
                ours.output_rate / bare.output_rate,
                target,
                note=f"{ours.output_rate:,.0f}/s; bare with every trajectory recorded "
                f"{every.output_rate:,.0f}/s",
            )
            bench.add(
                "pymc",
                problem,
                "error count ESS/s, share of bare",
                ours.error_rate / bare.error_rate,
                note=f"{ours.error_rate:,.0f}/s; bare with every trajectory recorded "
                f"{every.error_rate:,.0f}/s",
            )
            bench.add(
                "pymc",
                problem,
                "outputs ESS/s with unknown noise, share of bare with known noise",
                unknown.output_rate / bare.output_rate,
                0.3,
                note=f"{unknown.output_rate:,.0f}/s; error count {unknown.error_rate:,.0f}/s",
            )


def default_sweeps(problem):
    """Trajectories per draw that RefractiveBilliard chooses by itself."""
    with problem.model():
        step = RefractiveBilliard()
    return step._make_sampler(problem.walls, np.ones(problem.walls.dimension)).sweeps


def measure_metropolis(bench):
    """RefractiveBilliard, bare and through PyMC, against pm.Metropolis."""
    for problem in bench.problems(SMALL, [0.1]):
        bench.say(f"metropolis: {problem}: tuning")
        tune = 300 if bench.quick else 1500
        scores = bench.contest(
            "metropolis",
            problem,
            [
                bare_billiard(problem, seconds=bench.scaled(1.0)),
                billiard_through_pymc(problem, seconds=bench.scaled(1.0), sweeps=1),
                metropolis(problem, seconds=bench.scaled(12.0), rng=bench.rng, tune=tune),
            ],
        )
        theirs = scores["pm.Metropolis"]
        for name, label in [("RefractiveBilliard", "bare"), ("pm.sample", "through pm.sample")]:
            ours = scores[name]
            bench.add(
                "metropolis",
                problem,
                f"outputs ESS/s, ratio, {label}",
                ours.output_rate / theirs.output_rate,
                500,
                is_bound=not theirs.output_is_trusted,
                note=f"{ours.output_rate:,.0f}/s against {theirs.output_rate:,.3g}/s "
                f"(ESS {theirs.typical_ess:,.0f}); error count "
                f"{ours.error_rate / theirs.error_rate:,.0f}",
                details={name: score.as_dict() for name, score in scores.items()},
            )


def measure_transcription(bench):
    """KernelGibbs against the paper's algorithm as printed: the same chain, so steps count."""
    for problem in bench.problems(SMALL, [0.1]):
        scores = bench.contest(
            "transcription",
            problem,
            [
                bare_gibbs(problem, seconds=bench.scaled(2.0)),
                paper_kernel_gibbs(problem, seconds=bench.scaled(2.0), sweeps=20),
            ],
        )
        ours, theirs = scores["KernelGibbs"], scores["NumPy transcription"]
        bench.add(
            "transcription",
            problem,
            "KernelGibbs steps/s, ratio to NumPy",
            ours.step_rate / theirs.step_rate,
            15,
            note=f"{1e6 / ours.step_rate:,.1f} us against {1e6 / theirs.step_rate:,.1f} us a step",
            details={name: score.as_dict() for name, score in scores.items()},
        )


def measure_events(bench):
    """Cost of an event, everything included, as the number of points grows."""
    sizes = [100, 300, 1000] if bench.quick else [100, 300, 1000, 3000, 5000]
    for name in ("checkerboard", "waveform"):
        for m in sizes:
            [problem] = bench.problems([(name, m)], [0.1])
            bench.say(f"events: {problem}")
            n_walls = problem.walls.n_walls
            [start] = problem.equilibrium_draws(1, bench.rng, burn_in=20, apart=1)
            contender = bare_billiard(problem, seconds=0, gram=wall_gram(problem.walls.normals))
            pilot = contender.run(start, 10, bench.rng)
            n_draws = max(10, int(bench.scaled(2.0) / pilot.seconds * 10))
            runs = [contender.run(start, n_draws, bench.rng) for _ in range(bench.rounds)]
            costs = [1e9 * run.seconds / run.events / n_walls for run in runs]
            bench.add(
                "events",
                problem,
                "ns per event and wall",
                np.median(costs),
                4,
                at_most=True,
                note=f"{min(costs):.2f} to {max(costs):.2f}; "
                f"{runs[0].events / runs[0].steps:,.0f} events a trajectory, "
                f"rank {problem.walls.dimension}",
                details={"costs": costs},
            )


def measure_large(bench):
    """Large sets from start to end in a process of their own: time, memory, convergence."""
    cases = [(1000, 2.0)] if bench.quick else [(1000, 2.0), (5000, 60.0)]
    for m, seconds_target in cases:
        for name in ("checkerboard", "waveform"):
            problem = f"{name} m={m} q=0.1"
            bench.say(f"large: {problem}")
            child = Path(__file__).with_name("_large_set.py")
            draws = 400 if bench.quick else 1000 if m == 1000 else 500
            result = bench.own_process(f"large: {problem}", child, name, m, draws)
            if result is None:
                continue
            bench.add(
                "large",
                problem,
                "seconds for 1,000 effective outputs",
                1000 * result["seconds"] / result["median_output_ess"],
                seconds_target,
                at_most=True,
                note=f"{result['median_output_ess']:,.0f} effective of {4 * draws:,} draws in "
                f"{result['seconds']:.1f} s; error count {result['error_ess']:,.0f}; "
                f"set-up {result['setup_seconds']:.1f} s",
                details=result,
            )
            bench.add(
                "large",
                problem,
                "largest R-hat, 4 random starts",
                result["max_rhat"],
                1.05,
                at_most=True,
                note=f"{draws} draws each after {result['tune']} discarded",
            )
            bench.add(
                "large",
                problem,
                "peak memory, GiB",
                result["peak_gib"],
                2.0,
                at_most=True,
                note=f"of which {result['import_gib']:.2f} for importing PyMC",
            )


PARTS = parts_of(
    *(measure_gibbs, measure_pymc, measure_metropolis, measure_transcription),
    *(measure_events, measure_large),
)

if __name__ == "__main__":
    run_parts("Label-noise samplers", __doc__, PARTS)
