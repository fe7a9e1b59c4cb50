"""Predictions from draws: labels, probabilities, Bayes points, flips, rejection, queries."""
