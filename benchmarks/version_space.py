"""Samplers of version spaces, side by side: our billiards, the paper's own, and hopsy's walks.

Run ``python benchmarks/version_space.py --help``; how to read the result is in README.md here.
"""

import numpy as np
from _bench import bare_billiard, run_parts
from _contest import Contender, Stretch, clock
from _peers import hopsy_walks, plain_bounces

from bayeskernels.geometry.version_space import find_consistent_direction
from bayeskernels.samplers.directions.billiards.rolling_ball import simulate_billiard
from bayeskernels.samplers.directions.billiards.wall_dynamics import wall_gram

#: Problem and training points of the contests.
SMALL = [("checkerboard", 100), ("heart", 100), ("sonar", 100)]


def rolling_ball(problem, *, seconds, gram=None, whole_path=False):
    """Billiard (geodesic) without PyMC; watched at its draws, or by means over its whole path."""

    def run(start, n_draws, rng):
        began = clock()
        path = simulate_billiard(problem.walls, start, n_draws, rng=rng, gram=gram)
        took = clock() - began
        outputs, variance = problem.outputs(path.draws), None
        if whole_path:
            variance = outputs.var(axis=0)
            outputs = path.centres @ problem.test_features.T
        bounces = int(path.bounces.sum())
        return Stretch(outputs, np.zeros(n_draws), took, n_draws, bounces, variance)

    return Contender("Billiard, whole path" if whole_path else "Billiard", run, seconds)


def measure_hopsy(bench):
    """Both billiards against hopsy's walks: on the same target, and on the one it is best at."""
    for problem in bench.problems(SMALL, [0.0]):
        bench.say(f"hopsy: {problem}: choosing step sizes")
        [start] = problem.equilibrium_draws(1, bench.rng)
        options = {"seconds": bench.scaled(4.0), "start": start, "rng": bench.rng}
        same = hopsy_walks(problem, **options)
        other = hopsy_walks(problem, same_target=False, **options)
        if not same:
            bench.notes.append("hopsy is not installed: pip install hopsy")
            return
        billiards = [
            bare_billiard(problem, seconds=bench.scaled(1.0)),
            rolling_ball(problem, seconds=bench.scaled(1.0)),
            rolling_ball(problem, seconds=bench.scaled(1.0), whole_path=True),
        ]
        scores = bench.contest("hopsy", problem, [*billiards, *same, *other])
        ours = max((scores[ball.name] for ball in billiards), key=lambda score: score.output_rate)
        speeds = ", ".join(f"{b.name} {scores[b.name].output_rate:,.0f}/s" for b in billiards)
        bench.add(
            "hopsy", problem, "billiards, ESS/s of the median output", ours.output_rate, note=speeds
        )
        for peers, target, kind in [(same, 150, "same target"), (other, 15, "easier target")]:
            best = max(peers, key=lambda peer: scores[peer.name].output_rate)
            for peer in peers:
                theirs = scores[peer.name]
                off = np.abs(theirs.mean_outputs - ours.mean_outputs).max()
                agreement = f"; mean outputs within {off:.2g}" if kind == "same target" else ""
                bench.add(
                    "hopsy",
                    problem,
                    f"ratio to {peer.name} ({kind})",
                    ours.output_rate / theirs.output_rate,
                    target if peer is best or kind == "same target" else None,
                    is_bound=not theirs.output_is_trusted,
                    note=f"{theirs.output_rate:,.3g}/s (ESS {theirs.typical_ess:,.0f}){agreement}",
                    details={"ours": ours.as_dict(), "theirs": theirs.as_dict()},
                )


def measure_bounces(bench):
    """Cost of a bounce, everything included, as the number of points grows."""
    for m in [100, 300, 1000] if bench.quick else [100, 300, 1000, 3000, 5000]:
        [problem] = bench.problems([("separable", m)], [0.0])
        bench.say(f"bounces: {problem}")
        start = find_consistent_direction(problem.feature_map.factor.features, problem.y > 0)
        gram = wall_gram(problem.walls.normals)
        for contender in [
            rolling_ball(problem, seconds=0, gram=gram),
            bare_billiard(problem, seconds=0, gram=gram),
        ]:
            pilot = contender.run(start, 10, bench.rng)
            n_draws = max(10, int(bench.scaled(2.0) / pilot.seconds * 10))
            runs = [contender.run(start, n_draws, bench.rng) for _ in range(bench.rounds)]
            costs = [1e9 * run.seconds / run.events / problem.walls.n_walls for run in runs]
            bench.add(
                "bounces",
                problem,
                f"{contender.name}, ns per bounce and wall",
                np.median(costs),
                4,
                at_most=True,
                note=f"{min(costs):.2f} to {max(costs):.2f}; "
                f"{runs[0].events / runs[0].steps:,.0f} bounces a draw",
                details={"costs": costs},
            )


def measure_transcription(bench):
    """A bounce that carries its outputs along against the paper's, which computes them anew."""
    [problem] = bench.problems([("separable", 1000)], [0.0])
    signs = np.where(problem.y > 0, 1.0, -1.0)
    factor = problem.feature_map.factor
    units = factor.features * (signs / np.linalg.norm(factor.features, axis=1))[:, None]
    gram = units @ units.T
    start = find_consistent_direction(factor.features, problem.y > 0)
    alpha = np.linalg.lstsq(units.T, start, rcond=None)[0]
    ball = rolling_ball(problem, seconds=0, gram=wall_gram(problem.walls.normals))
    ball.run(start, 20, bench.rng)
    ratios, costs = [], []
    for _ in range(2 * bench.rounds):
        began = clock()
        plain_bounces(gram, alpha, 200, bench.rng)
        theirs = (clock() - began) / 200
        stretch = ball.run(start, 20, bench.rng)
        ours = stretch.seconds / stretch.events
        ratios.append(theirs / ours)
        costs.append((1e6 * ours, 1e6 * theirs))
    ours, theirs = np.median(costs, axis=0)
    bench.add(
        "transcription",
        problem,
        "NumPy O(m^2) bounce over ours, time",
        np.median(ratios),
        30,
        note=f"{ours:.1f} us against {theirs:,.0f} us",
        details={"ratios": ratios},
    )


PARTS = {
    "hopsy": measure_hopsy,
    "bounces": measure_bounces,
    "transcription": measure_transcription,
}

if __name__ == "__main__":
    run_parts("Version-space samplers", __doc__, PARTS)
