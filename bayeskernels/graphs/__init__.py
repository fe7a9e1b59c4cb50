"""PyMC and PyTensor graphs as functions of arrays, and the integrals of their densities."""
