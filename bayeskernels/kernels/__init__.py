"""Kernels: what a ``kernel=`` argument may be, Gram matrices, features, columns and checks."""
