"""PyMC step that plays billiards in version space (BPM, section 3.1).

The motion is in :mod:`bayeskernels.samplers.directions.billiards.rolling_ball` (geodesics with
refreshed velocity: exact) and in :mod:`bayeskernels.samplers.directions.billiards.chord_billiard`
(the paper's Algorithm 2: biased).
"""

import logging

import numpy as np
from pymc.step_methods.compound import Competence

from bayeskernels.samplers.directions.billiards.chord_billiard import ChordBall
from bayeskernels.samplers.directions.billiards.rolling_ball import RollingBall
from bayeskernels.samplers.directions.sphere_step import SphereStep

__all__ = ["Billiard"]

_log = logging.getLogger(__name__)

#: Path after which outputs are about independent, in radians: 1.0 to 1.6 effective draws of the
#: median output in 3 to 100 dimensions.
INDEPENDENCE_LENGTH = 1.5


class Billiard(SphereStep):
    """Step method of the Bayes point machine paper: a billiard in the version space of a direction.

    For labels without noise: every wall reflects. The mean of the ball's position on its path, not
    only at the recorded draws, is the centre of mass of the version space, the Bayes point; it is
    recorded with every draw. PyMC's choice for a direction is
    :class:`~bayeskernels.samplers.RefractiveBilliard`, which samples the same distribution; to use
    this one, pass it as ``step=`` or sample within :func:`bayeskernels.samplers.prefer`.

    Parameters
    ----------
    vars : list, optional
        The direction; the model's :class:`~bayeskernels.distributions.UniformSphere` by default.
    variant : {"geodesic", "chord"}
        ``"geodesic"`` is exact: the ball rolls on great circles, and its velocity is drawn afresh
        now and then. ``"chord"`` is Algorithm 2 of the paper, for comparison: the ball flies in
        straight lines and is pulled back to the sphere. It is biased: on 12 random polygons of the
        sphere in three dimensions it misses the direction of the centre of mass by 0.0015 to 0.026
        sqrt(area), however long it runs.
    path_length : float, optional
        Length of the path between two recorded draws, in radians (for ``"chord"``, of the chords).
        By default 1.5, times ten for up to 100 walls, where this takes about as long as PyMC needs
        for recording a draw, and less for more: 1.5 from 1000 walls on.
    refresh_rate : float, default 0.2
        Refreshments of the velocity per radian, on average; ``"geodesic"`` only.
    max_events : int, optional
        A part of the path (3 radians at most) with more bounces is given up: the ball turns round
        where it was, and the statistic ``billiard_capped`` counts it; ``"geodesic"`` only. The
        draws stay exact, but ``billiard_centre`` is biased by it: use the mean of the draws then.
        The default, five million, is reached only in the thinnest version spaces.
    tolerance : float, default 1e-4
        TOL of the paper's stopping rule; ``"chord"`` only. It cannot stop ``pm.sample``, but the
        statistic ``billiard_converged`` says whether it would have.
    record_centre : bool, default True
        Whether to record the statistic ``billiard_centre``, as large as the draws themselves.
    model : pm.Model, optional
        The model in context by default.

    Notes
    -----
    Sampler statistics: ``billiard_bounces``; ``billiard_refreshments`` of the velocity;
    ``billiard_capped`` (geodesic) or ``billiard_converged`` (chord, 0 or 1); ``billiard_centre``, a
    vector as long as the direction (a matrix for directions by row). For ``"geodesic"`` its mean
    over draws is the centre of mass of the version space. For ``"chord"`` it is the paper's running
    estimate since the start of the chain, a unit vector, so its last value counts.

    A bounce costs O(n_walls): about 2.5 ns per wall at 100 walls and 1 to 1.6 ns at 1000, as much
    as an event of the refractive billiard.

    The refreshment rate was chosen by effective draws per second of outputs. At 100 points in 30
    and 100 dimensions the mean positions give 302,000 and 99,000 at a rate of 0.05, 272,000 and
    93,000 at 0.2, 178,000 and 68,000 at 0.5, 56,000 and 21,000 at 2. On polygons in three
    dimensions 0.2 and 0.5 are best, and without refreshment the path need not visit all of them.
    The path counts more than its recorded points, most in low dimensions: 2.6, 1.3 and 2.5
    effective draws per 1.5 radians in 30, 100 and 3 dimensions, where the points themselves give
    1.4, 1.1 and 1.5.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(20, random_seed=1)
    >>> with bk.models.bayes_point_machine(X, y, kernel=pm.gp.cov.ExpQuad(2, ls=0.5)):
    ...     idata = pm.sample(20, chains=1, quiet=True, step=bk.samplers.Billiard())
    >>> idata.sample_stats["billiard_centre"].shape
    (1, 20, 20)
    """

    name = "billiard"
    stat_prefix = "billiard"
    suitability = Competence.COMPATIBLE
    uses_gram = True
    default_tune_steps = 200
    stats_dtypes_shapes = {
        "billiard_bounces": (int, []),
        "billiard_refreshments": (int, []),
        "billiard_capped": (int, []),
        # PyMC's trace cannot store a statistic declared as a vector; an object that is one it can.
        "billiard_centre": (object, None),
    }
    progress_columns = {"billiard_bounces": "Bounces"}

    def __init__(
        self,
        vars=None,
        *,
        variant="geodesic",
        path_length=None,
        refresh_rate=0.2,
        max_events=None,
        tolerance=1e-4,
        record_centre=True,
        sweeps=None,
        **kwargs,
    ):
        if variant not in ("geodesic", "chord"):
            raise ValueError(f'variant must be "geodesic" or "chord", got {variant!r}.')
        if sweeps is not None:
            raise TypeError(
                "A billiard has no sweeps, its path is one: set path_length, the radians between "
                "two recorded draws."
            )
        for option, value in [("path_length", path_length), ("refresh_rate", refresh_rate)]:
            if value is not None and not 0 < value < np.inf:
                raise ValueError(f"{option} must be positive, got {value}.")
        if max_events is not None and max_events < 1:
            raise ValueError(f"max_events must be at least 1, got {max_events}.")
        if not 0 <= tolerance < np.inf:
            raise ValueError(f"tolerance must not be negative, got {tolerance}.")
        self.variant = variant
        self.path_length = path_length
        self.refresh_rate = float(refresh_rate)
        self.max_events = max_events
        self.tolerance = tolerance
        self.record_centre = record_centre
        third = "capped" if variant == "geodesic" else "converged"
        counts = (f"billiard_{name}" for name in ("bounces", "refreshments", third))
        centre = {"billiard_centre": (object, None)} if record_centre else {}
        self._declare(dict.fromkeys(counts, (int, [])) | centre)
        super().__init__(vars, **kwargs)

    def _forget(self):
        super()._forget()
        self._has_warned = False

    def _make_sampler(self, walls, value):
        path_length = self.path_length
        if path_length is None:
            path_length = INDEPENDENCE_LENGTH * np.clip(1000 / max(walls.n_walls, 1), 1, 10)
        options = {"gram": self._gram_of(walls), "path_length": float(path_length)}
        if self.variant == "chord":
            return ChordBall(walls, value, tolerance=self.tolerance, **options)
        return RollingBall(
            walls, value, refresh_rate=self.refresh_rate, max_events=self.max_events, **options
        )

    def _move(self, sampler):
        [w], [record] = sampler.move(self.rng)
        stats = dict(zip(self.stats_dtypes_shapes, record[:3].astype(int).tolist(), strict=False))
        if self.record_centre:
            stats["billiard_centre"] = record[3:].copy()
        if stats.get("billiard_capped") and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "A part of the path met more than max_events = %d walls and was given up; the "
                "statistic billiard_capped counts them. The draws stay exact, but billiard_centre "
                "does not: take the mean of the draws, or a higher cap. A thin version space may "
                "need noise or another kernel.",
                sampler.max_events,
            )
        # The length is free and independent of the direction: draw it from its own distribution.
        return w * np.sqrt(self.rng.chisquare(len(w))), stats

    def _move_rows(self):
        value, stats = super()._move_rows()
        if "billiard_converged" in stats:
            # Counts are added up over directions; this is not one: all must have converged.
            stats["billiard_converged"] = int(stats["billiard_converged"] == len(value))
        if self.record_centre:
            # PyMC's trace stacks the objects of all draws along their first axis.
            stats["billiard_centre"] = stats["billiard_centre"][None]
        return value, stats
