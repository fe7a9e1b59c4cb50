"""The command ``bayeskernels``, and what long runs at a terminal need."""
