"""Specifications: facts about a model beyond its PyMC graph, and how to read its draws."""
