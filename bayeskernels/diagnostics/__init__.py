"""Whether chains have converged, and how well a model predicts."""

from bayeskernels.diagnostics.leave_one_out import loo
from bayeskernels.diagnostics.monitoring import monitor

__all__ = ["loo", "monitor"]
