"""Conformance tests and exact references, for the package's own samplers and for those of others.

The checks raise ``AssertionError`` that says what was expected and what came.
"""

from bayeskernels.testing.calibration import (
    CalibrationReport,
    check_calibration,
    simulate_calibration,
)
from bayeskernels.testing.exact_active_sets import active_set_masses, powered_active_set_masses
from bayeskernels.testing.exact_cells import CellPosterior, SignCells, label_noise_cells, sign_cells
from bayeskernels.testing.kernel_conformance import KernelReport, check_kernel
from bayeskernels.testing.known_evidence import (
    KnownEvidence,
    known_coin,
    known_correlated_gaussian,
    known_counts,
    known_eight_schools,
    known_funnel,
    known_normal,
)
from bayeskernels.testing.prior_importance import PriorImportance, check_posterior, prior_importance
from bayeskernels.testing.sampler_conformance import SamplerReport, check_sampler

__all__ = [
    "CalibrationReport",
    "CellPosterior",
    "KernelReport",
    "KnownEvidence",
    "PriorImportance",
    "SamplerReport",
    "SignCells",
    "active_set_masses",
    "check_calibration",
    "check_kernel",
    "check_posterior",
    "check_sampler",
    "known_coin",
    "known_correlated_gaussian",
    "known_counts",
    "known_eight_schools",
    "known_funnel",
    "known_normal",
    "label_noise_cells",
    "powered_active_set_masses",
    "prior_importance",
    "sign_cells",
    "simulate_calibration",
]
