"""Data sets: loading the papers' benchmarks, generating synthetic problems, splitting.

Nothing is shipped with the package: :func:`load` reads ``NAME.npz`` files from a folder, the sets
that scikit-learn contains, or OpenML; the ``make_*`` functions draw synthetic problems from a seed.
"""

from bayeskernels.data.label_noise import flip_labels
from bayeskernels.data.loading import Dataset, load, names
from bayeskernels.data.sphere import KGS_SPHERE_CLASSIFIER, make_kgs_sphere, sphere_point
from bayeskernels.data.splits import random_splits
from bayeskernels.data.synthetic import (
    make_checkerboard,
    make_kgs_surrogate,
    make_linear_rule,
    make_ringnorm,
    make_two_moons,
    make_twonorm,
    make_waveform,
)

__all__ = [
    "KGS_SPHERE_CLASSIFIER",
    "Dataset",
    "flip_labels",
    "load",
    "make_checkerboard",
    "make_kgs_sphere",
    "make_kgs_surrogate",
    "make_linear_rule",
    "make_ringnorm",
    "make_two_moons",
    "make_twonorm",
    "make_waveform",
    "names",
    "random_splits",
    "sphere_point",
]
