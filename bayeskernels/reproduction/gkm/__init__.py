"""Tables 2 to 13 of the paper on generalized kernel models (GKM, section 5)."""

from bayeskernels.reproduction.gkm import (  # noqa: I001 (the order of the paper)
    benchmark_sets,
    learned_widths,
    large_sets,
    classical_sets,
)

__all__ = ["benchmark_sets", "classical_sets", "large_sets", "learned_widths"]
