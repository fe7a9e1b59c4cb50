"""Do chains of directions agree, also where labels say nothing? A grid of easy and hard posteriors.

The contests of ``label_noise.py`` start every chain in equilibrium and look at problems with a
signal. Here four chains start from the prior and run as ``pm.sample`` would run them: 200 draws to
forget the start, 1,000 to keep. Run ``python benchmarks/mixing.py --help``.
"""

import itertools

import numpy as np
from _bench import run_parts
from _contest import bulk_ess, clock
from arviz_stats.base import array_stats

from bayeskernels.samplers import WallGeometry, label_costs, simulate_kernel_gibbs
from bayeskernels.samplers.directions.billiards.billiard_ball import BilliardBall

CHAINS, TUNE, DRAWS = 4, 200, 1000

#: R-hat above which chains do not agree.
AGREE = 1.05


def linear_problem(d, m, noise, signal, share, *, bias=0.0, seed=1):
    """Walls of a linear kernel: normal inputs, labels at random or by the first input."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d))
    features = np.column_stack([X, np.full(m, np.sqrt(bias))])
    return _walls(features, X[:, 0], noise, signal, share, rng)


def gaussian_problem(width, m, noise, signal, share, *, seed=1):
    """Walls of a Gaussian kernel of some width in the plane, labels at random or in stripes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 2))
    squares = ((X[:, None] - X) ** 2).sum(axis=-1)
    values, vectors = np.linalg.eigh(np.exp(-0.5 * squares / width**2))
    kept = values > 1e-12 * values[-1]
    return _walls(
        vectors[:, kept] * np.sqrt(values[kept]), np.sin(2.0 * X[:, 0]), noise, signal, share, rng
    )


def _walls(features, score, noise, signal, share, rng):
    m = len(features)
    if signal:
        is_positive = (score > np.quantile(score, 1.0 - share)) ^ (rng.random(m) < noise)
    else:
        is_positive = rng.random(m) < share
    geometry = WallGeometry.from_features(features, is_positive)
    return geometry.with_costs(label_costs(is_positive, noise, noise))


def _billiard(walls, rng, **options):
    ball = BilliardBall(walls, rng.standard_normal(walls.dimension), **options)
    draws, counts = ball.run(rng, TUNE + DRAWS)
    return draws, counts[:, 0], ball.n_rungs


def _great_circles(walls, rng):
    start = rng.standard_normal(walls.dimension)
    path = simulate_kernel_gibbs(walls, start, TUNE + DRAWS, rng=rng, sweeps=10)
    return path.draws, path.errors, 1


SAMPLERS = {
    "RefractiveBilliard": _billiard,
    "trajectories alone": lambda walls, rng: _billiard(walls, rng, tempering=False, circles=False),
    "KernelGibbs": _great_circles,
}


def measure(bench, part, name, walls):
    """R-hat and effective draws per second of the error count and of the worst of 20 outputs."""
    for sampler, run in SAMPLERS.items():
        bench.say(f"{part}: {name}: {sampler}")
        if sampler not in {figure.details["sampler"] for figure in bench.figures}:
            run(walls, np.random.default_rng(0))  # compiles
        errors, outputs, rungs = [], [], []
        began = clock()
        for chain in range(CHAINS):
            draws, counted, n_rungs = run(walls, np.random.default_rng([7, chain]))
            draws = draws[TUNE:] / np.linalg.norm(draws[TUNE:], axis=1, keepdims=True)
            errors.append(counted[TUNE:].astype(float))
            outputs.append(draws @ walls.normals[:20].T)
            rungs.append(n_rungs)
        took = clock() - began
        watched = np.concatenate([np.array(errors)[..., None], np.array(outputs)], axis=-1)
        # Constant quantities (no errors at all) say nothing about mixing.
        moving = np.ptp(watched.reshape(-1, watched.shape[-1]), axis=0) > 0
        r_hat = np.array(
            [
                array_stats.rhat(watched[..., k], chain_axis=0, draw_axis=1)
                for k in np.flatnonzero(moving)
            ]
        )
        ess = np.array([bulk_ess(watched[..., k]) for k in np.flatnonzero(moving)])
        bench.add(
            part,
            name,
            f"worst R-hat, {sampler}",
            r_hat.max(),
            AGREE if sampler == "RefractiveBilliard" else None,
            at_most=True,
            note=f"{ess.min() / took:,.0f} effective draws/s of the slowest, rungs {max(rungs)}",
            details={
                "sampler": sampler,
                "ess_per_second": float(ess.min() / took),
                "seconds": took,
                "rungs": rungs,
                "mean_errors": [float(np.mean(e)) for e in errors],
            },
        )


def measure_linear(bench):
    """Linear kernels: dimension, points, noise, signal, balance."""
    dimensions = (2, 10) if bench.quick else (2, 3, 5, 10, 20)
    sizes = (100,) if bench.quick else (100, 400)
    grid = itertools.product(dimensions, sizes, (0.02, 0.1), (False, True), (0.5, 0.05))
    for d, m, noise, signal, share in grid:
        name = f"d {d}, m {m}, q {noise}, {'signal' if signal else 'none'}, {share:.0%}"
        measure(bench, "linear", name, linear_problem(d, m, noise, signal, share))


def measure_offset(bench):
    """Linear kernels with an offset, as in the first reports of chains that do not agree."""
    for d, share, noise in ((3, 0.5, 0.1), (5, 0.5, 0.1), (3, 0.05, 0.05), (5, 0.05, 0.05)):
        walls = linear_problem(d, 200, noise, False, share, bias=1.0)
        measure(bench, "offset", f"d {d} + 1, m 200, q {noise}, none, {share:.0%}", walls)


def measure_gaussian(bench):
    """Gaussian kernels in the plane, from rough to smooth."""
    for width, signal in itertools.product((0.3, 1.0) if bench.quick else (0.3, 1, 3), (0, 1)):
        walls = gaussian_problem(width, 200, 0.1, signal, 0.5)
        name = f"width {width}, m 200, q 0.1, {'signal' if signal else 'none'}"
        measure(bench, "gaussian", name, walls)


if __name__ == "__main__":
    run_parts(
        "Chains of directions from random starts",
        __doc__,
        {"offset": measure_offset, "linear": measure_linear, "gaussian": measure_gaussian},
    )
