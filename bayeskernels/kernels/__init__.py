"""Kernels: what a ``kernel=`` argument may be, Gram matrices, features, columns and checks."""

from bayeskernels.kernels.argument import as_kernel

__all__ = ["as_kernel"]
