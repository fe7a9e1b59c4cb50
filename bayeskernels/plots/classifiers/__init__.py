"""Plots of classifiers: maps of the plane, great spheres, and rankings of training points."""
