"""Walls of random points, for tests of any sampler among them."""

import numpy as np

from bayeskernels.samplers import WallGeometry, label_costs


def make_walls(m=40, r=8, q=0.1, seed=0):
    """Walls of m points whose labels are flipped at the rate q, the points, and the labels."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((m, r))
    is_positive = features @ rng.standard_normal(r) > 0
    if q > 0:
        is_positive ^= rng.random(m) < q
    geometry = WallGeometry.from_features(features, is_positive)
    return geometry.with_costs(label_costs(is_positive, q, q)), features, is_positive
