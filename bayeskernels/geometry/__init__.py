"""Geometry of linear classifiers: walls, version spaces and orthants."""
