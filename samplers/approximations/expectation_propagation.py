"""Expectation propagation for the models of this package, in the place of a sampler.

:class:`ExpectationPropagation` reads the walls from a PyMC model as the steps do, and approximates
its posterior by a Gaussian (:mod:`bayeskernels.samplers.approximations.moment_matching` has the
method). Draws of the Gaussian serve wherever draws of ``pm.sample`` do.
"""

from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from pymc.util import get_random_generator
from scipy.special import gammaln

from bayeskernels.samplers.approximations.moment_matching import propagate_expectations
from bayeskernels.samplers.directions.billiards.wall_dynamics import wall_gram
from bayeskernels.samplers.directions.label_noise_target import (
    LabelNoiseTarget,
    named_dims,
    only_direction,
)

__all__ = ["ExpectationPropagation", "GaussianDirections"]


class ExpectationPropagation:
    """Gaussian approximation of a classifier's posterior, by expectation propagation.

    Deterministic and fast: seconds at 1000 points. Its mean is usually very close to the Bayes
    point; its evidence is an approximation without an error bound, exact only where the outputs of
    the training points are independent.

    Parameters
    ----------
    model : pm.Model
        Its only unknown must be a direction, or several as the rows of one variable: kernel and
        noise are fixed. Label noise of any rate, zero included.
    form : {"auto", "dual", "feature"}
        Whether to work with the outputs at the training points or with the coordinates of the
        direction, by default with the fewer. The result is the same.
    tolerance : float, default 1e-8
        Largest change of a marginal, in standard deviations, at which to stop.
    max_sweeps : int, default 300
        When to give up; the result then says so.
    damping : float in (0, 1], default 1
        Share of each change that is made; halved by itself when the changes do not shrink.

    Examples
    --------
    >>> X, y = bk.data.make_two_moons(60, random_seed=1)
    >>> model = bk.models.label_noise_classifier(X, y, noise=0.05)
    >>> posterior = bk.samplers.ExpectationPropagation(model).fit()
    >>> posterior.converged
    True
    >>> idata = posterior.sample(100, random_seed=1)
    >>> dict(idata.posterior.sizes)
    {'chain': 1, 'draw': 100, 'basis': 60}
    """

    def __init__(self, model, *, form="auto", tolerance=1e-8, max_sweeps=300, damping=1.0):
        self.model, self.w = model, only_direction(model, "Expectation propagation")
        self.options = {"form": form, "tolerance": tolerance}
        self.options |= {"max_sweeps": max_sweeps, "damping": damping}

    def fit(self) -> "GaussianDirections":
        """Run to convergence."""
        w = self.w
        target = LabelNoiseTarget(self.model.rvs_to_values[w], self.model)
        all_walls = target.walls({})
        constants = target.best_log_likelihoods({})
        # Directions of one variable share their normals, so the Gram matrix is computed once.
        normals = all_walls[0].normals
        is_shared = all(walls.normals is normals for walls in all_walls)
        is_dual = self.options["form"] != "feature" and len(normals) <= normals.shape[1]
        gram = wall_gram(normals) if is_shared and is_dual else None
        parts = [propagate_expectations(walls, gram=gram, **self.options) for walls in all_walls]
        factors = [
            part.covariance_factor(walls.normals)
            for part, walls in zip(parts, all_walls, strict=True)
        ]
        means = [part.mean for part in parts]
        dims, coords = named_dims(self.model, w)
        return GaussianDirections(
            name=w.name,
            mean=means[0] if w.ndim == 1 else np.stack(means),
            covariance_factor=factors[0] if w.ndim == 1 else np.stack(factors),
            log_evidence=float(sum(part.log_mass for part in parts) + sum(constants)),
            n_sweeps=max(part.n_sweeps for part in parts),
            converged=all(part.converged for part in parts),
            dims=tuple(dims),
            coords=coords,
        )


@dataclass(frozen=True)
class GaussianDirections:
    """Result of :class:`ExpectationPropagation`: a Gaussian for z, of which w is the direction.

    Attributes
    ----------
    name : str
        Name of the direction in the model.
    mean : array of shape (r,) or (K, r)
        Mean of z, the direction with its length made free; a row for each direction.
    covariance_factor : array of shape (r, r) or (K, r, r)
        L with L L' the covariance of z.
    log_evidence : float
        Logarithm of the approximate probability of the labels.
    n_sweeps : int
        Visits of each term.
    converged : bool
        Whether the changes had fallen below the tolerance.
    dims : tuple of str
    coords : dict
        Dimensions and coordinates of the direction in the model.
    """

    name: str
    mean: np.ndarray = field(repr=False)
    covariance_factor: np.ndarray = field(repr=False)
    log_evidence: float
    n_sweeps: int
    converged: bool
    dims: tuple[str, ...] = field(repr=False)
    coords: dict = field(repr=False)

    @property
    def direction(self):
        """Unit vector along the mean, for each direction: that of the Bayes point."""
        return self.mean / np.linalg.norm(self.mean, axis=-1, keepdims=True)

    @property
    def bayes_point(self):
        r"""Mean of w, at most of unit length: the centre of mass.

        The likelihood does not see the length of z, so length and direction are independent under
        the posterior too, and :math:`E w = E z / E \chi_r`.
        """
        r = self.mean.shape[-1]
        mean_length = np.sqrt(2.0) * np.exp(gammaln(0.5 * (r + 1)) - gammaln(0.5 * r))
        return self.mean / mean_length

    def sample(self, draws=1000, *, random_seed=None):
        """Draw directions from the Gaussian.

        They are independent, unlike those of a Markov chain, but of an approximation: at flip rate
        zero some lie outside the version space.

        Parameters
        ----------
        draws : int
        random_seed : int or numpy.random.Generator, optional

        Returns
        -------
        DataTree
            With the group ``posterior``: one chain of unit vectors, named and shaped as
            ``pm.sample`` does it.
        """
        rng = get_random_generator(random_seed)
        noise = rng.standard_normal((draws, *self.mean.shape))
        z = self.mean + np.einsum("...ij,d...j->d...i", self.covariance_factor, noise)
        w = z / np.linalg.norm(z, axis=-1, keepdims=True)
        coords = {"chain": np.arange(1), "draw": np.arange(draws), **self.coords}
        posterior = xr.Dataset(
            {self.name: (("chain", "draw", *self.dims), w[None])},
            coords=coords,
            attrs={
                "sampler": "ExpectationPropagation",
                "is_mcmc": 0,
                "converged": int(self.converged),
                "note": "Independent draws of a Gaussian approximation, not of the posterior.",
            },
        )
        return xr.DataTree.from_dict({"posterior": posterior})
