"""Evidence of models: estimated with an error, compared, and used to choose and average models."""

from bayeskernels.evidence.averaging import average_predictions
from bayeskernels.evidence.comparison import beside_loo, compare
from bayeskernels.evidence.data_digest import data_digest
from bayeskernels.evidence.estimate import estimate, suitable_methods
from bayeskernels.evidence.noise_curve import NoiseEvidence, NoisePosterior
from bayeskernels.evidence.result import Evidence
from bayeskernels.evidence.scan import EvidenceScan, scan
from bayeskernels.graphs.prior_mass import declare_normalised

__all__ = [
    "Evidence",
    "EvidenceScan",
    "NoiseEvidence",
    "NoisePosterior",
    "average_predictions",
    "beside_loo",
    "compare",
    "data_digest",
    "declare_normalised",
    "estimate",
    "scan",
    "suitable_methods",
]
