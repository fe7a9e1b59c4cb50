"""Estimators of the log evidence, one file for each; ``evidence/methods.py`` lists them."""
