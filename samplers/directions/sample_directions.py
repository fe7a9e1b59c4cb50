"""Draws of a direction without PyMC's sampling loop.

``pm.sample`` spends a second on compiling, checking and recording. In a loop over many small
problems (splits, queries, grids) that is most of the time; this runs the same refractive billiard
on the same model and returns the same kind of result at once.
"""

import logging

import numpy as np
import xarray as xr
from pymc.util import get_random_generator

from bayeskernels.samplers.directions.billiards.billiard_ball import BilliardBall
from bayeskernels.samplers.directions.billiards.wall_dynamics import wall_gram
from bayeskernels.samplers.directions.label_noise_target import (
    LabelNoiseTarget,
    named_dims,
    only_direction,
)

__all__ = ["sample_directions"]

_log = logging.getLogger(__name__)


def sample_directions(
    model, *, draws=1000, tune=50, chains=2, sweeps=1, random_seed=None, **options
):
    """Sample a classifier whose only unknowns are directions, by the refractive billiard.

    Parameters
    ----------
    model : pm.Model
        Kernel and noise must be fixed.
    draws, tune, chains : int
        As for ``pm.sample``. One trajectory forgets most of a start; 50 are plenty as a rule. Where
        chains would get stuck they run on a ladder, as those of
        :class:`bayeskernels.samplers.RefractiveBilliard` do.
    sweeps : int
        Trajectories per draw.
    random_seed : int, optional
    **options
        Passed to :class:`bayeskernels.samplers.directions.billiards.billiard_ball.BilliardBall`.

    Returns
    -------
    DataTree
        With the groups ``posterior`` (``w``) and ``sample_stats`` (``refractive_errors`` and
        ``refractive_capped``, as the step has them).

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> idata = bk.samplers.sample_directions(model, draws=50, chains=1, random_seed=1)
    >>> dict(idata.posterior.sizes)
    {'chain': 1, 'draw': 50, 'basis': 60}
    """
    w = only_direction(model, "sample_directions")
    [value] = model.value_vars
    all_walls = LabelNoiseTarget(value, model).walls({})
    gram = wall_gram(all_walls[0].normals)
    hard = any(np.isinf(walls.jumps).any() for walls in all_walls)
    # Where no error is allowed the start must be the builder's; else any direction will do.
    starts = np.atleast_2d(model.initial_point()[value.name]) if hard else None
    paths, errors, capped = [], [], []
    given_up = 0
    for rng in get_random_generator(random_seed).spawn(chains):
        rows, counted = [], 0
        for k, walls in enumerate(all_walls):
            start = starts[k] if hard else rng.standard_normal(walls.dimension)
            same = walls.normals is all_walls[0].normals
            ball = BilliardBall(walls, start, gram=gram if same else None, sweeps=sweeps, **options)
            path, counts = ball.run(rng, tune + draws)
            path = path[tune:]
            rows.append(path / np.linalg.norm(path, axis=1, keepdims=True))
            counted = counted + counts[tune:]
            # Where great circles follow, a trajectory may well be given up.
            given_up += counts[tune:, 3].sum() if ball.n_moves == 1 else 0
        paths.append(rows[0] if value.ndim == 1 else np.stack(rows, axis=1))
        errors.append(counted[:, 0])
        capped.append(counted[:, 3])
    if given_up:
        _log.warning(
            "%d of %d trajectories met more than max_events walls and were given up; the chain "
            "stays exact, but where many are it hardly moves.",
            given_up,
            chains * draws * sweeps * len(all_walls),
        )
    own, coords = named_dims(model, w)
    over = {"chain": np.arange(chains), "draw": np.arange(draws)}
    posterior = xr.Dataset({w.name: ((*over, *own), np.stack(paths))}, coords=over | coords)
    counts = {"refractive_errors": errors, "refractive_capped": capped}
    stats = xr.Dataset({name: (tuple(over), np.stack(count)) for name, count in counts.items()})
    stats = stats.assign_coords(over)
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})
