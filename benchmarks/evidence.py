"""Evidence: tempering, tilting and bridge sampling against their peers, on known answers.

Run ``python benchmarks/evidence.py --help``; how to read the result is in README.md here.
"""

import logging
from functools import partial

import numpy as np
import pymc as pm
from _bench import parts_of, run_parts
from _contest import QUIET, clock
from _problems import MissingData, make_problem
from scipy.special import log_expit, ndtri
from scipy.stats import multivariate_normal

import bayeskernels as bk
from bayeskernels.geometry.orthant_probability import orthant_of_features
from bayeskernels.samplers import WallGeometry, label_costs, simulate_refractive_billiard

#: Data set and points of the label-noise problems; the flip rate is that of the model.
PROBLEMS = [("checkerboard", 20), ("checkerboard", 76), ("checkerboard", 100), ("heart", 100)]
NOISE = 0.1


def _estimate(model, method, seed, **options):
    """Result and CPU seconds."""
    began = clock()
    result = bk.evidence.estimate(
        model, method=method, random_seed=seed, progressbar=False, **options
    )
    return result, clock() - began


def label_by_label(problem, rng, *, draws=4000):
    """Log evidence as the sum of log P(label i | labels before it), another path than tempering.

    Each factor is a mean of q or 1 - q over draws given the labels before: a number that cannot go
    far astray. Returns the sum and its error, with autocorrelation by batches.
    """
    features, positive = problem.feature_map.factor.features, problem.y > 0
    q = problem.noise
    total, variance = np.log(0.5), 0.0
    start = rng.standard_normal(features.shape[1])
    for i in range(1, len(features)):
        geometry = WallGeometry.from_features(features[:i], positive[:i])
        walls = geometry.with_costs(label_costs(positive[:i], q, q))
        path = simulate_refractive_billiard(walls, start, draws + 50, rng=rng)
        start = path.draws[-1]
        is_right = (path.draws[50:] @ features[i] > 0) == positive[i]
        batches = np.where(is_right, 1 - q, q).reshape(40, -1).mean(axis=1)
        total += np.log(batches.mean())
        variance += batches.var(ddof=1) / len(batches) / batches.mean() ** 2
    return float(total), float(np.sqrt(variance))


def measure_label_noise(bench):
    """Tempering against PyMC's sequential Monte Carlo with 2,000 draws."""
    # Few round trips are expected of short runs; the figures show what they are worth.
    logging.getLogger("bayeskernels").setLevel(logging.ERROR)
    logging.getLogger("pymc").setLevel(logging.ERROR)
    for name, m in PROBLEMS:
        try:
            problem = make_problem(name, m, NOISE)
        except MissingData as error:
            bench.notes.append(str(error))
            continue
        model = problem.model()
        _estimate(model, "tempering", 0, draws=20, tune=10)  # compiles
        bench.say(f"label-noise: {problem}: references")
        draws = 4_000 if bench.quick else 20_000
        long_run, seconds = _estimate(model, "tempering", 99, draws=draws, tune=500)
        other, other_error = label_by_label(problem, bench.rng, draws=800 if bench.quick else 4000)
        reference = long_run.log_evidence
        add = partial(bench.add, "label-noise", problem)
        add(
            "reference: longest run of tempering",
            reference,
            note=f"+- {long_run.mcse:.3f}, {seconds:.0f} CPU s, "
            f"{long_run.diagnostics['round_trips']} round trips",
        )
        add(
            "difference of label-by-label, in standard errors",
            abs(other - reference) / np.hypot(other_error, long_run.mcse),
            3.0,
            at_most=True,
            note=f"{other:.2f} +- {other_error:.3f}",
        )
        runs = [_estimate(model, "tempering", seed) for seed in range(3 if bench.quick else 8)]
        errors = np.array([run.log_evidence - reference for run, _ in runs])
        ours = float(np.mean([seconds for _, seconds in runs]))
        with model:
            began = clock()
            smc = pm.sample_smc(2000, chains=1, **QUIET)
            theirs = clock() - began
        # One number after every stage, in lists of lists; all but the last are NaN.
        stages = np.hstack(smc.sample_stats["log_marginal_likelihood"].values.ravel())
        finite = stages.astype(float)[np.isfinite(stages.astype(float))]
        smc_error = float(finite[-1]) - reference if len(finite) else np.nan
        add(
            "root mean squared error of tempering, nats",
            np.sqrt(np.mean(errors**2)),
            0.15,
            at_most=True,
            note=f"{len(errors)} runs of {ours:.1f} CPU s; claimed {runs[0][0].mcse:.3f}",
        )
        add(
            "its time over that of pm.sample_smc with 2,000 draws",
            ours / theirs,
            1.0 if m == 100 else None,
            at_most=True,
            note=f"which takes {theirs:.1f} CPU s and is off by {smc_error:.2f} nats",
        )


def measure_orthant(bench):
    """Tilting against SciPy's cdf (Genz) at noise zero, m = 20 to 100."""
    for m in (20, 50, 100):
        problem = make_problem("separable", m, 0.0)
        signed = problem.feature_map.factor.features * problem.y[:, None]
        bench.say(f"orthant: {problem}")
        add = partial(bench.add, "orthant", problem)
        exact = orthant_of_features(signed, n_draws=2**17 if bench.quick else 2**20, rng=bench.rng)
        began = clock()
        tilted = [orthant_of_features(signed, rng=bench.rng) for _ in range(5)]
        ours = (clock() - began) / 5
        began = clock()
        genz = [
            float(
                np.log(
                    multivariate_normal.cdf(
                        np.zeros(m), np.zeros(m), signed @ signed.T, allow_singular=True, rng=seed
                    )
                )
            )
            for seed in range(3)
        ]
        theirs = (clock() - began) / 3
        tempered, _ = _estimate(problem.model(), "tempering", 5, draws=4000)
        our_error, their_error = (
            float(np.sqrt(np.mean((np.array(values) - exact.value) ** 2)))
            for values in ([one.value for one in tilted], genz)
        )
        add(
            "reference: tilting with many draws",
            exact.value,
            note=f"+- {exact.mcse:.4f}; tempering {tempered.log_evidence:.2f} "
            f"+- {tempered.mcse:.2f}",
        )
        add(
            "error over that of SciPy's cdf",
            our_error / their_error,
            1.0 if m == 100 else None,
            at_most=True,
            note=f"{our_error:.4f} and {their_error:.4f} nats",
        )
        add(
            "time over that of SciPy's cdf",
            ours / theirs,
            1.0 if m == 100 else None,
            at_most=True,
            note=f"{ours:.2f} and {theirs:.2f} CPU s",
        )


def _logistic_problem(n_weights):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, n_weights))
    weights = rng.standard_normal(n_weights)
    y = (rng.random(100) < 1 / (1 + np.exp(-X @ weights))).astype(int)
    return X, y


def _log_likelihood(signed_features):
    return lambda w: float(log_expit(signed_features @ w).sum())


def measure_nested(bench):
    """Bridge sampling from draws of NUTS against nested sampling (dynesty), logistic regression."""
    try:
        import dynesty
    except ImportError:
        bench.notes.append("nested: dynesty is not installed (extra 'bench').")
        return
    logging.getLogger("pymc").setLevel(logging.ERROR)
    for n_weights in (3, 10):
        X, y = _logistic_problem(n_weights)
        model = bk.models.logistic_regression(X, y, alpha=1.0)
        problem = f"logistic regression, {n_weights} weights"
        bench.say(f"nested: {problem}")
        add = partial(bench.add, "nested", problem)
        signs = np.where(y == 1, 1.0, -1.0)[:, None] * X
        if n_weights == 3:
            reference, how = bk.quadrature(model).log_evidence, "quadrature"
        else:
            many, _ = _estimate(model, "bridge", 50, draws=8000)
            reference, how = many.log_evidence, f"bridge with many draws +- {many.mcse:.4f}"
        ours = [_estimate(model, "bridge", seed) for seed in range(2 if bench.quick else 4)]
        theirs = []
        for seed in range(2 if bench.quick else 4):
            began = clock()
            sampler = dynesty.NestedSampler(
                _log_likelihood(signs),
                ndtri,
                n_weights,
                nlive=500,
                rstate=np.random.default_rng(seed),
            )
            sampler.run_nested(print_progress=False)
            theirs.append((float(sampler.results.logz[-1]), clock() - began))
        our_values = np.array([run.log_evidence for run, _ in ours])
        our_error, their_error = (
            float(np.sqrt(np.mean((values - reference) ** 2)))
            for values in (our_values, np.array([value for value, _ in theirs]))
        )
        our_time, their_time = np.mean([s for _, s in ours]), np.mean([s for _, s in theirs])
        add("reference", reference, note=how)
        add(
            "error of bridge over that of dynesty",
            our_error / their_error,
            note=f"{our_error:.4f} and {their_error:.4f} nats",
        )
        add(
            "time of bridge, with its draws, over that of dynesty",
            our_time / their_time,
            note=f"{our_time:.1f} and {their_time:.1f} CPU s",
        )


def planted_problem(rate, seed, m=300):
    """Labels of a function drawn from the prior of the model itself, flipped at a known rate."""
    rng = np.random.default_rng([seed, int(1000 * rate)])
    X = rng.uniform(-2.0, 2.0, (m, 2))
    gram = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    f = np.linalg.cholesky(gram + 1e-8 * np.eye(m)) @ rng.standard_normal(m)
    y, _ = bk.data.flip_labels(np.where(f > 0, 1, -1), rate, random_seed=rng)
    return X, y


def measure_planted(bench):
    """How often the planted noise level lies within the 94% interval of its posterior, m = 300."""
    logging.getLogger("bayeskernels").setLevel(logging.ERROR)
    n = 5 if bench.quick else 30
    for rate in (0.05, 0.1, 0.2):
        inside, widths, seconds = 0, [], 0.0
        for seed in range(n):
            bench.say(f"planted: q = {rate:g}, data set {seed + 1} of {n}")
            X, y = planted_problem(rate, seed)
            model = bk.models.label_noise_classifier(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=1.0))
            evidence, spent = _estimate(
                model, "tempering", seed, draws=300, tune=100, ladders=2, cores=1
            )
            low, high = evidence.noise_posterior().interval
            inside += low <= rate <= high
            widths.append(high - low)
            seconds += spent
        bench.add(
            "planted",
            f"m = 300, q = {rate:g}",
            "share of intervals that hold the planted level",
            inside / n,
            0.9,
            note=f"{inside} of {n}, mean width {np.mean(widths):.3f}, {seconds / n:.1f} CPU s each",
        )


PARTS = parts_of(measure_label_noise, measure_orthant, measure_nested, measure_planted)

if __name__ == "__main__":
    run_parts("Evidence", __doc__, PARTS)
