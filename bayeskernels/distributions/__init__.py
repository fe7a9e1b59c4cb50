"""PyMC distributions of the zoo: what the models are made of, and what the steps look for."""

from bayeskernels.distributions.active_set import ActiveSet, ActiveSetRV
from bayeskernels.distributions.class_label import ProbitClass, ProbitClassRV
from bayeskernels.distributions.flip_rate import FlipRate, FlipRateRV
from bayeskernels.distributions.grouped import (
    ClassOffsets,
    ClassOffsetsRV,
    GroupedActiveSet,
    GroupedActiveSetRV,
    GroupedOffset,
    GroupedOffsetRV,
    GroupedPrecision,
    GroupedPrecisionRV,
    GroupedSilvermanG,
    GroupedSilvermanGRV,
    KernelOn,
    KernelOnRV,
)
from bayeskernels.distributions.hinge import (
    CompleteHingeLabel,
    CompleteHingeLabelRV,
    HingeLabel,
    HingeLabelRV,
)
from bayeskernels.distributions.kernel_width import KernelWidth, OwnedWidth
from bayeskernels.distributions.label_noise import LabelNoise, LabelNoiseRV
from bayeskernels.distributions.noise_scale import NoiseScale, NoiseScaleRV
from bayeskernels.distributions.output_label import (
    LogisticLabel,
    LogisticLabelRV,
    ProbitLabel,
    ProbitLabelRV,
)
from bayeskernels.distributions.precision import Offset, OffsetRV, Precision, PrecisionRV
from bayeskernels.distributions.silverman_g import SilvermanG, SilvermanGRV
from bayeskernels.distributions.uniform_sphere import UniformSphere, UniformSphereRV, UnitVector

__all__ = [
    "ActiveSet",
    "ActiveSetRV",
    "ClassOffsets",
    "ClassOffsetsRV",
    "CompleteHingeLabel",
    "CompleteHingeLabelRV",
    "FlipRate",
    "FlipRateRV",
    "GroupedActiveSet",
    "GroupedActiveSetRV",
    "GroupedOffset",
    "GroupedOffsetRV",
    "GroupedPrecision",
    "GroupedPrecisionRV",
    "GroupedSilvermanG",
    "GroupedSilvermanGRV",
    "HingeLabel",
    "HingeLabelRV",
    "KernelOn",
    "KernelOnRV",
    "KernelWidth",
    "LabelNoise",
    "LabelNoiseRV",
    "LogisticLabel",
    "LogisticLabelRV",
    "NoiseScale",
    "NoiseScaleRV",
    "Offset",
    "OffsetRV",
    "OwnedWidth",
    "Precision",
    "PrecisionRV",
    "ProbitClass",
    "ProbitClassRV",
    "ProbitLabel",
    "ProbitLabelRV",
    "SilvermanG",
    "SilvermanGRV",
    "UniformSphere",
    "UniformSphereRV",
    "UnitVector",
]
