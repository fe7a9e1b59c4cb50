"""Generalized kernel models: our linear algebra and mixing, against the paper's and NUTS.

Run ``python benchmarks/generalized_kernel.py --help``; how to read the result is in README.md here.
"""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
from _bench import run_parts
from _contest import bulk_ess, clock
from _generalized_peers import FormulaEleven, Naive, PlainSampler
from _generalized_problems import (
    active_set_sampler,
    labelled_kernel,
    made_kernel,
    trace_of_sweeps,
)
from arviz_stats.base import array_stats
from scipy.special import ndtr

from bayeskernels.samplers.active_sets.dense_probit import DenseProbitSampler

#: Sizes (n, k) of the comparison, and how many times faster than formula (11) a proposal is to be.
SIZES = [(300, 100, 10), (500, 200, 15), (2000, 200, 40)]


def _timed(make, seconds):
    """Mean CPU seconds of calls of what ``make()`` gives, itself not counted."""
    took = []
    while not took or sum(took) < seconds:
        work = make()
        began = clock()
        work()
        took.append(clock() - began)
    return float(np.mean(took))


def measure_algebra(bench):
    """A proposal, and a sweep with as many of them, against the paper's linear algebra.

    Every measurement starts from the same k active points, in equilibrium with their response, and
    the set may grow to 2 k: at the largest size nothing but deaths would be proposed, and those
    that are rejected cost us next to nothing.
    """
    for n, k, target in SIZES:
        gram, positive = made_kernel(n)
        problem = f"n = {n}, k = {k}"
        bench.say(f"algebra: {problem}")
        sampler = active_set_sampler(gram, positive, 2 * k, proposals=20, windows=0)
        sampler.place(bench.rng.permutation(n)[:k], 0.0, None, 0.05, 1.0, bench.rng)
        sampler.is_sparse = False
        for _ in range(20):
            sampler.sweep(bench.rng)
        sampler.is_sparse = True
        start = sampler.state

        def at_start(method, sampler=sampler, start=start):
            sampler.state = start
            return partial(method, bench.rng)

        def peer(algebra, method, sampler=sampler, start=start, gram=gram):
            sampler.state = start
            return partial(getattr(PlainSampler(algebra, sampler, gram), method), bench.rng)

        at_start(sampler.sweep)()
        sampler.counts[:] = 0
        seconds = bench.scaled(0.8)
        ours, ours_sweep, eleven, naive = [], [], [], []
        for _ in range(bench.rounds):
            ours.append(_timed(partial(at_start, sampler._move), seconds) / 20)
            eleven.append(_timed(partial(peer, FormulaEleven, "move"), seconds) / 20)
            if n <= 500:
                ours_sweep.append(_timed(partial(at_start, sampler.sweep), seconds))
                naive.append(_timed(partial(peer, Naive, "sweep"), seconds))
        shares = ", ".join(
            f"{proposed} {kind} ({accepted / proposed:.0%} accepted)"
            for kind, (proposed, accepted) in zip(
                ("births", "deaths", "swaps"), sampler.counts[:3].tolist(), strict=True
            )
        )
        bench.add(
            "algebra",
            problem,
            "formula (11) over ours, time per proposal",
            np.median(eleven) / np.median(ours),
            target,
            note=f"{1e6 * np.median(ours):,.0f} us against {1e6 * np.median(eleven):,.0f} us; "
            f"{shares}",
        )
        if naive:
            bench.add(
                "algebra",
                problem,
                "naive over ours, time per sweep of 20 proposals",
                np.median(naive) / np.median(ours_sweep),
                20,
                note=f"{1e3 * np.median(ours_sweep):,.2f} ms against "
                f"{1e3 * np.median(naive):,.0f} ms",
            )


def measure_sweeps(bench):
    """The paper's 10,000 sweeps, at its size and with our default moves."""
    gram, positive = made_kernel(500)
    sampler = active_set_sampler(gram, positive, 200)
    sampler.place(bench.rng.permutation(500)[:200], 0.0, None, 1.0, 1.0, bench.rng)
    sampler.sweep(bench.rng)
    n_sweeps = 500 if bench.quick else 10_000
    began = clock()
    sizes = []
    for _ in range(n_sweeps):
        sampler.sweep(bench.rng)
        sizes.append(len(sampler.points))
    seconds = (clock() - began) * 10_000 / n_sweeps
    bench.add(
        "sweeps",
        "n = 500, k_max = 200",
        "CPU seconds of 10,000 sweeps",
        seconds,
        60,
        at_most=True,
        note=f"from 200 active points, {np.mean(sizes):.0f} on average",
    )


def measure_mixing(bench):
    """Chains from few and from as many active points as there may be."""
    for name, n, k_max in [("waveform", 300, 100), ("ringnorm", 400, 400)]:
        found = labelled_kernel(name, n)
        if found is None:
            bench.notes.append(f"{name} is not in BAYESKERNELS_DATA or ../shared/data.")
            continue
        gram, positive = found
        traces = []
        seconds = bench.scaled(16.0)
        for start in (5, k_max):
            bench.say(f"mixing: {name} from {start}")
            trace = trace_of_sweeps(
                gram, positive, k_max, start, seconds=seconds, n_outputs=20, rng=bench.rng
            )
            traces.append(trace)
        length = min(map(len, traces))
        kept = np.array([trace[length // 4 : length] for trace in traces])
        spent = sum(seconds * 0.75 * length / len(trace) for trace in traces)
        sizes = kept[:, :, 0]
        problem = f"{name}, n = {n}, k_max = {k_max}"
        bench.add(
            "mixing",
            problem,
            f"R-hat of n_gamma from 5 and {k_max}",
            array_stats.rhat(sizes, chain_axis=0, draw_axis=1),
            1.05,
            at_most=True,
            note=f"{seconds:.0f} CPU s a chain; means {sizes.mean(axis=1).round(1).tolist()}",
        )
        f_ess = [bulk_ess(kept[:, :, 1 + i]) for i in range(20)]
        bench.add("mixing", problem, "ESS/s of n_gamma", bulk_ess(sizes) / spent)
        bench.add("mixing", problem, "ESS/s of the median f", np.median(f_ess) / spent)


def measure_dense(bench):
    """The dense model against NUTS on the same posterior, whitened."""
    from _generalized_nuts import run_nuts

    for n in [100] if bench.quick else [100, 200, 300]:
        found = labelled_kernel("waveform", n)
        gram, positive = found or made_kernel(n)
        problem = f"{'waveform' if found else 'made'}, n = {n}"
        bench.say(f"dense: {problem}: ours")
        sampler = DenseProbitSampler(gram, positive)
        chains, began = [], None
        for chain in range(4):
            sampler.place(np.arange(n), 0.0, None, 1.0, 1.0, bench.rng)
            sampler.sweep(bench.rng)
            if chain == 0:
                began = clock()
            draws = []
            for _ in range(4500):
                sampler.sweep(bench.rng)
                draws.append(sampler.f[0].copy())
            chains.append(draws[500:])
        seconds = clock() - began
        ours = np.array(chains)
        our_rate = np.median([bulk_ess(ours[:, :, i]) for i in range(n)]) / seconds
        bench.add("dense", problem, "ours, ESS/s of the median f", our_rate)
        for peer, target, draws in [("nutpie", 4, 3000), ("pymc", 7, 1000)]:
            bench.say(f"dense: {problem}: {peer}")
            f, seconds = run_nuts(gram, positive, peer, draws=int(bench.scaled(draws)))
            rate = np.median([bulk_ess(f[:, :, i]) for i in range(n)]) / seconds
            ratio = ours.std(axis=(0, 1)) / f.std(axis=(0, 1))
            quartiles = [np.quantile(draws, [0.25, 0.75], axis=(0, 1)) for draws in (ours, f)]
            spread = np.subtract(*quartiles[0][::-1]) / np.subtract(*quartiles[1][::-1])
            bench.add(
                "dense",
                problem,
                f"ours over {peer}, ESS/s of the median f",
                our_rate / rate,
                target,
                note=f"{our_rate:,.0f}/s against {rate:,.1f}/s; standard deviations of f, ratio "
                f"{np.median(ratio):.3f} ({ratio.min():.2f} to {ratio.max():.2f}), interquartile "
                f"ranges {np.median(spread):.3f}",
            )
            # f has tails as heavy as those of 1 / sqrt(g), and its sample sd hardly settles; class
            # probabilities are bounded.
            ratio = ndtr(ours).std(axis=(0, 1)) / ndtr(f).std(axis=(0, 1))
            bench.add(
                "dense",
                problem,
                f"difference to {peer}, sd of the class probabilities, median",
                np.median(np.abs(ratio - 1.0)),
                0.1,
                at_most=True,
                note=f"ratio {np.median(ratio):.3f} ({ratio.min():.2f} to {ratio.max():.2f})",
            )


def _own_process(*arguments):
    """Run the large problem as a program of its own."""
    script = Path(__file__).with_name("_generalized_large.py")
    command = [sys.executable, str(script), *map(str, arguments)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


def measure_large(bench):
    """Peak memory of a large set, and how soon a second process is ready."""
    bench.say("large: n = 20,000")
    result = _own_process(20_000, 200, 3 if bench.quick else 20)
    bench.add(
        "large",
        "n = 20,000, k_max = 200",
        "peak memory, GiB",
        result["peak_gib"],
        4,
        at_most=True,
        note=f"{result['seconds_per_sweep']:.2f} CPU s a sweep, {result['active']} active",
    )
    _own_process(100, 20, 2)
    result = _own_process(100, 20, 2)
    bench.add(
        "large",
        "n = 100, second process",
        "seconds to the first sweep, imports not counted",
        result["first_sweep_seconds"],
        5,
        at_most=True,
        note=f"{result['import_seconds']:.1f} s of imports",
    )


PARTS = {
    "algebra": measure_algebra,
    "sweeps": measure_sweeps,
    "mixing": measure_mixing,
    "dense": measure_dense,
    "large": measure_large,
}

if __name__ == "__main__":
    run_parts("Generalized kernel models", __doc__, PARTS)
