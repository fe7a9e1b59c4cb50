r"""The kernel Gibbs sampler of Graepel and Herbrich (KGS, section 3), done right and in O(m log m).

From the present direction w a random great circle is drawn; on it the posterior is piecewise
constant, with a jump wherever a training point's output :math:`f_i \cos t + g_i \sin t` is zero.
The new direction is drawn from that density exactly.

Where the print is wrong or slow:

* Step 6 prints half the *difference* of neighbouring angles as the place at which to count errors;
  the midpoint (half the sum, with wrap-around) is meant. Neither is needed: every crossing changes
  the count by one, so a sort and a cumulative sum give all intervals at once.
* Each wall is crossed twice, half a turn apart, and half a turn turns every output round, so the m
  angles in [0, pi) are enough: the energies on the other half are the total less these.
* Everything is done with log-densities; q = 0 is the version space.
"""

import math
from dataclasses import dataclass

import numba
import numpy as np
from pymc.step_methods.compound import Competence

from bayeskernels.compiled import JIT
from bayeskernels.samplers.compiled import dot
from bayeskernels.samplers.directions.block_draws import fresh_outputs
from bayeskernels.samplers.directions.block_sampler import BlockSampler
from bayeskernels.samplers.directions.great_circle import draw_angle
from bayeskernels.samplers.directions.sphere_step import SphereStep

__all__ = ["CirclePath", "GreatCircleWalker", "KernelGibbs", "simulate_kernel_gibbs"]

#: Making a direction tangent to the sphere magnifies rounding errors of the outputs that are
#: carried along; they are recomputed from w before the errors can have grown by this factor.
MAX_ERROR_GROWTH = 1e3


@numba.njit(**JIT)
def _run(w, f, growth, directions, outputs, uniforms, normals, jumps, errors, sweeps, draws):
    """One great-circle step per row of ``directions``; record w after every ``sweeps`` of them.

    ``outputs`` are those of the directions, not yet tangent to the sphere at w; ``growth`` bounds
    by how much rounding errors of f may have grown. Returns that bound and one row per record:
    training errors and the angle of the last step.
    """
    r = w.shape[0]
    n_walls = f.shape[0]
    g = np.empty(n_walls)
    angles = np.empty(n_walls)
    tangent = np.empty(r)
    records = np.zeros((len(draws), 2))
    for k in range(len(uniforms)):
        along = dot(directions[k], w)
        for i in range(r):
            tangent[i] = directions[k, i] - along * w[i]
        length = math.sqrt(dot(tangent, tangent))
        # The sphere of R^1 is two points, and a direction may be parallel to w: the "circle" then
        # has no tangent and is w and its opposite; g is zero.
        is_circle = r > 1 and length > 0.0
        scale = 1.0 / length if is_circle else 0.0
        growth *= 1.0 + abs(along) * scale
        if growth > MAX_ERROR_GROWTH:
            growth = 1.0 + abs(along) * scale
            for j in range(n_walls):
                f[j] = dot(normals[j], w)
        for j in range(n_walls):
            g[j] = (outputs[k, j] - along * f[j]) * scale
        if n_walls == 0:
            angle = 2.0 * math.pi * uniforms[k]
        else:
            angle = draw_angle(f, g, jumps, uniforms[k], angles)
        if not is_circle:
            angle = math.pi if 0.5 * math.pi < angle % (2.0 * math.pi) < 1.5 * math.pi else 0.0
        cos_t = math.cos(angle)
        sin_t = math.sin(angle) * scale
        for i in range(r):
            w[i] = w[i] * cos_t + tangent[i] * sin_t
        norm = 1.0 / math.sqrt(dot(w, w))
        for i in range(r):
            w[i] *= norm
        sin_t = math.sin(angle)
        for j in range(n_walls):
            f[j] = (f[j] * cos_t + g[j] * sin_t) * norm
        if (k + 1) % sweeps == 0:
            record = records[k // sweeps]
            for j in range(n_walls):
                record[0] += errors[0, j] if f[j] > 0.0 else errors[1, j]
            record[1] = angle
            draws[k // sweeps] = w
    return growth, records


class GreatCircleWalker(BlockSampler):
    """One kernel Gibbs chain.

    Attributes
    ----------
    walls, sweeps, block
        See :class:`BlockSampler`.
    w : array of shape (r,)
        Unit vector.
    outputs : array of shape (n_walls,)
        ``walls.normals @ w``, carried along.
    growth : float
        Bound of the factor by which rounding errors of the outputs have grown.
    """

    carried = ("w", "outputs", "growth")

    def __init__(self, walls, w, *, sweeps=1):
        super().__init__(walls, sweeps)
        self.place(w)

    def place(self, w):
        """Go on from another direction, of any length."""
        self.w = np.array(w, dtype=np.float64)
        self.w /= np.linalg.norm(self.w)
        self._refresh()

    def _refresh(self):
        self.outputs = fresh_outputs(self.w, self.walls)
        self.growth = 1.0

    def move(self, rng, n_draws=1):
        """Make up to ``n_draws`` times ``sweeps`` steps, as far as the block of directions goes.

        Returns
        -------
        draws : array of shape (n, r)
        records : array of shape (n, 2)
            Training errors, angle of the last step.
        """
        if self.needs_block:
            self.new_block(rng)
        n_draws = min(n_draws, self.block.left // self.sweeps)
        n = n_draws * self.sweeps
        directions, outputs = self.block.take(n)
        draws = np.empty((n_draws, self.walls.dimension))
        self.growth, records = _run(
            self.w,
            self.outputs,
            self.growth,
            directions,
            outputs,
            rng.random(n),
            self.walls.normals,
            self.walls.jumps,
            self.walls.errors,
            self.sweeps,
            draws,
        )
        records[:, 0] += self.walls.constant_errors
        return draws, records


@dataclass
class CirclePath:
    """What one call of :func:`simulate_kernel_gibbs` did.

    Attributes
    ----------
    draws : array of shape (n_draws, r)
        Unit vectors.
    errors : array of int, shape (n_draws,)
        Training errors at each draw.
    angles : array of shape (n_draws,)
        Angle of the last step before each draw.
    """

    draws: np.ndarray
    errors: np.ndarray
    angles: np.ndarray


def simulate_kernel_gibbs(walls, w, n_draws, *, rng, sweeps=1) -> CirclePath:
    """Sample directions from a piecewise constant density on the sphere, without PyMC.

    Parameters
    ----------
    walls : Walls
        The density.
    w : array of shape (r,)
        Start, on an allowed side of every infinitely high wall.
    n_draws : int
        How many directions to return.
    rng : numpy.random.Generator
    sweeps : int, default 1
        Great circles per returned direction.

    Examples
    --------
    >>> geometry = bk.samplers.WallGeometry.from_features(np.eye(2), [True, True])
    >>> walls, rng = geometry.with_costs([np.log(9)] * 2), np.random.default_rng(1)
    >>> path = simulate_kernel_gibbs(walls, np.ones(2), 4000, rng=rng)
    >>> bool(abs(np.mean(path.errors) - 0.2) < 0.05)  # log(9) stands for q = 0.1
    True
    """
    draws, records = GreatCircleWalker(walls, w, sweeps=sweeps).run(rng, n_draws)
    return CirclePath(draws, records[:, 0].astype(np.int64), records[:, 1])


class KernelGibbs(SphereStep):
    """Step method of the Kernel Gibbs Sampler paper, for the direction of a label-noise classifier.

    Exact for every flip rate, zero included, but a random walk: the time between independent draws
    grows quickly with the number of points, and PyMC prefers
    :class:`~bayeskernels.samplers.RefractiveBilliard`. To use this one, pass it as ``step=`` or
    sample within :func:`bayeskernels.samplers.prefer`.

    Parameters
    ----------
    vars, model
        As for :class:`~bayeskernels.samplers.Billiard`.
    sweeps : int, default 10
        Great circles per recorded draw.

    Notes
    -----
    Sampler statistics: ``kernel_gibbs_errors`` (training errors) and ``kernel_gibbs_angle`` (of the
    last great circle, in [0, 2 pi)).

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(20, random_seed=1)
    >>> with bk.models.label_noise_classifier(X, y, noise=0.1):
    ...     idata = pm.sample(20, chains=1, quiet=True, step=bk.samplers.KernelGibbs(sweeps=5))
    >>> "kernel_gibbs_errors" in idata.sample_stats
    True
    """

    name = "kernel_gibbs"
    stat_prefix = "kernel_gibbs"
    suitability = Competence.PREFERRED
    default_tune_steps = 1000
    stats_dtypes_shapes = {"kernel_gibbs_errors": (int, []), "kernel_gibbs_angle": (float, [])}
    progress_columns = {"kernel_gibbs_errors": "Errors"}

    def _make_sampler(self, walls, value):
        return GreatCircleWalker(walls, value, sweeps=self.sweeps or 10)

    def _move(self, sampler):
        draws, [[errors, angle]] = sampler.move(self.rng)
        # The length is free and independent of the direction: draw it from its own distribution.
        length = np.sqrt(self.rng.chisquare(sampler.walls.dimension))
        stats = {"kernel_gibbs_errors": int(errors), "kernel_gibbs_angle": float(angle)}
        return draws[0] * length, stats
