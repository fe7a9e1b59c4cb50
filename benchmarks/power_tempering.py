"""Power tempering of generalized kernel models: evidence, its spread over runs, and mixing.

Run ``python benchmarks/power_tempering.py --help``; how to read the result is in README.md here.
"""

import numpy as np
from _bench import run_parts
from _contest import bulk_ess, clock
from _generalized_problems import labelled_kernel, trace_of_sweeps

import bayeskernels as bk
from bayeskernels.samplers import PowerTempering

#: Data set, points, largest active set, path, draws of a run, largest spread over runs.
PROBLEMS = {
    "small": ("waveform", 100, 33, "auto", 1500, 0.2),
    "medium": ("waveform", 300, 100, "auto", 800, 0.4),
    "gap": ("ringnorm", 400, 60, "auto", 600, 0.4),
}

#: Outputs whose mixing is measured.
N_OUTPUTS = 20


def _problem(bench, key):
    """Kernel matrix, labels and model; None where the data set is missing."""
    name, n, k_max = PROBLEMS[key][:3]
    found = labelled_kernel(name, n)
    if found is None:
        bench.notes.append(f"{name} is not in BAYESKERNELS_DATA or ../shared/data.")
        return None
    gram, positive = found
    model = bk.models.generalized_kernel_model(None, positive, kernel=gram, max_active=k_max)
    return gram, positive, model, f"{name}, n = {n}, k_max = {k_max}"


def _warm_up(tempering):
    """Compile before the clock runs."""
    tempering.sample(20, tune=4, chains=1, particles=8, progressbar=False)


def measure_evidence(bench, key):
    """Log-evidence of several runs, and of sequential Monte Carlo."""
    found = _problem(bench, key)
    if found is None:
        return
    gram, _, model, problem = found
    path, draws, limit = PROBLEMS[key][3:]
    tempering = PowerTempering(model, path=path)
    _warm_up(tempering)
    n_runs = 2 if bench.quick else 4
    runs, seconds, rates = [], [], []
    for seed in range(n_runs):
        bench.say(f"{key}: run {seed + 1} of {n_runs}")
        began = clock()
        run = tempering.sample(
            draws // 4 if bench.quick else draws,
            tune=40 if bench.quick else 160,
            chains=1,
            random_seed=seed,
            progressbar=False,
        )
        seconds.append(clock() - began)
        posterior = run.idata.posterior.isel(chain=0)
        f = posterior["u"].values[:, None] + posterior["beta"].values @ gram[:, :N_OUTPUTS]
        sizes = posterior["gamma"].values.sum(axis=1)
        f_ess = np.median([bulk_ess(f[None, :, i]) for i in range(N_OUTPUTS)])
        rates.append((bulk_ess(sizes[None].astype(float)) / seconds[-1], f_ess / seconds[-1]))
        bench.progress.console.print(
            f"  {run.log_evidence:.2f} +- {run.mcse:.2f}, {run.path} path, "
            f"{len(run.powers)} rungs, {run.round_trips[0]} round trips, "
            f"swaps >= {run.smallest_swap_rate:.2f}, {sizes.mean():.1f} active, "
            f"{seconds[-1]:.1f} s",
            highlight=False,
        )
        runs.append(run)
    values = np.array([run.log_evidence for run in runs])
    trips = [int(run.round_trips[0]) for run in runs]
    bench.add(
        key,
        problem,
        "log-evidence",
        values.mean(),
        note=f"{runs[-1].path} path, {[len(run.powers) for run in runs]} rungs, {trips} trips, "
        f"errors of single runs {[round(run.mcse, 2) for run in runs]}",
    )
    bench.add(
        key,
        problem,
        "standard deviation over runs",
        values.std(ddof=1),
        limit,
        at_most=True,
        note=f"{n_runs} runs of {np.mean(seconds):.0f} CPU s each",
    )
    bench.add(key, problem, "smallest swap rate", min(run.smallest_swap_rate for run in runs), 0.1)
    by_size, by_output = np.median(rates, axis=0)
    bench.add(key, problem, "ESS/s of n_gamma, whole ladder's time", by_size)
    bench.add(key, problem, "ESS/s of the median f, whole ladder's time", by_output)


def measure_smc(bench):
    """Sequential Monte Carlo on the waveform problems."""
    # With fewer particles and sweeps, estimates of the small problem come out too low.
    for key, particles, sweeps in (("small", 1000, 6), ("medium", 300, 4)):
        found = _problem(bench, key)
        if found is None:
            return
        *_, model, problem = found
        tempering = PowerTempering(model)
        bench.say(f"smc: {problem}")
        began = clock()
        values = tempering.smc_evidence(
            repetitions=2 if bench.quick else 4,
            particles=60 if bench.quick else particles,
            sweeps=1 if bench.quick else sweeps,
            random_seed=1,
            progressbar=False,
        )
        spread = values.std(ddof=1)
        bench.add(
            "smc",
            problem,
            "log-evidence by sequential Monte Carlo",
            values.mean(),
            note=f"standard deviation over {len(values)} runs {spread:.2f}, "
            f"{(clock() - began) / len(values):.0f} CPU s each",
        )


def measure_plain(bench):
    """The plain sampler from few and from many active points, for comparison."""
    for key in PROBLEMS:
        found = _problem(bench, key)
        if found is None:
            return
        gram, positive, _, problem = found
        k_max = PROBLEMS[key][2]
        seconds = bench.scaled(8.0)
        for start in (5, k_max):
            bench.say(f"plain: {problem} from {start}")
            trace = trace_of_sweeps(
                gram, positive, k_max, start, seconds=seconds, n_outputs=N_OUTPUTS, rng=bench.rng
            )
            kept = trace[len(trace) // 4 :]
            f_ess = np.median([bulk_ess(kept[None, :, 1 + i]) for i in range(N_OUTPUTS)])
            spent = 0.75 * seconds
            bench.add(
                "plain",
                problem,
                f"ESS/s of n_gamma, plain sampler from {start}",
                bulk_ess(kept[None, :, 0]) / spent,
                note=f"mean {kept[:, 0].mean():.1f}; ESS/s of the median f {f_ess / spent:.1f}",
            )


PARTS = {
    "small": lambda bench: measure_evidence(bench, "small"),
    "medium": lambda bench: measure_evidence(bench, "medium"),
    "gap": lambda bench: measure_evidence(bench, "gap"),
    "smc": measure_smc,
    "plain": measure_plain,
}

if __name__ == "__main__":
    run_parts("Power tempering of generalized kernel models", __doc__, PARTS)
