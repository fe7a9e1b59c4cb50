"""Conformance tests and exact references, for the package's own samplers and for those of others.

The checks raise ``AssertionError`` that says what was expected and what came.
"""

from bayeskernels.testing.exact_active_sets import active_set_masses, powered_active_set_masses
from bayeskernels.testing.exact_cells import (
    CellPosterior,
    SignCells,
    label_noise_cells,
    sign_cells,
)
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
from bayeskernels.testing.sampler_conformance import SamplerReport, check_sampler

__all__ = [
    "CellPosterior",
    "KernelReport",
    "KnownEvidence",
    "SamplerReport",
    "SignCells",
    "active_set_masses",
    "check_kernel",
    "check_sampler",
    "known_coin",
    "known_correlated_gaussian",
    "known_counts",
    "known_eight_schools",
    "known_funnel",
    "known_normal",
    "label_noise_cells",
    "powered_active_set_masses",
    "sign_cells",
]
