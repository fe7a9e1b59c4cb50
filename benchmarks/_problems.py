"""Classification problems with held-out points, for contests between samplers."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pymc as pm

import bayeskernels as bk
from bayeskernels.geometry.version_space import find_consistent_direction
from bayeskernels.kernels.argument import as_kernel
from bayeskernels.kernels.features import FeatureMap
from bayeskernels.samplers import WallGeometry, label_costs, simulate_refractive_billiard

__all__ = ["N_OUTPUTS", "LabelNoiseProblem", "MissingData", "make_problem"]

#: Test points whose outputs are watched.
N_OUTPUTS = 20


class MissingData(Exception):
    """A data set is not on this machine."""


@dataclass
class LabelNoiseProblem:
    """Training points, a kernel, a flip rate, and held-out points.

    Attributes
    ----------
    name : str
    X : array of shape (m, p)
    y : array of int, shape (m,)
    X_test : array of shape (N_OUTPUTS, p)
    noise : float
    kernel : pm.gp.cov.Covariance or None
    """

    name: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    X_test: np.ndarray = field(repr=False)
    noise: float
    kernel: object

    def __str__(self):
        return f"{self.name} m={len(self.y)} q={self.noise:g}"

    @cached_property
    def feature_map(self):
        """Coordinates in the feature space, the same as in the model."""
        return FeatureMap(as_kernel(self.kernel, self.X), self.X)

    @cached_property
    def walls(self):
        """The posterior as the bare samplers see it."""
        geometry = WallGeometry.from_features(self.feature_map.factor.features, self.y > 0)
        return geometry.with_costs(label_costs(self.y > 0, self.noise, self.noise))

    @cached_property
    def test_features(self):
        """Coordinates of the test points."""
        return self.feature_map(self.X_test)

    def model(self, noise=None):
        """The PyMC model of the same posterior, or with another noise."""
        return bk.models.label_noise_classifier(
            self.X, self.y, kernel=self.kernel, noise=self.noise if noise is None else noise
        )

    def outputs(self, z):
        """Outputs of the unit-length classifiers (rows of z, of any length) at the test points."""
        return z @ self.test_features.T / np.linalg.norm(z, axis=1, keepdims=True)

    def errors(self, z):
        """Training errors of classifiers (rows of z)."""
        return self.walls.count_errors(z @ self.walls.normals.T)

    def equilibrium_draws(self, n, rng, *, burn_in=200, apart=50):
        """Draws of the posterior, many trajectories apart, with lengths like a Gaussian's."""
        if self.noise == 0:
            start = find_consistent_direction(self.feature_map.factor.features, self.y > 0)
        else:
            start = rng.standard_normal(self.walls.dimension)
        start = simulate_refractive_billiard(self.walls, start, burn_in, rng=rng).draws[-1]
        return simulate_refractive_billiard(self.walls, start, n, rng=rng, sweeps=apart).draws


def make_problem(name, m, noise, *, random_seed=1):
    """Problem by name with at most ``m`` training points.

    Parameters
    ----------
    name : str
        "checkerboard" (labels flipped at the rate ``noise``), "waveform" (21 features, any size),
        "separable" (10 features, labelled by a smooth rule without noise) or a two-class set that
        :func:`bayeskernels.data.load` knows, in a random order and with standardised columns.
    m : int
    noise : float
    random_seed : int
    """
    n = m + N_OUTPUTS
    kernel = None
    if name == "checkerboard":
        X, y = bk.data.make_checkerboard(n, noise=noise, random_seed=random_seed)
        kernel = pm.gp.cov.ExpQuad(2, ls=0.7)
    elif name == "waveform":
        X, y = bk.data.make_waveform(n, random_seed=random_seed)
    elif name == "separable":
        rng = np.random.default_rng(random_seed)
        X = rng.standard_normal((n, 10))
        y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1, -1)
    else:
        try:
            data = bk.data.load(name)
        except FileNotFoundError as error:
            raise MissingData(f"{name}: {error}") from error
        order = np.random.default_rng(random_seed).permutation(len(data.y))[:n]
        X, y = data.X[order], data.y[order]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    m = min(m, len(y) - N_OUTPUTS)
    return LabelNoiseProblem(name, X[:m], y[:m], X[m : m + N_OUTPUTS], noise, kernel)
