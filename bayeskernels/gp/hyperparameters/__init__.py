"""Hyperparameters of Gaussian processes: evidence, its maxima and modes, and full Bayes."""
